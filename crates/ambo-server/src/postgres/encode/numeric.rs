//! Exact numbers: their text, and PostgreSQL's binary form, which is digits to the base of 10,000.

use ambo::Datum;

use crate::postgres::message::{Malformed, Reader};

const BASE: u128 = 10_000;
/// Digits that a number may have here.
const DIGITS_MAX: i32 = 38;
const NEGATIVE: u16 = 0x4000;

/// Writes the text of a number in units of its last digit.
pub(in super::super) fn decimal_text(unscaled: i128, scale: i8, out: &mut Vec<u8>) {
    let digits = unscaled.unsigned_abs().to_string();
    if unscaled < 0 {
        out.push(b'-');
    }
    match usize::try_from(scale) {
        Err(_) if unscaled == 0 => out.push(b'0'),
        Err(_) => {
            out.extend_from_slice(digits.as_bytes());
            out.extend(std::iter::repeat_n(b'0', usize::from(scale.unsigned_abs())));
        }
        Ok(0) => out.extend_from_slice(digits.as_bytes()),
        Ok(scale) => {
            let digits = format!("{digits:0>width$}", width = scale + 1);
            let (whole, fraction) = digits.split_at(digits.len() - scale);
            out.extend_from_slice(whole.as_bytes());
            out.push(b'.');
            out.extend_from_slice(fraction.as_bytes());
        }
    }
}

/// Writes the binary form.
pub(super) fn write_numeric(unscaled: i128, scale: i8, out: &mut Vec<u8>) {
    let shown = scale.max(0);
    // The groups of the fraction. The last of them may be short: it is filled with zeros. Below zero, the scale is zeros too.
    let groups = (i32::from(shown) + 3) / 4;
    let zeros = groups * 4 - i32::from(scale);
    let mut low_first = vec![0; zeros as usize / 4];
    let mut rest = unscaled.unsigned_abs();
    // What the last group that is not zero has to itself; so nothing grows beyond 128 bits.
    let unit = 10u128.pow(zeros as u32 % 4);
    if unit > 1 {
        let own = BASE / unit;
        low_first.push((rest % own * unit) as u16);
        rest /= own;
    }
    while rest > 0 {
        low_first.push((rest % BASE) as u16);
        rest /= BASE;
    }
    while low_first.last() == Some(&0) {
        low_first.pop();
    }
    let weight = low_first.len() as i32 - groups - 1;
    let trailing = low_first.iter().take_while(|digit| **digit == 0).count();
    let digits = &low_first[trailing..];
    out.extend((digits.len() as u16).to_be_bytes());
    out.extend((if digits.is_empty() { 0 } else { weight as i16 }).to_be_bytes());
    out.extend((if unscaled < 0 { NEGATIVE } else { 0 }).to_be_bytes());
    out.extend(i16::from(shown).to_be_bytes());
    digits.iter().rev().for_each(|digit| out.extend(digit.to_be_bytes()));
}

/// Reads the binary form. What is no number, or has more than 38 digits, is none here.
pub(in super::super) fn read_numeric(bytes: &[u8]) -> Result<Datum, Malformed> {
    const BEYOND: Malformed = Malformed("a number has more than 38 digits");
    let mut from = Reader(bytes);
    let count = i32::from(from.i16()?.max(0));
    let weight = i32::from(from.i16()?);
    let sign = from.i16()? as u16;
    let scale = i32::from(from.i16()?);
    if !matches!(sign, 0 | NEGATIVE) {
        return Err(Malformed("NaN and infinities are no exact numbers"));
    }
    if !(0..=DIGITS_MAX).contains(&scale) {
        return Err(BEYOND);
    }
    let mut unscaled = 0i128;
    for nth in 0..count {
        let digit = i128::from(from.i16()?);
        if !(0..BASE as i128).contains(&digit) {
            return Err(Malformed("a digit of a number is none"));
        }
        // The power of ten of the digit, in units of the last.
        let power = (weight - nth) * 4 + scale;
        let value = match power {
            _ if digit == 0 => 0,
            0.. => 10i128.checked_pow(power as u32).and_then(|unit| unit.checked_mul(digit)).ok_or(BEYOND)?,
            -3..=-1 => digit / 10i128.pow(power.unsigned_abs()),
            _ => 0,
        };
        unscaled = unscaled.checked_add(value).ok_or(BEYOND)?;
    }
    if !from.0.is_empty() {
        return Err(Malformed("a number has bytes behind its end"));
    }
    checked(if sign == NEGATIVE { -unscaled } else { unscaled }, scale).ok_or(BEYOND)
}

/// Reads the text of a number.
pub(in super::super) fn parse_numeric(text: &str) -> Option<Datum> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if !digits.bytes().any(|byte| byte.is_ascii_digit()) || fraction.starts_with(['+', '-']) {
        return None;
    }
    let unscaled: i128 = digits.parse().ok()?;
    let scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    match scale {
        ..0 => checked(unscaled.checked_mul(10i128.checked_pow(scale.unsigned_abs())?)?, 0),
        scale => checked(unscaled, scale),
    }
}

fn checked(unscaled: i128, scale: i32) -> Option<Datum> {
    let fits = unscaled.unsigned_abs() < 10u128.pow(DIGITS_MAX as u32) && scale <= DIGITS_MAX;
    fits.then_some(Datum::Decimal128 { unscaled, scale: scale as i8 })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_written_as_postgresql_does() {
        // 12345.678 as numeric_send has it.
        let mut out = Vec::new();
        write_numeric(12_345_678, 3, &mut out);
        assert_eq!(out, [0, 3, 0, 1, 0, 0, 0, 3, 0, 1, 0x09, 0x29, 0x1a, 0x7c]);
        out.clear();
        write_numeric(0, 2, &mut out);
        assert_eq!(out, [0, 0, 0, 0, 0, 0, 0, 2]);
        out.clear();
        decimal_text(-5, 2, &mut out);
        assert_eq!(out, b"-0.05");
        assert_eq!(parse_numeric("1.5e3"), Some(Datum::Decimal128 { unscaled: 1500, scale: 0 }));
        assert!(["", "-", "1.-5", "x", "1e99", "NaN"].iter().all(|text| parse_numeric(text).is_none()));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(magnitude in 0u128..10u128.pow(38), negative in any::<bool>(), scale in 0i8..=38, cut in 0u32..38) {
            let unscaled = (magnitude / 10u128.pow(cut)) as i128 * if negative { -1 } else { 1 };
            let value = Datum::Decimal128 { unscaled, scale };
            let mut out = Vec::new();
            write_numeric(unscaled, scale, &mut out);
            prop_assert_eq!(read_numeric(&out), Ok(value.clone()));
            out.clear();
            decimal_text(unscaled, scale, &mut out);
            prop_assert_eq!(parse_numeric(std::str::from_utf8(&out).unwrap()), Some(value));
        }

        #[test]
        fn any_bytes_are_a_number_or_malformed(bytes in prop::collection::vec(any::<u8>(), 0..30)) {
            let _number_or_not = read_numeric(&bytes);
        }
    }
}
