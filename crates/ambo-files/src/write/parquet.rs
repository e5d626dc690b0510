//! Rows as Parquet.

use std::{io::Write, path::Path, sync::Arc};

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, ZstdLevel},
    errors::ParquetError,
    file::properties::WriterProperties,
};

use crate::{Error, parquet::uuid_mark};

/// The schema that says which bytes of one length are UUIDs, for who reads the file.
fn with_uuids(schema: &SchemaRef) -> SchemaRef {
    let marked = |field: &FieldRef| match field.data_type() {
        DataType::FixedSizeBinary(16) => Arc::new(Field::clone(field).with_metadata(uuid_mark())),
        _ => field.clone(),
    };
    let fields: Vec<_> = schema.fields().iter().map(marked).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

pub(super) fn write<E: From<Error>>(
    out: impl Write + Send,
    path: &Path,
    schema: &SchemaRef,
    batches: &mut dyn Iterator<Item = Result<RecordBatch, E>>,
) -> Result<(), E> {
    let failed = |error: ParquetError| E::from(Error::in_file(path, error));
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()));
    let schema = with_uuids(schema);
    let mut writer = ArrowWriter::try_new(out, schema.clone(), Some(properties.build())).map_err(failed)?;
    for batch in batches {
        let batch = batch?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch = RecordBatch::try_new_with_options(schema.clone(), batch.columns().to_vec(), &options);
        writer.write(&batch.map_err(|error| failed(error.into()))?).map_err(failed)?;
    }
    writer.close().map(drop).map_err(failed)
}
