//! Arrays of structs and lists, as the schemas of ADBC nest them.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Int16Array, Int32Array, ListArray, StringArray, StructArray, new_null_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};

/// The fields of a struct.
fn fields(of: &DataType) -> &arrow_schema::Fields {
    match of {
        DataType::Struct(fields) => fields,
        other => unreachable!("{other} is no struct"),
    }
}

/// An array of structs of some columns; of those that are left out all values are NULL.
pub(crate) fn structs(of: &DataType, rows: usize, columns: Vec<(&str, ArrayRef)>) -> ArrayRef {
    let fields = fields(of);
    let known = |name: &str| columns.iter().find(|(known, _)| *known == name).map(|(_, array)| array.clone());
    let arrays = fields
        .iter()
        .map(|field| known(field.name()).unwrap_or_else(|| new_null_array(field.data_type(), rows)));
    let arrays: Vec<_> = arrays.collect();
    Arc::new(
        StructArray::try_new_with_length(fields.clone(), arrays, None, rows)
            .expect("the columns are those of the schema"),
    )
}

/// Lists, each of as many of the values as its length says, one after the other; `None` is no list.
pub(crate) fn lists(values: ArrayRef, lengths: &[Option<usize>]) -> ArrayRef {
    let item = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths(lengths.iter().map(|length| length.unwrap_or(0)));
    let nulls = NullBuffer::from_iter(lengths.iter().map(Option::is_some));
    let nulls = (nulls.null_count() > 0).then_some(nulls);
    Arc::new(ListArray::new(item, offsets, values, nulls))
}

pub(crate) fn texts<'a>(values: impl IntoIterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(StringArray::from_iter(values))
}

pub(crate) fn ints(values: impl IntoIterator<Item = Option<i32>>) -> ArrayRef {
    Arc::new(Int32Array::from_iter(values))
}

pub(crate) fn shorts(values: impl IntoIterator<Item = Option<i16>>) -> ArrayRef {
    Arc::new(Int16Array::from_iter(values))
}

pub(crate) fn truths(values: impl IntoIterator<Item = bool>) -> ArrayRef {
    Arc::new(values.into_iter().map(Some).collect::<BooleanArray>())
}
