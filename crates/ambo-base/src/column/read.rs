//! Reading rows of a segment into buffers: ranges of them, and chosen ones.

use std::{ops::Range, sync::Arc};

use ambo_codec::{ValueRef, column::Block};
use ambo_pages::page::Access;
use ambo_types::{Error, Result};
use smallvec::SmallVec;

use super::{schema::ColumnSchema, segment::Segment};
use ambo_scan::buffer::ColumnBuffer;

/// The blocks of a row of so many columns are held without allocation.
const COLUMNS: usize = 16;

/// Stored columns that follow each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowColumns<'p> {
    /// The first of them.
    pub(super) first: usize,
    /// Which of them are wanted; all, if it does not say. Those behind its end are not.
    pub(super) picked: Option<&'p [bool]>,
}

impl RowColumns<'_> {
    /// Whether a column that is not before the first is wanted.
    fn has(&self, column: usize) -> bool {
        self.picked.is_none_or(|picked| picked.get(column - self.first).copied().unwrap_or_default())
    }
}

impl Segment {
    /// The group of a row, and its place there.
    pub(super) fn place(&self, row: u32) -> (usize, usize) {
        let group = self.directory().group_of(row);
        (group, (row - self.directory().group(group).start) as usize)
    }

    /// Whether a column's values are in the segment, and of use.
    fn is_stored(&self, schema: &ColumnSchema, column: usize) -> bool {
        self.has(column) && !schema.is_dropped(column)
    }

    /// Appends rows of a group, of as many stored columns of a schema as there are buffers, from column `first` on.
    pub(super) fn read_into(
        &self,
        schema: &ColumnSchema,
        buffers: &mut [ColumnBuffer],
        first: usize,
        group: usize,
        rows: Range<usize>,
        access: Access,
    ) -> Result<()> {
        debug_assert!(rows.end <= self.directory().group(group).len(), "rows of the group");
        for (column, buffer) in (first..).zip(buffers) {
            if !self.is_stored(schema, column) {
                append_times(buffer, schema.missing(column), rows.len())?;
                continue;
            }
            let bytes = self.block(column, group, access)?;
            let block = self.parse(column, group, &bytes)?;
            buffer
                .append_block(&block, rows.clone())
                .map_err(|error| self.damaged(self.entry(column, group).offset, error))?;
        }
        Ok(())
    }

    /// Appends a row of a group, of as many stored columns of a schema as there are buffers. What is not picked is NULL, and not read.
    pub(super) fn read_row_into(
        &self,
        schema: &ColumnSchema,
        buffers: &mut [ColumnBuffer],
        columns: RowColumns<'_>,
        group: usize,
        row: usize,
    ) -> Result<()> {
        let mut rows = GroupRows::new(self, schema, columns, buffers.len(), group);
        rows.ask();
        rows.read(Access::Point)?;
        rows.append(&[row as u32], buffers)
    }

    /// Appends the rows of a group at `places`, which ascend, of as many stored columns of a schema as there are buffers.
    pub(super) fn read_places_into(
        &self,
        schema: &ColumnSchema,
        buffers: &mut [ColumnBuffer],
        columns: RowColumns<'_>,
        group: usize,
        places: &[u32],
        access: Access,
    ) -> Result<()> {
        let mut rows = GroupRows::new(self, schema, columns, buffers.len(), group);
        rows.read(access)?;
        rows.append(places, buffers)
    }
}

/// Some columns of rows of a group, about to be read.
///
/// The values of a row lie apart, and each is a wait for memory: for the block, and then for the place in it. So all columns, and all
/// groups of some, are asked for the one before any goes on to the next.
pub(super) struct GroupRows<'r> {
    segment: &'r Segment,
    schema: &'r ColumnSchema,
    picks: RowColumns<'r>,
    columns: Range<usize>,
    group: usize,
    /// The blocks of the columns that are read.
    blocks: SmallVec<[Option<Arc<[u8]>>; COLUMNS]>,
}

impl<'r> GroupRows<'r> {
    /// Of so many columns, the first of `picks` and those behind it.
    pub(super) fn new(
        segment: &'r Segment,
        schema: &'r ColumnSchema,
        picks: RowColumns<'r>,
        count: usize,
        group: usize,
    ) -> Self {
        let columns = picks.first..picks.first + count;
        Self { segment, schema, picks, columns, group, blocks: SmallVec::new() }
    }

    /// The error for rows that cannot be put together.
    pub(super) fn damaged(&self, error: ambo_codec::Error) -> Error {
        self.segment.damaged(0, error)
    }

    fn is_read(&self, column: usize) -> bool {
        self.picks.has(column) && self.segment.is_stored(self.schema, column)
    }

    /// Asks for the memory where blocks begin.
    pub(super) fn ask(&self) {
        let columns = self.columns.clone().filter(|column| self.is_read(*column));
        self.segment.prefetch_blocks(columns, self.group);
    }

    /// Reads the blocks.
    pub(super) fn read(&mut self, access: Access) -> Result<()> {
        let block = |column| self.segment.block(column, self.group, access);
        let read = |column| self.is_read(column).then(|| block(column)).transpose();
        self.blocks = self.columns.clone().map(read).collect::<Result<_>>()?;
        Ok(())
    }

    /// Asks for the memory of a row in blocks that were read, for who reads other groups before this one.
    pub(super) fn ask_row(&self, row: usize) -> Result<()> {
        debug_assert_eq!(self.blocks.len(), self.columns.len(), "blocks are read before their rows");
        for (column, bytes) in self.columns.clone().zip(&self.blocks) {
            if let Some(bytes) = bytes {
                self.segment.parse(column, self.group, bytes)?.prefetch(row);
            }
        }
        Ok(())
    }

    /// The blocks that were read. All are asked for the memory of a row that is read alone before the first is read.
    fn parsed(&self, rows: &[u32]) -> Result<SmallVec<[Option<Block<'_>>; COLUMNS]>> {
        let mut blocks = SmallVec::new();
        for (column, bytes) in self.columns.clone().zip(&self.blocks) {
            blocks.push(match bytes {
                Some(bytes) => Some(self.segment.parse(column, self.group, bytes)?),
                None => None,
            });
            // Where it is now: blocks are large, and moving them costs as much as finding them.
            if let (Some(Some(block)), &[row]) = (blocks.last(), rows) {
                Block::prefetch(block, row as usize);
            }
        }
        Ok(blocks)
    }

    /// Appends rows, which ascend, of blocks that were read. What is not picked is NULL.
    pub(super) fn append(&self, rows: &[u32], buffers: &mut [ColumnBuffer]) -> Result<()> {
        let Self { segment, schema, group, .. } = *self;
        assert_eq!(self.blocks.len(), self.columns.len(), "blocks are read before their rows");
        assert_eq!(buffers.len(), self.columns.len(), "a buffer for each column");
        debug_assert!(rows.is_sorted());
        let blocks = self.parsed(rows)?;
        for ((column, buffer), block) in self.columns.clone().zip(buffers).zip(&blocks) {
            let Some(block) = block else {
                let value = if self.picks.has(column) { schema.missing(column) } else { ValueRef::Null };
                append_times(buffer, value, rows.len())?;
                continue;
            };
            let appended = match *rows {
                [row] => buffer.append_block(block, row as usize..row as usize + 1),
                _ => buffer.append_places(block, rows),
            };
            appended.map_err(|error| segment.damaged(segment.entry(column, group).offset, error))?;
        }
        Ok(())
    }
}

/// Appends a value as often as there are rows.
fn append_times(buffer: &mut ColumnBuffer, value: ValueRef<'_>, times: usize) -> Result<()> {
    buffer.push_times(value, times).map_err(|error| Error::Invalid(error.to_string()))
}
