//! A morsel: the rows of one group that a scan selects, and their columns, which are read when they are asked for.
//!
//! (Leis, Boncz, Kemper, Neumann: Morsel-driven parallelism, SIGMOD 2014.)

use std::{cell::OnceCell, ops::Range, sync::Arc};

use ambo_codec::{
    Value,
    bitmap::{Bitmap, Positions},
    column::{BitsView, Block, Element, Mask, Sum},
};

use super::{
    aggregate::exact,
    filter::Filter,
    fresh::{FreshColumn, FreshGroup},
    run::Part,
    schema::ColumnSchema,
    seen::Seen,
};
use crate::{Error, Result, page::Access};

/// Where a morsel's columns are.
#[derive(Clone, Copy)]
pub(super) enum Source<'s> {
    /// A group of a segment.
    Group(Seen<'s>, usize),
    /// Rows that are not compacted.
    Fresh(&'s FreshGroup),
}

/// Selected rows of a group.
pub struct Morsel<'s> {
    source: Source<'s>,
    /// Stored columns that the scan asks for, in its order.
    projection: &'s [usize],
    /// The bytes of the stored columns that were read.
    read: Vec<OnceCell<Arc<[u8]>>>,
    mask: Mask,
    /// How many rows are in the mask.
    selected: usize,
}

impl<'s> Morsel<'s> {
    /// The rows of a group of a part that are left, `selected` by bitmap indexes, not replaced by newer ones, and answer all filters with
    /// yes; `None` if there are none.
    pub fn of_part(
        part: &'s Part,
        schema: &'s ColumnSchema,
        group: usize,
        replaced: impl Iterator<Item = &'s Bitmap>,
        selected: Option<&Bitmap>,
        filters: &[Filter],
        projection: &'s [usize],
    ) -> Result<Option<Self>> {
        let segment = Seen::new(&part.segment, schema);
        let rows = part.segment.directory().group(group);
        if !filters.iter().all(|filter| may_match(segment, group, filter)) {
            return Ok(None);
        }
        let mut mask = match selected {
            Some(selected) => {
                let mut words = vec![!0; rows.len().div_ceil(64)];
                selected.select_from(u64::from(rows.start), &mut words);
                Mask::from_bits(BitsView::new(&words, rows.len()))
            }
            None => Mask::all(rows.len()),
        };
        let deleted = part.deleted.as_ref().map(|deleted| &deleted.rows);
        for gone in deleted.into_iter().chain(replaced) {
            mask.deselect(gone, u64::from(rows.start));
        }
        Self { source: Source::Group(segment, group), projection, read: Vec::new(), mask, selected: 0 }
            .filtered(filters)
    }

    /// The fresh rows that are not hidden by newer ones and answer all filters with yes; `None` if there are none.
    pub fn of_fresh(
        fresh: &'s FreshGroup,
        hidden: impl Iterator<Item = &'s Bitmap>,
        filters: &[Filter],
        projection: &'s [usize],
    ) -> Result<Option<Self>> {
        let mut mask = Mask::all(fresh.rows());
        hidden.for_each(|hidden| mask.deselect(hidden, fresh.first_row()));
        Self { source: Source::Fresh(fresh), projection, read: Vec::new(), mask, selected: 0 }
            .filtered(filters)
    }

    /// Keeps of the selected rows those that answer more filters with yes; `None` if there are none.
    pub fn narrowed(self, filters: &[Filter]) -> Result<Option<Self>> {
        if let Source::Group(segment, group) = self.source
            && !filters.iter().all(|filter| may_match(segment, group, filter))
        {
            return Ok(None);
        }
        self.filtered(filters)
    }

    /// Keeps of the selected rows those whose bit is set. REQUIRES: a bit for each selected row.
    pub fn keep(&mut self, kept: BitsView<'_>) {
        self.mask.keep(kept);
        self.selected = self.mask.count();
    }

    fn filtered(mut self, filters: &[Filter]) -> Result<Option<Self>> {
        let columns = match self.source {
            Source::Group(segment, _) => segment.columns(),
            Source::Fresh(fresh) => fresh.stored_columns(),
        };
        if self.read.is_empty() {
            self.read.resize_with(columns, OnceCell::new);
        }
        let mut mask = std::mem::replace(&mut self.mask, Mask::none(0));
        for filter in filters {
            if is_empty(&mask) {
                return Ok(None);
            }
            let block = self.stored(filter.column)?;
            filter
                .test
                .with(|predicate| block.filter(*predicate, &mut mask))
                .map_err(|error| self.wrong(filter.column, error))?;
        }
        self.selected = mask.count();
        self.mask = mask;
        Ok((self.selected > 0).then_some(self))
    }

    /// What a block says against a request, or that it is damaged.
    pub(super) fn wrong(&self, column: usize, error: ambo_codec::Error) -> Error {
        match (error, self.source) {
            (error @ ambo_codec::Error::Malformed { .. }, Source::Group(segment, group)) => {
                segment.damaged(column, group, error)
            }
            (error, _) => Error::Invalid(error.to_string()),
        }
    }

    /// The block of a stored column.
    pub(super) fn stored(&self, column: usize) -> Result<Block<'_>> {
        match self.source {
            Source::Group(segment, group) => {
                if self.read[column].get().is_none() {
                    let bytes = segment.block(column, group, Access::Scan)?;
                    let _ = self.read[column].set(bytes);
                }
                segment.parse(column, group, self.read[column].get().expect("just read"))
            }
            Source::Fresh(fresh) => {
                let FreshColumn { block, kind, .. } = fresh.column(column);
                Block::parse(block, *kind, fresh.rows()).map_err(|error| self.wrong(column, error))
            }
        }
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
    pub(super) fn projection(&self) -> &[usize] {
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
            let positions: Vec<u32> = self.mask.iter().map(|row| row as u32).collect();
            block.gather(&positions, out)
        };
        result.map_err(|error| self.wrong(self.projection[place], error))
    }

    /// Whether so many rows are selected that decoding all is quicker than picking.
    pub(super) fn is_dense(&self) -> bool {
        self.selected() * 8 >= self.rows()
    }

    /// Between what the integers of a column lie in this group, decimals in units of their last digit, where that is known.
    pub(super) fn range(&self, place: usize) -> Option<(i128, i128)> {
        let column = self.projection[place];
        let exact = |(low, high): (Value, Value)| Some((exact(&low)?, exact(&high)?));
        match self.source {
            Source::Group(segment, group) => {
                segment.bounds(column, group)?.values(segment.kind(column)).and_then(exact)
            }
            Source::Fresh(fresh) => fresh.column(column).bounds.clone().and_then(exact),
        }
    }

    /// What the block at a place of the projection says against a request, or that it is damaged.
    pub(super) fn wrong_at(&self, place: usize, error: ambo_codec::Error) -> Error {
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
            let positions: Vec<u32> = self.mask.iter().map(|row| row as u32).collect();
            text.gather(&positions, offsets, data)
        };
        result.map_err(|error| self.wrong(self.projection[place], error))
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
            let first = entries.offsets()[0];
            let last = entries.offsets()[entries.len()];
            let offsets = entries.offsets().iter().map(|offset| offset - first).collect();
            Ok(Some((offsets, entries.data()[first as usize..last as usize].to_vec())))
        };
        read().map_err(|error| self.wrong(self.projection[place], error))
    }

    /// How many of the selected rows have a value there.
    pub fn count(&self, place: usize) -> Result<usize> {
        Ok(self.block(place)?.count(Some(&self.mask)))
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
        if let Source::Group(segment, group) = self.source
            && all
            && let Some(bounds) = segment.bounds(column, group)
            && let Some(values) = bounds.values(segment.kind(column))
        {
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

/// Whether the directory allows that a row of a group answers a filter with yes.
pub(super) fn may_match(segment: Seen<'_>, group: usize, filter: &Filter) -> bool {
    let nulls = segment.nulls(filter.column, group);
    let rows = segment.segment.directory().group(group).len() as u32;
    let kind = segment.kind(filter.column);
    filter.test.with(|predicate| match predicate {
        ambo_codec::column::Predicate::IsNull => nulls > 0,
        _ if nulls == rows => false,
        predicate => {
            segment.bounds(filter.column, group).is_none_or(|bounds| bounds.may_match(kind, predicate))
        }
    })
}
