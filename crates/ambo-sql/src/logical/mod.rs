//! Values of logical types in statements: UUIDs, lists, arrays, structs, maps; and intervals, as far as `times` leaves them.
//!
//! A type is told by Arrow's alone, in every plan: bytes of one length are UUIDs, because nothing else has that type here, and so are bits
//! and geometries; JSON is text that is marked (`functions/json`). What is stored of them is the matter of `ambo::arrow`.
//!
//! | file | what |
//! |---|---|
//! | `uuid` | texts of UUIDs, and back |
//! | `cast` | values in another type |
//! | `enums` | labels of enums, and back |
//! | `bytes` | bits and geometries, and back |
//! | `plain` | what others know of these types |
//! | `read` | texts of lists, structs and maps, and back |
//! | `literal` | values as expressions |

mod bytes;
mod cast;
mod enums;
mod literal;
mod plain;
mod read;
mod uuid;

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, IntervalUnit};

pub(crate) use ambo::uuid_text;
pub(crate) use bytes::{BIT, GEOMETRY, bits_of, bytes_texts, geometry_of, is_bytes, value_of};
pub(crate) use cast::{converted, converts, goes_by_places};
pub(crate) use enums::{codes, is_enum, labels};
pub(crate) use literal::literal;
pub(crate) use plain::{has_own, plain, plain_type};
pub(crate) use uuid::uuid_texts;

/// Bytes of a UUID.
pub(crate) const UUID_LEN: i32 = 16;

/// The type of `uuid`.
pub(crate) const UUID: DataType = DataType::FixedSizeBinary(UUID_LEN);

/// The type with intervals for durations, which no column has.
pub(crate) fn without_durations(ty: &DataType) -> DataType {
    let of = |field: &FieldRef| -> FieldRef {
        Arc::new(Field::clone(field).with_data_type(without_durations(field.data_type())))
    };
    match ty {
        DataType::Duration(_) => DataType::Interval(IntervalUnit::MonthDayNano),
        DataType::List(item) => DataType::List(of(item)),
        DataType::LargeList(item) => DataType::LargeList(of(item)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(of(item), *length),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(of).collect()),
        DataType::Map(entries, is_sorted) => DataType::Map(of(entries), *is_sorted),
        ty => ty.clone(),
    }
}
