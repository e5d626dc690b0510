//! Merging runs into one: rows in key order, without those that are deleted.
//!
//! Rows are copied column by column, in stretches that lie together in one input. A segment that lies between the rows of all
//! others, is large and has few deleted rows, is taken over as it is: appending in key order costs no merging.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{
    buffer::ColumnBuffer,
    builder::RunBuilder,
    directory::SEGMENT_ROWS_MAX,
    run::{ColumnRun, Part},
    schema::ColumnSchema,
    segment::SegmentStore,
};
use crate::{Error, Result, page::Access};

/// Merges runs. Ends with [`Error::Cancelled`] soon after `cancel` is set.
pub(super) fn merge(
    store: &Arc<SegmentStore>,
    schema: &Arc<ColumnSchema>,
    runs: &[&ColumnRun],
    cancel: &AtomicBool,
) -> Result<ColumnRun> {
    let mut sources = runs.iter().map(|run| Source::new(schema, &run.parts)).collect::<Result<Vec<_>>>()?;
    let mut builder = RunBuilder::new(store, schema);
    loop {
        if cancel.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        sources.retain(|source| !source.is_done());
        let Some(least) = (0..sources.len()).min_by_key(|&index| sources[index].key()) else { break };
        let limit = (0..sources.len())
            .filter(|&index| index != least)
            .map(|index| sources[index].key())
            .min()
            .map(<[u8]>::to_vec);
        let source = &mut sources[least];
        if let Some(part) = source.whole_part(limit.as_deref()) {
            builder.adopt(part)?;
            source.next_part()?;
            continue;
        }
        let rows = source.stretch(limit.as_deref());
        builder.append(&source.buffers, rows.clone())?;
        source.advance(rows.end)?;
    }
    builder.finish()
}

/// Whether a part is worth more as it is than together with others.
fn is_good(part: &Part) -> bool {
    part.rows() as usize * 2 >= SEGMENT_ROWS_MAX && part.deleted_rows() * 8 <= part.rows()
}

/// One run, read group by group.
struct Source<'a> {
    schema: &'a ColumnSchema,
    parts: &'a [Part],
    group: usize,
    /// The group's rows, all columns; decoded when they are needed.
    buffers: Vec<ColumnBuffer>,
    /// The group's keys one behind the other, and where each ends.
    keys: Vec<u8>,
    ends: Vec<u32>,
    /// The next row of the group that is left.
    row: usize,
}

impl<'a> Source<'a> {
    fn new(schema: &'a ColumnSchema, parts: &'a [Part]) -> Result<Self> {
        let mut source = Self {
            schema,
            parts,
            group: 0,
            buffers: schema.buffers(),
            keys: Vec::new(),
            ends: Vec::new(),
            row: 0,
        };
        source.load()?;
        Ok(source)
    }

    fn is_done(&self) -> bool {
        self.parts.is_empty()
    }

    fn key_at(&self, row: usize) -> &[u8] {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.keys[start..self.ends[row] as usize]
    }

    /// The next row's key.
    fn key(&self) -> &[u8] {
        self.key_at(self.row)
    }

    fn is_deleted(&self, row: usize) -> bool {
        let first = self.parts[0].segment.directory().group(self.group).start;
        self.parts[0].is_deleted(first + row as u32)
    }

    /// The next rows that lie together, are left, and are less than `limit`. Not empty.
    fn stretch(&self, limit: Option<&[u8]>) -> Range<usize> {
        let rows = self.ends.len();
        let end = match limit {
            None => rows,
            Some(limit) => self.row + gallop(rows - self.row, |ahead| self.key_at(self.row + ahead) < limit),
        };
        let end = match &self.parts[0].deleted {
            None => end,
            Some(_) => (self.row + 1..end).find(|row| self.is_deleted(*row)).unwrap_or(end),
        };
        self.row..end.max(self.row + 1)
    }

    /// The part, if nothing of it was taken yet, all of it is less than `limit`, and it is good as it is.
    fn whole_part(&self, limit: Option<&[u8]>) -> Option<Part> {
        let part = &self.parts[0];
        let untouched = self.group == 0 && (0..self.row).all(|row| self.is_deleted(row));
        let fits = limit.is_none_or(|limit| part.segment.directory().last_key() < limit);
        (untouched && fits && is_good(part)).then(|| part.clone())
    }

    fn next_part(&mut self) -> Result<()> {
        self.parts = &self.parts[1..];
        self.group = 0;
        self.load()
    }

    /// Goes on at `row` of the group.
    fn advance(&mut self, row: usize) -> Result<()> {
        self.row = row;
        self.skip_deleted();
        if self.row < self.ends.len() {
            return Ok(());
        }
        self.group += 1;
        self.load()
    }

    fn skip_deleted(&mut self) {
        while self.row < self.ends.len() && self.is_deleted(self.row) {
            self.row += 1;
        }
    }

    /// Reads the group, or the next one that has rows left.
    fn load(&mut self) -> Result<()> {
        while let Some(part) = self.parts.first() {
            if self.group == part.segment.directory().groups() {
                self.parts = &self.parts[1..];
                self.group = 0;
                continue;
            }
            let rows = part.segment.directory().group(self.group).len();
            self.buffers.iter_mut().for_each(ColumnBuffer::clear);
            part.segment.read_into(self.schema, &mut self.buffers, 0, self.group, 0..rows, Access::Scan)?;
            self.keys.clear();
            self.ends.clear();
            for row in 0..rows {
                let made = self.schema.key_of(&self.buffers, row, &mut self.keys);
                made.map_err(|error| part.segment.damaged(0, error))?;
                self.ends.push(self.keys.len() as u32);
            }
            self.row = 0;
            self.skip_deleted();
            if self.row < rows {
                return Ok(());
            }
            self.group += 1;
        }
        Ok(())
    }
}

/// How many of `count` things, of which the first ones hold, hold.
pub(super) fn gallop(count: usize, holds: impl Fn(usize) -> bool) -> usize {
    let mut step = 1;
    while step < count && holds(step) {
        step *= 2;
    }
    let (mut low, mut high) = (step / 2, step.min(count));
    while low < high {
        let middle = (low + high) / 2;
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: a stretch that is too long by one, or ends early for ever.
    #[test]
    fn galloping_finds_every_border() {
        for count in 0..40 {
            for border in 0..=count {
                assert_eq!(gallop(count, |index| index < border), border, "{border} of {count}");
            }
        }
    }
}
