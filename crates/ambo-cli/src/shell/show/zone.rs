//! Moments with the time zone of the session, in which they are shown.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

use super::unwritable;
use crate::failure::Result;

fn is_moment(ty: &DataType) -> bool {
    matches!(ty, DataType::Timestamp(TimeUnit::Microsecond, Some(_)))
}

/// The schema with the zone of this name in the types of moments.
pub fn in_zone(schema: &SchemaRef, zone: &str) -> SchemaRef {
    if schema.fields().iter().all(|field| !is_moment(field.data_type())) {
        return schema.clone();
    }
    let zoned = |field: &Arc<Field>| match is_moment(field.data_type()) {
        true => {
            let ty = DataType::Timestamp(TimeUnit::Microsecond, Some(zone.into()));
            Arc::new(field.as_ref().clone().with_data_type(ty))
        }
        false => field.clone(),
    };
    let fields = schema.fields().iter().map(zoned).collect::<Vec<_>>();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// The batch with the zone of this name in the types of moments.
pub fn batch_in_zone(batch: RecordBatch, zone: &str) -> Result<RecordBatch> {
    let schema = in_zone(&batch.schema(), zone);
    if Arc::ptr_eq(&schema, &batch.schema()) {
        return Ok(batch);
    }
    let column = |(array, field): (&ArrayRef, &Arc<Field>)| match field.data_type() {
        ty if is_moment(ty) => {
            let array = array.as_primitive::<TimestampMicrosecondType>().clone();
            Arc::new(array.with_data_type(ty.clone())) as ArrayRef
        }
        _ => array.clone(),
    };
    let columns = batch.columns().iter().zip(schema.fields()).map(column).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema, columns, &options).map_err(unwritable)
}
