//! A run of segments: rows in key order over all of them; and which of those rows are deleted.

use std::{cmp::Ordering, sync::Arc};

use ambo_codec::{
    ValueRef,
    bitmap::{Bitmap, Positions},
    column::Block,
};

use super::{bounds::physical, schema::ColumnSchema, segment::Segment};
use crate::{
    Result,
    page::{Access, BlobRef},
};

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

    /// Rows that are left before `row`.
    fn live_before(&self, row: u32) -> u64 {
        u64::from(row) - self.deleted.as_ref().map_or(0, |deleted| deleted.rows.rank(u64::from(row)))
    }

    /// The first row whose key is `key` or a greater one (with `after`, a greater one); the number of rows if there is none.
    pub(super) fn lower_bound(&self, schema: &ColumnSchema, key: &[u8], after: bool) -> Result<u32> {
        let directory = self.segment.directory();
        let Some(group) = directory.group_for(key) else { return Ok(0) };
        if key > directory.last_key() {
            return Ok(self.rows());
        }
        let rows = directory.group(group);
        let probe = schema.keys().decode(key).map_err(|error| self.segment.damaged(0, error));
        // A key that its columns cannot hold is nobody's: its neighbours are found by their bytes.
        let Ok(probe) = probe else { return self.lower_bound_of_bytes(schema, key, group) };
        let probe: Vec<_> = probe.iter().map(|value| physical(value.as_ref())).collect();
        let bytes = (0..probe.len())
            .map(|column| self.segment.block(column, group, Access::Point))
            .collect::<Result<Vec<_>>>()?;
        let blocks = bytes
            .iter()
            .enumerate()
            .map(|(column, bytes)| self.segment.parse(column, group, bytes))
            .collect::<Result<Vec<_>>>()?;
        let found = lower_bound(rows.len(), after, |row| compare(&blocks, row, &probe))
            .map_err(|error| self.segment.damaged(self.segment.entry(0, group).offset, error))?;
        Ok(rows.start + found as u32)
    }

    #[cold]
    fn lower_bound_of_bytes(&self, schema: &ColumnSchema, key: &[u8], group: usize) -> Result<u32> {
        let rows = self.segment.directory().group(group);
        let mut buffers: Vec<_> = schema.buffers().into_iter().take(schema.key_columns()).collect();
        self.segment.read_into(&mut buffers, 0, group, 0..rows.len(), Access::Point)?;
        let mut found = Vec::new();
        let index = lower_bound(rows.len(), false, |row| {
            found.clear();
            schema.key_of(&buffers, row, &mut found).map(|()| found.as_slice().cmp(key))
        });
        index.map(|index| rows.start + index as u32).map_err(|error| self.segment.damaged(0, error))
    }

    /// The row of a key, if it is there and left.
    pub(super) fn find(&self, schema: &ColumnSchema, key: &[u8]) -> Result<Option<u32>> {
        let directory = self.segment.directory();
        if key < directory.first_key() || key > directory.last_key() {
            return Ok(None);
        }
        let row = self.lower_bound(schema, key, false)?;
        if row == self.rows() || self.is_deleted(row) {
            return Ok(None);
        }
        // What is not less and not followed by what is greater is equal.
        let is_there = self.lower_bound_is(schema, key, row)?;
        Ok(is_there.then_some(row))
    }

    fn lower_bound_is(&self, schema: &ColumnSchema, key: &[u8], row: u32) -> Result<bool> {
        let mut found = Vec::new();
        self.key_of(schema, row, &mut found)?;
        Ok(found == key)
    }

    /// Appends the key of a row.
    pub(super) fn key_of(&self, schema: &ColumnSchema, row: u32, out: &mut Vec<u8>) -> Result<()> {
        let mut buffers: Vec<_> = schema.buffers().into_iter().take(schema.key_columns()).collect();
        let (group, index) = self.segment.place(row);
        self.segment.read_into(&mut buffers, 0, group, index..index + 1, Access::Point)?;
        schema.key_of(&buffers, 0, out).map_err(|error| self.segment.damaged(0, error))
    }

    /// The record of a row.
    pub(super) fn record_of(&self, schema: &ColumnSchema, row: u32) -> Result<Vec<u8>> {
        let first = schema.key_columns();
        let mut buffers: Vec<_> = schema.buffers().into_iter().skip(first).collect();
        let (group, index) = self.segment.place(row);
        self.segment.read_into(&mut buffers, first, group, index..index + 1, Access::Point)?;
        let mut out = Vec::new();
        schema.record_of(&buffers, 0, &mut out).map_err(|error| self.segment.damaged(0, error))?;
        Ok(out)
    }
}

/// How the key of a row compares with a probe, column by column.
fn compare(blocks: &[Block<'_>], row: usize, probe: &[ValueRef<'_>]) -> ambo_codec::Result<Ordering> {
    for (block, probe) in blocks.iter().zip(probe) {
        let order = match probe {
            ValueRef::I64(probe) => block.get_as::<i64>(row)?.unwrap_or_default().cmp(probe),
            ValueRef::I32(probe) => block.get_as::<i32>(row)?.unwrap_or_default().cmp(probe),
            ValueRef::U64(probe) => block.get_as::<u64>(row)?.unwrap_or_default().cmp(probe),
            ValueRef::U32(probe) => block.get_as::<u32>(row)?.unwrap_or_default().cmp(probe),
            probe => block.get(row)?.as_ref().compare(*probe),
        };
        if order.is_ne() {
            return Ok(order);
        }
    }
    Ok(Ordering::Equal)
}

/// The first of `rows` rows that is not less than what `compare` compares with (with `after`, that is greater).
fn lower_bound(
    rows: usize,
    after: bool,
    mut compare: impl FnMut(usize) -> ambo_codec::Result<Ordering>,
) -> ambo_codec::Result<usize> {
    let (mut low, mut high) = (0, rows);
    while low < high {
        let middle = (low + high) / 2;
        let order = compare(middle)?;
        if order.is_lt() || after && order.is_eq() {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// Segments one behind the other: all keys of one are less than those of the next.
#[derive(Clone, Debug, Default)]
pub struct ColumnRun {
    /// The segments and what is left of them.
    pub parts: Vec<Part>,
}

/// A row of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// Which part.
    pub part: usize,
    /// Which row of it.
    pub row: u32,
}

impl ColumnRun {
    /// Rows that are left.
    pub fn live_rows(&self) -> u64 {
        self.parts.iter().map(|part| u64::from(part.live_rows())).sum()
    }

    /// The first part that may have `key` or a greater one; the number of parts if none has.
    fn part_for(&self, key: &[u8]) -> usize {
        self.parts.partition_point(|part| part.segment.directory().last_key() < key)
    }

    /// The row of a key, if it is there and left.
    pub fn find(&self, schema: &ColumnSchema, key: &[u8]) -> Result<Option<Place>> {
        let index = self.part_for(key);
        let Some(part) = self.parts.get(index) else { return Ok(None) };
        Ok(part.find(schema, key)?.map(|row| Place { part: index, row }))
    }

    /// The first row, left or not, with this key or a greater one (with `after`, a greater one); behind the last part if there is none.
    pub(super) fn lower_bound(&self, schema: &ColumnSchema, key: &[u8], after: bool) -> Result<Place> {
        let index = self.part_for(key);
        let Some(part) = self.parts.get(index) else { return Ok(Place { part: index, row: 0 }) };
        let row = part.lower_bound(schema, key, after)?;
        match row == part.rows() {
            true => Ok(Place { part: index + 1, row: 0 }),
            false => Ok(Place { part: index, row }),
        }
    }

    /// How many rows that are left have keys less than `key`.
    pub fn rank(&self, schema: &ColumnSchema, key: &[u8]) -> Result<u64> {
        let place = self.lower_bound(schema, key, false)?;
        let before = self.parts[..place.part].iter().map(|part| u64::from(part.live_rows())).sum::<u64>();
        Ok(before + self.parts.get(place.part).map_or(0, |part| part.live_before(place.row)))
    }

    /// The row with `position` rows before it that are left; none if there are fewer.
    pub fn nth(&self, position: u64) -> Option<Place> {
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
            return Some(Place { part: index, row: low });
        }
        None
    }
}
