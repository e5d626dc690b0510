//! Rows as an Arrow IPC stream, which other programs read without looking at a value.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::SchemaRef;

use super::{Show, unwritable};
use crate::failure::{Failure, Result};

/// Encodes into memory a batch at a time, and writes that out.
pub struct Stream {
    schema: SchemaRef,
    writer: Option<StreamWriter<Vec<u8>>>,
}

impl Stream {
    pub fn new(schema: SchemaRef) -> Self {
        Self { schema, writer: None }
    }

    fn writer(&mut self) -> Result<&mut StreamWriter<Vec<u8>>> {
        if self.writer.is_none() {
            self.writer = Some(StreamWriter::try_new(Vec::new(), &self.schema).map_err(unwritable)?);
        }
        self.writer.as_mut().ok_or_else(|| Failure::Database("the stream has ended".into()))
    }

    fn pass_on(&mut self, out: &mut dyn Write) -> Result<()> {
        let bytes = self.writer()?.get_mut();
        out.write_all(bytes)?;
        bytes.clear();
        Ok(())
    }
}

impl Show for Stream {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()> {
        self.writer()?.write(batch).map_err(unwritable)?;
        self.pass_on(out)
    }

    fn end(&mut self, out: &mut dyn Write) -> Result<Option<u64>> {
        self.writer()?.finish().map_err(unwritable)?;
        self.pass_on(out)?;
        Ok(None)
    }
}
