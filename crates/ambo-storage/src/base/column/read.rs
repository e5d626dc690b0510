//! Reading rows of a segment into buffers: ranges of them, and chosen ones.

use std::ops::Range;

use super::{buffer::ColumnBuffer, schema::ColumnSchema, segment::Segment};
use crate::{Error, Result, page::Access};

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
