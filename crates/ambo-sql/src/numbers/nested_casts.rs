//! Casts of lists, structs and maps, part by part.

use std::sync::Arc;

use arrow::{
    array::{
        Array, ArrayRef, AsArray, BooleanArray, FixedSizeListArray, GenericListArray, MapArray,
        OffsetSizeTrait, StructArray, UInt64Array, make_comparator,
    },
    buffer::{NullBuffer, OffsetBuffer},
    compute::{SortOptions, nullif, take},
    datatypes::{DataType, Field, FieldRef, Fields},
};
use datafusion::common::{Result, exec_err};

use crate::nested::nested_texts;

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

/// Values as ones of type `to`, their parts cast by `part`. Parts that belong to no value are not looked at. A map whose keys become equal
/// is an error, or NULL if that is not `strict`. REQUIRES: [`parts`] knows both types.
pub(crate) fn cast(
    from: &ArrayRef,
    to: &DataType,
    strict: bool,
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
            let entries = columns.collect::<Result<Vec<_>>>()?;
            return map_of(field, *is_sorted, (of.offsets(), of.nulls()), entries, strict);
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

/// The maps of these keys and values. One that has no key for an entry, or a key twice, is an error, or NULL if that is not `strict`.
pub(crate) fn map_of(
    field: &FieldRef,
    is_sorted: bool,
    (offsets, nulls): (&OffsetBuffer<i32>, Option<&NullBuffer>),
    mut entries: Vec<ArrayRef>,
    strict: bool,
) -> Result<ArrayRef> {
    let rows = offsets.len() - 1;
    let is_there = |row: usize| nulls.is_none_or(|nulls| nulls.is_valid(row));
    let mut wrong = Vec::new();
    let order = make_comparator(&entries[0], &entries[0], SortOptions::default())?;
    for row in (0..rows).filter(|row| is_there(*row)) {
        let mut keys: Vec<usize> = (offsets[row] as usize..offsets[row + 1] as usize).collect();
        keys.sort_unstable_by(|one, other| order(*one, *other));
        let twice = keys.windows(2).find(|pair| order(pair[0], pair[1]).is_eq()).map(|pair| pair[0]);
        match twice {
            Some(key) if strict => {
                let text = nested_texts(&entries[0].slice(key, 1))?;
                return exec_err!("a map has one value for each key, and here two for {}", text.value(0));
            }
            twice if twice.is_some() || keys.iter().any(|key| entries[0].is_null(*key)) => wrong.push(row),
            _ => {}
        }
    }
    let (mut offsets, mut nulls) = (offsets.clone(), nulls.cloned());
    if !wrong.is_empty() {
        let is_right = |row: &usize| wrong.binary_search(row).is_err();
        let count = |row: usize| (offsets[row + 1] - offsets[row]) as usize;
        let lengths: Vec<usize> = (0..rows).map(|row| if is_right(&row) { count(row) } else { 0 }).collect();
        let kept = (0..rows).filter(is_right).flat_map(|row| offsets[row] as u64..offsets[row + 1] as u64);
        let kept = UInt64Array::from_iter_values(kept);
        entries = entries.iter().map(|part| take(part, &kept, None)).collect::<Result<_, _>>()?;
        nulls = Some((0..rows).map(|row| is_there(row) && is_right(&row)).collect());
        offsets = OffsetBuffer::from_lengths(lengths);
    }
    let DataType::Struct(fields) = field.data_type() else { return exec_err!("a map without entries") };
    let entries = StructArray::try_new(fields.clone(), entries, None)?;
    Ok(Arc::new(MapArray::try_new(field.clone(), offsets, entries, nulls, is_sorted)?))
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
