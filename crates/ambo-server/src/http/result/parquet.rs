//! A file of Parquet, whose groups of rows are written as soon as they have some megabytes.

use std::{
    io::Write,
    sync::{Arc, Mutex, PoisonError},
};

use ambo_sql::with_texts;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, ZstdLevel},
    file::properties::WriterProperties,
};

use super::Summary;

/// Bytes of a group of rows in memory.
const GROUP_BYTES: usize = 16 << 20;

/// Bytes that were written and not yet taken.
#[derive(Clone, Default)]
struct Bytes(Arc<Mutex<Vec<u8>>>);

impl Bytes {
    fn take(&self, out: &mut Vec<u8>) {
        out.append(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes rows as Parquet.
pub(super) struct Writer {
    schema: SchemaRef,
    file: Option<ArrowWriter<Bytes>>,
    bytes: Bytes,
}

/// The schema with marks on bytes that are UUIDs.
pub(crate) fn with_uuids(schema: &SchemaRef) -> SchemaRef {
    let marked = |field: &FieldRef| match field.data_type() {
        DataType::FixedSizeBinary(16) => {
            let mut metadata = field.metadata().clone();
            metadata.insert("ARROW:extension:name".into(), "arrow.uuid".into());
            Arc::new(Field::clone(field).with_metadata(metadata))
        }
        _ => field.clone(),
    };
    let fields: Vec<_> = schema.fields().iter().map(marked).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// A batch with the marks of a schema.
pub(crate) fn of_schema(schema: &SchemaRef, batch: &RecordBatch) -> Result<RecordBatch, String> {
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), batch.columns().to_vec(), &options)
        .map_err(|error| error.to_string())
}

impl Writer {
    pub(super) fn new(schema: &SchemaRef) -> Result<Self, String> {
        let names = super::unique_names(schema);
        if schema.fields().iter().zip(&names).any(|(field, name)| field.name() != name) {
            return Err(
                "two columns of a Parquet file have one name; name them: SELECT … AS a, … AS b".into()
            );
        }
        let empty = RecordBatch::new_empty(schema.clone());
        let schema = with_uuids(&with_texts(empty, false).map_err(|error| error.to_string())?.schema());
        let bytes = Bytes::default();
        let properties =
            WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
        let file = ArrowWriter::try_new(bytes.clone(), schema.clone(), Some(properties));
        Ok(Self { schema, file: Some(file.map_err(|error| error.to_string())?), bytes })
    }
}

impl super::Writer for Writer {
    fn head(&mut self, out: &mut Vec<u8>) -> Result<(), String> {
        self.bytes.take(out);
        Ok(())
    }

    fn batch(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), String> {
        let batch = with_texts(batch.clone(), false).map_err(|error| error.to_string())?;
        let batch = of_schema(&self.schema, &batch)?;
        if let Some(file) = &mut self.file {
            file.write(&batch).map_err(|error| error.to_string())?;
            if file.in_progress_size() > GROUP_BYTES {
                file.flush().map_err(|error| error.to_string())?;
            }
        }
        self.bytes.take(out);
        Ok(())
    }

    fn end(&mut self, _: &Summary, out: &mut Vec<u8>) -> Result<(), String> {
        if let Some(file) = self.file.take() {
            file.close().map_err(|error| error.to_string())?;
        }
        self.bytes.take(out);
        Ok(())
    }
}
