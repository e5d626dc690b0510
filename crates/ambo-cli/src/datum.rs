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
pub fn parse(text: &str, ty: Type) -> Result<Datum, String> {
    match ty {
        Type::Binary => unescape(text.as_bytes()).map(Datum::Binary),
        _ => Datum::parse(text, ty).map_err(|error| error.to_string()),
    }
}

/// Reads a JSON value as a value of type `ty`. Arrays and objects are kept as their JSON text.
pub fn from_json(json: &Json, ty: Type) -> Result<Datum, String> {
    match json {
        Json::Null => Ok(Datum::Null),
        Json::String(text) => parse(text, ty),
        other => parse(&other.to_string(), ty),
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
            (Datum::F64(-1e300), Type::F64),
            (Datum::F32(0.1), Type::F32),
            (Datum::Bool(true), Type::Bool),
            (Datum::Date32(20_777), Type::Date32),
            (Datum::Timestamp(1_600_000_000_123_456), Type::Timestamp),
            (Datum::Utf8("a \\ \"b\"\n".into()), Type::Utf8),
            (Datum::Binary(vec![0, 255, b'\\']), Type::Binary),
        ] {
            assert_eq!(parse(&field(&datum), ty).as_ref(), Ok(&datum));
            assert_eq!(from_json(&to_json(&datum), ty).as_ref(), Ok(&datum));
        }
        assert_eq!(field(&Datum::F64(1.0)), "1.0");
    }
}
