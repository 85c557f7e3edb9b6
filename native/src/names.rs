//! Names as numbers. Each day has its own, so that what strangers make up goes with it.

use std::collections::HashMap;
use std::rc::Rc;

pub type Id = u32;

/// The number of the empty name: of what names none.
pub const UNASSIGNED: Id = 0;

pub struct Names {
    ids: HashMap<Rc<[u8]>, Id>,
    texts: Vec<Rc<[u8]>>,
}

impl Default for Names {
    fn default() -> Self {
        let mut names = Names {
            ids: HashMap::new(),
            texts: Vec::new(),
        };
        names.take(b"");
        names
    }
}

impl Names {
    pub fn find(&self, name: &[u8]) -> Option<Id> {
        if name.is_empty() && !self.texts.is_empty() {
            return Some(UNASSIGNED);
        }
        self.ids.get(name).copied()
    }

    /// The number of a name, which gets one if it has none.
    pub fn take(&mut self, name: &[u8]) -> Id {
        self.find(name).unwrap_or_else(|| {
            let (id, name) = (self.texts.len() as Id, Rc::<[u8]>::from(name));
            self.texts.push(Rc::clone(&name));
            self.ids.insert(name, id);
            id
        })
    }

    pub fn text(&self, id: Id) -> &[u8] {
        &self.texts[id as usize]
    }
}
