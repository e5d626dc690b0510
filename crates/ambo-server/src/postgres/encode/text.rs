//! Values as texts.

use std::io::Write as _;

use ambo::calendar;

/// What writes text into bytes.
pub(super) struct Text<'a>(pub &'a mut Vec<u8>);

impl std::fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// Writing to memory does not fail.
fn done(written: std::fmt::Result) {
    debug_assert!(written.is_ok());
}

pub(super) fn integer(value: impl std::fmt::Display, out: &mut Vec<u8>) {
    done(std::fmt::Write::write_fmt(&mut Text(out), format_args!("{value}")));
}

pub(super) fn boolean(value: bool, out: &mut Vec<u8>) {
    out.push(if value { b't' } else { b'f' });
}

/// The shortest digits that mean the number; with an exponent where PostgreSQL has one.
pub(super) fn double(value: f64, out: &mut Vec<u8>) {
    float(value, format_args!("{value:e}"), 15, out);
}

pub(super) fn single(value: f32, out: &mut Vec<u8>) {
    float(value.into(), format_args!("{value:e}"), 6, out);
}

fn float(value: f64, scientific: std::fmt::Arguments<'_>, digits_max: i32, out: &mut Vec<u8>) {
    if value.is_nan() {
        return out.extend_from_slice(b"NaN");
    }
    if value.is_infinite() {
        return out.extend_from_slice(if value > 0.0 { b"Infinity" } else { b"-Infinity" });
    }
    let mut buffer = [0u8; 40];
    let mut rest = &mut buffer[..];
    let written = rest.write_fmt(scientific);
    debug_assert!(written.is_ok());
    let left = rest.len();
    let text = std::str::from_utf8(&buffer[..buffer.len() - left]).unwrap_or_default();
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |text| ("-", text));
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    out.extend_from_slice(sign.as_bytes());
    if exponent < -4 || exponent >= digits_max {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _in_memory = write!(out, "{mantissa}e{sign}{:02}", exponent.abs());
        return;
    }
    let digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    match usize::try_from(exponent) {
        Err(_) => {
            out.extend_from_slice(b"0.");
            out.extend(std::iter::repeat_n(b'0', exponent.unsigned_abs() as usize - 1));
            out.extend_from_slice(&digits);
        }
        Ok(exponent) => {
            let whole = exponent + 1;
            out.extend(digits.iter().copied().chain(std::iter::repeat(b'0')).take(whole));
            if digits.len() > whole {
                out.push(b'.');
                out.extend_from_slice(&digits[whole..]);
            }
        }
    }
}

pub(super) fn bytes(value: &[u8], out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(b"\\x");
    out.extend(value.iter().flat_map(|byte| [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]));
}

pub(super) fn date(days: i32, out: &mut Vec<u8>) {
    done(calendar::write_date(&mut Text(out), days.into()));
}

pub(super) fn time(nanos: i64, out: &mut Vec<u8>) {
    done(calendar::write_time(&mut Text(out), nanos));
}

/// A moment, with the hours that its clock is east of UTC where that is said.
pub(super) fn timestamp(micros: i64, offset: Option<i32>, out: &mut Vec<u8>) {
    done(calendar::write_timestamp(&mut Text(out), micros, offset));
}

/// `1 year 2 mons 3 days 04:05:06.7`.
pub(super) fn interval(months: i32, days: i32, nanos: i64, out: &mut Vec<u8>) {
    let start = out.len();
    let (years, months) = (months / 12, months % 12);
    let mut below = false;
    for (count, name) in [(years, "year"), (months, "mon"), (days, "day")] {
        if count == 0 {
            continue;
        }
        if out.len() > start {
            out.push(b' ');
        }
        let sign = if below && count > 0 { "+" } else { "" };
        let many = if count == 1 { "" } else { "s" };
        let _in_memory = write!(out, "{sign}{count} {name}{many}");
        below = count < 0;
    }
    let micros = nanos / 1000;
    if micros != 0 || out.len() == start {
        if out.len() > start {
            out.push(b' ');
        }
        if micros < 0 {
            out.push(b'-');
        } else if below {
            out.push(b'+');
        }
        let micros = micros.unsigned_abs();
        let (seconds, micros) = (micros / 1_000_000, micros % 1_000_000);
        let _in_memory = write!(out, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        if micros > 0 {
            let digits = format!("{micros:06}");
            let _in_memory = write!(out, ".{}", digits.trim_end_matches('0'));
        }
    }
}

/// The text of an item of an array, between quotes where it would be taken for something else.
pub(super) fn array_item(text: &[u8], out: &mut Vec<u8>) {
    let is_special = |byte: &u8| b"{},\"\\".contains(byte) || byte.is_ascii_whitespace();
    if !text.is_empty() && !text.iter().any(is_special) && !text.eq_ignore_ascii_case(b"null") {
        return out.extend_from_slice(text);
    }
    out.push(b'"');
    for byte in text {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn floats_are_as_postgresql_writes_them() {
        let cases = [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.5, "1.5"),
            (100.0, "100"),
            (1e14, "100000000000000"),
            (1e15, "1e+15"),
            (1.25e-5, "1.25e-05"),
            (0.0001, "0.0001"),
            (0.1 + 0.2, "0.30000000000000004"),
            (-1e300, "-1e+300"),
            (123456.789, "123456.789"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::NAN, "NaN"),
        ];
        for (value, text) in cases {
            assert_eq!(shown(|out| double(value, out)), text);
        }
        assert_eq!(shown(|out| single(1e6, out)), "1e+06");
        assert_eq!(shown(|out| single(0.1, out)), "0.1");
    }

    #[test]
    fn intervals_are_as_postgresql_writes_them() {
        let second = 1_000_000_000;
        assert_eq!(shown(|out| interval(0, 0, 0, out)), "00:00:00");
        assert_eq!(
            shown(|out| interval(14, 3, 4 * 3600 * second + 500_000_000, out)),
            "1 year 2 mons 3 days 04:00:00.5"
        );
        assert_eq!(shown(|out| interval(-1, 2, -second, out)), "-1 mons +2 days -00:00:01");
    }

    #[test]
    fn items_of_arrays_are_quoted_where_they_must() {
        for (item, text) in
            [("a", "a"), ("", "\"\""), ("NULL", "\"NULL\""), ("a,b", "\"a,b\""), ("\"", "\"\\\"\"")]
        {
            assert_eq!(shown(|out| array_item(item.as_bytes(), out)), text);
        }
    }
}
