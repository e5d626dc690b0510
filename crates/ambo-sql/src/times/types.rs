//! What the names of types mean: times are in microseconds.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::{
    common::Result,
    logical_expr::planner::TypePlanner,
    sql::sqlparser::ast::{DataType as Named, TimezoneInfo},
};

use super::{MOMENT, instant};

/// See the module.
#[derive(Debug)]
pub(crate) struct TimeTypes;

impl TypePlanner for TimeTypes {
    fn plan_type_field(&self, named: &Named) -> Result<Option<FieldRef>> {
        let ty = time_type(named);
        Ok(ty.map(|ty| Arc::new(Field::new("", ty, true))))
    }
}

/// The type of moments that a name is of.
fn time_type(named: &Named) -> Option<DataType> {
    Some(match named {
        Named::Timestamp(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => instant(),
        Named::Timestamp(..) | Named::Datetime(_) | Named::TimestampNtz(_) => MOMENT,
        Named::Custom(name, _) if name.to_string().eq_ignore_ascii_case("timestamptz") => instant(),
        _ => return None,
    })
}
