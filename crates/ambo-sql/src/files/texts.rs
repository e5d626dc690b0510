//! What CSV has no form for, as the texts that statements make of it.

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, RecordBatch, RecordBatchOptions},
    datatypes::{DataType, Field, FieldRef, Schema},
    error::ArrowError,
};

use crate::nested::{is_nested, nested_texts};

/// A batch with the texts of lists, structs and maps in their place.
///
/// # Errors
/// A type within that has no text.
pub fn with_nested_texts(batch: RecordBatch) -> Result<RecordBatch, ArrowError> {
    if !batch.schema_ref().fields().iter().any(|field| is_nested(field.data_type())) {
        return Ok(batch);
    }
    let column = |(field, array): (&FieldRef, &ArrayRef)| match is_nested(field.data_type()) {
        true => {
            let texts: ArrayRef = Arc::new(nested_texts(array)?);
            Ok((Arc::new(Field::clone(field).with_data_type(DataType::Utf8)), texts))
        }
        false => Ok((field.clone(), array.clone())),
    };
    let columns = batch.schema_ref().fields().iter().zip(batch.columns()).map(column);
    let (fields, arrays): (Vec<_>, Vec<_>) =
        columns.collect::<Result<Vec<_>, ArrowError>>()?.into_iter().unzip();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
}
