//! Texts as whole numbers and decimals, as PostgreSQL and DuckDB read them: blanks around, a sign, digits with `_` between them, a
//! fraction, an exponent; of whole numbers also `0xFF`, `0o17` and `0b101`. What has more digits than the type is rounded half away from
//! zero.

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, AsArray, PrimitiveArray, StringArray},
    compute::cast,
    datatypes::{
        ArrowPrimitiveType, DataType, Decimal128Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
        UInt16Type, UInt32Type, UInt64Type,
    },
    error::ArrowError,
};
use datafusion::common::Result;

use super::has_at_most;

/// Texts as numbers of a type; what is none is an error, or NULL if `is_try`. REQUIRES: an integer or a decimal.
pub(super) fn numbers(texts: &ArrayRef, to: &DataType, is_try: bool) -> Result<ArrayRef> {
    let texts = cast(texts, &DataType::Utf8)?;
    let read = Read { texts: texts.as_string(), to, is_try };
    match to {
        DataType::Int8 => read.whole::<Int8Type>(),
        DataType::Int16 => read.whole::<Int16Type>(),
        DataType::Int32 => read.whole::<Int32Type>(),
        DataType::Int64 => read.whole::<Int64Type>(),
        DataType::UInt8 => read.whole::<UInt8Type>(),
        DataType::UInt16 => read.whole::<UInt16Type>(),
        DataType::UInt32 => read.whole::<UInt32Type>(),
        DataType::UInt64 => read.whole::<UInt64Type>(),
        DataType::Decimal128(digits, scale) => {
            let decimal = |text: &str| decimal(text, *scale).filter(|number| has_at_most(*number, *digits));
            Ok(Arc::new(read.all::<Decimal128Type>(decimal)?.with_data_type(to.clone())))
        }
        to => Ok(cast(&texts, to)?),
    }
}

struct Read<'a> {
    texts: &'a StringArray,
    to: &'a DataType,
    is_try: bool,
}

impl Read<'_> {
    fn whole<T: ArrowPrimitiveType>(&self) -> Result<ArrayRef>
    where
        T::Native: TryFrom<i128>,
    {
        let whole = |text: &str| T::Native::try_from(whole(text)?).ok();
        Ok(Arc::new(self.all::<T>(whole)?))
    }

    fn all<T: ArrowPrimitiveType>(
        &self,
        read: impl Fn(&str) -> Option<T::Native>,
    ) -> Result<PrimitiveArray<T>> {
        let number = |text: Option<&str>| {
            let Some(text) = text else { return Ok(None) };
            match read(text) {
                None if !self.is_try => {
                    let message = format!("Cannot cast string '{text}' to value of {} type", self.to);
                    Err(ArrowError::CastError(message))
                }
                number => Ok(number),
            }
        };
        Ok(self.texts.iter().map(number).collect::<Result<_, ArrowError>>()?)
    }
}

fn whole(text: &str) -> Option<i128> {
    // Most are no more than this.
    if let Ok(number) = text.parse::<i64>() {
        return Some(number.into());
    }
    let trimmed = text.trim_ascii();
    let radix = match trimmed.as_bytes() {
        [b'0', b'x' | b'X', ..] => 16,
        [b'0', b'o' | b'O', ..] => 8,
        [b'0', b'b' | b'B', ..] => 2,
        _ => return decimal(text, 0),
    };
    let digits = &trimmed[2..];
    // A sign would be read, too.
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_plain.then(|| i128::from_str_radix(digits, radix).ok()).flatten()
}

/// A number in units of its last place.
fn decimal(text: &str, scale: i8) -> Option<i128> {
    let text = text.trim_ascii();
    let (is_negative, text) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (mantissa, power) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], exponent(&text[at + 1..])?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut digits = Vec::with_capacity(mantissa.len());
    push(&mut digits, whole)?;
    let point = digits.len() as i64 + power;
    push(&mut digits, fraction)?;
    let unscaled = in_units(&digits, point + i64::from(scale))?;
    Some(if is_negative { -unscaled } else { unscaled })
}

/// Adds digits, which may have `_` between them.
fn push(digits: &mut Vec<u8>, text: &str) -> Option<()> {
    let mut is_behind_digit = false;
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' => digits.push(byte - b'0'),
            b'_' if is_behind_digit => {}
            _ => return None,
        }
        is_behind_digit = byte != b'_';
    }
    (is_behind_digit || text.is_empty()).then_some(())
}

/// An exponent; beyond a million, numbers are zero or too large, whatever their digits are.
fn exponent(text: &str) -> Option<i64> {
    const MOST: i64 = 1_000_000;
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let size = digits.parse().unwrap_or(MOST).min(MOST);
    Some(if text.starts_with('-') { -size } else { size })
}

/// The first `count` digits as a whole number, rounded half up; those that are missing are zero.
fn in_units(digits: &[u8], count: i64) -> Option<i128> {
    let zeros = digits.iter().take_while(|digit| **digit == 0).count();
    let (digits, count) = (&digits[zeros..], count - zeros as i64);
    if digits.is_empty() || count < 0 {
        return Some(0);
    }
    let count = usize::try_from(count).ok().filter(|count| *count < 40)?;
    let mut number = 0i128;
    for nth in 0..count {
        let digit = digits.get(nth).copied().unwrap_or(0);
        number = number.checked_mul(10)?.checked_add(digit.into())?;
    }
    let is_more = digits.get(count).is_some_and(|digit| *digit >= 5);
    number.checked_add(is_more.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: digits that are lost, and texts that are taken for numbers.
    #[test]
    fn texts_are_read_digit_by_digit() {
        let most = "0.00000000000170141183460469231731687303715884105727e50";
        for (text, scale, number) in [
            ("12", 0, 12),
            (" -1.5e1 ", 0, -15),
            ("2.5", 0, 3),
            ("-2.5", 0, -3),
            ("0.049", 1, 0),
            ("0.05", 1, 1),
            ("999.95", 1, 10_000),
            ("1e-400", 2, 0),
            ("0e1000000000000", 2, 0),
            ("1_0.0_1", 3, 10_010),
            (".5", 1, 5),
            ("5.", 1, 50),
            (most, 0, i128::MAX),
        ] {
            assert_eq!(decimal(text, scale), Some(number), "{text}");
        }
        for text in ["", ".", "e5", "1e", "1e1.5", "1__0", "_1", "1_", "1 2", "--1", "\u{663}", "1e400"] {
            assert_eq!(decimal(text, 0), None, "{text}");
        }
        assert_eq!(["0xFf", "0b101", "0o17"].map(whole), [Some(255), Some(5), Some(15)]);
        assert_eq!(["0x", "0x-1", "0b2", "-0x1"].map(whole), [None; 4]);
    }
}
