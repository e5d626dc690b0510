//! Values in the type of a column.

use arrow::{
    array::ArrayRef,
    compute::{CastOptions, can_cast_types, cast_with_options},
    datatypes::DataType,
};

use crate::{
    Result,
    numbers::cast_numbers,
    optimizer::bytes_of_texts,
    times::{Zone, converted, converts, rules::refuse_numbers},
    value,
};

/// Whether values of a type may be put into a column of another. Numbers are not dates, times or moments, nor these numbers; one
/// value is not a list.
pub(super) fn is_assignable(from: &DataType, to: &DataType) -> bool {
    (converts(from, to) || can_cast_types(from, to)) && refuse_numbers(from, to).is_ok()
}

/// Values in another type. Numbers are rounded to the digits that it has, and clocks show what those of the zone do.
///
/// # Errors
/// A value that does not fit.
pub(super) fn strict_cast(array: &ArrayRef, to: &DataType, zone: Zone) -> Result<ArrayRef> {
    if converts(array.data_type(), to) {
        return Ok(converted(array, to, zone, true)?);
    }
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    if array.data_type().is_string() && to.is_binary() {
        return cast_with_options(&bytes_of_texts(array, true)?, to, &strict).map_err(value::wrong);
    }
    match cast_numbers(array, to, true) {
        Some(numbers) => Ok(numbers?),
        None => cast_with_options(array, to, &strict).map_err(value::wrong),
    }
}
