//! Building a run: segments one after the other, as many as the rows need.

use std::{ops::Range, sync::Arc};

use super::{
    buffer::ColumnBuffer,
    run::{ColumnRun, Part},
    schema::ColumnSchema,
    segment::SegmentStore,
    writer::{Encoding, SegmentWriter},
};
use crate::Result;

/// Builds one run from rows in key order. Segments that were written go again if the run is not finished and kept.
pub struct RunBuilder {
    store: Arc<SegmentStore>,
    schema: Arc<ColumnSchema>,
    writer: SegmentWriter,
    parts: Vec<Part>,
}

impl RunBuilder {
    /// A builder of an empty run.
    pub fn new(store: &Arc<SegmentStore>, schema: &Arc<ColumnSchema>) -> Self {
        Self {
            store: store.clone(),
            schema: schema.clone(),
            writer: SegmentWriter::new(store, schema, Encoding::Beside),
            parts: Vec::new(),
        }
    }

    /// Appends a row, greater than those before.
    pub fn push(&mut self, key: &[u8], record: &[u8]) -> Result<()> {
        self.writer.push(key, record)?;
        if self.writer.is_full() { self.end_segment() } else { Ok(()) }
    }

    /// Appends rows that are columns already, greater than those before.
    pub(super) fn append(&mut self, buffers: &[ColumnBuffer], mut rows: Range<usize>) -> Result<()> {
        while !rows.is_empty() {
            rows.start += self.writer.append(buffers, rows.clone())?;
            if self.writer.is_full() {
                self.end_segment()?;
            }
        }
        Ok(())
    }

    /// Appends a segment as it is, whose keys are greater than those before.
    pub(super) fn adopt(&mut self, part: Part) -> Result<()> {
        self.end_segment()?;
        self.parts.push(part);
        Ok(())
    }

    fn end_segment(&mut self) -> Result<()> {
        if self.writer.rows() > 0 {
            let next = SegmentWriter::new(&self.store, &self.schema, Encoding::Beside);
            let full = std::mem::replace(&mut self.writer, next);
            self.parts.push(Part::new(full.finish()?));
        }
        Ok(())
    }

    /// The run; it has no parts if there were no rows.
    pub fn finish(mut self) -> Result<ColumnRun> {
        self.end_segment()?;
        Ok(ColumnRun { parts: self.parts })
    }
}
