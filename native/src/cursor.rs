//! A cursor over one JSON object in a lot: strings, numbers and words, read without copying.

use crate::escapes::unescape;
use crate::instant::{self, Millis};

pub const MOST_TOKENS: u64 = 1_000_000_000_000;
const LONGEST_SECONDS: usize = 20; // digits of a time in seconds

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
}

pub struct Cursor<'a> {
    /// Up to the end of the object's record. Escapes are replaced in it.
    pub lot: &'a mut [u8],
    pub at: usize,
    pub has_escapes: bool,
}

impl Cursor<'_> {
    pub fn peek(&self) -> Option<u8> {
        self.lot.get(self.at).copied()
    }

    pub fn take(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    pub fn expect(&mut self, wanted: u8) -> Option<()> {
        (self.take()? == wanted).then_some(())
    }

    pub fn skip_spaces(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    #[inline]
    pub fn string(&mut self) -> Option<Span> {
        self.expect(b'"')?;
        let (start, length) = (self.at, quote_in(&self.lot[self.at..])?);
        self.at += length + 1;
        if self.has_escapes {
            return self.unescaped(start);
        }
        Some(Span {
            start: start as u32,
            length: length as u32,
        })
    }

    #[cold]
    fn unescaped(&mut self, start: usize) -> Option<Span> {
        let (length, taken) = unescape(&mut self.lot[start..])?;
        self.at = start + taken;
        Some(Span {
            start: start as u32,
            length: length as u32,
        })
    }

    /// One that must show something.
    pub fn name(&mut self, longest: usize) -> Option<Span> {
        let span = self.string()?;
        let text = span.of(self.lot);
        let shows = text.iter().any(u8::is_ascii_graphic) || shows_anything(text);
        (shows && is_within(text, longest)).then_some(span)
    }

    pub fn text(&mut self, longest: usize) -> Option<Span> {
        if self.peek()? == b'n' {
            self.word(b"null")?;
            return Some(NOWHERE);
        }
        let span = self.string()?;
        is_within(span.of(self.lot), longest).then_some(span)
    }

    /// RFC 3339 text, or seconds.
    pub fn instant(&mut self) -> Option<Millis> {
        if self.peek()? == b'"' {
            let span = self.string()?;
            return instant::parse(span.of(self.lot));
        }
        let begin = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9' | b'.')) {
            self.at += 1;
        }
        let written = &self.lot[begin..self.at];
        (written.len() <= LONGEST_SECONDS && self.ends_here())
            .then(|| instant::of_seconds(written))?
    }

    pub fn tokens(&mut self) -> Option<Option<u64>> {
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

    pub fn flag(&mut self) -> Option<Option<bool>> {
        match self.peek()? {
            b't' => self.word(b"true").map(|()| Some(true)),
            b'f' => self.word(b"false").map(|()| Some(false)),
            _ => self.word(b"null").map(|()| None),
        }
    }

    /// A value nobody asked for, if it is a simple one.
    pub fn pass(&mut self) -> Option<()> {
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

/// Whether UTF-8 text is of at most so many characters.
fn is_within(text: &[u8], longest: usize) -> bool {
    let characters = || text.iter().filter(|&&byte| byte & 0xC0 != 0x80).count();
    text.len() <= longest || characters() <= longest
}

/// Whether there is more than white space in it. Of control characters, which Python counts differently, none is here.
fn shows_anything(text: &[u8]) -> bool {
    std::str::from_utf8(text).map_or(false, |text| !text.chars().all(char::is_whitespace))
}
