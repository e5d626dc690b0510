//! Rows as JSON lines, as files have them.

use std::io::Write;
use std::sync::Arc;

use ambo_files::JsonRows;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, FieldRef, Schema};

use super::{Show, unwritable};
use crate::failure::Result;

pub struct Json;

impl Show for Json {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()> {
        let mut bytes = Vec::new();
        JsonRows.batch(&with_texts(batch)?, &mut bytes).map_err(unwritable)?;
        out.write_all(&bytes)?;
        Ok(())
    }

    fn end(&mut self, _: &mut dyn Write) -> Result<Option<u64>> {
        Ok(None)
    }
}

/// The batch with texts for dates, times and moments, as they are shown elsewhere.
fn with_texts(batch: &RecordBatch) -> Result<RecordBatch> {
    let schema = batch.schema();
    let column = |(array, field): (&ArrayRef, &FieldRef)| {
        let zone = match field.data_type() {
            DataType::Timestamp(_, Some(zone)) => zone,
            _ => "UTC",
        };
        let texts = match field.data_type().is_nested() {
            true => None,
            false => ambo_sql::value_texts(array, zone).map_err(unwritable)?,
        };
        Ok(match texts {
            Some(texts) => {
                let field = field.as_ref().clone().with_data_type(DataType::Utf8);
                (Arc::new(texts) as ArrayRef, Arc::new(field))
            }
            None => (array.clone(), field.clone()),
        })
    };
    let both = batch.columns().iter().zip(schema.fields()).map(column).collect::<Result<Vec<_>>>()?;
    let (columns, fields): (Vec<_>, Vec<_>) = both.into_iter().unzip();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options).map_err(unwritable)
}
