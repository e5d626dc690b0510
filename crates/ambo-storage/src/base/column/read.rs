//! Reading ranges of rows of a segment into buffers.

use std::ops::Range;

use super::{buffer::ColumnBuffer, segment::Segment};
use crate::{Result, page::Access};

impl Segment {
    /// The group of a row, and its place there.
    pub(super) fn place(&self, row: u32) -> (usize, usize) {
        let group = self.directory().group_of(row);
        (group, (row - self.directory().group(group).start) as usize)
    }

    /// Appends rows of a group, of as many columns as there are buffers, from column `first` on.
    pub(super) fn read_into(
        &self,
        buffers: &mut [ColumnBuffer],
        first: usize,
        group: usize,
        rows: Range<usize>,
        access: Access,
    ) -> Result<()> {
        for (column, buffer) in (first..).zip(buffers) {
            let bytes = self.block(column, group, access)?;
            let block = self.parse(column, group, &bytes)?;
            buffer
                .append_block(&block, rows.clone())
                .map_err(|error| self.damaged(self.entry(column, group).offset, error))?;
        }
        Ok(())
    }
}
