//! Casts of lists, structs and maps, part by part.

use std::sync::Arc;

use arrow::{
    array::{
        Array, ArrayRef, AsArray, BooleanArray, FixedSizeListArray, GenericListArray, MapArray,
        OffsetSizeTrait, StructArray, UInt64Array,
    },
    buffer::NullBuffer,
    compute::{nullif, take},
    datatypes::{DataType, Field, FieldRef, Fields},
};
use datafusion::common::Result;

/// The types of the parts of a value and of what it is cast to: those of the items of a list, of the fields of a struct. `None` where they
/// have other forms.
pub(crate) fn parts<'a>(from: &'a DataType, to: &'a DataType) -> Option<Vec<(&'a DataType, &'a DataType)>> {
    match (from, to) {
        (DataType::Struct(from), DataType::Struct(to)) => {
            let places = places(from, to)?;
            Some(places.iter().zip(to).map(|(at, to)| (from[*at].data_type(), to.data_type())).collect())
        }
        (DataType::Map(from, _), DataType::Map(to, _)) => {
            let (from, to) = (entries(from)?, entries(to)?);
            Some(from.iter().zip(to).map(|(from, to)| (from.data_type(), to.data_type())).collect())
        }
        (from, to) => Some(vec![(item(from)?.data_type(), item(to)?.data_type())]),
    }
}

/// Where the fields of a struct are in another: by their names, or, if none of those is there, by their places.
fn places(from: &Fields, to: &Fields) -> Option<Vec<usize>> {
    if from.len() != to.len() {
        return None;
    }
    let named = |to: &FieldRef| from.iter().position(|from| from.name() == to.name());
    let places: Vec<_> = to.iter().map(named).collect();
    match places.iter().all(Option::is_none) {
        true => Some((0..to.len()).collect()),
        false => places.into_iter().collect(),
    }
}

/// The key and the value of the entries of a map.
fn entries(of: &FieldRef) -> Option<&Fields> {
    match of.data_type() {
        DataType::Struct(fields) if fields.len() == 2 => Some(fields),
        _ => None,
    }
}

fn item(list: &DataType) -> Option<&FieldRef> {
    match list {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => Some(item),
        _ => None,
    }
}

/// Values as ones of type `to`, their parts cast by `part`. Parts that belong to no value are not looked at. REQUIRES: [`parts`] knows both
/// types.
pub(crate) fn cast(
    from: &ArrayRef,
    to: &DataType,
    part: impl Fn(&ArrayRef, &DataType) -> Result<ArrayRef>,
) -> Result<ArrayRef> {
    let cast: ArrayRef = match (from.data_type(), to, item(to)) {
        (DataType::Struct(_), DataType::Struct(fields), _) => {
            let of = from.as_struct();
            let places = places(of.fields(), fields).unwrap_or_default();
            let columns = places.iter().map(|at| of.column(*at)).zip(fields);
            let columns =
                columns.map(|(column, field)| part(&masked(column, of.nulls())?, field.data_type()));
            let columns = columns.collect::<Result<Vec<_>>>()?;
            return Ok(Arc::new(StructArray::try_new(fields.clone(), columns, of.nulls().cloned())?));
        }
        (DataType::Map(..), DataType::Map(field, is_sorted), _) => {
            // Without entries of NULL maps and of rows that were cut off.
            let whole = take(from, &UInt64Array::from_iter_values(0..from.len() as u64), None)?;
            let of = whole.as_map();
            let fields = entries(field).cloned().unwrap_or_default();
            let columns = [of.keys(), of.values()].into_iter().zip(&fields);
            let columns = columns.map(|(column, field)| part(column, field.data_type()));
            let of_entries = StructArray::try_new(fields.clone(), columns.collect::<Result<_>>()?, None)?;
            let map = MapArray::try_new(
                field.clone(),
                of.offsets().clone(),
                of_entries,
                of.nulls().cloned(),
                *is_sorted,
            );
            return Ok(Arc::new(map?));
        }
        (DataType::List(_), _, Some(item)) => of_lists::<i32>(from, item, part)?,
        (DataType::LargeList(_), _, Some(item)) => of_lists::<i64>(from, item, part)?,
        (DataType::FixedSizeList(_, length), _, Some(item)) => {
            let of = from.as_fixed_size_list();
            let is_there = of.nulls().map(|nulls| nulls.expand(*length as usize));
            let items = part(&masked(of.values(), is_there.as_ref())?, item.data_type())?;
            Arc::new(FixedSizeListArray::try_new(nullable(item), *length, items, of.nulls().cloned())?)
        }
        _ => from.clone(),
    };
    Ok(arrow::compute::cast(&cast, to)?)
}

fn of_lists<O: OffsetSizeTrait>(
    from: &ArrayRef,
    item: &FieldRef,
    part: impl Fn(&ArrayRef, &DataType) -> Result<ArrayRef>,
) -> Result<ArrayRef> {
    // Without items of NULL lists and of rows that were cut off.
    let whole = take(from, &UInt64Array::from_iter_values(0..from.len() as u64), None)?;
    let of = whole.as_list::<O>();
    let items = part(of.values(), item.data_type())?;
    Ok(Arc::new(GenericListArray::<O>::try_new(
        nullable(item),
        of.offsets().clone(),
        items,
        of.nulls().cloned(),
    )?))
}

fn nullable(item: &FieldRef) -> FieldRef {
    Arc::new(Field::clone(item).with_nullable(true))
}

/// Values with NULL where what they are part of is NULL.
fn masked(part: &ArrayRef, is_there: Option<&NullBuffer>) -> Result<ArrayRef> {
    let Some(is_there) = is_there else { return Ok(part.clone()) };
    Ok(nullif(part, &BooleanArray::new(!is_there.inner(), None))?)
}
