//! CSV, as COPY writes it.

use ambo_files::{CsvRows, Form, Format};
use ambo_sql::with_texts;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::Summary;

/// Writes rows as CSV.
pub(super) struct Writer {
    rows: CsvRows,
    has_columns: bool,
}

impl Writer {
    pub(super) fn new(schema: &SchemaRef) -> Result<Self, String> {
        let empty = RecordBatch::new_empty(schema.clone());
        let schema = with_texts(empty, true).map_err(|error| error.to_string())?.schema();
        let has_columns = !schema.fields().is_empty();
        Ok(Self { rows: CsvRows::new(&schema, &Format::new(Form::Csv)), has_columns })
    }
}

impl super::Writer for Writer {
    fn head(&mut self, out: &mut Vec<u8>) -> Result<(), String> {
        if self.has_columns {
            self.rows.head(out);
        }
        Ok(())
    }

    fn batch(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), String> {
        if !self.has_columns {
            return Ok(());
        }
        let batch = with_texts(batch.clone(), true).map_err(|error| error.to_string())?;
        self.rows.batch(&batch, out)
    }

    fn end(&mut self, _: &Summary, _: &mut Vec<u8>) -> Result<(), String> {
        Ok(())
    }
}
