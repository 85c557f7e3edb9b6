//! JSON's escapes, replaced where they stand: what they stand for is never longer than they are.

/// Replace the escapes of the string that begins here, up to its closing quotation mark. Answers its length then, and
/// how many bytes it took with that mark. None: it has no end, or there are control characters or half characters in
/// it.
pub fn unescape(text: &mut [u8]) -> Option<(usize, usize)> {
    let (mut read, mut written) = (0, 0);
    loop {
        match *text.get(read)? {
            b'"' => return Some((written, read + 1)),
            b'\\' => {
                let (character, length) = escape(&text[read..])?;
                read += length;
                written += character.encode_utf8(&mut text[written..read]).len();
            }
            byte => {
                text[written] = byte;
                (read, written) = (read + 1, written + 1);
            }
        }
    }
}

/// The character that the escape at the beginning stands for, and its own length.
fn escape(text: &[u8]) -> Option<(char, usize)> {
    match *text.get(1)? {
        found @ (b'"' | b'\\' | b'/') => Some((char::from(found), 2)),
        b'u' => {
            let (unit, length) = (unit(text)?, 6);
            if (0xD800..0xDC00).contains(&unit) {
                return pair(unit, &text[length..]);
            }
            let character = char::from_u32(unit)?;
            (!character.is_ascii_control()).then_some((character, length))
        }
        _ => None,
    }
}

/// A character written in two halves, of which the second one follows.
fn pair(high: u32, text: &[u8]) -> Option<(char, usize)> {
    let low = unit(text)?.wrapping_sub(0xDC00);
    if low >= 0x400 {
        return None;
    }
    Some((char::from_u32(0x10000 + ((high - 0xD800) << 10) + low)?, 12))
}

/// The number in `\uXXXX`.
fn unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |unit, &digit| {
        Some(unit << 4 | char::from(digit).to_digit(16)?)
    })
}

#[cfg(test)]
mod tests {
    use super::unescape;

    fn unescaped(text: &str) -> Option<String> {
        let mut text = text.as_bytes().to_vec();
        let (length, _) = unescape(&mut text)?;
        Some(String::from_utf8(text[..length].to_vec()).expect("characters are whole"))
    }

    #[test]
    fn replaces_what_encoders_write() {
        for (written, meant) in [
            (r#"" rest"#, ""),
            (r#"a\/b\\c\"d" rest"#, r#"a/b\c"d"#),
            (r#"\u7814\u53D1-1" rest"#, "研发-1"),
            (r#"\ud83d\ude00\u003c" rest"#, "😀<"),
        ] {
            assert_eq!(unescaped(written).as_deref(), Some(meant));
        }
    }

    #[test]
    fn leaves_the_rest_to_others() {
        for text in [
            r#"no end"#,
            r#"\"#,
            r#"\""#,
            r#"\n""#,
            r#"\u000a""#,
            r#"\u007F""#,
            r#"\u12""#,
            r#"\u12g4""#,
            r#"\u+123""#,
            r#"\ud83d""#,
            r#"\ud83dx\ude00""#,
            r#"\ud83d\u0041""#,
            r#"\ude00""#,
            r#"\U0041""#,
        ] {
            assert_eq!(unescaped(text), None, "{text}");
        }
    }
}
