//! What Python calls. Every function answers in a counter's `Answer`, which holds until the next call, and returns a
//! status; a panic becomes `BROKEN`, after which a counter is not to be used again.

use std::collections::HashSet;
use std::panic::{catch_unwind, AssertUnwindSafe};

use crate::counter::{said_of, Counted, Counter};
use crate::instant::Millis;
use crate::sheets::{Amount, Bounds, Cell, Day, DIMENSIONS, WIDTH};
use crate::window::{Verdict, Window};

/// Raised with every change of these functions; Python refuses a library with another number.
pub const VERSION: i32 = 1;

const DONE: i32 = 0;
const NOT_PLAIN: i32 = 1;
const BROKEN: i32 = -1;

/// Where the results of the last call lie.
#[repr(C)]
pub struct Answer {
    numbers: *const i64,
    count: usize,
    text: *const u8,
    length: usize,
}

pub struct Handle {
    answer: Answer,
    numbers: Vec<i64>,
    text: Vec<u8>,
    counter: Counter,
}

/// Texts one after another and the length of each.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Texts {
    bytes: *const u8,
    lengths: *const u32,
    count: usize,
}

impl Texts {
    /// # Safety
    /// What the pointers point to lives as long as the answer.
    unsafe fn get<'a>(self) -> impl Iterator<Item = &'a [u8]> {
        let lengths = unsafe { slice(self.lengths, self.count) };
        let mut rest = unsafe { slice(self.bytes, total(lengths)) };
        lengths.iter().map(move |&length| {
            let (text, others) = rest.split_at(length as usize);
            rest = others;
            text
        })
    }
}

fn total(lengths: &[u32]) -> usize {
    lengths.iter().map(|&length| length as usize).sum()
}

/// # Safety
/// `count` values of `T` live at `pointer` for as long as the answer does; for none it may be null.
unsafe fn slice<'a, T>(pointer: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    unsafe { std::slice::from_raw_parts(pointer, count) }
}

/// Do it, and leave the answer where Python looks for it.
fn answering(
    handle: &mut Handle,
    work: impl FnOnce(&mut Counter, &mut Vec<i64>, &mut Vec<u8>) -> i32,
) -> i32 {
    let Handle {
        answer,
        numbers,
        text,
        counter,
    } = handle;
    numbers.clear();
    text.clear();
    let status = catch_unwind(AssertUnwindSafe(|| work(counter, numbers, text))).unwrap_or(BROKEN);
    *answer = Answer {
        numbers: numbers.as_ptr(),
        count: numbers.len(),
        text: text.as_ptr(),
        length: text.len(),
    };
    status
}

#[no_mangle]
pub extern "C" fn blastdoor_version() -> i32 {
    VERSION
}

/// The `Answer` is the first thing that the handle points to.
#[no_mangle]
pub extern "C" fn blastdoor_new(
    window: i64,
    models: usize,
    values: usize,
    tenants: usize,
) -> *mut Handle {
    let bounds = Bounds {
        values: [models, values, values, values],
        tenants,
        known: HashSet::new(),
    };
    let answer = Answer {
        numbers: std::ptr::null(),
        count: 0,
        text: std::ptr::null(),
        length: 0,
    };
    Box::into_raw(Box::new(Handle {
        answer,
        numbers: Vec::new(),
        text: Vec::new(),
        counter: Counter::new(window, bounds),
    }))
}

/// # Safety
/// `handle` comes from `blastdoor_new` and is not used again.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_free(handle: *mut Handle) {
    drop(unsafe { Box::from_raw(handle) });
}

/// Where the answer lies.
///
/// # Safety
/// `handle` comes from `blastdoor_new`, here and below; every pointer is good for the length of the call.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_answer(handle: *mut Handle) -> *const Answer {
    unsafe { &(*handle).answer }
}

/// Names mean something else from now on: those of tenants with a place of their own, of guarding gateways, of models.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_adopt(handle: *mut Handle, known: Texts, guards: Texts) -> i32 {
    answering(unsafe { &mut *handle }, |counter, _, _| {
        counter.bounds.known = unsafe { known.get() }.map(<[u8]>::to_vec).collect();
        counter.guards = unsafe { guards.get() }.map(<[u8]>::to_vec).collect();
        counter.forget_names();
        DONE
    })
}

/// Names of models and what they are counted under, in turn.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_name(handle: *mut Handle, names: Texts) -> i32 {
    answering(unsafe { &mut *handle }, |counter, _, _| {
        let mut names = unsafe { names.get() };
        while let (Some(model), Some(canonical)) = (names.next(), names.next()) {
            counter.name(model, canonical);
        }
        DONE
    })
}

/// Read a lot. Numbers: the members of `Span`, then the lengths of the models' names that are new, which are the text.
/// `stamps` may be null.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_read(
    handle: *mut Handle,
    lot: Texts,
    stamps: *const Millis,
    now: Millis,
    apart: Millis,
) -> i32 {
    answering(unsafe { &mut *handle }, |counter, numbers, text| {
        let lengths = unsafe { slice(lot.lengths, lot.count) };
        let bytes = unsafe { slice(lot.bytes, total(lengths)) };
        if counter.read(bytes, lengths).is_none() {
            return NOT_PLAIN;
        }
        let span = counter.span(
            unsafe { slice(stamps, if stamps.is_null() { 0 } else { lot.count }) },
            now,
            apart,
        );
        numbers.extend([
            span.first,
            span.last,
            span.newest,
            span.sent,
            span.sent_last,
        ]);
        for name in counter.strangers(bytes) {
            numbers.push(name.len() as i64);
            text.extend(name);
        }
        DONE
    })
}

/// Count the lot that was read last. `day`: -1 for none. Numbers: see `push_counted`.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_count(
    handle: *mut Handle,
    lot: Texts,
    offsets: *const i64,
    day: i64,
) -> i32 {
    answering(unsafe { &mut *handle }, |counter, numbers, _| {
        let bytes = unsafe { slice(lot.bytes, total(slice(lot.lengths, lot.count))) };
        let day = usize::try_from(day).ok();
        match counter.count(bytes, unsafe { slice(offsets, lot.count) }, day) {
            Some(counted) => push_counted(counter, numbers, &counted),
            None => return BROKEN,
        }
        let crowded = day
            .and_then(|day| counter.days[day].as_ref())
            .map_or(false, |day| day.crowded);
        numbers.push(i64::from(crowded));
        DONE
    })
}

/// Duplicates, those that differ, how many groups and totals told; groups of 12 numbers, totals of 6.
fn push_counted(counter: &Counter, numbers: &mut Vec<i64>, counted: &Counted) {
    numbers.extend([
        counted.duplicates,
        counted.differing,
        counted.groups.len() as i64,
        counted.told.len() as i64,
    ]);
    for group in &counted.groups {
        numbers.extend([group.alias as i64, group.minute, group.offset]);
        numbers.extend(group.sums.iter().map(|&sum| sum as i64));
    }
    for told in &counted.told {
        let event = &counter.lot[told.event];
        let (today, key) = (event.today.unwrap_or(0) as i64, event.key_hash);
        numbers.extend([told.alias as i64, event.at, today, event.total as i64]);
        numbers.extend([i64::from(key.start()), i64::from(key.len())]);
    }
}

/// Note the ids of the lot that was read last, without counting.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_note(
    handle: *mut Handle,
    lot: Texts,
    offsets: *const i64,
) -> i32 {
    answering(unsafe { &mut *handle }, |counter, _, _| {
        let bytes = unsafe { slice(lot.bytes, total(slice(lot.lengths, lot.count))) };
        counter.note(bytes, unsafe { slice(offsets, lot.count) });
        DONE
    })
}

/// Note ids one by one. `calls`: id and model in turn. Numbers: for each 0 fresh, 1 duplicate, 2 one that differs.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_tell_apart(
    handle: *mut Handle,
    calls: Texts,
    tokens: *const i64,
    offsets: *const i64,
) -> i32 {
    answering(unsafe { &mut *handle }, |counter, numbers, _| {
        let (count, mut texts) = (calls.count / 2, unsafe { calls.get() });
        let (tokens, offsets) = unsafe { (slice(tokens, count), slice(offsets, count)) };
        for (tokens, &offset) in tokens.iter().zip(offsets) {
            let (id, model) = (texts.next().unwrap_or(b""), texts.next().unwrap_or(b""));
            numbers.push(
                match counter
                    .window
                    .note(id, offset, said_of(model) ^ *tokens as u16)
                {
                    Verdict::Fresh => 0,
                    Verdict::Duplicate { differs } => 1 + i64::from(differs),
                },
            );
        }
        DONE
    })
}

/// Forget ids that no offset from `position` on can ask for. Numbers: how many are left.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_trim(handle: *mut Handle, position: i64) -> i32 {
    answering(unsafe { &mut *handle }, |counter, numbers, _| {
        let window: &mut Window = &mut counter.window;
        window.trim(position);
        numbers.push(window.len() as i64);
        DONE
    })
}

/// Begin a day. Numbers: by what it is called from now on.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_begin_day(handle: *mut Handle, text: Texts) -> i32 {
    answering(unsafe { &mut *handle }, |counter, numbers, _| {
        let text = unsafe { text.get() }.next().unwrap_or(b"");
        numbers.push(counter.days.len() as i64);
        counter
            .days
            .push(Some(Day::new(String::from_utf8_lossy(text).into_owned())));
        DONE
    })
}

#[no_mangle]
pub unsafe extern "C" fn blastdoor_drop_day(handle: *mut Handle, day: usize) -> i32 {
    answering(unsafe { &mut *handle }, |counter, _, _| {
        counter.days[day] = None;
        DONE
    })
}

/// Count calls of one model by tenant, without a journal. `names`: the model, then tenant, department, user and
/// knowledge base of each; `amounts`: total, prompt, completion, cached, whether a cache answered, whether guarded.
/// `own`: tenants have had their places. Numbers: for each whether it was counted under another tenant.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_fold(
    handle: *mut Handle,
    day: usize,
    names: Texts,
    amounts: *const i64,
    own: i32,
) -> i32 {
    answering(unsafe { &mut *handle }, |counter, numbers, _| {
        let Counter { days, bounds, .. } = counter;
        let day = match days[day].as_mut() {
            Some(day) => day,
            None => return BROKEN,
        };
        let (count, mut names) = (names.count / DIMENSIONS, unsafe { names.get() });
        let model = names.next().unwrap_or(b"");
        for call in unsafe { slice(amounts, count * 6) }.chunks_exact(6) {
            let [tenant, department, user, base] = [(); 4].map(|()| names.next().unwrap_or(b""));
            let sheet = if own != 0 {
                day.own_sheet_of(tenant)
            } else {
                day.sheet_of(tenant, bounds)
            };
            let [total, prompt, completion, cached] = [0, 1, 2, 3].map(|place| call[place] as u64);
            let amount = Amount::of(
                call[4] != 0,
                total,
                prompt,
                completion,
                cached,
                call[5] != 0,
            );
            day.add(sheet, [model, department, user, base], amount, bounds);
            numbers.push(i64::from(day.tenant(sheet) != tenant));
        }
        numbers.push(i64::from(day.crowded));
        DONE
    })
}

/// Take up a sheet as it was stored. `names`: the tenant, then the values of all dimensions; `counts`: values of each;
/// `sums`: a cell for each value, the four of others, and what is guarded.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_restore(
    handle: *mut Handle,
    day: usize,
    names: Texts,
    counts: *const i64,
    sums: *const i64,
) -> i32 {
    answering(unsafe { &mut *handle }, |counter, _, _| {
        let (values, mut texts) = (names.count - 1, unsafe { names.get() });
        let (counts, tenant) = (
            unsafe { slice(counts, DIMENSIONS) },
            texts.next().unwrap_or(b""),
        );
        let sums = unsafe { slice(sums, (values + DIMENSIONS) * WIDTH + 1) };
        let cell = |place: usize| -> Cell {
            std::array::from_fn(|amount| sums[place * WIDTH + amount] as u64)
        };
        let dimensions = (0..DIMENSIONS)
            .flat_map(|dimension| std::iter::repeat(dimension).take(counts[dimension] as usize));
        let found = dimensions
            .zip(texts)
            .enumerate()
            .map(|(place, (dimension, value))| (dimension, value, cell(place)));
        let others = std::array::from_fn(|dimension| cell(values + dimension));
        match counter.days[day].as_mut() {
            Some(day) => day.restore(tenant, found, others, sums[sums.len() - 1] as u64),
            None => return BROKEN,
        }
        DONE
    })
}

/// The sheets that changed since the last call. Numbers: day, place, cells, and the six of `brief`, for each.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_settle(handle: *mut Handle) -> i32 {
    answering(unsafe { &mut *handle }, |counter, numbers, _| {
        for (number, day) in counter.days.iter_mut().enumerate() {
            for place in day.as_mut().map(Day::settle).unwrap_or_default() {
                let sheet = &day.as_ref().expect("settled just now").sheets[place];
                numbers.extend([number as i64, place as i64, sheet.cells() as i64]);
                numbers.extend(sheet.brief().iter().map(|&sum| sum as i64));
            }
        }
        DONE
    })
}

/// Names of a day's tenants from `place` on. Numbers: the length of each; they are the text.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_tenants(handle: *mut Handle, day: usize, place: usize) -> i32 {
    answering(unsafe { &mut *handle }, |counter, numbers, text| {
        if let Some(day) = &counter.days[day] {
            for sheet in place..day.sheets.len() {
                numbers.push(day.tenant(sheet).len() as i64);
                text.extend(day.tenant(sheet));
            }
        }
        DONE
    })
}

/// A sheet as it is stored: the text.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_sheet(handle: *mut Handle, day: usize, place: usize) -> i32 {
    answering(unsafe { &mut *handle }, |counter, _, text| {
        if let Some(day) = &counter.days[day] {
            day.sheets[place].write(&day.names, text);
        }
        DONE
    })
}

/// The journal since the last call. Numbers: where each entry ends in the text.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_journal(handle: *mut Handle) -> i32 {
    answering(unsafe { &mut *handle }, |counter, numbers, text| {
        let (entries, ends) = counter.journal.take();
        *text = entries;
        numbers.extend(ends.iter().map(|&end| end as i64));
        DONE
    })
}
