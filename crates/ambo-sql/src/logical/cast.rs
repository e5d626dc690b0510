//! Values in another type: UUIDs and what is nested from texts and to them, and what is nested part by part, where a part is cast by us.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, StringArray, StructArray, UInt64Array},
    buffer::OffsetBuffer,
    compute::{CastOptions, cast, cast_with_options, interleave, take},
    datatypes::{DataType, FieldRef},
};
use datafusion::common::{Result, exec_err};

use super::{
    UUID,
    bytes::{self, is_bytes},
    enums::{enums, is_enum, labels},
    read, uuid,
};
use crate::{
    nested::{is_nested, nested_texts},
    numbers::{cast_nested, cast_numbers, map_of, parts},
    times::{self, Zone, is_text},
};

/// Whether values of a type become those of another here.
pub(crate) fn converts(from: &DataType, to: &DataType) -> bool {
    if from == to {
        return false;
    }
    if is_bytes(from) || is_bytes(to) {
        return bytes::converts(from, to) || is_enum(from) && is_bytes(to);
    }
    match (*from == UUID, *to == UUID) {
        // What is said of labels: a number in them is that number.
        _ if is_enum(from) => true,
        _ if is_enum(to) => is_text(from),
        (true, _) => is_text(to),
        (_, true) => is_text(from),
        _ if is_text(from) => is_nested(to),
        _ if is_nested(from) && is_text(to) => true,
        _ if matches!((from, to), (DataType::Struct(_), DataType::Map(..))) => true,
        _ => parts(from, to).is_some_and(|parts| {
            by_places(from, to) || parts.iter().any(|(from, to)| times::converts(from, to))
        }),
    }
}

/// Whether a cast goes by the places of fields, also within: one that a statement has does, none that the planner makes.
pub(crate) fn goes_by_places(from: &DataType, to: &DataType) -> bool {
    let is_other = |ty: &DataType| !is_nested(ty) || is_enum(ty);
    !is_other(from)
        && !is_other(to)
        && (by_places(from, to)
            || parts(from, to).is_some_and(|parts| parts.iter().any(|(from, to)| goes_by_places(from, to))))
}

/// Whether structs have no name in common, where the planner has no cast.
fn by_places(from: &DataType, to: &DataType) -> bool {
    let (DataType::Struct(from), DataType::Struct(to)) = (from, to) else { return false };
    let is_named = from.iter().any(|from| to.iter().any(|to| to.name() == from.name()));
    !is_named && from.len() == to.len() && from.iter().zip(to).all(|(from, to)| fits(from, to))
}

/// Whether what is nested in both is of as many parts.
fn fits(from: &FieldRef, to: &FieldRef) -> bool {
    let (from, to) = (from.data_type(), to.data_type());
    if !is_nested(from) || !is_nested(to) || is_enum(from) || is_enum(to) {
        return true;
    }
    match (from, to) {
        (DataType::Struct(_), DataType::Struct(_)) if by_places(from, to) => true,
        _ => parts(from, to).is_some(),
    }
}

/// The values in another type, as [`converts`] says. Clocks show what those of the zone do. What does not fit is an error, or NULL if that
/// is not `strict`.
///
/// # Errors
/// A value that is none of the other type, with its text.
pub(crate) fn converted(array: &ArrayRef, to: &DataType, zone: Zone, strict: bool) -> Result<ArrayRef> {
    let from = array.data_type();
    if is_enum(from) {
        let texts: ArrayRef = Arc::new(labels(array)?);
        return of_part(&texts, to, zone, strict);
    }
    if is_enum(to) {
        return enums(array, to, strict);
    }
    if is_bytes(from) || is_bytes(to) {
        return bytes::converted(array, to, strict);
    }
    if *from == UUID {
        let texts: ArrayRef = Arc::new(uuid::uuid_texts(array.as_fixed_size_binary()));
        return Ok(cast(&texts, to)?);
    }
    if *to == UUID {
        return uuid::uuids(array, strict);
    }
    if is_text(from) {
        return read::nested(array, to, zone, strict);
    }
    if is_text(to) {
        let texts: ArrayRef = Arc::new(nested_texts(array)?);
        return Ok(cast(&texts, to)?);
    }
    if let (DataType::Struct(_), DataType::Map(entries, is_sorted)) = (from, to) {
        return fields_as_map(array.as_struct(), (entries, *is_sorted), zone, strict);
    }
    cast_nested(array, to, strict, |part, to| of_part(part, to, zone, strict))
}

/// Values of any type as ones of another.
pub(super) fn of_part(part: &ArrayRef, to: &DataType, zone: Zone, strict: bool) -> Result<ArrayRef> {
    if times::converts(part.data_type(), to) {
        return times::converted(part, to, zone, strict);
    }
    match cast_numbers(part, to, strict) {
        Some(numbers) => numbers,
        None => Ok(cast_with_options(part, to, &CastOptions { safe: !strict, ..CastOptions::default() })?),
    }
}

/// A map of the names of a struct's fields to their values.
fn fields_as_map(
    of: &StructArray,
    (entries, is_sorted): (&FieldRef, bool),
    zone: Zone,
    strict: bool,
) -> Result<ArrayRef> {
    let DataType::Struct(parts) = entries.data_type() else { return exec_err!("a map without entries") };
    let [key, value] = &parts[..] else { return exec_err!("entries of a map that are no pairs") };
    let names = StringArray::from_iter_values(of.fields().iter().map(|field| field.name()));
    let names = of_part(&(Arc::new(names) as ArrayRef), key.data_type(), zone, strict)?;
    let values = of.columns().iter().map(|column| of_part(column, value.data_type(), zone, strict));
    let values = values.collect::<Result<Vec<_>>>()?;
    let rows: Vec<usize> = (0..of.len()).filter(|row| of.is_valid(*row)).collect();
    let fields = 0..of.num_columns();
    let of_keys: UInt64Array = rows.iter().flat_map(|_| fields.clone()).map(|field| field as u64).collect();
    let of_values: Vec<_> = rows.iter().flat_map(|row| fields.clone().map(|field| (field, *row))).collect();
    let values: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
    let parts = vec![take(&names, &of_keys, None)?, interleave(&values, &of_values)?];
    let lengths = (0..of.len()).map(|row| if of.is_valid(row) { of.num_columns() } else { 0 });
    let offsets = OffsetBuffer::from_lengths(lengths);
    map_of(entries, is_sorted, (&offsets, of.nulls()), parts, strict)
}
