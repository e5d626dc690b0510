//! Reading rows of a segment into buffers: ranges of them, and chosen ones.

use std::ops::Range;

use smallvec::SmallVec;

use super::{buffer::ColumnBuffer, schema::ColumnSchema, segment::Segment};
use crate::{Error, Result, page::Access};

/// The blocks of a row of so many columns are held without allocation.
const COLUMNS: usize = 16;

impl Segment {
    /// The group of a row, and its place there.
    pub(super) fn place(&self, row: u32) -> (usize, usize) {
        let group = self.directory().group_of(row);
        (group, (row - self.directory().group(group).start) as usize)
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
            if !self.has(column) || schema.is_dropped(column) {
                let filled = buffer.push_times(schema.missing(column), rows.len());
                filled.map_err(|error| Error::Invalid(error.to_string()))?;
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

    /// Appends a row of a group, of as many stored columns of a schema as there are buffers, from column `first` on.
    ///
    /// Its values lie apart, and each is a wait for memory: for the block, and then for the place in it. So all columns ask for the one
    /// before any goes on to the next.
    pub(super) fn read_row_into(
        &self,
        schema: &ColumnSchema,
        buffers: &mut [ColumnBuffer],
        first: usize,
        group: usize,
        row: usize,
    ) -> Result<()> {
        let columns = first..first + buffers.len();
        self.prefetch_blocks(first.min(self.columns())..columns.end.min(self.columns()), group);
        let is_stored = |column: usize| self.has(column) && !schema.is_dropped(column);
        let read = |column| is_stored(column).then(|| self.block(column, group, Access::Point)).transpose();
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
                None => buffer
                    .push_times(schema.missing(column), 1)
                    .map_err(|error| Error::Invalid(error.to_string()))?,
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
            if !self.has(column) || schema.is_dropped(column) {
                let filled = buffer.push_times(schema.missing(column), places.len());
                filled.map_err(|error| Error::Invalid(error.to_string()))?;
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
