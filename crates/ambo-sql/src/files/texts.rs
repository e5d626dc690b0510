//! Values as the texts that statements make of them, for files and for who shows them.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, StringArray},
    datatypes::{DataType, Field, FieldRef, Schema},
    error::ArrowError,
};

use crate::{
    logical::{UUID, bytes_texts, has_own, is_bytes, plain, uuid_texts},
    nested::{is_nested, nested_texts},
    times::time_texts,
};

/// The texts of a column of times, UUIDs, lists, structs or maps, as statements show them where clocks are those of the zone of this name;
/// `None` for a column of something else.
///
/// # Errors
/// A type within that has no text.
pub fn value_texts(array: &ArrayRef, zone: &str) -> Result<Option<StringArray>, ArrowError> {
    Ok(match array.data_type() {
        &UUID => Some(uuid_texts(array.as_fixed_size_binary())),
        ty if is_bytes(ty) => Some(bytes_texts(array)?),
        ty if is_nested(ty) => Some(nested_texts(array)?),
        _ => time_texts(array, zone),
    })
}

/// A batch with texts in the place of what files have no form for: intervals; and, if `nested` says so, lists, structs and maps.
///
/// # Errors
/// A type within that has no text.
pub fn with_texts(batch: RecordBatch, nested: bool) -> Result<RecordBatch, ArrowError> {
    let is_other = |ty: &DataType| match ty {
        DataType::Interval(_) | DataType::Duration(_) => true,
        ty => has_own(ty) || nested && is_nested(ty),
    };
    if !batch.schema_ref().fields().iter().any(|field| is_other(field.data_type())) {
        return Ok(batch);
    }
    let column = |(field, array): (&FieldRef, &ArrayRef)| {
        if has_own(field.data_type()) && !(nested && is_nested(field.data_type())) {
            let array = plain(array)?;
            let field = Field::clone(field).with_data_type(array.data_type().clone());
            return Ok((Arc::new(field), array));
        }
        let texts = match is_other(field.data_type()) {
            true => value_texts(array, "UTC")?,
            false => None,
        };
        Ok(match texts {
            Some(texts) => {
                let field = Field::clone(field).with_data_type(DataType::Utf8);
                (Arc::new(field), Arc::new(texts) as ArrayRef)
            }
            None => (field.clone(), array.clone()),
        })
    };
    let columns = batch.schema_ref().fields().iter().zip(batch.columns()).map(column);
    let (fields, arrays): (Vec<_>, Vec<_>) =
        columns.collect::<Result<Vec<_>, ArrowError>>()?.into_iter().unzip();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
}
