//! Types of columns: as statements write them, and as they are shown.

use ambo::{Datum, Type};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::sql::sqlparser::ast::{DataType, ExactNumberInfo, TimezoneInfo};

use crate::{
    Error, Result,
    value::{self, sql_type},
};

/// The type of a column as statements write it. Lengths of texts and binaries are taken and not enforced.
pub(crate) fn column_type(ty: &DataType) -> Result<Type> {
    Ok(match ty {
        DataType::Boolean | DataType::Bool => Type::Bool,
        DataType::TinyInt(_) | DataType::Int8(_) => Type::I8,
        DataType::SmallInt(_) | DataType::Int16 | DataType::Int2(_) => Type::I16,
        DataType::Int(_)
        | DataType::Integer(_)
        | DataType::MediumInt(_)
        | DataType::Int32
        | DataType::Int4(_) => Type::I32,
        DataType::BigInt(_) | DataType::Int64 => Type::I64,
        DataType::TinyIntUnsigned(_) | DataType::UTinyInt | DataType::UInt8 => Type::U8,
        DataType::SmallIntUnsigned(_) | DataType::USmallInt | DataType::UInt16 => Type::U16,
        DataType::IntUnsigned(_) | DataType::IntegerUnsigned(_) | DataType::UInt32 => Type::U32,
        DataType::BigIntUnsigned(_) | DataType::UBigInt | DataType::UInt64 => Type::U64,
        DataType::Real | DataType::Float4 | DataType::Float32 => Type::F32,
        DataType::Float(_)
        | DataType::Double(_)
        | DataType::DoublePrecision
        | DataType::Float8
        | DataType::Float64 => Type::F64,
        DataType::Decimal(info) | DataType::Numeric(info) | DataType::Dec(info) => {
            let (precision, scale) = match info {
                ExactNumberInfo::None => (38, 10),
                ExactNumberInfo::Precision(precision) => (*precision, 0),
                ExactNumberInfo::PrecisionAndScale(precision, scale) => (*precision, *scale),
            };
            let fits = || Some((u8::try_from(precision).ok()?, i8::try_from(scale).ok()?));
            let (precision, scale) =
                fits().ok_or_else(|| Error::invalid(format!("{ty} has too many digits; 38 are the most")))?;
            Type::decimal(precision, scale).map_err(|error| Error::invalid(error.to_string()))?
        }
        // What has more digits than 38 is an error there.
        DataType::HugeInt => Type::decimal(38, 0).map_err(|error| Error::invalid(error.to_string()))?,
        DataType::Char(_)
        | DataType::Character(_)
        | DataType::Varchar(_)
        | DataType::CharacterVarying(_)
        | DataType::CharVarying(_)
        | DataType::Text
        | DataType::TinyText
        | DataType::MediumText
        | DataType::LongText
        | DataType::String(_)
        | DataType::Clob(_)
        | DataType::Uuid
        | DataType::JSON
        | DataType::JSONB => Type::Utf8,
        DataType::Blob(_)
        | DataType::TinyBlob
        | DataType::MediumBlob
        | DataType::LongBlob
        | DataType::Bytea
        | DataType::Bytes(_)
        | DataType::Binary(_)
        | DataType::Varbinary(_) => Type::Binary,
        DataType::Date | DataType::Date32 => Type::Date32,
        DataType::Time(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => Type::Time64,
        DataType::Timestamp(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => Type::TimestampTz,
        DataType::Timestamp(..) | DataType::Datetime(_) | DataType::TimestampNtz(_) => Type::Timestamp,
        DataType::Custom(name, _) => return named_type(&name.to_string().to_lowercase()),
        other => return Err(no_type(&other.to_string())),
    })
}

/// Types that the parser knows as names only.
fn named_type(name: &str) -> Result<Type> {
    Ok(match name {
        "serial" | "serial4" => Type::I32,
        "bigserial" | "serial8" => Type::I64,
        "uinteger" => Type::U32,
        "int1" => Type::I8,
        "short" => Type::I16,
        "signed" => Type::I32,
        "long" => Type::I64,
        "logical" => Type::Bool,
        "timestamptz" => Type::TimestampTz,
        other => return Err(no_type(other)),
    })
}

fn no_type(name: &str) -> Error {
    Error::invalid(format!("there is no type {name} for columns"))
        .with_hint("there are boolean, tinyint to bigint (also unsigned), real, double, decimal, date, time, timestamp, timestamptz, text, blob")
}

/// Whether a type says that a column numbers itself.
pub(crate) fn is_serial(ty: &DataType) -> bool {
    matches!(ty, DataType::Custom(name, _)
        if ["serial", "serial4", "bigserial", "serial8"].contains(&&*name.to_string().to_lowercase()))
}

/// A type as statements write it.
pub(crate) fn type_text(ty: Type) -> String {
    let name = match ty {
        Type::Bool => "boolean",
        Type::I8 => "tinyint",
        Type::I16 => "smallint",
        Type::I32 => "integer",
        Type::I64 => "bigint",
        Type::U8 => "tinyint unsigned",
        Type::U16 => "smallint unsigned",
        Type::U32 => "integer unsigned",
        Type::U64 => "bigint unsigned",
        Type::F32 => "real",
        Type::F64 => "double",
        Type::Decimal128 { precision, scale } => return format!("decimal({precision}, {scale})"),
        Type::Date32 => "date",
        Type::Time64 => "time",
        Type::Timestamp => "timestamp",
        Type::TimestampTz => "timestamp with time zone",
        Type::Utf8 => "text",
        Type::Binary => "blob",
    };
    name.to_owned()
}

/// A value of a type as statements write it.
///
/// # Errors
/// A value of another type.
pub(crate) fn literal(value: &Datum, ty: Type) -> Result<String> {
    let text = || -> Result<String> {
        let array = value::array(&sql_type(ty), std::iter::once(value))?;
        let options = FormatOptions::default();
        let wrong = |error: arrow::error::ArrowError| Error::invalid(error.to_string());
        ArrayFormatter::try_new(&array, &options).map_err(wrong)?.value(0).try_to_string().map_err(wrong)
    };
    Ok(match value {
        Datum::Null => "NULL".to_owned(),
        Datum::Utf8(text) => format!("'{}'", text.replace('\'', "''")),
        Datum::Binary(bytes) => {
            format!("X'{}'", bytes.iter().map(|byte| format!("{byte:02X}")).collect::<String>())
        }
        Datum::Date32(_) => format!("DATE '{value}'"),
        Datum::Time64(_) => format!("TIME '{value}'"),
        Datum::Timestamp(_) => format!("TIMESTAMP '{value}'"),
        Datum::TimestampTz(_) => format!("TIMESTAMP WITH TIME ZONE '{value}'"),
        _ => text()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_literals() {
        let written = |value: Datum, ty| literal(&value, ty).unwrap();
        assert_eq!(written("it's".into(), Type::Utf8), "'it''s'");
        assert_eq!(written(Datum::Date32(19782), Type::Date32), "DATE '2024-02-29'");
        assert_eq!(written(Datum::Timestamp(0), Type::Timestamp), "TIMESTAMP '1970-01-01 00:00:00'");
        assert_eq!(written(Datum::Binary(vec![1, 255]), Type::Binary), "X'01FF'");
        let price = Type::decimal(10, 2).unwrap();
        assert_eq!(written(Datum::Decimal128 { unscaled: -150, scale: 2 }, price), "-1.50");
        assert_eq!(written(Datum::Bool(true), Type::Bool), "true");
    }
}
