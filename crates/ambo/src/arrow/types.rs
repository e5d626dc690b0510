//! The Arrow type of each type of column.
//!
//! | column | Arrow |
//! |---|---|
//! | boolean, integers, floats | the same |
//! | `decimal(p, s)` | `decimal128(p, s)` |
//! | `date` | `date32` |
//! | `time` | `time64(nanosecond)` |
//! | `timestamp` | `timestamp(microsecond)` |
//! | `timestamptz` | `timestamp(microsecond, "UTC")` |
//! | `text`, `binary` | `utf8`, `binary`; text on demand as `dictionary(int32, utf8)` |
//! | a logical type | see `logical` |

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

use super::logical::{logical_type, marked};
use crate::{Column, TableDefinition, Type};

/// What the number of a row is called, in a table whose keys end in one.
const ROW_NUMBER: &str = "rowid";

/// The Arrow type that holds what a column type holds.
pub fn data_type(ty: Type) -> DataType {
    match ty {
        Type::Bool => DataType::Boolean,
        Type::I8 => DataType::Int8,
        Type::I16 => DataType::Int16,
        Type::I32 => DataType::Int32,
        Type::I64 => DataType::Int64,
        Type::U8 => DataType::UInt8,
        Type::U16 => DataType::UInt16,
        Type::U32 => DataType::UInt32,
        Type::U64 => DataType::UInt64,
        Type::F32 => DataType::Float32,
        Type::F64 => DataType::Float64,
        Type::Decimal128 { precision, scale } => DataType::Decimal128(precision, scale),
        Type::Date32 => DataType::Date32,
        Type::Time64 => DataType::Time64(TimeUnit::Nanosecond),
        Type::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        Type::TimestampTz => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        Type::Utf8 => DataType::Utf8,
        Type::Binary => DataType::Binary,
    }
}

/// The Arrow type that holds what a column means.
pub fn column_type(column: &Column) -> DataType {
    column.logical.as_ref().map_or_else(|| data_type(column.kind), logical_type)
}

/// The Arrow schema of some columns of a table, and which of them may have NULLs. The place behind the last column is the number of a row,
/// for tables whose keys end in one.
pub fn schema(
    definition: &TableDefinition,
    columns: &[usize],
    nullable: &[bool],
    dictionaries: bool,
) -> SchemaRef {
    let fields = columns.iter().zip(nullable).map(|(&index, nullable)| match definition.columns.get(index) {
        Some(column) => field(column, dictionaries).with_nullable(*nullable),
        None => Field::new(ROW_NUMBER, DataType::UInt64, false),
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// The Arrow field of a column, its text with a dictionary if that is asked for.
pub fn field(column: &Column, dictionaries: bool) -> Field {
    let ty = match column.kind {
        Type::Utf8 if dictionaries => {
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
        }
        _ => column_type(column),
    };
    let field = Field::new(&column.name, ty, column.nullable);
    match &column.logical {
        Some(logical) => marked(field, logical),
        None => field,
    }
}
