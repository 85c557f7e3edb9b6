//! JSON as msgspec writes it.

pub fn string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    if text.iter().fold(false, |found, &byte| {
        found | (byte < b' ') | (byte == b'"') | (byte == b'\\')
    }) {
        text.iter().for_each(|&byte| character(out, byte));
    } else {
        out.extend_from_slice(text);
    }
    out.push(b'"');
}

fn character(out: &mut Vec<u8>, byte: u8) {
    match byte {
        b'"' | b'\\' => out.extend([b'\\', byte]),
        b'\n' => out.extend(b"\\n"),
        b'\r' => out.extend(b"\\r"),
        b'\t' => out.extend(b"\\t"),
        0x08 => out.extend(b"\\b"),
        0x0c => out.extend(b"\\f"),
        0..=0x1f => out.extend(format!("\\u{byte:04x}").as_bytes()),
        _ => out.push(byte),
    }
}

pub fn maybe_string(out: &mut Vec<u8>, text: Option<&[u8]>) {
    match text {
        Some(text) => string(out, text),
        None => out.extend(b"null"),
    }
}

pub fn number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0u8; 20];
    let mut begin = digits.len();
    loop {
        begin -= 1;
        digits[begin] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend(&digits[begin..]);
}

pub fn maybe_number(out: &mut Vec<u8>, found: Option<u64>) {
    match found {
        Some(found) => number(out, found),
        None => out.extend(b"null"),
    }
}

/// Items in brackets of any kind, with commas between them.
pub fn list<T>(
    out: &mut Vec<u8>,
    ends: [u8; 2],
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    out.push(ends[0]);
    for (place, item) in items.into_iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(ends[1]);
}
