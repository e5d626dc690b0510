//! Values in the type of a column.

use arrow::{
    array::ArrayRef,
    compute::{CastOptions, cast_with_options},
    datatypes::DataType,
};

use crate::{
    Result,
    numbers::cast_numbers,
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
    match cast_numbers(array, to) {
        Some(numbers) => Ok(numbers?),
        None => cast_with_options(array, to, &strict).map_err(value::wrong),
    }
}
