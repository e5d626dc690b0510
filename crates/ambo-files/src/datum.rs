//! Values of columns as text, CSV fields and JSON, and back.

use std::borrow::Cow;

use ambo::{Datum, Type};
use serde_json::Value as Json;

use crate::text::{escape, unescape};

/// For a person: NULL, text and bytes with escapes, the rest as usual.
pub fn show(datum: &Datum) -> String {
    match datum {
        Datum::Utf8(text) => escape(text.as_bytes()),
        Datum::Null => "NULL".into(),
        _ => field(datum).into_owned(),
    }
}

/// For a CSV field or a JSON string: text as it is, bytes with escapes. NULL is empty.
pub fn field(datum: &Datum) -> Cow<'_, str> {
    Cow::Owned(match datum {
        Datum::Null => return Cow::Borrowed(""),
        Datum::Utf8(text) => return Cow::Borrowed(text),
        Datum::Binary(bytes) => escape(bytes),
        // The debug form keeps the point: 1.0 is read back as a float, 1 as an integer.
        Datum::F64(number) => format!("{number:?}"),
        Datum::F32(number) => format!("{number:?}"),
        other => other.to_string(),
    })
}

/// As JSON: numbers, booleans and null natively; text as it is; bytes with escapes; the rest as text.
pub fn to_json(datum: &Datum) -> Json {
    let value = datum.as_ref();
    match datum {
        Datum::Null => Json::Null,
        Datum::Bool(value) => Json::Bool(*value),
        Datum::U64(number) => Json::from(*number),
        Datum::I8(_)
        | Datum::I16(_)
        | Datum::I32(_)
        | Datum::I64(_)
        | Datum::U8(_)
        | Datum::U16(_)
        | Datum::U32(_) => value.as_i64().map_or(Json::Null, Json::from),
        Datum::F64(number) if number.is_finite() => Json::from(*number),
        // Through the text, so that 0.1 as 32 bits is not shown as 0.10000000149011612.
        Datum::F32(number) if number.is_finite() => {
            number.to_string().parse::<f64>().map_or(Json::Null, Json::from)
        }
        _ => Json::String(field(datum).into_owned()),
    }
}

/// Reads text as a value of type `ty`; bytes take escapes. The caller knows what stands for NULL.
///
/// # Errors
/// The text with the type, and what would fit.
pub fn parse(text: &str, ty: Type) -> Result<Datum, String> {
    let parsed = match ty {
        Type::Binary => return unescape(text.as_bytes()).map(Datum::Binary),
        Type::Decimal128 { .. } => Datum::parse(&plain_digits(text), ty).ok(),
        // Too large a number would be infinite.
        Type::F64 | Type::F32 => Datum::parse(text, ty).ok().filter(|value| match value {
            Datum::F64(value) => value.is_finite() || is_word(text),
            Datum::F32(value) => value.is_finite() || is_word(text),
            _ => true,
        }),
        _ => Datum::parse(text, ty).ok(),
    };
    parsed.ok_or_else(|| match fitting(ty) {
        Some(fitting) => format!("'{text}' is no {ty}; {fitting} would be one"),
        None => format!("'{text}' is no {ty}"),
    })
}

/// Whether a number is written with letters that are no exponent.
fn is_word(text: &str) -> bool {
    !text.bytes().any(|byte| byte.is_ascii_digit())
}

/// A number with an exponent as one without; others as they are.
fn plain_digits(text: &str) -> Cow<'_, str> {
    let plain = || {
        let (mantissa, exponent) = text.trim().split_once(['e', 'E'])?;
        let exponent = exponent.parse::<i32>().ok().filter(|exponent| exponent.abs() <= 100)?;
        let (sign, mantissa) = match mantissa.strip_prefix('-') {
            Some(rest) => ("-", rest),
            None => ("", mantissa),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let is_number = whole.len() + fraction.len() > 0
            && whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
        let (before, behind) = ("0".repeat(100), "0".repeat(100));
        let digits = format!("{before}{whole}{fraction}{behind}");
        let point = usize::try_from(100 + whole.len() as i32 + exponent).ok()?;
        let (whole, fraction) = digits.split_at_checked(point)?;
        is_number.then(|| format!("{sign}{}.{fraction}", whole.trim_start_matches('0')))
    };
    plain().map_or(Cow::Borrowed(text), Cow::Owned)
}

/// An example of what a type holds, or its limits.
fn fitting(ty: Type) -> Option<String> {
    let whole = |from: i128, to: i128| Some(format!("a whole number from {from} to {to}"));
    match ty {
        Type::Bool => Some("true or false".into()),
        Type::I8 => whole(i8::MIN.into(), i8::MAX.into()),
        Type::I16 => whole(i16::MIN.into(), i16::MAX.into()),
        Type::I32 => whole(i32::MIN.into(), i32::MAX.into()),
        Type::I64 => whole(i64::MIN.into(), i64::MAX.into()),
        Type::U8 => whole(0, u8::MAX.into()),
        Type::U16 => whole(0, u16::MAX.into()),
        Type::U32 => whole(0, u32::MAX.into()),
        Type::U64 => whole(0, u64::MAX.into()),
        Type::F32 => Some("a number up to 3.4e38".into()),
        Type::F64 => Some("a number up to 1.8e308".into()),
        Type::Decimal128 { precision, scale } => Some(format!(
            "a number with up to {} digits before the point and {scale} behind it",
            i16::from(precision) - i16::from(scale)
        )),
        Type::Date32 => Some("a date such as 2013-01-31".into()),
        Type::Time64 => Some("a time such as 23:15:00.5".into()),
        Type::Timestamp => Some("a time such as 2013-01-31 23:15:00.5".into()),
        Type::TimestampTz => Some("a time such as 2013-01-31 23:15:00.5+01".into()),
        Type::Utf8 | Type::Binary => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away values that change on their way out and in again.
    #[test]
    fn fields_round_trip() {
        for (datum, ty) in [
            (Datum::I64(-7), Type::I64),
            (Datum::U64(u64::MAX), Type::U64),
            (Datum::F64(1.0), Type::F64),
            (Datum::F64(f64::NAN), Type::F64),
            (Datum::F64(f64::NEG_INFINITY), Type::F64),
            (Datum::F64(-1e300), Type::F64),
            (Datum::F32(0.1), Type::F32),
            (Datum::Bool(true), Type::Bool),
            (Datum::Date32(20_777), Type::Date32),
            (Datum::Timestamp(1_600_000_000_123_456), Type::Timestamp),
            (Datum::Utf8("a \\ \"b\"\n".into()), Type::Utf8),
            (Datum::Binary(vec![0, 255, b'\\']), Type::Binary),
        ] {
            assert_eq!(parse(&field(&datum), ty).as_ref(), Ok(&datum));
            if let Json::String(text) = to_json(&datum) {
                assert_eq!(parse(&text, ty).as_ref(), Ok(&datum));
            }
        }
        assert_eq!(field(&Datum::F64(1.0)), "1.0");
    }

    // Keeps away: a number that is too large and becomes infinite, and digits that are cut off.
    #[test]
    fn what_does_not_fit_is_told() {
        for (text, ty, what) in [
            ("1e999", Type::F64, "1.8e308"),
            ("1e39", Type::F32, "3.4e38"),
            ("300", Type::U8, "0 to 255"),
            ("1.235", Type::decimal(5, 2).unwrap(), "3 digits before the point and 2 behind"),
            ("1e3", Type::decimal(5, 2).unwrap(), "3 digits"),
            ("x", Type::Bool, "true or false"),
        ] {
            let error = parse(text, ty).unwrap_err();
            assert!(error.contains(what) && error.contains(text), "{error}");
        }
        let decimal = Type::decimal(5, 2).unwrap();
        assert_eq!(parse("-1.25e1", decimal), Ok(Datum::Decimal128 { unscaled: -1250, scale: 2 }));
        assert_eq!(parse("1250E-1", decimal), Ok(Datum::Decimal128 { unscaled: 12_500, scale: 2 }));
    }
}
