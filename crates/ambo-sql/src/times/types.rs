//! What the names of types mean: times are in microseconds, blobs have one type, and names that the planner does not know are those of
//! columns.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::{
    common::Result,
    logical_expr::planner::TypePlanner,
    sql::sqlparser::ast::{DataType as Named, TimezoneInfo},
};

use super::{MOMENT, instant};
use ambo::arrow::part_type;

use crate::{
    logical::BIT,
    statement::{declared, is_serial},
    user_types::UserTypes,
};

/// See the module.
#[derive(Debug)]
pub(crate) struct TimeTypes(pub UserTypes);

impl TypePlanner for TimeTypes {
    fn plan_type_field(&self, named: &Named) -> Result<Option<FieldRef>> {
        let ty = type_of_name(named, &self.0);
        Ok(ty.map(|ty| Arc::new(Field::new("", ty, true))))
    }
}

/// The type of moments or bytes that a name is of.
fn type_of_name(named: &Named, types: &UserTypes) -> Option<DataType> {
    Some(match named {
        Named::Timestamp(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => instant(),
        Named::Timestamp(..) | Named::Datetime(_) | Named::TimestampNtz(_) => MOMENT,
        Named::Custom(name, _) if name.to_string().eq_ignore_ascii_case("timestamptz") => instant(),
        Named::Bit(_) | Named::BitVarying(_) | Named::VarBit(_) => BIT,
        // A whole value of it is cast by a function; within others it is a text.
        Named::JSON | Named::JSONB => DataType::Utf8,
        Named::Blob(_) | Named::Binary(_) | Named::Varbinary(_) => DataType::Binary,
        Named::Int16
        | Named::Int32
        | Named::Int64
        | Named::Float32
        | Named::Float64
        | Named::UTinyInt
        | Named::USmallInt
        | Named::UBigInt
        | Named::UInt8
        | Named::UInt16
        | Named::UInt32
        | Named::UInt64
        | Named::Int128
        | Named::HugeInt
        | Named::Uuid
        | Named::Enum(..)
        | Named::Map(..) => part_type(&declared(named, types).ok()?),
        Named::Custom(..) if !is_serial(named) => part_type(&declared(named, types).ok()?),
        _ => return None,
    })
}
