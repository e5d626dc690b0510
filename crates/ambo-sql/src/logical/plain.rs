//! Values as others know them: texts in the place of enums, bits and geometries, also within what is nested.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, FixedSizeListArray, ListArray, MapArray, StructArray},
    datatypes::{DataType, Field, FieldRef, Fields},
    error::ArrowError,
};

use super::{
    bytes::{bytes_texts, is_bytes},
    enums::{is_enum, labels},
};

/// Whether others do not know a type: their values are texts there.
fn is_own(ty: &DataType) -> bool {
    is_enum(ty) || is_bytes(ty)
}

/// Whether others do not know a type, or a type within.
pub(crate) fn has_own(ty: &DataType) -> bool {
    is_own(ty)
        || match ty {
            DataType::List(item)
            | DataType::LargeList(item)
            | DataType::FixedSizeList(item, _)
            | DataType::Map(item, _) => has_own(item.data_type()),
            DataType::Struct(fields) => fields.iter().any(|field| has_own(field.data_type())),
            _ => false,
        }
}

/// The type as others know it.
pub(crate) fn plain_type(ty: &DataType) -> DataType {
    match is_own(ty) {
        true => DataType::Utf8,
        false => within(ty),
    }
}

/// A type with texts in the place of what others do not know within.
fn within(ty: &DataType) -> DataType {
    let of = |field: &FieldRef| -> FieldRef {
        Arc::new(Field::clone(field).with_data_type(plain_type(field.data_type())))
    };
    match ty {
        DataType::List(item) => DataType::List(of(item)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(of(item), *length),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(of).collect()),
        DataType::Map(entries, is_sorted) => DataType::Map(of(entries), *is_sorted),
        ty => ty.clone(),
    }
}

/// Values of the type that [`plain_type`] says.
///
/// # Errors
/// None that callers can cause.
pub(crate) fn plain(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    plain_within(array, &plain_type(array.data_type()))
}

fn plain_within(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    let nulls = array.nulls().cloned();
    let structs = |of: &StructArray, fields: &Fields| {
        let columns =
            of.columns().iter().zip(fields).map(|(column, field)| plain_within(column, field.data_type()));
        StructArray::try_new(fields.clone(), columns.collect::<Result<_, _>>()?, of.nulls().cloned())
    };
    Ok(match (array.data_type(), to) {
        (from, to) if from == to => array.clone(),
        (from, _) if is_enum(from) => Arc::new(labels(array)?),
        (from, _) if is_bytes(from) => Arc::new(bytes_texts(array)?),
        (DataType::List(_), DataType::List(item)) => {
            let list = array.as_list::<i32>();
            let values = plain_within(list.values(), item.data_type())?;
            Arc::new(ListArray::try_new(item.clone(), list.offsets().clone(), values, nulls)?)
        }
        (DataType::FixedSizeList(..), DataType::FixedSizeList(item, length)) => {
            let values = plain_within(array.as_fixed_size_list().values(), item.data_type())?;
            Arc::new(FixedSizeListArray::try_new(item.clone(), *length, values, nulls)?)
        }
        (DataType::Struct(_), DataType::Struct(fields)) => Arc::new(structs(array.as_struct(), fields)?),
        (DataType::Map(..), DataType::Map(entries, is_sorted)) => {
            let (map, DataType::Struct(fields)) = (array.as_map(), entries.data_type()) else {
                return Err(ArrowError::CastError("a map without entries".into()));
            };
            let of_entries = structs(map.entries(), fields)?;
            Arc::new(MapArray::try_new(
                entries.clone(),
                map.offsets().clone(),
                of_entries,
                nulls,
                *is_sorted,
            )?)
        }
        (from, to) => return Err(ArrowError::CastError(format!("{from} is not {to}"))),
    })
}
