//! What EXPLAIN returns, as a person reads it: texts of several lines, each below its name.

use std::io::Write;

use arrow_array::RecordBatch;

use super::cells::{Cell, Cells};
use super::{Reader, Show};
use crate::failure::Result;

/// See the module.
pub struct Plan {
    reader: Reader,
}

impl Plan {
    pub fn new(reader: Reader) -> Self {
        Self { reader }
    }
}

impl Show for Plan {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()> {
        let cells = Cells::new(batch)?;
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            for column in 0..cells.columns() {
                if cells.read(row, column, &mut text)? == Cell::Null {
                    continue;
                }
                let is_name = column + 1 < cells.columns();
                match is_name && self.reader.colours {
                    true => writeln!(out, "\x1b[1m{text}\x1b[0m")?,
                    false => writeln!(out, "{}", text.trim_end())?,
                }
            }
        }
        Ok(())
    }

    fn end(&mut self, _: &mut dyn Write) -> Result<Option<u64>> {
        Ok(None)
    }
}
