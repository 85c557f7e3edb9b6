//! Duplicate events: an id that stood at one of the `window` offsets before it in its partition. The same answers as
//! `rules/duplicates.py`, in 48 bytes an id and its room to grow.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

/// Ids are forgotten many at a time.
const SPARE: usize = 8;

type Key = u128;

/// Two hashes under keys that nobody knows: of 10^15 events not one is taken for another.
#[derive(Default)]
struct Digest(RandomState, RandomState);

impl Digest {
    fn of(&self, id: &[u8]) -> Key {
        let (mut first, mut second) = (self.0.build_hasher(), self.1.build_hasher());
        first.write(id);
        second.write(id);
        u128::from(first.finish()) << 64 | u128::from(second.finish())
    }
}

/// A key is a hash already.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers")
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = key as u64;
    }
}

#[derive(Clone, Copy)]
struct Held {
    offset: i64,
    turn: u32, // begins anew after 2^32, of which there are never so many at once
    said: u16,
}

pub enum Verdict {
    Fresh,
    Duplicate { differs: bool },
}

pub struct Window {
    size: i64,
    digest: Digest,
    last: HashMap<Key, Held, BuildHasherDefault<AsIs>>,
    /// Ids in the order in which they were noted; those that were noted again later stand here in vain.
    order: VecDeque<Key>,
    first: u32, // turn of the first in order
}

impl Window {
    pub fn new(size: i64) -> Self {
        Window {
            size,
            digest: Digest::default(),
            last: HashMap::default(),
            order: VecDeque::new(),
            first: 0,
        }
    }

    pub fn held(&self) -> usize {
        self.last.len()
    }

    /// Note that `id` stands at `offset` and says `said`, 16 bits of what tells two events of one id apart.
    pub fn note(&mut self, id: &[u8], offset: i64, said: u16) -> Verdict {
        let key = self.digest.of(id);
        let turn = self.next_turn();
        self.order.push_back(key);
        match self.last.insert(key, Held { offset, turn, said }) {
            Some(held) if (offset.saturating_sub(self.size)..offset).contains(&held.offset) => {
                Verdict::Duplicate {
                    differs: held.said != said,
                }
            }
            _ => Verdict::Fresh,
        }
    }

    /// Forget what no offset from `position` on can ask for, once it is an eighth of the window. The same ids at the same
    /// time as in Python, so that a stretch of the log that is read again gives the same answers.
    pub fn trim(&mut self, position: i64) {
        let most = self.size as usize + self.size as usize / SPARE;
        if self.last.len() > most {
            self.forget(position.saturating_sub(self.size));
        }
        if self.order.len() > 2 * most {
            self.close_up();
        }
    }

    fn forget(&mut self, oldest: i64) {
        while let Some(key) = self.order.front() {
            match self.last.get(key) {
                Some(held) if held.turn == self.first && held.offset >= oldest => return,
                Some(held) if held.turn == self.first => self.last.remove(key),
                _ => None,
            };
            self.order.pop_front();
            self.first = self.first.wrapping_add(1);
        }
    }

    /// Leave out of the order what stands there in vain.
    fn close_up(&mut self) {
        let mut turn = self.first;
        for key in std::mem::take(&mut self.order) {
            let next = self.next_turn();
            if let Some(held) = self.last.get_mut(&key).filter(|held| held.turn == turn) {
                held.turn = next;
                self.order.push_back(key);
            }
            turn = turn.wrapping_add(1);
        }
    }

    fn next_turn(&self) -> u32 {
        self.first.wrapping_add(self.order.len() as u32)
    }
}
