//! Numbers as they are written: how many digits they have, and whether a double is the same number.

use ambo::Type;

/// How many digits numbers have at most, before the point and behind it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    whole: u32,
    fraction: u32,
}

impl Shape {
    pub(crate) fn merge(&mut self, other: Self) {
        self.whole = self.whole.max(other.whole);
        self.fraction = self.fraction.max(other.fraction);
    }

    /// The decimal that holds them all, if one does.
    pub(crate) fn decimal(self) -> Option<Type> {
        let digits = (self.whole + self.fraction).max(1);
        Type::decimal(u8::try_from(digits).ok()?, i8::try_from(self.fraction).ok()?).ok()
    }
}

/// What a text is, read as a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Number {
    /// Digits, maybe with a point.
    Plain {
        shape: Shape,
        /// Whether it is one of 64 bits, and written without a point.
        is_integer: bool,
        /// Whether a double is the same number.
        is_double: bool,
    },
    /// With an exponent: a double if that is the same number.
    Wide { is_kept: bool },
}

/// Every number of so many digits is told from others by a double.
const DOUBLE_DIGITS: usize = 15;

/// `None` for what is no number, or would be written otherwise: `007`, `+1`, `-0`.
pub(crate) fn number(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let bytes = unsigned.as_bytes();
    let point = bytes.iter().position(|byte| !byte.is_ascii_digit());
    let (whole, fraction) = match point {
        None => (unsigned, None),
        Some(at) if bytes[at] == b'.' && bytes[at + 1..].iter().all(u8::is_ascii_digit) => {
            (&unsigned[..at], Some(&unsigned[at + 1..]))
        }
        Some(_) => {
            let is_written =
                bytes.iter().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E'));
            let is_written = is_written && (bytes[0].is_ascii_digit() || bytes[0] == b'.');
            let is_padded = bytes.len() > 1 && bytes[0] == b'0' && bytes[1].is_ascii_digit();
            let value =
                is_written.then(|| text.parse::<f64>().ok()).flatten().filter(|value| value.is_finite())?;
            return (!is_padded).then(|| Number::Wide { is_kept: is_same(unsigned, value.abs()) });
        }
    };
    let is_empty = whole.is_empty() && fraction.is_none_or(str::is_empty);
    if is_empty || (whole.len() > 1 && whole.starts_with('0')) || text == "-0" {
        return None;
    }
    let digits = whole.len() + fraction.map_or(0, str::len);
    let is_double =
        digits <= DOUBLE_DIGITS || text.parse::<f64>().is_ok_and(|value| is_same(unsigned, value.abs()));
    let shape = Shape {
        whole: u32::try_from(whole.trim_start_matches('0').len()).ok()?,
        fraction: u32::try_from(fraction.unwrap_or_default().len()).ok()?,
    };
    if fraction.is_some() {
        return Some(Number::Plain { shape, is_integer: false, is_double });
    }
    Some(match text.parse::<i64>() {
        Ok(value) => {
            Number::Plain { shape, is_integer: true, is_double: value.unsigned_abs() <= 1 << 53 || is_double }
        }
        Err(_) => Number::Plain { shape, is_integer: false, is_double },
    })
}

/// Whether a double is written with the digits of a text, zeros at the ends aside.
fn is_same(text: &str, value: f64) -> bool {
    let (digits, exponent) = split(text);
    let (written, power) = split(&format!("{value:e}"));
    digits == written && (exponent == power || digits.is_empty())
}

/// The digits of a number without zeros at the ends, and where the point stands from the first of them.
fn split(text: &str) -> (String, i64) {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let zeros = digits.bytes().take_while(|byte| *byte == b'0').count();
    let power = exponent.parse::<i64>().unwrap_or(i64::MAX / 2) + whole.len() as i64 - zeros as i64;
    (digits[zeros..].trim_end_matches('0').to_owned(), power)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away: a number that is another when it is written again.
    #[test]
    fn doubles_are_the_same_number() {
        let plain = |text: &str| match number(text) {
            Some(Number::Plain { is_integer, is_double, .. }) => Some((is_integer, is_double)),
            _ => None,
        };
        assert_eq!(plain("9007199254740992"), Some((true, true)));
        assert_eq!(plain("9007199254740993"), Some((true, false)));
        assert_eq!(plain("18446744073709551615"), Some((false, false)));
        assert_eq!(plain("-0.5"), Some((false, true)));
        assert_eq!(plain("1."), Some((false, true)));
        assert_eq!(plain("0.30000000000000004"), Some((false, true)));
        assert_eq!(plain("0.3000000000000000400"), Some((false, true)));
        assert_eq!(plain("0.10000000000000000001"), Some((false, false)));
        assert_eq!(plain("12345678901234567.89"), Some((false, false)));
        for (text, is_kept) in [
            ("1e300", true),
            ("1E+5", true),
            ("1.5e-7", true),
            ("1.00000000000000000001e5", false),
            ("5e-400", false),
            ("0e5", true),
        ] {
            assert_eq!(number(text), Some(Number::Wide { is_kept }), "{text}");
        }
        for text in [
            "", "-", ".", "007", "-0", "+1", "00.5", "1.2.3", "1e", "e5", "1e999", "1 2", "0x1", "1-2",
            "--1", "01e5",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
        let mut state = 3u64;
        for _ in 0..100_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let value = f64::from_bits(state);
            if !value.is_finite() || value == 0.0 {
                continue;
            }
            match number(&format!("{value:?}")) {
                Some(Number::Plain { is_double, is_integer: false, .. }) => assert!(is_double, "{value:?}"),
                Some(Number::Wide { is_kept }) => assert!(is_kept, "{value:?}"),
                other => panic!("{value:?}: {other:?}"),
            }
        }
    }

    // Keeps away: a decimal without a place for some digit.
    #[test]
    fn decimals_hold_all_digits() {
        let of = |texts: &[&str]| {
            let mut shape = Shape::default();
            for text in texts {
                match number(text) {
                    Some(Number::Plain { shape: more, .. }) => shape.merge(more),
                    other => panic!("{text}: {other:?}"),
                }
            }
            shape.decimal()
        };
        assert_eq!(of(&["12345678901234567890", "0.25", "-7"]), Type::decimal(22, 2).ok());
        assert_eq!(of(&["0.000"]), Type::decimal(3, 3).ok());
        assert_eq!(of(&["0"]), Type::decimal(1, 0).ok());
        assert_eq!(of(&["1".repeat(38).as_str()]), Type::decimal(38, 0).ok());
        assert_eq!(of(&["1".repeat(38).as_str(), "0.5"]), None);
    }
}
