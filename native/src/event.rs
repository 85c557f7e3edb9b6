//! One event of usage as gateways write it, read without copying. What is not plain is left to the reader in Python:
//! escapes, control characters, floating numbers, times without a zone, nested values, and everything that is wrong.
//! So whatever is read here is read alike there; `tests/native` holds both against each other.

use crate::instant::{self, Millis};

pub const MOST_TOKENS: u64 = 1_000_000_000_000;
const LONGEST_NAME: usize = 512; // bytes here, characters there
const LONGEST_TENANT: usize = 200;
const LONGEST_VALUE: usize = 64;

/// A text within the lot it was read from; `NOWHERE` for one that is missing or null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    start: u32,
    length: u32,
}

pub const NOWHERE: Span = Span {
    start: u32::MAX,
    length: 0,
};

impl Span {
    /// The bytes; empty for what is nowhere.
    pub fn of<'a>(&self, lot: &'a [u8]) -> &'a [u8] {
        if *self == NOWHERE {
            return b"";
        }
        &lot[self.start as usize..self.start as usize + self.length as usize]
    }

    pub fn is_some(&self) -> bool {
        *self != NOWHERE
    }

    pub fn start(&self) -> u32 {
        self.start
    }

    pub fn len(&self) -> u32 {
        self.length
    }
}

#[derive(Clone, Debug)]
pub struct Event {
    pub id: Span,
    pub at: Millis,
    pub model: Span,
    pub total: u64,
    pub prompt: Option<u64>,
    pub completion: Option<u64>,
    pub cached: Option<u64>,
    pub today: Option<u64>,
    pub tenant: Span,
    pub department: Span,
    pub user: Span,
    pub base: Span,
    pub key_hash: Span,
    pub status: Span,
    pub source: Span,
    pub hit: Option<bool>,
    pub estimated: Option<bool>,
}

/// The event that stands at `lot[start..end]`; None: it is not plain.
pub fn parse(lot: &[u8], start: usize, end: usize) -> Option<Event> {
    let text = &lot[start..end];
    if text.iter().fold(false, |found, &byte| {
        found | (byte < b' ') | (byte == b'\\') | (byte == 0x7f)
    }) {
        return None;
    }
    std::str::from_utf8(text).ok()?;
    let mut cursor = Cursor {
        lot: &lot[..end],
        at: start,
    };
    let found = cursor.object()?;
    cursor.skip_spaces();
    (cursor.at == end).then_some(found)
}

struct Cursor<'a> {
    lot: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn object(&mut self) -> Option<Event> {
        let (mut event, mut is_usage, mut total, mut at) = (nothing(), false, None, None);
        self.skip_spaces();
        self.expect(b'{')?;
        loop {
            self.skip_spaces();
            let key = self.string()?;
            self.skip_spaces();
            self.expect(b':')?;
            self.skip_spaces();
            match key.of(self.lot) {
                b"type" if !is_usage => is_usage = self.string()?.of(self.lot) == b"usage",
                b"id" => event.id = self.name(LONGEST_NAME)?,
                b"ts" => at = Some(instant::parse(self.string()?.of(self.lot))?),
                b"model" => event.model = self.name(LONGEST_NAME)?,
                b"total_tokens" => total = self.tokens()?,
                b"prompt_tokens" => event.prompt = self.tokens()?,
                b"completion_tokens" => event.completion = self.tokens()?,
                b"cached_tokens" => event.cached = self.tokens()?,
                b"today" => event.today = self.tokens()?,
                b"tenant" => event.tenant = self.text(LONGEST_TENANT)?,
                b"department" => event.department = self.text(LONGEST_VALUE)?,
                b"user" => event.user = self.text(LONGEST_VALUE)?,
                b"knowledge_base" => event.base = self.text(LONGEST_VALUE)?,
                b"key_hash" => event.key_hash = self.text(LONGEST_NAME)?,
                b"status" => event.status = self.text(LONGEST_NAME)?,
                b"source" => event.source = self.text(LONGEST_NAME)?,
                b"cache_hit" => event.hit = self.flag()?,
                b"estimated" => event.estimated = self.flag()?,
                b"type" => return None,
                _ => self.pass()?,
            }
            self.skip_spaces();
            match self.next()? {
                b',' => {}
                b'}' => break,
                _ => return None,
            }
        }
        (event.total, event.at) = (total?, at?);
        (is_usage && is_sound(&event)).then_some(event)
    }

    fn peek(&self) -> Option<u8> {
        self.lot.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn expect(&mut self, wanted: u8) -> Option<()> {
        (self.next()? == wanted).then_some(())
    }

    fn skip_spaces(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    /// Without escapes, as nothing here has a backslash.
    fn string(&mut self) -> Option<Span> {
        self.expect(b'"')?;
        let length = quote_in(&self.lot[self.at..])?;
        let span = Span {
            start: self.at as u32,
            length: length as u32,
        };
        self.at += length + 1;
        Some(span)
    }

    /// One that must show something.
    fn name(&mut self, longest: usize) -> Option<Span> {
        let span = self.string()?;
        let shows = span.of(self.lot).iter().any(|byte| byte.is_ascii_graphic());
        (shows && span.length as usize <= longest).then_some(span)
    }

    fn text(&mut self, longest: usize) -> Option<Span> {
        if self.peek()? == b'n' {
            self.word(b"null")?;
            return Some(NOWHERE);
        }
        let span = self.string()?;
        (span.length as usize <= longest || characters(span.of(self.lot)) <= longest)
            .then_some(span)
    }

    fn tokens(&mut self) -> Option<Option<u64>> {
        if self.peek()? == b'n' {
            return self.word(b"null").map(|()| None);
        }
        let (mut number, begin) = (0u64, self.at);
        while let Some(digit) = self
            .peek()
            .map(|byte| byte.wrapping_sub(b'0'))
            .filter(|&digit| digit <= 9)
        {
            number = number * 10 + u64::from(digit);
            self.at += 1;
            if number > MOST_TOKENS {
                return None;
            }
        }
        let digits = self.at - begin;
        let plain = digits == 1 || (digits > 1 && self.lot[begin] != b'0');
        (plain && self.ends_here()).then_some(Some(number))
    }

    fn flag(&mut self) -> Option<Option<bool>> {
        match self.peek()? {
            b't' => self.word(b"true").map(|()| Some(true)),
            b'f' => self.word(b"false").map(|()| Some(false)),
            _ => self.word(b"null").map(|()| None),
        }
    }

    /// A value nobody asked for, if it is a simple one.
    fn pass(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' => self.string().map(|_| ()),
            b't' | b'f' | b'n' => self.flag().map(|_| ()),
            _ => self.tokens().map(|_| ()),
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.lot[self.at..]
            .starts_with(word)
            .then(|| self.at += word.len())
    }

    fn ends_here(&self) -> bool {
        matches!(self.peek(), Some(b',' | b'}' | b' '))
    }
}

fn nothing() -> Event {
    Event {
        id: NOWHERE,
        at: 0,
        model: NOWHERE,
        total: 0,
        prompt: None,
        completion: None,
        cached: None,
        today: None,
        tenant: NOWHERE,
        department: NOWHERE,
        user: NOWHERE,
        base: NOWHERE,
        key_hash: NOWHERE,
        status: NOWHERE,
        source: NOWHERE,
        hit: None,
        estimated: None,
    }
}

fn is_sound(event: &Event) -> bool {
    let (prompt, completion) = (event.prompt.unwrap_or(0), event.completion.unwrap_or(0));
    event.id.is_some()
        && event.model.is_some()
        && event.total >= prompt + completion
        && event.cached.unwrap_or(0) <= prompt
}

/// Where the first quotation mark stands, eight bytes at a time.
fn quote_in(text: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut at = 0;
    while let Some(eight) = text.get(at..at + 8) {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(eight);
        let other = u64::from_le_bytes(bytes) ^ (ONES * u64::from(b'"'));
        let zeros = other.wrapping_sub(ONES) & !other & (ONES << 7);
        if zeros != 0 {
            return Some(at + zeros.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    text[at..]
        .iter()
        .position(|&byte| byte == b'"')
        .map(|found| at + found)
}

/// Of text that is known to be UTF-8.
fn characters(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte & 0xC0 != 0x80).count()
}
