//! A JSON object a line. An error behind rows is a line `{"error":{…}}`.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use serde_json::Value as Json;

use super::{
    Summary,
    cells::Cells,
    json::{object, quoted_names},
};

/// Writes rows as lines.
pub(super) struct Writer {
    names: Vec<Vec<u8>>,
    zone: String,
}

impl Writer {
    pub(super) fn new(schema: &SchemaRef, zone: &str) -> Self {
        Self { names: quoted_names(schema), zone: zone.to_owned() }
    }
}

impl super::Writer for Writer {
    fn head(&mut self, _: &mut Vec<u8>) -> Result<(), String> {
        Ok(())
    }

    fn batch(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), String> {
        let cells = Cells::of_batch(batch, &self.zone)?;
        for row in 0..batch.num_rows() {
            object(&self.names, &cells, row, out)?;
            out.push(b'\n');
        }
        Ok(())
    }

    fn end(&mut self, _: &Summary, _: &mut Vec<u8>) -> Result<(), String> {
        Ok(())
    }

    fn broken(&mut self, error: &Json, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("{{\"error\":{error}}}\n").as_bytes());
    }
}
