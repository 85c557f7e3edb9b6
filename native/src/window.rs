//! Duplicate events: an id that stood at one of the `window` offsets before it in its partition. The same answers as
//! `rules/duplicates.py`, in 40 bytes an id.

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
    order: VecDeque<(i64, Key)>,
}

impl Window {
    pub fn new(size: i64) -> Self {
        Window {
            size,
            digest: Digest::default(),
            last: HashMap::default(),
            order: VecDeque::new(),
        }
    }

    pub fn held(&self) -> usize {
        self.last.len()
    }

    /// Note that `id` stands at `offset` and says `said`, 16 bits of what tells two events of one id apart.
    pub fn note(&mut self, id: &[u8], offset: i64, said: u16) -> Verdict {
        let key = self.digest.of(id);
        self.order.push_back((offset, key));
        match self.last.insert(key, Held { offset, said }) {
            Some(held) if (offset.saturating_sub(self.size)..offset).contains(&held.offset) => {
                Verdict::Duplicate {
                    differs: held.said != said,
                }
            }
            _ => Verdict::Fresh,
        }
    }

    /// Forget what no offset from `position` on can ask for, once it is an eighth of the window.
    pub fn trim(&mut self, position: i64) {
        let most = self.size as usize + self.size as usize / SPARE;
        if self.order.len() <= most {
            return;
        }
        let oldest = position.saturating_sub(self.size);
        while let Some(&(offset, key)) = self.order.front().filter(|(offset, _)| *offset < oldest) {
            if self.last.get(&key).map(|held| held.offset) == Some(offset) {
                self.last.remove(&key);
            }
            self.order.pop_front();
        }
    }
}
