//! One event of usage as gateways write it, read without copying. What is not plain is left to the reader in Python:
//! control characters, exponents, times without a zone, nested values, and everything that is wrong. So whatever is read
//! here is read alike there; `tests/native` holds both against each other.

use crate::cursor::{Cursor, Span, MOST_TOKENS, NOWHERE};
use crate::instant::Millis;

const LONGEST_NAME: usize = 512; // characters
const LONGEST_TENANT: usize = 200;
const LONGEST_VALUE: usize = 64;

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

/// The event that stands in `lot` from `start` on; None: it is not plain. Escapes in it are replaced.
pub fn parse(lot: &mut [u8], start: usize) -> Option<Event> {
    let text = trimmed(&lot[start..]);
    if holds(text, |byte| (byte < b' ') | (byte == 0x7f)) {
        return None;
    }
    std::str::from_utf8(text).ok()?;
    let (end, has_escapes) = (start + text.len(), holds(text, |byte| byte == b'\\'));
    let mut cursor = Cursor {
        lot: &mut lot[..end],
        at: start,
        has_escapes,
    };
    let found = object(&mut cursor)?;
    (cursor.at == end).then_some(found)
}

/// Looks at all of it, which is faster than to stop at the first.
fn holds(text: &[u8], wanted: impl Fn(u8) -> bool) -> bool {
    text.iter().fold(false, |found, &byte| found | wanted(byte))
}

/// Without the white space at the end: some encoders break the line.
fn trimmed(text: &[u8]) -> &[u8] {
    let more = |byte: &&u8| matches!(**byte, b' ' | b'\t' | b'\r' | b'\n');
    &text[..text.len() - text.iter().rev().take_while(more).count()]
}

fn object(cursor: &mut Cursor) -> Option<Event> {
    let (mut event, mut is_usage, mut total, mut at) = (nothing(), false, None, None);
    cursor.skip_spaces();
    cursor.expect(b'{')?;
    loop {
        cursor.skip_spaces();
        let key = cursor.string()?;
        cursor.skip_spaces();
        cursor.expect(b':')?;
        cursor.skip_spaces();
        match key.of(cursor.lot) {
            b"type" => is_usage = is_usage_once(cursor, is_usage)?,
            b"ts" => at = Some(cursor.instant()?),
            b"total_tokens" => total = cursor.tokens()?,
            _ => field(cursor, key, &mut event)?,
        }
        cursor.skip_spaces();
        match cursor.take()? {
            b',' => {}
            b'}' => break,
            _ => return None,
        }
    }
    (event.total, event.at) = (total.or_else(|| sum_of_parts(&event))?, at?);
    (is_usage && is_sound(&event)).then_some(event)
}

/// The first type is the one that counts elsewhere, so there may be no second one.
fn is_usage_once(cursor: &mut Cursor, is_usage: bool) -> Option<bool> {
    let span = cursor.string()?;
    (!is_usage && span.of(cursor.lot) == b"usage").then_some(true)
}

/// Of a field that stands twice the last one counts, and each must be sound.
#[inline(always)]
fn field(cursor: &mut Cursor, key: Span, event: &mut Event) -> Option<()> {
    match key.of(cursor.lot) {
        b"id" => event.id = cursor.name(LONGEST_NAME)?,
        b"model" => event.model = cursor.name(LONGEST_NAME)?,
        b"prompt_tokens" => event.prompt = cursor.tokens()?,
        b"completion_tokens" => event.completion = cursor.tokens()?,
        b"cached_tokens" => event.cached = cursor.tokens()?,
        b"today" => event.today = cursor.tokens()?,
        b"tenant" => event.tenant = cursor.text(LONGEST_TENANT)?,
        b"department" => event.department = cursor.text(LONGEST_VALUE)?,
        b"user" => event.user = cursor.text(LONGEST_VALUE)?,
        b"knowledge_base" => event.base = cursor.text(LONGEST_VALUE)?,
        b"key_hash" => event.key_hash = cursor.text(LONGEST_NAME)?,
        b"status" => event.status = cursor.text(LONGEST_NAME)?,
        b"source" => event.source = cursor.text(LONGEST_NAME)?,
        b"cache_hit" => event.hit = cursor.flag()?,
        b"estimated" => event.estimated = cursor.flag()?,
        _ => cursor.pass()?,
    }
    Some(())
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

fn sum_of_parts(event: &Event) -> Option<u64> {
    let sum = event.prompt? + event.completion?;
    (sum <= MOST_TOKENS).then_some(sum)
}

fn is_sound(event: &Event) -> bool {
    let (prompt, completion) = (event.prompt.unwrap_or(0), event.completion.unwrap_or(0));
    event.id.is_some()
        && event.model.is_some()
        && event.total >= prompt + completion
        && event.cached.unwrap_or(0) <= prompt
}
