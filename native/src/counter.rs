//! The count of one source partition: lots of events are read, told apart and summed.

use std::collections::HashMap;

use crate::event::{self, Event};
use crate::instant::Millis;
use crate::journal::{Heading, Journal};
use crate::sheets::{Amount, Bounds, Day};
use crate::window::{Verdict, Window};

const MINUTE: Millis = 60_000;
const SUCCESS: &[u8] = b"success";
const SAID: u64 = 0xFFFF;

/// A model as gateways name it.
struct Alias {
    canonical: Vec<u8>,
    said: u16,
    lot: u64, // in which it was seen last, in this minute and group
    minute: i64,
    group: usize,
}

/// One model's calls of one minute, summed in the order of `Sums`.
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

/// When the calls of a lot ended, and when the lot was sent.
pub struct Span {
    pub first: Millis,
    pub last: Millis,
    pub newest: Millis, // of the event that stands last
    pub sent: Millis,   // of the event that stands first
    pub sent_last: Millis,
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
    pub lot: Vec<Event>,
    aliases: Vec<Alias>,
    by_name: HashMap<Vec<u8>, usize>,
    lots: u64,
}

impl Counter {
    pub fn new(window: i64, bounds: Bounds) -> Self {
        Counter {
            window: Window::new(window),
            bounds,
            guards: Vec::new(),
            days: Vec::new(),
            journal: Journal::default(),
            lot: Vec::new(),
            aliases: Vec::new(),
            by_name: HashMap::new(),
            lots: 0,
        }
    }

    /// Read one event from each stretch of `lot`. None: not all of them are plain, and nothing was read.
    pub fn read(&mut self, lot: &[u8], lengths: &[u32]) -> Option<()> {
        self.lot.clear();
        let mut start = 0;
        for &length in lengths {
            let end = start + length as usize;
            match event::parse(lot, start, end) {
                Some(found) => self.lot.push(found),
                None => {
                    self.lot.clear();
                    return None;
                }
            }
            start = end;
        }
        Some(())
    }

    /// `stamps`: of the records. What they are worth is told in `streams/stamps.py`.
    pub fn span(&self, stamps: &[Millis], now: Millis, apart: Millis) -> Span {
        let sent =
            |(event, &stamp): (&Event, &Millis)| stamp.max(event.at.min(now)).min(now + apart);
        let mut all_sent = self.lot.iter().zip(stamps).map(sent);
        let sent = all_sent.next().unwrap_or(0);
        Span {
            first: self.lot.iter().map(|event| event.at).min().unwrap_or(0),
            last: self.lot.iter().map(|event| event.at).max().unwrap_or(0),
            newest: self.lot.last().map_or(0, |event| event.at),
            sent,
            sent_last: all_sent.fold(sent, Millis::max),
        }
    }

    /// The models of the lot that nobody has named yet, each once.
    pub fn strangers<'a>(&self, lot: &'a [u8]) -> Vec<&'a [u8]> {
        let mut found: Vec<&[u8]> = Vec::new();
        for name in self.lot.iter().map(|event| event.model.of(lot)) {
            if !self.by_name.contains_key(name) && !found.contains(&name) {
                found.push(name);
            }
        }
        found
    }

    /// Models are numbered in the order in which they are named.
    pub fn name(&mut self, model: &[u8], canonical: &[u8]) {
        self.by_name.insert(model.to_vec(), self.aliases.len());
        let (canonical, said) = (canonical.to_vec(), said_of(model));
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

    /// Note the ids of the lot, whose events were counted in an earlier life.
    pub fn note(&mut self, lot: &[u8], offsets: &[i64]) {
        for (event, &offset) in self.lot.iter().zip(offsets) {
            let said = said_of(event.model.of(lot)) ^ (event.total & SAID) as u16;
            self.window.note(event.id.of(lot), offset, said);
        }
    }

    /// Count the lot that was read. `day`: of tenants' sheets, if they are wanted. None: a model has no name.
    pub fn count(&mut self, lot: &[u8], offsets: &[i64], day: Option<usize>) -> Option<Counted> {
        let aliases: Option<Vec<usize>> = self
            .lot
            .iter()
            .map(|event| self.by_name.get(event.model.of(lot)).copied())
            .collect();
        let (aliases, mut counted) = (aliases?, Counted::default());
        self.lots += 1;
        let mut accepted = Vec::with_capacity(self.lot.len());
        for (place, (&alias, &offset)) in aliases.iter().zip(offsets).enumerate() {
            let event = &self.lot[place];
            let said = self.aliases[alias].said ^ (event.total & SAID) as u16;
            if let Verdict::Duplicate { differs } = self.window.note(event.id.of(lot), offset, said)
            {
                counted.duplicates += 1;
                counted.differing += i64::from(differs);
                continue;
            }
            let group = self.group_of(&mut counted.groups, alias, place);
            counted.groups[group].offset = offset;
            self.sum(&mut counted.groups[group].sums, lot, place);
            if self.lot[place].today.is_some() {
                counted.told.push(Told {
                    alias,
                    event: place,
                });
            }
            accepted.push((group, place));
        }
        if let Some(day) = day {
            self.enter(lot, &counted.groups, &mut accepted, day);
        }
        Some(counted)
    }

    fn group_of(&mut self, groups: &mut Vec<Group>, alias: usize, place: usize) -> usize {
        let minute = self.lot[place].at / MINUTE;
        let model = &mut self.aliases[alias];
        if model.lot == self.lots && model.minute == minute {
            return model.group;
        }
        let known = groups
            .iter()
            .position(|group| group.alias == alias && group.minute == minute);
        let group = known.unwrap_or_else(|| {
            groups.push(Group {
                alias,
                minute,
                offset: 0,
                sums: [0; 9],
            });
            groups.len() - 1
        });
        (model.lot, model.minute, model.group) = (self.lots, minute, group);
        group
    }

    fn sum(&self, sums: &mut [u64; 9], lot: &[u8], place: usize) {
        let event = &self.lot[place];
        let [tokens, requests, prompt, completion, cached, hits, failed, estimated, guarded] = sums;
        *requests += 1;
        if event.hit == Some(true) {
            *hits += 1;
        } else {
            *tokens += event.total;
            *prompt += event.prompt.unwrap_or(0);
            *completion += event.completion.unwrap_or(0);
            *cached += event.cached.unwrap_or(0);
            *guarded += if self.is_guarded(lot, event) {
                event.total
            } else {
                0
            };
        }
        *failed += u64::from(event.status.is_some() && event.status.of(lot) != SUCCESS);
        *estimated += u64::from(event.estimated == Some(true));
    }

    fn is_guarded(&self, lot: &[u8], event: &Event) -> bool {
        event.source.is_some()
            && self
                .guards
                .iter()
                .any(|guard| guard == event.source.of(lot))
    }

    /// Count by tenant, minute by minute and model by model: in the order in which the fold in Python meets them.
    fn enter(&mut self, lot: &[u8], groups: &[Group], accepted: &mut [(usize, usize)], day: usize) {
        accepted.sort_by_key(|&(group, _)| (groups[group].minute, group));
        let mut day = match self.days[day].take() {
            Some(found) => (day, found),
            None => return,
        };
        for calls in accepted_by_group(accepted) {
            let model = self.aliases[groups[calls[0].0].alias].canonical.clone();
            self.enter_calls(lot, &model, calls, &mut day.1);
        }
        self.days[day.0] = Some(day.1);
    }

    fn enter_calls(&mut self, lot: &[u8], model: &[u8], calls: &[(usize, usize)], day: &mut Day) {
        for &(_, place) in calls {
            let (event, tenant) = (&self.lot[place], self.lot[place].tenant.of(lot));
            let (sheet, guarded) = (
                day.sheet_of(tenant, &self.bounds),
                self.is_guarded(lot, event),
            );
            let [prompt, completion, cached] =
                [event.prompt, event.completion, event.cached].map(|n| n.unwrap_or(0));
            let hit = event.hit == Some(true);
            let values = [
                model,
                event.department.of(lot),
                event.user.of(lot),
                event.base.of(lot),
            ];
            day.add(
                sheet,
                values,
                Amount::of(hit, event.total, prompt, completion, cached, guarded),
                &self.bounds,
            );
            let other = Some(day.tenant(sheet)).filter(|name| day.crowded && *name != tenant);
            self.journal.note(
                &Heading {
                    day: &day.text,
                    model,
                },
                lot,
                event,
                other,
                guarded,
            );
        }
        self.journal.close(&Heading {
            day: &day.text,
            model,
        });
    }
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

/// Of a model, in 16 bits; FNV-1a, folded.
pub fn said_of(model: &[u8]) -> u16 {
    let hash = model.iter().fold(0x811c_9dc5u32, |hash, &byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    (hash ^ (hash >> 16)) as u16
}
