//! Types that are others with fewer values: `uhugeint` is a `decimal(38, 0)` that is not negative, `timestamp_s` and `timestamp_ms` are
//! timestamps of whole seconds and milliseconds. A column of one is a column of the other with a check.

use datafusion::sql::sqlparser::ast::{DataType, Expr, TimezoneInfo};

use crate::{Result, names::quoted, parse::parse_expression};

/// The type with more values; `None` of types that are themselves.
pub(super) fn wider(ty: &DataType) -> Option<DataType> {
    match ty {
        DataType::UHugeInt => Some(DataType::HugeInt),
        ty => unit(ty).map(|_| DataType::Timestamp(None, TimezoneInfo::None)),
    }
}

/// The check that a column has no other values.
pub(super) fn check(column: &str, ty: &DataType) -> Result<Option<Expr>> {
    let column = quoted(column);
    let text = match (ty, unit(ty)) {
        (DataType::UHugeInt, _) => format!("{column} >= 0"),
        (_, Some(unit)) => format!("date_trunc('{unit}', {column}) = {column}"),
        _ => return Ok(None),
    };
    parse_expression(&text).map(Some)
}

/// What moments of a type are whole numbers of.
fn unit(ty: &DataType) -> Option<&'static str> {
    let DataType::Custom(name, _) = ty else { return None };
    match name.to_string().to_lowercase().as_str() {
        "timestamp_s" => Some("second"),
        "timestamp_ms" => Some("milliseconds"),
        _ => None,
    }
}
