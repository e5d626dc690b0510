//! Rows as JSON lines, as files have them.

use std::io::Write;

use ambo_files::JsonRows;
use arrow_array::RecordBatch;

use super::{Show, unwritable};
use crate::failure::Result;

pub struct Json;

impl Show for Json {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()> {
        let mut bytes = Vec::new();
        JsonRows.batch(batch, &mut bytes).map_err(unwritable)?;
        out.write_all(&bytes)?;
        Ok(())
    }

    fn end(&mut self, _: &mut dyn Write) -> Result<Option<u64>> {
        Ok(None)
    }
}
