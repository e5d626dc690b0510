//! Reading rows of a segment into buffers: ranges of them, and chosen ones.

use std::ops::Range;

use ambo_codec::ValueRef;
use smallvec::SmallVec;

use super::{buffer::ColumnBuffer, schema::ColumnSchema, segment::Segment};
use crate::{Error, Result, page::Access};

/// The blocks of a row of so many columns are held without allocation.
const COLUMNS: usize = 16;

/// Stored columns that follow each other.
#[derive(Clone, Copy)]
pub(super) struct RowColumns<'p> {
    /// The first of them.
    pub(super) first: usize,
    /// Which of them are wanted; all, if it does not say. Those behind its end are not.
    pub(super) picked: Option<&'p [bool]>,
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
        for (column, buffer) in (first..).zip(buffers) {
            if !self.is_stored(schema, column) {
                append_missing(schema, column, buffer, rows.len())?;
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
    ///
    /// Its values lie apart, and each is a wait for memory: for the block, and then for the place in it. So all columns ask for the one
    /// before any goes on to the next.
    pub(super) fn read_row_into(
        &self,
        schema: &ColumnSchema,
        buffers: &mut [ColumnBuffer],
        RowColumns { first, picked }: RowColumns<'_>,
        group: usize,
        row: usize,
    ) -> Result<()> {
        let columns = first..first + buffers.len();
        let is_picked =
            |column| picked.is_none_or(|picked| picked.get(column - first).copied().unwrap_or_default());
        let is_read = |column: &usize| is_picked(*column) && self.is_stored(schema, *column);
        self.prefetch_blocks(columns.clone().filter(is_read), group);
        let block = |column| self.block(column, group, Access::Point);
        let read = |column| is_read(&column).then(|| block(column)).transpose();
        let bytes = columns.clone().map(read).collect::<Result<SmallVec<[_; COLUMNS]>>>()?;
        // Blocks are large, and quicker found twice than moved.
        for (column, bytes) in columns.clone().zip(&bytes) {
            if let Some(bytes) = bytes {
                self.parse(column, group, bytes)?.prefetch(row);
            }
        }
        for ((column, buffer), bytes) in columns.zip(buffers).zip(&bytes) {
            match bytes {
                Some(bytes) => buffer
                    .append_block(&self.parse(column, group, bytes)?, row..row + 1)
                    .map_err(|error| self.damaged(self.entry(column, group).offset, error))?,
                None if is_picked(column) => append_missing(schema, column, buffer, 1)?,
                None => buffer.push(ValueRef::Null).map_err(|error| Error::Invalid(error.to_string()))?,
            }
        }
        Ok(())
    }

    /// Appends the rows of a group at `places`, which ascend, of all stored columns of a schema.
    pub(super) fn read_places_into(
        &self,
        schema: &ColumnSchema,
        buffers: &mut [ColumnBuffer],
        group: usize,
        places: &[u32],
        access: Access,
    ) -> Result<()> {
        for (column, buffer) in buffers.iter_mut().enumerate() {
            if !self.is_stored(schema, column) {
                append_missing(schema, column, buffer, places.len())?;
                continue;
            }
            let bytes = self.block(column, group, access)?;
            let block = self.parse(column, group, &bytes)?;
            buffer
                .append_places(&block, places)
                .map_err(|error| self.damaged(self.entry(column, group).offset, error))?;
        }
        Ok(())
    }
}

/// Appends what rows have in a column that is not stored with them.
fn append_missing(
    schema: &ColumnSchema,
    column: usize,
    buffer: &mut ColumnBuffer,
    times: usize,
) -> Result<()> {
    buffer.push_times(schema.missing(column), times).map_err(|error| Error::Invalid(error.to_string()))
}
