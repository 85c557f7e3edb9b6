//! Lots as nobody should write them: reading and counting them ends, and what was read are whole characters.

use std::collections::HashSet;

use blastdoor_native::counter::Counter;
use blastdoor_native::sheets::{Bounds, Day};

const EVENT: &str = r#"{"type": "usage","id":"req-1","ts":"2026-08-13T11:08:00.123456789+08:00","model":"m\u7814","tenant":"研发\ud83d\ude00","user":"a\"b\\","prompt_tokens":1200,"completion_tokens":300,"total_tokens":1500,"cached_tokens":20,"cache_hit":false,"estimated":true,"source":"guard","today":77,"key_hash":"k","note":null}"#;
const PIECES: [&[u8]; 16] = [
    b"\"", b"\\", b"\\u", b"\\ud83d", b"\\\"", b"{", b"}", b",", b":", b" ", b"\xff", b"\xe7",
    b"0", b"9", b"null", b"\n",
];
const LOTS: usize = if cfg!(miri) { 60 } else { 3000 };

/// Marsaglia's xorshift: the same lots in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    /// Some bytes of `text` replaced, left out, put in or cut off.
    fn spoil(&mut self, text: &mut Vec<u8>) {
        for _ in 0..self.below(3) {
            let (begin, length) = (self.below(text.len() + 1), self.below(3));
            let end = text.len().min(begin + length);
            let piece = PIECES[self.below(PIECES.len())];
            text.splice(begin..end, piece.iter().copied());
        }
        if self.below(20) == 0 {
            text.truncate(self.below(text.len() + 1));
        }
    }

    fn lot(&mut self) -> (Vec<u8>, Vec<u32>) {
        let (mut bytes, mut lengths) = (Vec::new(), Vec::new());
        for _ in 0..self.below(4) {
            let mut text = EVENT.as_bytes().to_vec();
            self.spoil(&mut text);
            lengths.push(text.len() as u32);
            bytes.extend(text);
        }
        (bytes, lengths)
    }
}

fn counter() -> Counter {
    let bounds = Bounds {
        values: [2; 4],
        tenants: 3,
        known: HashSet::new(),
    };
    let mut counter = Counter::new(10, bounds);
    counter.guards = vec![b"guard".to_vec()];
    counter.days.push(Some(Day::new("2026-08-13".to_owned())));
    counter
}

/// Name the models of the lot and count it.
fn count(counter: &mut Counter, offset: i64) -> usize {
    let strangers: Vec<Vec<u8>> = counter
        .strangers()
        .iter()
        .map(|name| name.to_vec())
        .collect();
    for name in &strangers {
        counter.name(name, name);
    }
    let calls = counter.lot.events.len();
    let offsets: Vec<i64> = (offset..).take(calls).collect();
    let number = counter.lot.number;
    assert!(counter.count(number, &offsets, Some(0)).is_some());
    assert!(counter.count(number, &offsets, Some(0)).is_none());
    calls
}

#[test]
fn spoiled_lots_end_well() {
    let (mut chance, mut counter, mut offset, mut read) = (Chance(42), counter(), 0, 0);
    for _ in 0..LOTS {
        let (bytes, lengths) = chance.lot();
        if counter.lot.read(&bytes, &lengths).is_none() {
            continue;
        }
        for event in &counter.lot.events {
            for text in [
                event.id,
                event.model,
                event.tenant,
                event.user,
                event.key_hash,
            ] {
                assert!(std::str::from_utf8(counter.lot.text(text)).is_ok());
            }
        }
        read += 1;
        offset += count(&mut counter, offset) as i64;
    }
    assert!(read > LOTS / 20);
}
