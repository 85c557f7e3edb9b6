//! The calls as Python makes them, with pointers: for a look at memory, as Miri and valgrind give it.

use crate::calls::{
    blastdoor_adopt, blastdoor_count, blastdoor_free, blastdoor_name, blastdoor_new,
    blastdoor_note, blastdoor_read, blastdoor_tell_apart, blastdoor_trim, DONE, NOT_PLAIN,
};
use crate::memory::{Handle, Numbers, Texts};
use crate::sheet_calls::{
    blastdoor_begin_day, blastdoor_drop_day, blastdoor_fold, blastdoor_journal, blastdoor_restore,
    blastdoor_settle, blastdoor_sheet, blastdoor_tenants,
};

const BROKEN: i32 = -1;
const EVENT: &str = r#"{"type":"usage","id":"a","ts":"2026-08-13T11:08:00Z","model":"m\u7814","tenant":"\"t","total_tokens":5,"today":7,"key_hash":"k"}"#;

struct Given {
    bytes: Vec<u8>,
    lengths: Vec<u32>,
}

fn given(texts: &[&str]) -> Given {
    Given {
        bytes: texts.concat().into_bytes(),
        lengths: texts.iter().map(|text| text.len() as u32).collect(),
    }
}

impl Given {
    fn texts(&self) -> Texts {
        Texts::new(&self.bytes, &self.lengths)
    }
}

fn numbers(items: &[i64]) -> Numbers {
    Numbers::new(items)
}

fn told(handle: *mut Handle) -> (Vec<i64>, Vec<u8>) {
    unsafe { (*handle).answer() }
}

fn read(handle: *mut Handle, lot: &Given) -> u64 {
    let none = Numbers::new(&[]);
    assert_eq!(
        unsafe { blastdoor_read(handle, lot.texts(), none, 0, 0) },
        DONE
    );
    told(handle).0[0] as u64
}

/// A counter with names and a day.
fn begun() -> *mut Handle {
    let handle = blastdoor_new(10, 2, 2, 2);
    let (none, day, names) = (
        given(&[]),
        given(&["2026-08-13"]),
        given(&["m研", "canonical"]),
    );
    unsafe {
        assert_eq!(blastdoor_adopt(handle, names.texts(), none.texts()), DONE);
        assert_eq!(blastdoor_begin_day(handle, day.texts()), DONE);
        assert_eq!(blastdoor_name(handle, names.texts()), DONE);
    }
    handle
}

#[test]
fn lots_pass() {
    let (handle, lot) = (begun(), given(&[EVENT, EVENT]));
    let (broken, none) = (given(&["{", ""]), given(&[]));
    unsafe {
        let number = read(handle, &lot);
        assert_eq!(blastdoor_count(handle, number, numbers(&[1, 2]), 0), DONE);
        let (counted, keys) = told(handle);
        assert_eq!(
            (&counted[..5], keys),
            ([1, 0, 1, 1, 0].as_slice(), b"k".to_vec())
        );
        assert_eq!(blastdoor_note(handle, number, numbers(&[1, 2])), BROKEN);
        let stamps = numbers(&[5, 6]);
        assert_eq!(
            blastdoor_read(handle, broken.texts(), stamps, 0, 0),
            NOT_PLAIN
        );
        let empty = read(handle, &none);
        assert_eq!(blastdoor_count(handle, empty, numbers(&[]), -1), DONE);
        let calls = given(&["a", "m", "", ""]);
        let (tokens, offsets) = (numbers(&[-1, 0]), numbers(&[3, 4]));
        assert_eq!(
            blastdoor_tell_apart(handle, calls.texts(), tokens, offsets),
            DONE
        );
        assert_eq!(told(handle).0, [2, 0]);
        assert_eq!(blastdoor_trim(handle, i64::MIN), DONE);
        blastdoor_free(handle);
    }
}

#[test]
fn sheets_pass() {
    let (handle, names) = (begun(), given(&["m", "t", "d", "u", "b"]));
    let sums = [0; 6 * 7 + 1];
    unsafe {
        let amounts = [1, 1, 0, 0, 0, 1];
        assert_eq!(
            blastdoor_fold(handle, 0, names.texts(), numbers(&amounts), 0),
            DONE
        );
        assert_eq!(
            blastdoor_fold(handle, 9, names.texts(), numbers(&amounts), 0),
            BROKEN
        );
        let (stored, counts) = (given(&["t", "m", "d"]), [1, 1, 0, 0]);
        let restore =
            |sums| blastdoor_restore(handle, 0, stored.texts(), numbers(&counts), numbers(sums));
        assert_eq!(restore(&sums), DONE);
        assert_eq!(restore(&sums[1..]), BROKEN);
        assert_eq!(blastdoor_settle(handle), DONE);
        assert_eq!(told(handle).0[..3], [0, 0, 2]);
        assert_eq!(blastdoor_tenants(handle, 0, 0), DONE);
        assert_eq!(told(handle), (vec![1], b"t".to_vec()));
        assert_eq!(blastdoor_sheet(handle, 0, 0), DONE);
        assert!(told(handle)
            .1
            .starts_with(br#"[{"m":[0,0,0,0,0,0,0]},{"d":"#));
        assert_eq!(blastdoor_sheet(handle, 0, 1), BROKEN);
        assert_eq!(blastdoor_journal(handle), DONE);
        assert_eq!(blastdoor_drop_day(handle, 0), DONE);
        assert_eq!(blastdoor_tenants(handle, 0, 0), BROKEN);
        blastdoor_free(handle);
    }
}
