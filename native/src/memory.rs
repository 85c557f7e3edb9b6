//! What passes between Python and here: pointers that are good for the length of a call, and answers that hold until a
//! counter's next one. What is unsafe is here, and its use in the two files of calls.

use std::collections::HashSet;
use std::panic::{catch_unwind, AssertUnwindSafe};

use crate::counter::Counter;
use crate::sheets::Bounds;

const BROKEN: i32 = -1;

/// Where the results of the last call lie.
#[repr(C)]
pub struct Answer {
    numbers: *const i64,
    count: usize,
    text: *const u8,
    length: usize,
}

/// A counter and its answer, which is the first thing that its address points to.
#[repr(C)]
pub struct Handle {
    answer: Answer,
    told: Told,
    counter: Counter,
}

/// What an answer is made of.
#[derive(Default)]
pub struct Told {
    pub numbers: Vec<i64>,
    pub text: Vec<u8>,
}

impl Handle {
    pub fn new(window: i64, values: [usize; 4], tenants: usize) -> Self {
        let bounds = Bounds {
            values,
            tenants,
            known: HashSet::new(),
        };
        Handle {
            answer: Answer {
                numbers: std::ptr::null(),
                count: 0,
                text: std::ptr::null(),
                length: 0,
            },
            told: Told::default(),
            counter: Counter::new(window, bounds),
        }
    }
}

#[cfg(test)]
impl Handle {
    /// What Python copies of an answer.
    pub fn answer(&self) -> (Vec<i64>, Vec<u8>) {
        let Answer {
            numbers,
            count,
            text,
            length,
        } = self.answer;
        unsafe { (slice(numbers, count).to_vec(), slice(text, length).to_vec()) }
    }
}

/// Do it, and leave the answer where Python looks for it. None, like a panic: what should never be was met, and the
/// counter is not to be used again.
///
/// # Safety
/// `handle` comes from `blastdoor_new` and nobody else uses it meanwhile.
pub unsafe fn answering(
    handle: *mut Handle,
    work: impl FnOnce(&mut Counter, &mut Told) -> Option<i32>,
) -> i32 {
    let Handle {
        answer,
        told,
        counter,
    } = unsafe { &mut *handle };
    told.numbers.clear();
    told.text.clear();
    let done = catch_unwind(AssertUnwindSafe(|| work(counter, told)));
    *answer = Answer {
        numbers: told.numbers.as_ptr(),
        count: told.numbers.len(),
        text: told.text.as_ptr(),
        length: told.text.len(),
    };
    done.ok().flatten().unwrap_or(BROKEN)
}

/// Texts one after another, and the length of each.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Texts {
    bytes: *const u8,
    lengths: *const u32,
    count: usize,
}

impl Texts {
    /// All of them, and their lengths.
    ///
    /// # Safety
    /// What the pointers point to lives as long as the answer; here and below.
    pub unsafe fn whole<'a>(self) -> (&'a [u8], &'a [u32]) {
        let lengths = unsafe { slice(self.lengths, self.count) };
        let size = lengths.iter().map(|&length| length as usize).sum();
        (unsafe { slice(self.bytes, size) }, lengths)
    }

    /// # Safety
    /// As above.
    pub unsafe fn each<'a>(self) -> impl Iterator<Item = &'a [u8]> {
        let (mut rest, lengths) = unsafe { self.whole() };
        lengths.iter().map(move |&length| {
            let (text, others) = rest.split_at(length as usize);
            rest = others;
            text
        })
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Numbers {
    items: *const i64,
    count: usize,
}

impl Numbers {
    /// # Safety
    /// As above.
    pub unsafe fn all<'a>(self) -> &'a [i64] {
        unsafe { slice(self.items, self.count) }
    }
}

#[cfg(test)]
impl Texts {
    pub fn new(bytes: &[u8], lengths: &[u32]) -> Self {
        let (bytes, count) = (bytes.as_ptr(), lengths.len());
        let lengths = lengths.as_ptr();
        Texts {
            bytes,
            lengths,
            count,
        }
    }
}

#[cfg(test)]
impl Numbers {
    pub fn new(items: &[i64]) -> Self {
        let count = items.len();
        let items = if count == 0 {
            std::ptr::null()
        } else {
            items.as_ptr()
        };
        Numbers { items, count }
    }
}

/// # Safety
/// `count` values of `T` live at `pointer` for as long as the answer does; for none it may be null.
unsafe fn slice<'a, T>(pointer: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    unsafe { std::slice::from_raw_parts(pointer, count) }
}
