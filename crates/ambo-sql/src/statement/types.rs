//! Types of columns: as statements write them, and as they are shown.

use std::sync::Arc;

use ambo::{Column, Datum, Enum, Logical, Part, Type, arrow::column_type};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::sql::sqlparser::ast::{
    ArrayElemTypeDef, DataType, EnumMember, ExactNumberInfo, ObjectName, StructField, TimezoneInfo,
};

use crate::{
    Error, Result,
    error::instead_of_type,
    names::{ident, quoted, quoted_object},
    parse::parse_type,
    user_types::UserTypes,
    value,
};

/// The type of a column as statements write it. Lengths of texts are conditions of their own, those of binaries are not enforced.
pub(crate) fn declared(ty: &DataType, types: &UserTypes) -> Result<Part> {
    let part = |ty: &DataType| declared(ty, types).map(Box::new);
    Ok(Part::Logical(match ty {
        DataType::Uuid => Logical::Uuid,
        DataType::Bit(_) | DataType::BitVarying(_) | DataType::VarBit(_) => Logical::Bit,
        DataType::Custom(name, modifiers) if is_geometry(name) => match modifiers.is_empty() {
            true => Logical::Geometry,
            false => {
                return Err(Error::invalid("a geometry has no system of places").with_hint("write geometry"));
            }
        },
        DataType::Interval { .. } => Logical::Interval,
        DataType::JSON | DataType::JSONB => Logical::Json,
        DataType::Array(
            ArrayElemTypeDef::SquareBracket(item, None)
            | ArrayElemTypeDef::AngleBracket(item)
            | ArrayElemTypeDef::Parenthesis(item),
        ) => Logical::List(part(item)?),
        DataType::Array(ArrayElemTypeDef::SquareBracket(item, Some(length))) => {
            let fits = u32::try_from(*length).ok().filter(|length| *length > 0);
            let length = fits.ok_or_else(|| Error::invalid(format!("an array has no {length} items")))?;
            Logical::Array(part(item)?, length)
        }
        DataType::Map(key, value) => Logical::Map(part(key)?, part(value)?),
        DataType::Struct(fields, _) => {
            Logical::Struct(fields.iter().map(|of| field(of, types)).collect::<Result<_>>()?)
        }
        DataType::Enum(members, None) => enumeration(None, members)?,
        DataType::Custom(name, modifiers) if of_system(name).is_some() => {
            let modifiers = modifiers.join(", ");
            let modifiers = if modifiers.is_empty() { modifiers } else { format!("({modifiers})") };
            let short = of_system(name).unwrap_or_default();
            return declared(&parse_type(&format!("{short}{modifiers}"))?, types);
        }
        DataType::Custom(name, modifiers) if modifiers.is_empty() && plain(ty).is_err() => {
            match types.find(name)? {
                Some((name, DataType::Enum(members, None))) => enumeration(Some(name), &members)?,
                Some((_, of)) => return declared(&of, types),
                None => return plain(ty).map(Part::Plain),
            }
        }
        ty => return plain(ty).map(Part::Plain),
    }))
}

fn is_geometry(name: &ObjectName) -> bool {
    name.to_string().eq_ignore_ascii_case("geometry")
}

/// The name of a type of ours that is written with its schema: `pg_catalog.int4`, `main.integer`.
fn of_system(name: &ObjectName) -> Option<String> {
    let (schema, short) = match &name.0[..] {
        [schema, short] => (ident(schema.as_ident()?), ident(short.as_ident()?)),
        _ => return None,
    };
    let ty = parse_type(&short).ok()?;
    let is_own = matches!(schema.as_str(), "main" | "pg_catalog") && !matches!(ty, DataType::Custom(..));
    is_own.then_some(short)
}

fn enumeration(name: Option<String>, members: &[EnumMember]) -> Result<Logical> {
    let label = |member: &EnumMember| match member {
        EnumMember::Name(label) => Ok(label.clone()),
        other @ EnumMember::NamedValue(..) => {
            Err(Error::invalid(format!("not supported: {other:?} in an enum"))
                .with_hint("the labels of an enum are texts, whose places are their values"))
        }
    };
    let labels = members.iter().map(label).collect::<Result<_>>()?;
    let of = Logical::Enum(Arc::new(Enum { name, labels }));
    of.validate().map_err(Error::invalid)?;
    Ok(of)
}

/// A field of a struct.
fn field(field: &StructField, types: &UserTypes) -> Result<(String, Part)> {
    match &field.field_name {
        Some(name) => Ok((ident(name), declared(&field.field_type, types)?)),
        None => Err(Error::invalid(format!("a field of a struct has no name: {}", field.field_type))
            .with_hint("write struct(name type, …)")),
    }
}

/// A type without a logical one.
fn plain(ty: &DataType) -> Result<Type> {
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
        DataType::HugeInt | DataType::Int128 => {
            Type::decimal(38, 0).map_err(|error| Error::invalid(error.to_string()))?
        }
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
        | DataType::Clob(_) => Type::Utf8,
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
        "timestamp_us" => Type::Timestamp,
        other => return Err(no_type(other)),
    })
}

fn no_type(name: &str) -> Error {
    let error = Error::invalid(format!("there is no type {name} for columns"));
    error.with_hint(instead_of_type(name).unwrap_or("there are boolean, tinyint to bigint (also unsigned), real, double, decimal, date, time, timestamp, timestamptz, interval, text, blob, bit, uuid, json, geometry, enum('a', 'b'), lists (integer[]), arrays (integer[3]), struct(a integer), map(text, integer); CREATE TYPE makes others"))
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

/// The type of a column as statements write it.
pub(crate) fn column_type_text(column: &Column) -> String {
    column.logical.as_ref().map_or_else(|| type_text(column.kind), logical_text)
}

/// The same, of an enum with its labels, and not by its name.
pub(crate) fn column_type_in_full(column: &Column) -> String {
    match &column.logical {
        Some(Logical::Enum(of)) => of.to_string(),
        _ => column_type_text(column),
    }
}

pub(super) fn part_text(part: &Part) -> String {
    match part {
        Part::Plain(ty) => type_text(*ty),
        Part::Logical(logical) => logical_text(logical),
    }
}

pub(super) fn logical_text(logical: &Logical) -> String {
    let part = part_text;
    match logical {
        Logical::Uuid | Logical::Interval | Logical::Json | Logical::Bit | Logical::Geometry => {
            logical.to_string()
        }
        Logical::Collated(_) => type_text(Type::Utf8),
        Logical::List(item) => format!("{}[]", part(item)),
        Logical::Array(item, length) => format!("{}[{length}]", part(item)),
        Logical::Struct(fields) => {
            let fields = fields.iter().map(|(name, of)| format!("{} {}", quoted(name), part(of)));
            format!("struct({})", fields.collect::<Vec<_>>().join(", "))
        }
        Logical::Map(key, value) => format!("map({}, {})", part(key), part(value)),
        Logical::Enum(of) => of.name.as_deref().map_or_else(|| of.to_string(), quoted_object),
    }
}

/// A value of a column, as tables store it, as statements write it.
///
/// # Errors
/// A value of another type.
pub fn stored_literal(value: &Datum, column: &Column) -> Result<String> {
    literal(value, &column_type(column))
}

/// A stored value of a type as statements write it.
///
/// # Errors
/// A value of another type.
pub(crate) fn literal(value: &Datum, ty: &arrow::datatypes::DataType) -> Result<String> {
    let is_logical = *ty != arrow::datatypes::DataType::Binary && matches!(value, Datum::Binary(_))
        || crate::logical::is_enum(ty)
        || crate::logical::is_bytes(ty);
    if is_logical {
        return crate::logical::literal(&value::array(ty, std::iter::once(value))?, 0);
    }
    let text = || -> Result<String> {
        let array = value::array(ty, std::iter::once(value))?;
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
        let written = |value: Datum, ty| literal(&value, &crate::value::sql_type(ty)).unwrap();
        assert_eq!(written("it's".into(), Type::Utf8), "'it''s'");
        assert_eq!(written(Datum::Date32(19782), Type::Date32), "DATE '2024-02-29'");
        assert_eq!(written(Datum::Timestamp(0), Type::Timestamp), "TIMESTAMP '1970-01-01 00:00:00'");
        assert_eq!(written(Datum::Binary(vec![1, 255]), Type::Binary), "X'01FF'");
        let price = Type::decimal(10, 2).unwrap();
        assert_eq!(written(Datum::Decimal128 { unscaled: -150, scale: 2 }, price), "-1.50");
        assert_eq!(written(Datum::Bool(true), Type::Bool), "true");
    }
}
