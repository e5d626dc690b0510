//! Building a run: segments one after the other, as many as the rows need.

use std::sync::Arc;

use ambo_types::Result;

use super::{
    run::{ColumnRun, Part},
    schema::ColumnSchema,
    segment::SegmentStore,
    writer::{Encoding, SegmentWriter},
};
use ambo_scan::{buffer::ColumnBuffer, stretch::Stretch};

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

    /// How many rows of these sources may be appended at once.
    pub(super) fn room(&mut self, sources: &[&[ColumnBuffer]]) -> Result<usize> {
        self.writer.room(sources)
    }

    /// Appends rows that are columns already, in this order, greater than those before. REQUIRES: no more than there is room for.
    pub(super) fn append(&mut self, sources: &[&[ColumnBuffer]], stretches: &[Stretch]) -> Result<()> {
        self.writer.append_stretches(sources, stretches)?;
        if self.writer.is_full() { self.end_segment() } else { Ok(()) }
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
        let run = ColumnRun { parts: self.parts };
        debug_assert!(run.is_in_order());
        Ok(run)
    }
}
