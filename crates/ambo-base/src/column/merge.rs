//! Merging runs into one: rows in key order, without those that are deleted.
//!
//! Which rows follow each other is found out by their keys alone, and noted as stretches of rows that lie together in one input; then the
//! rows are copied, column by column. A segment that lies between the rows of all others, is large and has few deleted rows, is taken over
//! as it is: appending in key order costs no merging.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use ambo_types::{Error, Result};
use smallvec::SmallVec;

use super::{
    builder::RunBuilder, merge_source::RunReader, run::ColumnRun, schema::ColumnSchema, segment::SegmentStore,
};
use ambo_scan::{buffer::ColumnBuffer, stretch::Stretch};

/// Merges runs. Ends with [`Error::Cancelled`] soon after `cancel` is set.
pub(super) fn merge(
    store: &Arc<SegmentStore>,
    schema: &Arc<ColumnSchema>,
    runs: &[&ColumnRun],
    cancel: &AtomicBool,
) -> Result<ColumnRun> {
    let mut sources =
        runs.iter().map(|run| RunReader::new(schema, &run.parts)).collect::<Result<Vec<_>>>()?;
    let mut output = Output { builder: RunBuilder::new(store, schema), stretches: Vec::new(), room: 0 };
    // Those with rows left, that with the least key first.
    let mut order: Vec<usize> = (0..sources.len()).filter(|source| !sources[*source].is_done()).collect();
    order.sort_by(|one, other| sources[*one].compare(&sources[*other]));
    while let Some(&least) = order.first() {
        if cancel.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        let next = order.get(1).map(|next| &sources[*next]);
        if let Some(part) = sources[least].whole_part(next) {
            output.flush(&sources)?;
            output.builder.adopt(part)?;
            sources[least].next_part()?;
        } else {
            let room = output.room(&sources)?;
            let rows = sources[least].stretch(next, room);
            output.push(Stretch { source: least as u32, start: rows.start, end: rows.end });
            if !sources[least].advance(rows.end) {
                // Its rows are about to be replaced by others.
                output.flush(&sources)?;
                sources[least].next_group()?;
            }
        }
        if sources[least].is_done() {
            order.remove(0);
        } else {
            let before = order[1..].partition_point(|other| sources[*other].compare(&sources[least]).is_lt());
            order[..=before].rotate_left(1);
        }
        debug_assert!(order.is_sorted_by(|one, other| sources[*one].compare(&sources[*other]).is_le()));
    }
    output.flush(&sources)?;
    output.builder.finish()
}

/// What is merged.
struct Output {
    builder: RunBuilder,
    /// Rows to be copied.
    stretches: Vec<Stretch>,
    /// How many more rows may be noted before those are; zero if it is to be asked for.
    room: usize,
}

impl Output {
    /// How many rows may come next. REQUIRES: a source has rows left.
    fn room(&mut self, sources: &[RunReader<'_>]) -> Result<usize> {
        if self.room == 0 {
            self.flush(sources)?;
            self.room = self.builder.room(&buffers(sources))?;
        }
        Ok(self.room)
    }

    fn push(&mut self, stretch: Stretch) {
        assert!((1..=self.room).contains(&stretch.count()), "a merge goes on, as far as there is room");
        self.room -= stretch.count();
        self.stretches.push(stretch);
    }

    /// Copies the rows that are noted.
    fn flush(&mut self, sources: &[RunReader<'_>]) -> Result<()> {
        if !self.stretches.is_empty() {
            self.builder.append(&buffers(sources), &self.stretches)?;
            self.stretches.clear();
        }
        self.room = 0;
        Ok(())
    }
}

fn buffers<'s>(sources: &'s [RunReader<'_>]) -> SmallVec<[&'s [ColumnBuffer]; 8]> {
    sources.iter().map(|source| source.buffers.as_slice()).collect()
}
