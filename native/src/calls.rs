//! What Python calls of a counter, its lots and its window. Every function leaves an answer and returns a status: see
//! `memory`. Of each stands here what its answer is.

use crate::counter::{said_of, Counted, Counter};
use crate::instant::Millis;
use crate::memory::{answering, Handle, Numbers, Texts, Told};
use crate::window::Verdict;

/// Raised with every change of these functions; Python refuses a library with another number.
pub const VERSION: i32 = 2;

pub const DONE: i32 = 0;
pub const NOT_PLAIN: i32 = 1;

#[no_mangle]
pub extern "C" fn blastdoor_version() -> i32 {
    VERSION
}

/// A counter, at whose address its answer lies.
#[no_mangle]
pub extern "C" fn blastdoor_new(
    window: i64,
    models: usize,
    values: usize,
    tenants: usize,
) -> *mut Handle {
    let values = [models, values, values, values];
    Box::into_raw(Box::new(Handle::new(window, values, tenants)))
}

/// # Safety
/// `handle` comes from `blastdoor_new` and is not used again.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_free(handle: *mut Handle) {
    drop(unsafe { Box::from_raw(handle) });
}

/// Names mean something else from now on: those of tenants with a place of their own, of guarding gateways, of models.
///
/// # Safety
/// `handle` comes from `blastdoor_new` and nobody else uses it meanwhile; every pointer is good for the length of the
/// call. So it is with all functions that follow, here and in `sheet_calls`.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_adopt(handle: *mut Handle, known: Texts, guards: Texts) -> i32 {
    let work = |counter: &mut Counter, _: &mut Told| {
        counter.bounds.known = unsafe { known.each() }.map(<[u8]>::to_vec).collect();
        counter.guards = unsafe { guards.each() }.map(<[u8]>::to_vec).collect();
        counter.forget_names();
        Some(DONE)
    };
    unsafe { answering(handle, work) }
}

/// Names of models and what they are counted under, in turn.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_name(handle: *mut Handle, names: Texts) -> i32 {
    let work = |counter: &mut Counter, _: &mut Told| {
        let mut names = unsafe { names.each() };
        while let Some(model) = names.next() {
            counter.name(model, names.next()?);
        }
        Some(DONE)
    };
    unsafe { answering(handle, work) }
}

/// Read a lot; `stamps` may be none. Numbers: the lot's own, the members of `Span`, then the lengths of the models' names
/// that are new, which are the text.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_read(
    handle: *mut Handle,
    lot: Texts,
    stamps: Numbers,
    now: Millis,
    apart: Millis,
) -> i32 {
    let work = |counter: &mut Counter, told: &mut Told| {
        let (bytes, lengths) = unsafe { lot.whole() };
        if counter.lot.read(bytes, lengths).is_none() {
            return Some(NOT_PLAIN);
        }
        let span = counter.lot.span(unsafe { stamps.all() }, now, apart);
        told.numbers.push(counter.lot.number as i64);
        told.numbers.extend([span.first, span.last, span.newest]);
        told.numbers.extend([span.sent, span.sent_last]);
        for name in counter.strangers() {
            told.numbers.push(name.len() as i64);
            told.text.extend_from_slice(name);
        }
        Some(DONE)
    };
    unsafe { answering(handle, work) }
}

/// Count the lot of this number. `day`: -1 for none. The answer: see `tell`.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_count(
    handle: *mut Handle,
    number: u64,
    offsets: Numbers,
    day: i64,
) -> i32 {
    let work = |counter: &mut Counter, told: &mut Told| {
        let day = usize::try_from(day).ok();
        let counted = counter.count(number, unsafe { offsets.all() }, day)?;
        let of_day = day.and_then(|day| counter.days[day].as_ref());
        tell(counter, &counted, told);
        told.numbers[4] = i64::from(of_day.map_or(false, |day| day.crowded));
        Some(DONE)
    };
    unsafe { answering(handle, work) }
}

/// Numbers: duplicates, those that differ, how many groups and totals, whether the day is crowded; then of each group 12,
/// in the order of their minutes, and of each total 5. The last of these is the length of a key, and keys are the text.
fn tell(counter: &Counter, counted: &Counted, told: &mut Told) {
    let out = &mut told.numbers;
    out.extend([counted.duplicates, counted.differing]);
    out.extend([counted.groups.len() as i64, counted.told.len() as i64, 0]);
    let mut groups: Vec<_> = counted.groups.iter().collect();
    groups.sort_by_key(|group| group.minute);
    for group in groups {
        out.extend([group.alias as i64, group.minute, group.offset]);
        out.extend(group.sums.iter().map(|&sum| sum as i64));
    }
    for total in &counted.told {
        let event = &counter.lot.events[total.event];
        let (today, key) = (event.today.unwrap_or(0), counter.lot.text(event.key_hash));
        out.extend([total.alias as i64, event.at, today as i64]);
        out.extend([event.total as i64, key.len() as i64]);
        told.text.extend_from_slice(key);
    }
}

/// Note the ids of the lot of this number, without counting.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_note(handle: *mut Handle, number: u64, offsets: Numbers) -> i32 {
    let work = |counter: &mut Counter, _: &mut Told| {
        counter.note(number, unsafe { offsets.all() })?;
        Some(DONE)
    };
    unsafe { answering(handle, work) }
}

/// Note ids one by one. `calls`: id and model in turn. Numbers: for each 0 fresh, 1 duplicate, 2 one that differs.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_tell_apart(
    handle: *mut Handle,
    calls: Texts,
    tokens: Numbers,
    offsets: Numbers,
) -> i32 {
    let work = |counter: &mut Counter, told: &mut Told| {
        let mut texts = unsafe { calls.each() };
        let (tokens, offsets) = unsafe { (tokens.all(), offsets.all()) };
        for (&tokens, &offset) in tokens.iter().zip(offsets) {
            let (id, model) = (texts.next()?, texts.next()?);
            let said = said_of(model, tokens as u64);
            told.numbers
                .push(match counter.window.note(id, offset, said) {
                    Verdict::Fresh => 0,
                    Verdict::Duplicate { differs } => 1 + i64::from(differs),
                });
        }
        Some(DONE)
    };
    unsafe { answering(handle, work) }
}

/// Forget ids that no offset from `position` on can ask for. Numbers: how many are left.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_trim(handle: *mut Handle, position: i64) -> i32 {
    let work = |counter: &mut Counter, told: &mut Told| {
        counter.window.trim(position);
        told.numbers.push(counter.window.held() as i64);
        Some(DONE)
    };
    unsafe { answering(handle, work) }
}
