//! A morsel: the rows of one group that a scan selects, and their columns, which are read when they are asked for.
//!
//! (Leis, Boncz, Kemper, Neumann: Morsel-driven parallelism, SIGMOD 2014.)

use std::{cell::OnceCell, ops::Range, sync::Arc};

use ambo_codec::{
    Type,
    column::{BitsView, Block, Element, Mask, Sum},
};
use ambo_types::{Error, Result};

use crate::{aggregate::exact, buffer::ColumnBuffer, filter::Filter, group::RowGroup};

/// Selected rows of a group.
pub struct Morsel<'s> {
    group: Box<dyn RowGroup + 's>,
    /// Stored columns that the scan asks for, in its order.
    projection: &'s [usize],
    /// The bytes of the stored columns that were read.
    read: Vec<OnceCell<Arc<[u8]>>>,
    mask: Mask,
    /// How many rows are in the mask.
    selected: usize,
}

impl<'s> Morsel<'s> {
    /// The rows of a group that are in the mask and answer all filters with yes; `None` if there are none. REQUIRES: the mask has as many
    /// rows as the group.
    pub fn new(
        group: Box<dyn RowGroup + 's>,
        mask: Mask,
        filters: &[Filter],
        projection: &'s [usize],
    ) -> Result<Option<Self>> {
        let columns = group.columns();
        debug_assert!(projection.iter().all(|column| *column < columns), "a scan asks for stored columns");
        debug_assert!(filters.iter().all(|filter| filter.column < columns), "filters are of stored columns");
        let mut read = Vec::new();
        read.resize_with(columns, OnceCell::new);
        Self { group, projection, read, mask, selected: 0 }.filtered(filters)
    }

    /// Keeps of the selected rows those that answer more filters with yes; `None` if there are none.
    pub fn narrowed(self, filters: &[Filter]) -> Result<Option<Self>> {
        match filters.iter().all(|filter| self.group.may_match(filter)) {
            true => self.filtered(filters),
            false => Ok(None),
        }
    }

    /// Keeps of the selected rows those that answer one more filter with yes. Returns whether any is left; the morsel is of no use if not.
    pub fn narrow(&mut self, filter: &Filter) -> Result<bool> {
        if !self.group.may_match(filter) {
            return Ok(false);
        }
        let mut mask = std::mem::replace(&mut self.mask, Mask::none(0));
        self.filter(filter, &mut mask)?;
        let before = std::mem::replace(&mut self.selected, mask.count());
        debug_assert!(self.selected <= before, "a filter selects no more rows");
        self.mask = mask;
        Ok(self.selected > 0)
    }

    /// Takes out of the mask the rows that answer a filter with no.
    fn filter(&self, filter: &Filter, mask: &mut Mask) -> Result<()> {
        let block = self.stored(filter.column)?;
        let result = filter.test.with(|predicate| block.filter(*predicate, mask));
        result.map_err(|error| self.wrong(filter.column, error))
    }

    /// Keeps of the selected rows those whose bit is set. REQUIRES: a bit for each selected row.
    pub fn keep(&mut self, kept: BitsView<'_>) {
        assert_eq!(kept.len(), self.selected, "there is a bit for each selected row");
        self.mask.keep(kept);
        let before = std::mem::replace(&mut self.selected, self.mask.count());
        assert!(self.selected <= before, "rows that are not selected stay so");
    }

    fn filtered(mut self, filters: &[Filter]) -> Result<Option<Self>> {
        let mut mask = std::mem::replace(&mut self.mask, Mask::none(0));
        for filter in filters {
            if is_empty(&mask) {
                return Ok(None);
            }
            self.filter(filter, &mut mask)?;
        }
        let before = std::mem::replace(&mut self.selected, mask.count());
        debug_assert!(before == 0 || self.selected <= before, "a filter selects no more rows");
        self.mask = mask;
        Ok((self.selected > 0).then_some(self))
    }

    /// What a block says against a request, or that it is damaged.
    pub fn wrong(&self, column: usize, error: ambo_codec::Error) -> Error {
        self.group.wrong(column, error)
    }

    /// The block of a stored column.
    pub fn stored(&self, column: usize) -> Result<Block<'_>> {
        let read = &self.read[column];
        if read.get().is_none()
            && let Some(bytes) = self.group.read(column)?
        {
            let _ = read.set(bytes);
        }
        self.group.parse(column, read.get().map(|bytes| &**bytes))
    }

    /// How many rows the group has, selected or not.
    pub fn rows(&self) -> usize {
        self.mask.len()
    }

    /// How many are selected.
    pub fn selected(&self) -> usize {
        self.selected
    }

    /// Which are selected.
    pub fn mask(&self) -> &Mask {
        &self.mask
    }

    /// Stored columns that the scan asks for.
    pub fn projection(&self) -> &[usize] {
        self.projection
    }

    /// The encoded column at this place of the projection, all rows of the group.
    pub fn block(&self, place: usize) -> Result<Block<'_>> {
        self.stored(self.projection[place])
    }

    /// Replaces `out` with the values of the selected rows; at the places of NULLs stands any value.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `E` is not the type of the column.
    pub fn values<E: Element>(&self, place: usize, out: &mut Vec<E>) -> Result<()> {
        let block = self.block(place)?;
        let selected = self.selected();
        let is_dense = self.is_dense();
        out.resize(if is_dense { self.rows() } else { selected }, E::default());
        let result = if selected == self.rows() {
            block.decode(0..selected, out)
        } else if is_dense {
            block.decode(0..self.rows(), out).map(|()| {
                compress(&self.mask, out);
                out.truncate(selected);
            })
        } else {
            let positions = self.selected_rows();
            block.gather(&positions, out)
        };
        debug_assert!(result.is_err() || out.len() == selected);
        result.map_err(|error| self.wrong(self.projection[place], error))
    }

    /// Whether so many rows are selected that decoding all is quicker than picking.
    pub fn is_dense(&self) -> bool {
        self.selected() * 8 >= self.rows()
    }

    /// Between what the integers of a column lie in this group, decimals in units of their last digit, where that is known.
    pub fn range(&self, place: usize) -> Option<(i128, i128)> {
        let (low, high) = self.group.bounds(self.projection[place])?;
        Some((exact(&low)?, exact(&high)?))
    }

    /// What the block at a place of the projection says against a request, or that it is damaged.
    pub fn wrong_at(&self, place: usize, error: ambo_codec::Error) -> Error {
        self.wrong(self.projection[place], error)
    }

    /// Replaces `offsets` and `data` with the text of the selected rows, in Arrow's layout; NULLs are any text.
    pub fn texts(&self, place: usize, offsets: &mut Vec<u32>, data: &mut Vec<u8>) -> Result<()> {
        offsets.clear();
        data.clear();
        let block = self.block(place)?;
        let Some(text) = block.text() else {
            offsets.resize(self.selected() + 1, 0);
            return Ok(());
        };
        let result = if self.selected() == self.rows() {
            text.decode(0..self.rows(), offsets, data)
        } else {
            let positions = self.selected_rows();
            text.gather(&positions, offsets, data)
        };
        result.map_err(|error| self.wrong(self.projection[place], error))?;
        debug_assert_eq!(offsets.len(), self.selected() + 1, "each selected row has a text");
        debug_assert_eq!(
            offsets.last().map(|end| *end as usize),
            Some(data.len()),
            "the last text ends the bytes"
        );
        Ok(())
    }

    /// Replaces `codes` with the numbers of the dictionary's entries that the selected rows have, and returns the entries; `None` where
    /// text has no dictionary, or one with more entries than rows are selected. NULLs have the number of any entry.
    pub fn codes(&self, place: usize, codes: &mut Vec<u32>) -> Result<Option<(Vec<u32>, Vec<u8>)>> {
        let block = self.block(place)?;
        let Some(of_text) = block.text().and_then(|text| text.codes()) else { return Ok(None) };
        let mut read = || -> ambo_codec::Result<_> {
            let entries = of_text.entries()?;
            if entries.len() > self.selected() {
                return Ok(None);
            }
            of_text.read(0..self.rows(), codes)?;
            compress(&self.mask, codes);
            codes.truncate(self.selected());
            debug_assert_eq!(codes.len(), self.selected(), "each selected row has the number of an entry");
            let first = entries.offsets()[0];
            let last = entries.offsets()[entries.len()];
            let offsets = entries.offsets().iter().map(|offset| offset - first).collect();
            Ok(Some((offsets, entries.data()[first as usize..last as usize].to_vec())))
        };
        read().map_err(|error| self.wrong(self.projection[place], error))
    }

    /// The selected rows' places in the group.
    pub fn selected_rows(&self) -> Vec<u32> {
        let rows: Vec<u32> = self.mask.iter().map(|row| row as u32).collect();
        debug_assert_eq!(rows.len(), self.selected, "as many rows are in the mask as are selected");
        rows
    }

    /// The values of rows of the group in a stored column of this type.
    pub fn buffer(&self, column: usize, ty: Type, rows: &[u32]) -> Result<ColumnBuffer> {
        debug_assert!(rows.is_sorted_by(|one, next| one < next), "rows ascend");
        debug_assert!(
            rows.last().is_none_or(|row| (*row as usize) < self.rows()),
            "rows are those of the group"
        );
        let mut buffer = ColumnBuffer::new(ty);
        let block = self.stored(column)?;
        let appended = match rows.len() == self.rows() {
            true => buffer.append_block(&block, 0..rows.len()),
            false => buffer.append_places(&block, rows),
        };
        appended.map_err(|error| self.wrong(column, error))?;
        debug_assert_eq!(buffer.len(), rows.len());
        Ok(buffer)
    }

    /// How many of the selected rows have a value there.
    pub fn count(&self, place: usize) -> Result<usize> {
        let count = self.block(place)?.count(Some(&self.mask));
        debug_assert!(count <= self.selected, "no more rows have a value than are selected");
        Ok(count)
    }

    /// The sum of the selected rows' values, on the encoded form where it allows.
    pub fn sum(&self, place: usize) -> Result<Sum> {
        let all = self.selected() == self.rows();
        let block = self.block(place)?;
        block.sum((!all).then_some(&self.mask)).map_err(|error| self.wrong(self.projection[place], error))
    }

    /// The least and the greatest of the selected rows' values, in the type of the block; from the directory if all rows are selected.
    pub fn min_max(&self, place: usize) -> Result<Option<(ambo_codec::Value, ambo_codec::Value)>> {
        let all = self.selected() == self.rows();
        let column = self.projection[place];
        if all && let Some(values) = self.group.bounds(column) {
            return Ok(Some(values));
        }
        let block = self.block(place)?;
        block.min_max((!all).then_some(&self.mask)).map_err(|error| self.wrong(column, error))
    }
}

fn is_empty(mask: &Mask) -> bool {
    mask.words().iter().all(|word| *word == 0)
}

/// Moves the selected values to the front.
fn compress<E: Copy>(mask: &Mask, values: &mut [E]) {
    debug_assert!(values.len() >= mask.len(), "each row of the group has a value");
    let mut to = 0;
    for (index, &word) in mask.words().iter().enumerate() {
        if word == u64::MAX {
            let from: Range<usize> = index * 64..index * 64 + 64;
            values.copy_within(from, to);
            to += 64;
            continue;
        }
        let mut left = word;
        while left != 0 {
            values[to] = values[index * 64 + left.trailing_zeros() as usize];
            to += 1;
            left &= left - 1;
        }
    }
}
