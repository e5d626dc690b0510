//! A stream of Arrow IPC: the schema, batches, a mark of the end.

use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::SchemaRef;

use super::Summary;

/// Writes batches.
pub(super) struct Writer {
    schema: SchemaRef,
    stream: Option<StreamWriter<Vec<u8>>>,
}

impl Writer {
    pub(super) fn new(schema: &SchemaRef) -> Result<Self, String> {
        let schema = super::parquet::with_uuids(schema);
        let stream = StreamWriter::try_new(Vec::new(), &schema).map_err(|error| error.to_string())?;
        Ok(Self { schema, stream: Some(stream) })
    }

    fn take(&mut self, out: &mut Vec<u8>) {
        if let Some(stream) = &mut self.stream {
            out.append(stream.get_mut());
        }
    }
}

impl super::Writer for Writer {
    fn head(&mut self, out: &mut Vec<u8>) -> Result<(), String> {
        self.take(out);
        Ok(())
    }

    fn batch(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), String> {
        let batch = super::parquet::of_schema(&self.schema, batch)?;
        if let Some(stream) = &mut self.stream {
            stream.write(&batch).map_err(|error| error.to_string())?;
        }
        self.take(out);
        Ok(())
    }

    fn end(&mut self, _: &Summary, out: &mut Vec<u8>) -> Result<(), String> {
        if let Some(mut stream) = self.stream.take() {
            stream.finish().map_err(|error| error.to_string())?;
            out.append(stream.get_mut());
        }
        Ok(())
    }
}
