//! A run of segments: rows in key order over all of them; and which of those rows are deleted.

use std::{ops::Range, sync::Arc};

use ambo_codec::bitmap::{Bitmap, Positions};
use ambo_pages::page::BlobRef;
use ambo_types::Result;

use super::{
    key_filter::KnownFilter,
    read::RowColumns,
    schema::ColumnSchema,
    search::{Found, Probe, Window},
    segment::Segment,
};
use crate::key_filter::KeyFilter;
use ambo_scan::buffer::ColumnBuffer;

/// Rows of a segment that are gone.
#[derive(Debug)]
pub struct Deleted {
    /// Their positions.
    pub rows: Bitmap,
    /// How many.
    pub count: u32,
    /// Where they are stored, once they are.
    pub blob: Option<BlobRef>,
}

/// A segment at one moment: what of it is left.
#[derive(Clone, Debug)]
pub struct Part {
    /// The rows.
    pub segment: Arc<Segment>,
    /// Those of them that are gone; none if none is.
    pub deleted: Option<Arc<Deleted>>,
}

impl Part {
    /// A segment as it was written.
    pub fn new(segment: Arc<Segment>) -> Self {
        Self { segment, deleted: None }
    }

    /// Whether both are the same segment with the same rows gone.
    pub fn is_same(&self, other: &Self) -> bool {
        let gone = |part: &Self| part.deleted.as_ref().map(Arc::as_ptr);
        Arc::ptr_eq(&self.segment, &other.segment) && gone(self) == gone(other)
    }

    /// That deleted rows are rows of the segment, and as many as it says.
    pub(super) fn verify(&self) {
        let Some(deleted) = &self.deleted else { return };
        assert!(deleted.rows.last() < Some(self.rows().into()), "deleted rows are rows of the segment");
        assert_eq!(deleted.rows.cardinality(), deleted.count.into(), "deleted rows are counted");
    }
    /// Rows, those that are gone among them.
    pub fn rows(&self) -> u32 {
        self.segment.directory().rows()
    }

    /// Rows that are gone.
    pub fn deleted_rows(&self) -> u32 {
        self.deleted.as_ref().map_or(0, |deleted| deleted.count)
    }

    /// Rows that are left.
    pub fn live_rows(&self) -> u32 {
        self.rows() - self.deleted_rows()
    }

    /// Whether a row is gone.
    #[inline]
    pub fn is_deleted(&self, row: u32) -> bool {
        self.deleted.as_ref().is_some_and(|deleted| deleted.rows.contains(u64::from(row)))
    }

    /// The rows among these that are gone, counted from the first of these.
    pub(super) fn deleted_in(&self, rows: Range<u32>) -> Vec<u32> {
        debug_assert!(rows.start <= rows.end && rows.end <= self.rows(), "rows of the part");
        let Some(deleted) = &self.deleted else { return Vec::new() };
        let gone = deleted.rows.range(u64::from(rows.start)..u64::from(rows.end));
        gone.map(|row| row as u32 - rows.start).collect()
    }

    /// Rows that are left before `row`.
    fn live_before(&self, row: u32) -> u64 {
        debug_assert!(row <= self.rows(), "a row of the part, or its end");
        u64::from(row) - self.deleted.as_ref().map_or(0, |deleted| deleted.rows.rank(u64::from(row)))
    }

    /// The row of a key, if it is there and left.
    pub(super) fn find(
        &self,
        schema: &ColumnSchema,
        probe: &Probe<'_>,
        window: &mut Window,
    ) -> Result<Option<u32>> {
        let segment = &*self.segment;
        let is_denied = |filter: &KeyFilter<_>| !filter.may_have(probe.key);
        if probe.key < segment.directory().first_key() || window.filter.of(segment).is_some_and(is_denied) {
            return Ok(None);
        }
        match self.search(schema, probe, window)? {
            Found::At(row) => Ok((!self.is_deleted(row)).then_some(row)),
            Found::Before(row) => {
                if row < self.rows() {
                    self.note_fruitless(schema, window)?;
                }
                Ok(None)
            }
        }
    }

    /// Notes that a key was sought in vain between the first and the last.
    pub(super) fn note_fruitless(&self, schema: &ColumnSchema, window: &mut Window) -> Result<()> {
        if self.segment.note_fruitless(schema)? {
            window.filter = KnownFilter::default();
        }
        Ok(())
    }

    /// Appends the key of a row.
    #[cfg(test)]
    pub(super) fn key_of(&self, schema: &ColumnSchema, row: u32, out: &mut Vec<u8>) -> Result<()> {
        let mut buffers: Vec<_> = schema.buffers().into_iter().take(schema.key_columns()).collect();
        let (group, index) = self.segment.place(row);
        self.segment.read_row_into(
            schema,
            &mut buffers,
            RowColumns { first: 0, picked: None },
            group,
            index,
        )?;
        schema.key_of(&buffers, 0, out).map_err(|error| self.segment.damaged(0, error))
    }

    /// The record of a row; columns of it that are not `picked` are NULL. `buffers` are of the columns that are not the key's, and empty.
    pub(super) fn record_of(
        &self,
        schema: &ColumnSchema,
        row: u32,
        picked: Option<&[bool]>,
        buffers: &mut [ColumnBuffer],
    ) -> Result<Vec<u8>> {
        let (group, index) = self.segment.place(row);
        let columns = RowColumns { first: schema.key_columns(), picked };
        self.segment.read_row_into(schema, buffers, columns, group, index)?;
        let mut out = Vec::new();
        schema.record_of(buffers, 0, &mut out).map_err(|error| self.segment.damaged(0, error))?;
        Ok(out)
    }
}

/// Segments one behind the other: all keys of one are less than those of the next.
#[derive(Clone, Debug, Default)]
pub struct ColumnRun {
    /// The segments and what is left of them.
    pub parts: Vec<Part>,
}

/// A row of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RunRow {
    /// Which part.
    pub part: usize,
    /// Which row of it.
    pub row: u32,
}

impl ColumnRun {
    /// Whether its segments follow each other.
    pub(super) fn is_in_order(&self) -> bool {
        self.parts.is_sorted_by(|a, b| a.segment.directory().last_key() < b.segment.directory().first_key())
    }

    /// Rows that are left.
    pub fn live_rows(&self) -> u64 {
        self.parts.iter().map(|part| u64::from(part.live_rows())).sum()
    }

    /// The first part that may have `key` or a greater one; the number of parts if none has.
    fn part_for(&self, key: &[u8]) -> usize {
        self.parts.partition_point(|part| part.segment.directory().last_key() < key)
    }

    /// The row of a key, if it is there and left.
    pub(super) fn find(
        &self,
        schema: &ColumnSchema,
        probe: &Probe<'_>,
        window: &mut Window,
    ) -> Result<Option<RunRow>> {
        let index = self.part_for(probe.key);
        let Some(part) = self.parts.get(index) else { return Ok(None) };
        Ok(part.find(schema, probe, window)?.map(|row| RunRow { part: index, row }))
    }

    /// The first row, left or not, with this key or a greater one (with `after`, a greater one); behind the last part if there is none.
    pub(super) fn lower_bound(&self, schema: &ColumnSchema, key: &[u8], after: bool) -> Result<RunRow> {
        let index = self.part_for(key);
        let Some(part) = self.parts.get(index) else { return Ok(RunRow { part: index, row: 0 }) };
        let row = match part.search(schema, &Probe::new(schema, key), &mut Window::new(schema))? {
            Found::At(row) => row + u32::from(after),
            Found::Before(row) => row,
        };
        debug_assert!(row <= part.rows());
        match row == part.rows() {
            true => Ok(RunRow { part: index + 1, row: 0 }),
            false => Ok(RunRow { part: index, row }),
        }
    }

    /// How many rows that are left have keys less than `key`.
    pub fn rank(&self, schema: &ColumnSchema, key: &[u8]) -> Result<u64> {
        let place = self.lower_bound(schema, key, false)?;
        let before = self.parts[..place.part].iter().map(|part| u64::from(part.live_rows())).sum::<u64>();
        Ok(before + self.parts.get(place.part).map_or(0, |part| part.live_before(place.row)))
    }

    /// The row with `position` rows before it that are left; none if there are fewer.
    pub fn nth(&self, position: u64) -> Option<RunRow> {
        let mut before = position;
        for (index, part) in self.parts.iter().enumerate() {
            let live = u64::from(part.live_rows());
            if before >= live {
                before -= live;
                continue;
            }
            // The last row with so many before it: those in front of it with as many are deleted.
            let (mut low, mut high) = (0, part.rows());
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                if part.live_before(middle) <= before {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            debug_assert_eq!((part.is_deleted(low), part.live_before(low)), (false, before));
            return Some(RunRow { part: index, row: low });
        }
        None
    }
}
