//! Names as numbers. Each day has its own, so that what strangers make up goes with it.

use std::collections::HashMap;

pub type Id = u32;

/// The number of the empty name: of what names none.
pub const UNASSIGNED: Id = 0;

pub struct Names {
    ids: HashMap<Box<[u8]>, Id>,
    texts: Vec<Box<[u8]>>,
}

impl Names {
    pub fn new() -> Self {
        let mut names = Names {
            ids: HashMap::new(),
            texts: Vec::new(),
        };
        names.take(b"");
        names
    }

    pub fn find(&self, name: &[u8]) -> Option<Id> {
        if name.is_empty() && !self.texts.is_empty() {
            return Some(UNASSIGNED);
        }
        self.ids.get(name).copied()
    }

    /// The number of a name, which gets one if it has none.
    pub fn take(&mut self, name: &[u8]) -> Id {
        self.find(name).unwrap_or_else(|| {
            let id = self.texts.len() as Id;
            self.texts.push(name.into());
            self.ids.insert(name.into(), id);
            id
        })
    }

    pub fn text(&self, id: Id) -> &[u8] {
        &self.texts[id as usize]
    }
}
