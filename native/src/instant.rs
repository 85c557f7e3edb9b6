//! RFC 3339 text as milliseconds since the epoch: the forms gateways write, and no others.

pub type Millis = i64;

const MINUTE: Millis = 60_000;
const EARLIEST: Millis = 946_684_800_000; // 2000-01-01T00:00:00Z
const LATEST: Millis = 4_102_444_800_000; // 2100-01-01T00:00:00Z
const LONGEST_FRACTION: usize = 9;
const MICROS: usize = 6; // digits; the next one rounds them

/// `YYYY-MM-DDTHH:MM:SS[.f…](Z|±HH:MM)` within the years 2000 to 2099; of whole microseconds, those beyond milliseconds
/// are cut off. None: anything else, which may well be a time.
pub fn parse(text: &[u8]) -> Option<Millis> {
    if text.len() < 20 {
        return None;
    }
    let (date, rest) = text.split_at(19);
    let minutes =
        day_of(date)? * 1440 + i64::from(two(date, 11, 23)?) * 60 + i64::from(two(date, 14, 59)?);
    if date[10] != b'T' || date[13] != b':' || date[16] != b':' {
        return None;
    }
    let seconds = i64::from(two(date, 17, 59)?);
    let (millis, zone) = fraction(rest)?;
    let at = (minutes - ahead(zone)?) * MINUTE + seconds * 1000 + millis;
    (EARLIEST..LATEST).contains(&at).then_some(at)
}

/// A number of seconds within the same years, to the nearest millisecond; of two that are as near, the even one.
pub fn of_seconds(text: &[u8]) -> Option<Millis> {
    let (first, last) = (text.first()?, text.last()?);
    let dots = text.iter().filter(|&&byte| byte == b'.').count();
    if *first == b'0' || *first == b'.' || *last == b'.' || dots > 1 {
        return None;
    }
    let seconds: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    if !(EARLIEST as f64 / 1000.0..LATEST as f64 / 1000.0).contains(&seconds) {
        return None;
    }
    let millis = seconds * 1000.0;
    let (below, rest) = (millis as Millis, millis.fract());
    let up = rest > 0.5 || (rest == 0.5 && below % 2 == 1);
    Some(below + Millis::from(up))
}

/// Days since the epoch. By H. Hinnant's `days_from_civil`, with years that begin in March.
fn day_of(text: &[u8]) -> Option<i64> {
    if text[4] != b'-' || text[7] != b'-' {
        return None;
    }
    let year = i64::from(two(text, 0, 99)?) * 100 + i64::from(two(text, 2, 99)?);
    let (month, day) = (i64::from(two(text, 5, 12)?), i64::from(two(text, 8, 31)?));
    if month == 0 || day == 0 || day > days_in(year, month) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Milliseconds, and what comes after the fraction.
fn fraction(text: &[u8]) -> Option<(Millis, &[u8])> {
    if text[0] != b'.' {
        return Some((0, text));
    }
    let digits = text[1..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if digits == 0 || digits > LONGEST_FRACTION {
        return None;
    }
    let written = text[1..=digits].iter().chain(b"00000").take(MICROS);
    let micros = written.fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    let up = text.get(1 + MICROS).filter(|_| digits > MICROS) >= Some(&b'5');
    let millis = (micros + i64::from(up)) / 1000;
    Some((millis, &text[1 + digits..]))
}

/// Minutes that clocks of a written offset are ahead of UTC.
fn ahead(zone: &[u8]) -> Option<i64> {
    if zone == b"Z" {
        return Some(0);
    }
    if zone.len() != 6 || zone[3] != b':' {
        return None;
    }
    let minutes = i64::from(two(zone, 1, 23)?) * 60 + i64::from(two(zone, 4, 59)?);
    match zone[0] {
        b'+' => Some(minutes),
        b'-' => Some(-minutes),
        _ => None,
    }
}

fn two(text: &[u8], at: usize, most: u8) -> Option<u8> {
    let (tens, ones) = (text[at].wrapping_sub(b'0'), text[at + 1].wrapping_sub(b'0'));
    let number = (tens <= 9 && ones <= 9).then(|| tens * 10 + ones)?;
    (number <= most).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::{of_seconds, parse};

    #[test]
    fn reads_what_gateways_write() {
        assert_eq!(parse(b"1999-12-31T23:59:59Z"), None);
        assert_eq!(parse(b"2000-01-01T00:00:00Z"), Some(946_684_800_000));
        assert_eq!(
            parse(b"2026-08-13T11:08:00.123+08:00"),
            Some(1_786_590_480_123)
        );
        assert_eq!(parse(b"2026-08-13T03:08:00.1239Z"), Some(1_786_590_480_123));
        assert_eq!(
            parse(b"2024-02-29T00:00:00.5-00:30"),
            Some(1_709_166_600_500)
        );
        assert_eq!(
            parse(b"2026-12-31T23:59:59.9999995Z"),
            parse(b"2027-01-01T00:00:00Z")
        );
        assert_eq!(
            parse(b"2026-12-31T23:59:59.999999499Z"),
            parse(b"2026-12-31T23:59:59.999Z")
        );
    }

    #[test]
    fn reads_seconds() {
        for (text, at) in [
            ("1786590480", Some(1_786_590_480_000)),
            ("1786590480.1239", Some(1_786_590_480_124)),
            ("1786590480.0625", Some(1_786_590_480_062)),
            ("1786590480.1875", Some(1_786_590_480_188)),
            ("946684799.9", None),
            ("4102444800", None),
            ("1786590480.", None),
            (".5", None),
            ("", None),
            ("1.2.3", None),
            ("01786590480", None),
        ] {
            assert_eq!(of_seconds(text.as_bytes()), at, "{text}");
        }
    }

    #[test]
    fn leaves_the_rest_to_others() {
        for text in [
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:60Z",
            "2026-01-01 00:00:00Z",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00.1234567890Z",
            "2026-01-01T00:00:00+0800",
            "2026-01-01T00:00:00+08:0",
            "2026-01-01T00:00:0/Z",
            "2026-01-01T00:00:00Zx",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
