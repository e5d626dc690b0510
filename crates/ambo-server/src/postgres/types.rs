//! Types of PostgreSQL by their numbers, and which of them columns and parameters have.

use arrow_schema::{DataType, Field, IntervalUnit};

/// The numbers of types, as `pg_type` has them.
pub(super) mod oid {
    pub const BOOL: u32 = 16;
    pub const BYTEA: u32 = 17;
    pub const INT8: u32 = 20;
    pub const INT2: u32 = 21;
    pub const INT4: u32 = 23;
    pub const TEXT: u32 = 25;
    pub const INT2VECTOR: u32 = 22;
    pub const OID: u32 = 26;
    pub const OIDVECTOR: u32 = 30;
    pub const JSON: u32 = 114;
    pub const FLOAT4: u32 = 700;
    pub const FLOAT8: u32 = 701;
    pub const BPCHAR: u32 = 1042;
    pub const VARCHAR: u32 = 1043;
    pub const NAME: u32 = 19;
    pub const UNKNOWN: u32 = 705;
    pub const DATE: u32 = 1082;
    pub const TIME: u32 = 1083;
    pub const TIMESTAMP: u32 = 1114;
    pub const TIMESTAMPTZ: u32 = 1184;
    pub const INTERVAL: u32 = 1186;
    pub const NUMERIC: u32 = 1700;
    pub const UUID: u32 = 2950;
    pub const JSONB: u32 = 3802;
}

use oid::*;

/// Types of one value, each with that of arrays of it.
const ARRAYS: [(u32, u32); 19] = [
    (BOOL, 1000),
    (BYTEA, 1001),
    (NAME, 1003),
    (INT2, 1005),
    (INT4, 1007),
    (TEXT, 1009),
    (OID, 1028),
    (BPCHAR, 1014),
    (VARCHAR, 1015),
    (INT8, 1016),
    (FLOAT4, 1021),
    (FLOAT8, 1022),
    (TIMESTAMP, 1115),
    (DATE, 1182),
    (TIME, 1183),
    (TIMESTAMPTZ, 1185),
    (INTERVAL, 1187),
    (NUMERIC, 1231),
    (UUID, 2951),
];

/// The type of arrays of a type.
pub(super) fn array_of(item: u32) -> u32 {
    let known = ARRAYS.iter().find(|(of, _)| *of == item);
    known.map_or(1009, |(_, array)| *array)
}

/// What arrays of a type are of; `None` if it is none of arrays.
pub(super) fn item_of(array: u32) -> Option<u32> {
    match array {
        199 => Some(JSON),
        3807 => Some(JSONB),
        INT2VECTOR => Some(INT2),
        OIDVECTOR => Some(OID),
        1002 => Some(18),
        _ => ARRAYS.iter().find(|(_, of)| *of == array).map(|(item, _)| *item),
    }
}

/// A type as rows are described with it: its number, the bytes of a value or -1, and what the number of its digits makes of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PgType {
    pub oid: u32,
    pub length: i16,
    pub modifier: i32,
}

/// The type of a column.
pub(super) fn type_of_field(field: &Field) -> PgType {
    let said = field.metadata().get(ambo_sql::PG_TYPE).and_then(|said| said.parse().ok());
    if let Some(oid) = said {
        let length = match oid {
            OID | 28 => 4,
            NAME => 64,
            18 => 1,
            _ if field.metadata().contains_key(ambo_sql::ENUM_LABELS) => 4,
            _ => -1,
        };
        return PgType { oid, length, modifier: -1 };
    }
    // asyncpg asks for types so, and cannot ask for the type of their list.
    if field.name() == "attrtypoids" && type_of(field.data_type()).oid == array_of(INT8) {
        return PgType { oid: array_of(OID), length: -1, modifier: -1 };
    }
    let is_json = field.metadata().get("ARROW:extension:name").is_some_and(|name| name == "arrow.json");
    match is_json {
        true => PgType { oid: JSON, length: -1, modifier: -1 },
        false => type_of(field.data_type()),
    }
}

/// The type of values of an Arrow type.
pub(super) fn type_of(ty: &DataType) -> PgType {
    let (oid, length) = match ty {
        DataType::Boolean => (BOOL, 1),
        DataType::Int8 | DataType::UInt8 | DataType::Int16 => (INT2, 2),
        DataType::UInt16 | DataType::Int32 => (INT4, 4),
        DataType::UInt32 | DataType::Int64 => (INT8, 8),
        DataType::Float16 | DataType::Float32 => (FLOAT4, 4),
        DataType::Float64 => (FLOAT8, 8),
        DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale) => {
            // What integers are summed to is as long as it needs to be.
            let is_whole = (*precision, *scale) == (38, 0);
            let modifier = ((i32::from(*precision) << 16) | (i32::from(*scale) & 0x7ff)) + 4;
            return PgType { oid: NUMERIC, length: -1, modifier: if is_whole { -1 } else { modifier } };
        }
        DataType::UInt64 | DataType::Decimal32(..) | DataType::Decimal64(..) => (NUMERIC, -1),
        DataType::Date32 | DataType::Date64 => (DATE, 4),
        DataType::Time32(_) | DataType::Time64(_) => (TIME, 8),
        DataType::Timestamp(_, None) => (TIMESTAMP, 8),
        DataType::Timestamp(_, Some(_)) => (TIMESTAMPTZ, 8),
        DataType::Interval(IntervalUnit::MonthDayNano) | DataType::Duration(_) | DataType::Interval(_) => {
            (INTERVAL, 16)
        }
        DataType::FixedSizeBinary(16) => (UUID, 16),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            (BYTEA, -1)
        }
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            (array_of(innermost(item).oid), -1)
        }
        DataType::Dictionary(_, values) => return type_of(values),
        _ => (TEXT, -1),
    };
    PgType { oid, length, modifier: -1 }
}

/// What lists of lists are of: arrays of several dimensions have the type of arrays of one.
fn innermost(item: &Field) -> PgType {
    match item.data_type() {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            innermost(item)
        }
        _ => type_of_field(item),
    }
}
