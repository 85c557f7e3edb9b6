//! The count of one source partition: lots of events are read, told apart and summed.

use std::collections::{HashMap, HashSet};

use crate::event::Event;
use crate::instant::Millis;
use crate::journal::{Heading, Journal};
use crate::lot::Lot;
use crate::sheets::{Amount, Bounds, Day};
use crate::window::{Verdict, Window};

const MINUTE: Millis = 60_000;
const SUCCESS: &[u8] = b"success";

/// A model as gateways name it.
struct Alias {
    canonical: Vec<u8>,
    said: u16,
    lot: u64, // in which it was seen last, in this minute and group; 0 is none
    minute: i64,
    group: usize,
}

/// One model's calls of one minute, summed in the order of `Sums`. `offset`: of the last of them.
pub struct Group {
    pub alias: usize,
    pub minute: i64,
    pub offset: i64,
    pub sums: [u64; 9],
}

/// A gateway's own total of the day, as one of its calls tells it.
pub struct Told {
    pub alias: usize,
    pub event: usize,
}

#[derive(Default)]
pub struct Counted {
    pub duplicates: i64,
    pub differing: i64,
    pub groups: Vec<Group>,
    pub told: Vec<Told>,
}

pub struct Counter {
    pub window: Window,
    pub bounds: Bounds,
    pub guards: Vec<Vec<u8>>,
    pub days: Vec<Option<Day>>,
    pub journal: Journal,
    pub lot: Lot,
    aliases: Vec<Alias>,
    by_name: HashMap<Vec<u8>, usize>,
}

impl Counter {
    pub fn new(window: i64, bounds: Bounds) -> Self {
        Counter {
            window: Window::new(window),
            bounds,
            guards: Vec::new(),
            days: Vec::new(),
            journal: Journal::default(),
            lot: Lot::default(),
            aliases: Vec::new(),
            by_name: HashMap::new(),
        }
    }

    /// The models of the lot that nobody has named yet, each once.
    pub fn strangers(&self) -> Vec<&[u8]> {
        let mut met = HashSet::new();
        let names = self
            .lot
            .events
            .iter()
            .map(|event| self.lot.text(event.model));
        names
            .filter(|&name| !self.by_name.contains_key(name) && met.insert(name))
            .collect()
    }

    /// Models are numbered in the order in which they are named.
    pub fn name(&mut self, model: &[u8], canonical: &[u8]) {
        self.by_name.insert(model.to_vec(), self.aliases.len());
        let (canonical, said) = (canonical.to_vec(), folded(model));
        self.aliases.push(Alias {
            canonical,
            said,
            lot: 0,
            minute: 0,
            group: 0,
        });
    }

    /// Names mean something else from now on.
    pub fn forget_names(&mut self) {
        self.by_name.clear();
        self.aliases.clear();
    }

    /// Note the ids of the lot, whose events were counted in an earlier life. None: there is no such lot, or not an
    /// offset for each.
    pub fn note(&mut self, number: u64, offsets: &[i64]) -> Option<()> {
        self.lot.take_up(number, offsets.len())?;
        for (event, &offset) in self.lot.events.iter().zip(offsets) {
            let said = said_of(self.lot.text(event.model), event.total);
            self.window.note(self.lot.text(event.id), offset, said);
        }
        Some(())
    }

    /// Count the lot that was read, once. `day`: of tenants' sheets, if they are wanted. None: it is not this lot, there
    /// is not an offset for each event, or a model has no name.
    pub fn count(&mut self, number: u64, offsets: &[i64], day: Option<usize>) -> Option<Counted> {
        self.lot.take_up(number, offsets.len())?;
        let names = self
            .lot
            .events
            .iter()
            .map(|event| self.lot.text(event.model));
        let aliases: Option<Vec<usize>> =
            names.map(|name| self.by_name.get(name).copied()).collect();
        let (aliases, mut counted, mut accepted) = (aliases?, Counted::default(), Vec::new());
        let mut places = HashMap::new();
        for (place, (&alias, &offset)) in aliases.iter().zip(offsets).enumerate() {
            if self.is_duplicate(place, alias, offset, &mut counted) {
                continue;
            }
            let group = self.group_of(&mut places, &mut counted.groups, alias, place);
            counted.groups[group].offset = offset;
            self.sum(&mut counted.groups[group].sums, place);
            if self.lot.events[place].today.is_some() {
                counted.told.push(Told {
                    alias,
                    event: place,
                });
            }
            accepted.push((group, place));
        }
        if let Some(day) = day {
            self.enter(&counted.groups, &mut accepted, day)?;
        }
        Some(counted)
    }

    fn is_duplicate(
        &mut self,
        place: usize,
        alias: usize,
        offset: i64,
        counted: &mut Counted,
    ) -> bool {
        let event = &self.lot.events[place];
        let said = self.aliases[alias].said ^ event.total as u16;
        match self.window.note(self.lot.text(event.id), offset, said) {
            Verdict::Fresh => false,
            Verdict::Duplicate { differs } => {
                counted.duplicates += 1;
                counted.differing += i64::from(differs);
                true
            }
        }
    }

    /// Most calls of a model follow others of the same minute; only for the rest it is looked up.
    fn group_of(
        &mut self,
        places: &mut HashMap<(usize, i64), usize>,
        groups: &mut Vec<Group>,
        alias: usize,
        place: usize,
    ) -> usize {
        let minute = self.lot.events[place].at / MINUTE;
        let model = &mut self.aliases[alias];
        if model.lot == self.lot.number && model.minute == minute {
            return model.group;
        }
        let group = *places.entry((alias, minute)).or_insert_with(|| {
            groups.push(Group {
                alias,
                minute,
                offset: 0,
                sums: [0; 9],
            });
            groups.len() - 1
        });
        (model.lot, model.minute, model.group) = (self.lot.number, minute, group);
        group
    }

    fn sum(&self, sums: &mut [u64; 9], place: usize) {
        let event = &self.lot.events[place];
        let [tokens, requests, prompt, completion, cached, hits, failed, estimated, guarded] = sums;
        *requests += 1;
        if event.hit == Some(true) {
            *hits += 1;
        } else {
            *tokens += event.total;
            *prompt += event.prompt.unwrap_or(0);
            *completion += event.completion.unwrap_or(0);
            *cached += event.cached.unwrap_or(0);
            *guarded += if self.is_guarded(event) {
                event.total
            } else {
                0
            };
        }
        *failed += u64::from(event.status.is_some() && self.lot.text(event.status) != SUCCESS);
        *estimated += u64::from(event.estimated == Some(true));
    }

    fn is_guarded(&self, event: &Event) -> bool {
        let source = self.lot.text(event.source);
        event.source.is_some() && self.guards.iter().any(|guard| guard == source)
    }

    /// Count by tenant, minute by minute and model by model: in the order in which the fold in Python meets them.
    fn enter(
        &mut self,
        groups: &[Group],
        accepted: &mut [(usize, usize)],
        number: usize,
    ) -> Option<()> {
        accepted.sort_by_key(|&(group, _)| (groups[group].minute, group));
        let mut day = self.days.get_mut(number)?.take()?;
        for calls in accepted_by_group(accepted) {
            let model = self.aliases[groups[calls[0].0].alias].canonical.clone();
            self.enter_calls(&model, calls, &mut day);
        }
        self.days[number] = Some(day);
        Some(())
    }

    fn enter_calls(&mut self, model: &[u8], calls: &[(usize, usize)], day: &mut Day) {
        for &(_, place) in calls {
            let event = &self.lot.events[place];
            let (guarded, tenant) = (self.is_guarded(event), self.lot.text(event.tenant));
            let sheet = day.sheet_of(tenant, &self.bounds);
            let [department, user, base] =
                [event.department, event.user, event.base].map(|name| self.lot.text(name));
            let values = [model, department, user, base];
            day.add(sheet, values, amount_of(event, guarded), &self.bounds);
            let other = Some(day.tenant(sheet)).filter(|name| day.crowded && *name != tenant);
            let heading = Heading {
                day: &day.text,
                model,
            };
            self.journal
                .note(&heading, &self.lot.bytes, event, other, guarded);
        }
        let heading = Heading {
            day: &day.text,
            model,
        };
        self.journal.close(&heading);
    }
}

fn amount_of(event: &Event, guarded: bool) -> Amount {
    let hit = event.hit == Some(true);
    let [prompt, completion, cached] =
        [event.prompt, event.completion, event.cached].map(|number| number.unwrap_or(0));
    Amount::of(hit, event.total, prompt, completion, cached, guarded)
}

/// Stretches of the same group.
fn accepted_by_group(accepted: &[(usize, usize)]) -> impl Iterator<Item = &[(usize, usize)]> {
    let mut rest = accepted;
    std::iter::from_fn(move || {
        let group = rest.first()?.0;
        let length = rest.iter().take_while(|call| call.0 == group).count();
        let (calls, others) = rest.split_at(length);
        rest = others;
        Some(calls)
    })
}

/// What tells two events of one id apart, in 16 bits.
pub fn said_of(model: &[u8], tokens: u64) -> u16 {
    folded(model) ^ tokens as u16
}

/// FNV-1a of a model, in 16 bits.
fn folded(model: &[u8]) -> u16 {
    let hash = model.iter().fold(0x811c_9dc5u32, |hash, &byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    (hash ^ (hash >> 16)) as u16
}
