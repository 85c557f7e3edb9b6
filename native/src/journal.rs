//! The calls counted since the last flush, as entries that can be counted again: see `Entry` in
//! `rules/tenant_sheets.py`.

use crate::cursor::Span;
use crate::event::Event;
use crate::json;

/// A longer entry is cut, so that rows of several stay small.
const ENTRY_BYTES: usize = 64 * 1024;

#[derive(Default)]
pub struct Journal {
    text: Vec<u8>,
    ends: Vec<usize>,
    lines: Vec<u8>,
    guards: Vec<Vec<u8>>,
}

/// What all lines of an entry have in common.
pub struct Heading<'a> {
    pub day: &'a str,
    pub model: &'a [u8],
}

impl Journal {
    /// Note a call. `tenant`: the name it was counted under, where that is not the one it gave.
    pub fn note(
        &mut self,
        heading: &Heading,
        lot: &[u8],
        event: &Event,
        tenant: Option<&[u8]>,
        is_guarded: bool,
    ) {
        if self.lines.len() > ENTRY_BYTES {
            self.close(heading);
        }
        if is_guarded
            && !self
                .guards
                .iter()
                .any(|guard| guard == event.source.of(lot))
        {
            self.guards.push(event.source.of(lot).to_vec());
        }
        let out = &mut self.lines;
        out.extend(if out.is_empty() {
            b"[".as_slice()
        } else {
            b",[".as_slice()
        });
        match tenant {
            Some(name) => json::string(out, name),
            None => text(out, event.tenant, lot),
        }
        for span in [event.department, event.user, event.base] {
            out.push(b',');
            text(out, span, lot);
        }
        for number in [
            Some(event.total),
            event.prompt,
            event.completion,
            event.cached,
        ] {
            out.push(b',');
            json::maybe_number(out, number);
        }
        out.extend(match event.hit {
            Some(true) => b",true,".as_slice(),
            Some(false) => b",false,".as_slice(),
            None => b",null,".as_slice(),
        });
        text(out, event.source, lot);
        out.push(b']');
    }

    /// End the entry, if it has any lines.
    pub fn close(&mut self, heading: &Heading) {
        if self.lines.is_empty() {
            return;
        }
        let out = &mut self.text;
        out.extend(b"[\"");
        out.extend(heading.day.as_bytes());
        out.extend(b"\",");
        json::string(out, heading.model);
        out.push(b',');
        self.guards.sort();
        json::list(out, *b"[]", &self.guards, |out, guard| {
            json::string(out, guard)
        });
        out.extend(b",[");
        out.append(&mut self.lines);
        out.extend(b"]]");
        self.ends.push(out.len());
        self.guards.clear();
    }

    /// Entries one after another, and where each ends. The journal starts empty.
    pub fn take(&mut self) -> (Vec<u8>, Vec<usize>) {
        (
            std::mem::take(&mut self.text),
            std::mem::take(&mut self.ends),
        )
    }
}

fn text(out: &mut Vec<u8>, span: Span, lot: &[u8]) {
    json::maybe_string(out, span.is_some().then(|| span.of(lot)));
}
