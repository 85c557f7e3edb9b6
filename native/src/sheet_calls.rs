//! What Python calls of tenants' sheets. Of each function stands here what its answer is.

use crate::calls::DONE;
use crate::counter::Counter;
use crate::memory::{answering, Handle, Numbers, Texts, Told};
use crate::sheets::{Amount, Cell, Day, DIMENSIONS, WIDTH};

const LINE: usize = 6; // numbers of a call

/// Begin a day. Numbers: by what it is called from now on.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_begin_day(handle: *mut Handle, text: Texts) -> i32 {
    let work = |counter: &mut Counter, told: &mut Told| {
        let text = String::from_utf8_lossy(unsafe { text.each() }.next()?);
        told.numbers.push(counter.days.len() as i64);
        counter.days.push(Some(Day::new(text.into_owned())));
        Some(DONE)
    };
    unsafe { answering(handle, work) }
}

#[no_mangle]
pub unsafe extern "C" fn blastdoor_drop_day(handle: *mut Handle, day: usize) -> i32 {
    let work = |counter: &mut Counter, _: &mut Told| {
        *counter.days.get_mut(day)? = None;
        Some(DONE)
    };
    unsafe { answering(handle, work) }
}

/// Count calls of one model by tenant, without a journal. `names`: the model, then tenant, department, user and
/// knowledge base of each; `amounts`: total, prompt, completion, cached, whether a cache answered, whether guarded.
/// `own`: tenants have had their places. Numbers: for each whether it was counted under another tenant, then whether the
/// day is crowded.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_fold(
    handle: *mut Handle,
    day: usize,
    names: Texts,
    amounts: Numbers,
    own: i32,
) -> i32 {
    let work = |counter: &mut Counter, told: &mut Told| {
        let Counter { days, bounds, .. } = counter;
        let (day, mut names) = (days.get_mut(day)?.as_mut()?, unsafe { names.each() });
        let model = names.next()?;
        for line in unsafe { amounts.all() }.chunks_exact(LINE) {
            let tenant = names.next()?;
            let values = [model, names.next()?, names.next()?, names.next()?];
            let sheet = if own != 0 {
                day.own_sheet_of(tenant)
            } else {
                day.sheet_of(tenant, bounds)
            };
            day.add(sheet, values, amount_of(line), bounds);
            told.numbers.push(i64::from(day.tenant(sheet) != tenant));
        }
        told.numbers.push(i64::from(day.crowded));
        Some(DONE)
    };
    unsafe { answering(handle, work) }
}

fn amount_of(line: &[i64]) -> Amount {
    let [total, prompt, completion, cached] = [0, 1, 2, 3].map(|place| line[place] as u64);
    Amount::of(
        line[4] != 0,
        total,
        prompt,
        completion,
        cached,
        line[5] != 0,
    )
}

/// Take up a sheet as it was stored. `names`: the tenant, then the values of all dimensions; `counts`: values of each;
/// `sums`: a cell for each value, the four of others, and what is guarded.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_restore(
    handle: *mut Handle,
    day: usize,
    names: Texts,
    counts: Numbers,
    sums: Numbers,
) -> i32 {
    let work = |counter: &mut Counter, _: &mut Told| {
        let (counts, sums) = unsafe { (counts.all(), sums.all()) };
        let (values, mut names) = (counts.iter().sum::<i64>() as usize, unsafe { names.each() });
        let (tenant, (&guarded, sums)) = (names.next()?, sums.split_last()?);
        let mut cells = sums.chunks_exact(WIDTH).map(cell_of);
        if counts.len() != DIMENSIONS || cells.len() != values + DIMENSIONS {
            return None;
        }
        let mut found = Vec::with_capacity(values);
        for (dimension, &count) in counts.iter().enumerate() {
            for _ in 0..count {
                found.push((dimension, names.next()?, cells.next()?));
            }
        }
        let others = std::array::from_fn(|_| cells.next().unwrap_or_default());
        let day = counter.days.get_mut(day)?.as_mut()?;
        day.restore(tenant, found.into_iter(), others, guarded as u64);
        Some(DONE)
    };
    unsafe { answering(handle, work) }
}

fn cell_of(sums: &[i64]) -> Cell {
    std::array::from_fn(|place| sums[place] as u64)
}

/// The sheets that changed since the last call. Numbers: day, place, cells, and the six of `brief`, for each.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_settle(handle: *mut Handle) -> i32 {
    let work = |counter: &mut Counter, told: &mut Told| {
        for (number, day) in counter.days.iter_mut().enumerate() {
            for place in day.as_mut().map(Day::settle).unwrap_or_default() {
                let sheet = &day.as_ref()?.sheets[place];
                told.numbers
                    .extend([number as i64, place as i64, sheet.cells() as i64]);
                told.numbers
                    .extend(sheet.brief().iter().map(|&sum| sum as i64));
            }
        }
        Some(DONE)
    };
    unsafe { answering(handle, work) }
}

/// Names of a day's tenants from `place` on. Numbers: the length of each; they are the text.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_tenants(handle: *mut Handle, day: usize, place: usize) -> i32 {
    let work = |counter: &mut Counter, told: &mut Told| {
        let day = counter.days.get(day)?.as_ref()?;
        for sheet in place..day.sheets.len() {
            told.numbers.push(day.tenant(sheet).len() as i64);
            told.text.extend_from_slice(day.tenant(sheet));
        }
        Some(DONE)
    };
    unsafe { answering(handle, work) }
}

/// A sheet as it is stored: the text.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_sheet(handle: *mut Handle, day: usize, place: usize) -> i32 {
    let work = |counter: &mut Counter, told: &mut Told| {
        let day = counter.days.get(day)?.as_ref()?;
        day.sheets.get(place)?.write(&day.names, &mut told.text);
        Some(DONE)
    };
    unsafe { answering(handle, work) }
}

/// The journal since the last call. Numbers: where each entry ends in the text.
#[no_mangle]
pub unsafe extern "C" fn blastdoor_journal(handle: *mut Handle) -> i32 {
    let work = |counter: &mut Counter, told: &mut Told| {
        let (entries, ends) = counter.journal.take();
        told.text = entries;
        told.numbers.extend(ends.iter().map(|&end| end as i64));
        Some(DONE)
    };
    unsafe { answering(handle, work) }
}
