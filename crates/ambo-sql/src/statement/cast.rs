//! Values in the type of a column.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray},
    compute::{CastOptions, cast_with_options},
    datatypes::{DataType, Float64Type},
};

use crate::{
    Result,
    times::{Zone, converted, converts},
    value,
};

/// Values in another type. Numbers are rounded to the digits that it has, and clocks show what those of the zone do.
///
/// # Errors
/// A value that does not fit.
pub(super) fn strict_cast(array: &ArrayRef, to: &DataType, zone: Zone) -> Result<ArrayRef> {
    if converts(array.data_type(), to) {
        return Ok(converted(array, to, zone, true)?);
    }
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    let cast = |array: &ArrayRef, to: &DataType| cast_with_options(array, to, &strict).map_err(value::wrong);
    match array.data_type() {
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) if to.is_integer() && *scale > 0 => {
            cast(&cast(array, &DataType::Decimal128(38, 0))?, to)
        }
        from if from.is_floating() && to.is_integer() => {
            let wide = cast(array, &DataType::Float64)?;
            let numbers = wide.as_primitive::<Float64Type>();
            let rounded: ArrayRef = Arc::new(numbers.unary::<_, Float64Type>(f64::round_ties_even));
            cast(&rounded, to)
        }
        _ => cast(array, to),
    }
}
