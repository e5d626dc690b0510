//! Values of enums: their labels as texts, and back.
//!
//! In a plan an enum is a struct of one number, the place of the label, whose field is named by all labels ([`ambo::arrow::enum_type`]). So
//! its type tells it from all others, and values are compared and put in order by their places.

use std::{collections::HashMap, sync::Arc};

use ambo::arrow::{enum_of, from_stored};
use arrow::{
    array::{Array, ArrayRef, AsArray, StringArray, UInt16Array},
    compute::{cast, take},
    datatypes::{DataType, UInt16Type},
    error::ArrowError,
};
use datafusion::common::{Result, exec_err};

/// Whether a type is one of enums.
pub(crate) fn is_enum(ty: &DataType) -> bool {
    enum_of(ty).is_some()
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
