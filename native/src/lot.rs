//! A lot: records one after another and the event in each. It is kept until the next one is read, and counted or noted at
//! most once, by its number.

use crate::cursor::Span as Text;
use crate::event::{self, Event};
use crate::instant::Millis;

#[derive(Default)]
pub struct Lot {
    /// A copy, in which escapes are replaced.
    pub bytes: Vec<u8>,
    pub events: Vec<Event>,
    pub number: u64,
    is_new: bool,
}

/// When the calls of a lot ended, and when the lot was sent.
pub struct Span {
    pub first: Millis,
    pub last: Millis,
    pub newest: Millis, // of the event that stands last
    pub sent: Millis,   // of the event that stands first
    pub sent_last: Millis,
}

impl Lot {
    /// Read one event from each record. None: not all of them are plain, and there is no lot now.
    pub fn read(&mut self, bytes: &[u8], lengths: &[u32]) -> Option<()> {
        (self.is_new, self.number) = (false, self.number + 1);
        self.events.clear();
        self.bytes.clear();
        if u32::try_from(bytes.len()).is_err() {
            return None; // further than a span reaches
        }
        self.bytes.reserve(bytes.len());
        let mut rest = bytes;
        for &length in lengths {
            let (record, others) = rest.split_at(length as usize);
            rest = others;
            self.bytes.extend_from_slice(record);
            let start = self.bytes.len() - record.len();
            self.events.push(event::parse(&mut self.bytes, start)?);
        }
        self.is_new = true;
        Some(())
    }

    /// Lay hands on the lot of this number, once, with so many offsets.
    pub fn take_up(&mut self, number: u64, offsets: usize) -> Option<()> {
        let found = self.is_new && self.number == number && self.events.len() == offsets;
        self.is_new = false;
        found.then_some(())
    }

    pub fn text(&self, text: Text) -> &[u8] {
        text.of(&self.bytes)
    }

    /// `stamps`: of the records. What they are worth is told in `streams/stamps.py`.
    pub fn span(&self, stamps: &[Millis], now: Millis, apart: Millis) -> Span {
        let sent =
            |(event, &stamp): (&Event, &Millis)| stamp.max(event.at.min(now)).min(now + apart);
        let mut all_sent = self.events.iter().zip(stamps).map(sent);
        let sent = all_sent.next().unwrap_or(0);
        let times = || self.events.iter().map(|event| event.at);
        Span {
            first: times().min().unwrap_or(0),
            last: times().max().unwrap_or(0),
            newest: times().next_back().unwrap_or(0),
            sent,
            sent_last: all_sent.fold(sent, Millis::max),
        }
    }
}
