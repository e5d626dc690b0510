//! Values of enums: their labels as texts, and back.
//!
//! In a plan an enum is a struct of one number, the place of the label, whose field is named by all labels ([`ambo::arrow::enum_type`]). So
//! its type tells it from all others, and values are compared and put in order by their places.

use std::{collections::HashMap, sync::Arc};

use ambo::arrow::{enum_of, from_stored};
use arrow::{
    array::{
        Array, ArrayRef, AsArray, FixedSizeListArray, ListArray, MapArray, StringArray, StructArray,
        UInt16Array,
    },
    compute::{cast, take},
    datatypes::{DataType, Field, FieldRef, Fields, UInt16Type},
    error::ArrowError,
};
use datafusion::common::{Result, exec_err};

/// Whether a type is one of enums.
pub(crate) fn is_enum(ty: &DataType) -> bool {
    enum_of(ty).is_some()
}

/// Whether a type is one of enums, or has some within.
pub(crate) fn has_enum(ty: &DataType) -> bool {
    is_enum(ty)
        || match ty {
            DataType::List(item)
            | DataType::LargeList(item)
            | DataType::FixedSizeList(item, _)
            | DataType::Map(item, _) => has_enum(item.data_type()),
            DataType::Struct(fields) => fields.iter().any(|field| has_enum(field.data_type())),
            _ => false,
        }
}

/// The place of each label; NULL of NULL. REQUIRES: values of an enum.
pub(crate) fn codes(array: &dyn Array) -> UInt16Array {
    let array = array.as_struct();
    let places = array.column(0).as_primitive::<UInt16Type>();
    UInt16Array::new(places.values().clone(), array.nulls().cloned())
}

/// The labels of values; NULL of NULL. REQUIRES: values of an enum.
pub(crate) fn labels(array: &dyn Array) -> Result<StringArray, ArrowError> {
    let labels: StringArray = enum_of(array.data_type()).into_iter().flatten().map(Some).collect();
    let texts = take(&labels, &codes(array), None)?;
    Ok(texts.as_string::<i32>().clone())
}

/// Texts as values of an enum; what is no label is an error, or NULL if that is not `strict`.
pub(super) fn enums(texts: &ArrayRef, to: &DataType, strict: bool) -> Result<ArrayRef> {
    let known: Vec<&str> = enum_of(to).into_iter().flatten().collect();
    let places: HashMap<&str, u16> =
        known.iter().enumerate().map(|(place, label)| (*label, place as u16)).collect();
    let texts = cast(texts, &DataType::Utf8)?;
    let mut codes = Vec::with_capacity(texts.len());
    for text in texts.as_string::<i32>() {
        let place = text.and_then(|text| places.get(text).copied());
        match text {
            Some(text) if strict && place.is_none() => {
                return exec_err!("{}", ambo::Enum::of(known).no_label(text));
            }
            _ => codes.push(place),
        }
    }
    let codes: ArrayRef = Arc::new(UInt16Array::from(codes));
    from_stored(&codes, to).map_err(crate::error::outer)
}

/// The type as others know it: texts in the place of enums.
pub(crate) fn plain_type(ty: &DataType) -> DataType {
    match is_enum(ty) {
        true => DataType::Utf8,
        false => within(ty),
    }
}

/// A type with texts in the place of enums within.
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
