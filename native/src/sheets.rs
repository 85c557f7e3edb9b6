//! Tenants' sheets: what is summed of usage by tenant and day, over models, departments, users and knowledge bases. The
//! same places and sums as `rules/tenant_sheets.py`, whose rules hold here as well.

use std::collections::{HashMap, HashSet};

use crate::json;
use crate::names::{Id, Names, UNASSIGNED};

pub const WIDTH: usize = 7;
pub const DIMENSIONS: usize = 4;

/// Tokens, requests, prompt, completion, cached, cache hits, saved. A sum stops at the largest number: 18 million calls
/// a day of as many tokens as one may have do not end a worker.
pub type Cell = [u64; WIDTH];

/// The tenant of those that are too many.
pub const CROWD: &str = "…other";

/// What a call adds to a sheet.
#[derive(Clone, Copy)]
pub struct Amount {
    pub cell: Cell,
    pub guarded: u64,
}

impl Amount {
    pub fn of(
        hit: bool,
        total: u64,
        prompt: u64,
        completion: u64,
        cached: u64,
        guarded: bool,
    ) -> Self {
        if hit {
            return Amount {
                cell: [0, 1, 0, 0, 0, 1, total],
                guarded: 0,
            };
        }
        Amount {
            cell: [total, 1, prompt, completion, cached, 0, 0],
            guarded: if guarded { total } else { 0 },
        }
    }
}

/// What bounds the sheets: values of each dimension, tenants of a day, and who has a place beyond them.
pub struct Bounds {
    pub values: [usize; DIMENSIONS],
    pub tenants: usize,
    pub known: HashSet<Vec<u8>>,
}

/// The values of one dimension in the order in which they came. There are at most some hundreds, so that to look
/// through their numbers is faster than any index.
#[derive(Default)]
struct Lanes {
    ids: Vec<Id>,
    cells: Vec<Cell>,
}

impl Lanes {
    fn place(&self, id: Id) -> Option<usize> {
        self.ids.iter().position(|&known| known == id)
    }

    fn has_room(&self, most: usize) -> bool {
        self.ids.len() - usize::from(self.ids.contains(&UNASSIGNED)) < most
    }

    fn push(&mut self, id: Id, cell: Cell) {
        self.ids.push(id);
        self.cells.push(cell);
    }
}

/// One tenant's day.
pub struct Sheet {
    pub name: Id,
    dimensions: [Lanes; DIMENSIONS],
    others: [Cell; DIMENSIONS],
    total: Cell,
    guarded: u64,
    changed: bool,
}

impl Sheet {
    fn new(name: Id) -> Self {
        let empty = [0; WIDTH];
        Sheet {
            name,
            dimensions: Default::default(),
            others: [empty; DIMENSIONS],
            total: empty,
            guarded: 0,
            changed: false,
        }
    }

    pub fn cells(&self) -> usize {
        self.dimensions.iter().map(|lanes| lanes.ids.len()).sum()
    }

    /// Tokens, requests, cached, cache hits, guarded, saved: what a budget and a digest need.
    pub fn brief(&self) -> [u64; 6] {
        let [tokens, requests, _, _, cached, hits, saved] = self.total;
        [tokens, requests, cached, hits, self.guarded, saved]
    }

    /// As it is stored and told.
    pub fn write(&self, names: &Names, out: &mut Vec<u8>) {
        let cell = |out: &mut Vec<u8>, cell: &Cell| {
            json::list(out, *b"[]", cell, |out, &sum| json::number(out, sum))
        };
        out.push(b'[');
        for lanes in &self.dimensions {
            json::list(
                out,
                *b"{}",
                lanes.ids.iter().zip(&lanes.cells),
                |out, (&id, sums)| {
                    json::string(out, names.text(id));
                    out.push(b':');
                    cell(out, sums);
                },
            );
            out.push(b',');
        }
        json::list(out, *b"[]", &self.others, cell);
        out.push(b',');
        json::number(out, self.guarded);
        out.push(b']');
    }
}

/// All sheets of one day.
pub struct Day {
    pub text: String,
    pub names: Names,
    pub sheets: Vec<Sheet>,
    pub crowded: bool,
    by_tenant: HashMap<Id, usize>,
    changed: Vec<usize>,
}

impl Day {
    pub fn new(text: String) -> Self {
        Day {
            text,
            names: Names::default(),
            sheets: Vec::new(),
            crowded: false,
            by_tenant: HashMap::new(),
            changed: Vec::new(),
        }
    }

    /// The sheet of a tenant; of one that finds no place, that of the crowd.
    pub fn sheet_of(&mut self, tenant: &[u8], bounds: &Bounds) -> usize {
        if let Some(found) = self.find(tenant) {
            return found;
        }
        if self.sheets.len() >= bounds.tenants
            && !tenant.is_empty()
            && !bounds.known.contains(tenant)
        {
            self.crowded = true;
            return self.own_sheet_of(CROWD.as_bytes());
        }
        self.own_sheet_of(tenant)
    }

    /// The sheet of a tenant that has had its place.
    pub fn own_sheet_of(&mut self, tenant: &[u8]) -> usize {
        self.find(tenant).unwrap_or_else(|| {
            let (id, place) = (self.names.take(tenant), self.sheets.len());
            self.sheets.push(Sheet::new(id));
            self.by_tenant.insert(id, place);
            place
        })
    }

    /// Add a call. `values`: its model, department, user and knowledge base.
    pub fn add(
        &mut self,
        sheet: usize,
        values: [&[u8]; DIMENSIONS],
        amount: Amount,
        bounds: &Bounds,
    ) {
        self.note_change(sheet);
        let found = &mut self.sheets[sheet];
        add(&mut found.total, &amount.cell);
        found.guarded = found.guarded.saturating_add(amount.guarded);
        for (dimension, value) in values.into_iter().enumerate() {
            let lanes = &mut found.dimensions[dimension];
            let id = self.names.find(value);
            if let Some(place) = id.and_then(|id| lanes.place(id)) {
                add(&mut lanes.cells[place], &amount.cell);
            } else if id == Some(UNASSIGNED) || lanes.has_room(bounds.values[dimension]) {
                lanes.push(self.names.take(value), amount.cell);
            } else {
                add(&mut found.others[dimension], &amount.cell);
            }
        }
    }

    /// Take up a sheet as it was stored; it counts as changed, as whoever stored it may have died before it was told.
    pub fn restore<'a>(
        &mut self,
        tenant: &[u8],
        values: impl Iterator<Item = (usize, &'a [u8], Cell)>,
        others: [Cell; DIMENSIONS],
        guarded: u64,
    ) {
        let place = self.own_sheet_of(tenant);
        let mut sheet = Sheet::new(self.sheets[place].name);
        sheet.changed = self.sheets[place].changed;
        (sheet.others, sheet.total, sheet.guarded) = (others, others[0], guarded);
        for (dimension, value, cell) in values {
            sheet.dimensions[dimension].push(self.names.take(value), cell);
            if dimension == 0 {
                add(&mut sheet.total, &cell);
            }
        }
        self.sheets[place] = sheet;
        self.note_change(place);
    }

    fn note_change(&mut self, place: usize) {
        if !std::mem::replace(&mut self.sheets[place].changed, true) {
            self.changed.push(place);
        }
    }

    /// The sheets that changed since the last call.
    pub fn settle(&mut self) -> Vec<usize> {
        let changed = std::mem::take(&mut self.changed);
        for &place in &changed {
            self.sheets[place].changed = false;
        }
        changed
    }

    pub fn tenant(&self, sheet: usize) -> &[u8] {
        self.names.text(self.sheets[sheet].name)
    }

    fn find(&self, tenant: &[u8]) -> Option<usize> {
        self.names
            .find(tenant)
            .and_then(|id| self.by_tenant.get(&id))
            .copied()
    }
}

fn add(sums: &mut Cell, more: &Cell) {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum = sum.saturating_add(*more);
    }
}
