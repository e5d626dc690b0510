//! Values as text, and back.

use std::fmt;

use super::{Value, ValueRef};
use crate::{Error, Result, Type, calendar};

impl fmt::Display for ValueRef<'_> {
    /// The text that [`Value::parse`] reads back. NULL is `NULL`; bytes are `x'0aff'`; text stands as it is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Null => f.write_str("NULL"),
            Self::Bool(value) => value.fmt(f),
            Self::I8(value) => value.fmt(f),
            Self::I16(value) => value.fmt(f),
            Self::I32(value) => value.fmt(f),
            Self::I64(value) => value.fmt(f),
            Self::U8(value) => value.fmt(f),
            Self::U16(value) => value.fmt(f),
            Self::U32(value) => value.fmt(f),
            Self::U64(value) => value.fmt(f),
            Self::F32(value) => value.fmt(f),
            Self::F64(value) => value.fmt(f),
            Self::Decimal128 { unscaled, scale } => write_decimal(f, unscaled, scale),
            Self::Date32(days) => calendar::write_date(f, days.into()),
            Self::Time64(nanos) => calendar::write_time(f, nanos),
            Self::Timestamp(micros) => calendar::write_timestamp(f, micros, None),
            Self::TimestampTz(micros) => calendar::write_timestamp(f, micros, Some(0)),
            Self::Utf8(text) => text.fmt(f),
            Self::Binary(bytes) => {
                f.write_str("x'")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                f.write_str("'")
            }
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

impl Value {
    /// Reads the text of a value of type `ty`: what `Display` writes, and usual other forms (`t`, `1`, a `T`
    /// between date and time, bytes as they are). NULL has no text here: the caller knows what stands
    /// for it.
    pub fn parse(text: &str, ty: Type) -> Result<Self> {
        if ty == Type::Utf8 {
            return Ok(Self::Utf8(text.to_owned()));
        }
        if ty == Type::Binary {
            let bytes = parse_hex(text).unwrap_or_else(|| text.as_bytes().to_vec());
            return Ok(Self::Binary(bytes));
        }
        let trimmed = text.trim();
        let parsed = match ty {
            Type::Bool => parse_bool(trimmed).map(Self::Bool),
            Type::I8 => trimmed.parse().ok().map(Self::I8),
            Type::I16 => trimmed.parse().ok().map(Self::I16),
            Type::I32 => trimmed.parse().ok().map(Self::I32),
            Type::I64 => trimmed.parse().ok().map(Self::I64),
            Type::U8 => trimmed.parse().ok().map(Self::U8),
            Type::U16 => trimmed.parse().ok().map(Self::U16),
            Type::U32 => trimmed.parse().ok().map(Self::U32),
            Type::U64 => trimmed.parse().ok().map(Self::U64),
            Type::F32 => trimmed.parse().ok().map(Self::F32),
            Type::F64 => trimmed.parse().ok().map(Self::F64),
            Type::Decimal128 { .. } => parse_decimal(trimmed, ty),
            Type::Date32 => {
                calendar::parse_date(trimmed).and_then(|days| days.try_into().ok()).map(Self::Date32)
            }
            Type::Time64 => calendar::parse_time(trimmed).map(Self::Time64),
            Type::Timestamp => calendar::parse_timestamp(trimmed).map(Self::Timestamp),
            Type::TimestampTz => calendar::parse_instant(trimmed).map(Self::TimestampTz),
            Type::Utf8 | Type::Binary => None,
        };
        parsed.ok_or_else(|| Error::invalid(format!("'{text}' is no {ty}")))
    }
}

fn parse_bool(text: &str) -> Option<bool> {
    let is_one_of = |names: [&str; 5]| names.iter().any(|name| text.eq_ignore_ascii_case(name));
    if is_one_of(["true", "t", "yes", "y", "1"]) {
        return Some(true);
    }
    is_one_of(["false", "f", "no", "n", "0"]).then_some(false)
}

/// Reads `x'0aff'`.
fn parse_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("x'")?.strip_suffix('\'')?.as_bytes();
    let nibble = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    let pair = |pair: &[u8]| Some(nibble(pair[0])? << 4 | nibble(pair[1])?);
    (digits.len() % 2 == 0).then(|| digits.chunks_exact(2).map(pair).collect()).flatten()
}

/// Reads `-12.345` exactly; more digits than the type has are refused, not rounded.
fn parse_decimal(text: &str, ty: Type) -> Option<Value> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let unsigned = whole.strip_prefix(['-', '+']).unwrap_or(whole);
    let only_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let some_digit = !unsigned.is_empty() || !fraction.is_empty();
    if !some_digit || !only_digits(unsigned) || !only_digits(fraction) {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let magnitude: i128 = format!("0{unsigned}{fraction}").parse().ok()?;
    let unscaled = if whole.starts_with('-') { -magnitude } else { magnitude };
    let scale = fraction.len().try_into().ok()?;
    let fitted = ValueRef::Decimal128 { unscaled, scale }.fit(ty).ok()?;
    Some(fitted.to_value())
}

fn write_decimal(f: &mut fmt::Formatter<'_>, unscaled: i128, scale: i8) -> fmt::Result {
    let sign = if unscaled < 0 { "-" } else { "" };
    let digits = unscaled.unsigned_abs().to_string();
    let behind = usize::from(scale.unsigned_abs());
    if scale <= 0 {
        let zeros = if unscaled == 0 { 0 } else { behind };
        return write!(f, "{sign}{digits}{}", "0".repeat(zeros));
    }
    let padded = format!("{digits:0>width$}", width = behind + 1);
    let (whole, fraction) = padded.split_at(padded.len() - behind);
    write!(f, "{sign}{whole}.{fraction}")
}
