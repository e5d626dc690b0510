//! Rows that are given to functions and predicates at once.

use crate::predicate::{Column, Data, Nulls, width};

/// Some rows, one behind the other in the order of keys.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// How many.
    pub rows: usize,
    /// The first input: what the function is about.
    pub first: Option<Column<'a>>,
    /// The second: the other of key and record, for those that ask for both.
    pub second: Option<Column<'a>>,
    /// A bit for each row that a condition has left; `None` is all.
    pub selected: Option<&'a [u64]>,
    /// Where the first row stands in the whole: batches of one part ascend.
    pub position: u64,
}

impl Batch<'_> {
    /// How many rows are selected.
    pub fn count(&self) -> usize {
        match self.selected {
            None => self.rows,
            Some(words) => {
                let whole = self.rows / 64;
                let last =
                    words.get(whole).map_or(0, |word| (word & ((1 << (self.rows % 64)) - 1)).count_ones());
                words[..whole].iter().map(|word| word.count_ones() as usize).sum::<usize>() + last as usize
            }
        }
    }

    /// 64 bits of the selected rows whose value in a column is not NULL; bits behind the last row are zero.
    pub(super) fn word(&self, column: &Column<'_>, word: usize) -> u64 {
        let rows = self.rows - word * 64;
        let mut bits = self.selected.map_or(u64::MAX, |words| words[word]);
        if rows < 64 {
            bits &= (1 << rows) - 1;
        }
        match column.nulls {
            Nulls::None => bits,
            Nulls::Valid(words) => bits & words[word],
            Nulls::Bit { .. } => (0..rows.min(64))
                .fold(bits, |bits, bit| bits & !(u64::from(column.is_null(word * 64 + bit)) << bit)),
        }
    }

    /// Calls `act` with each selected row.
    pub fn for_rows(&self, mut act: impl FnMut(usize)) {
        match self.selected {
            None => (0..self.rows).for_each(act),
            Some(words) => {
                for (word, bits) in words.iter().enumerate() {
                    let mut left = *bits;
                    while left != 0 {
                        let row = word * 64 + left.trailing_zeros() as usize;
                        if row < self.rows {
                            act(row);
                        }
                        left &= left - 1;
                    }
                }
            }
        }
    }

    /// Calls `act` with each selected row whose value in a column is not NULL.
    pub(super) fn for_values(&self, column: &Column<'_>, mut act: impl FnMut(usize)) {
        for word in 0..self.rows.div_ceil(64) {
            let mut left = self.word(column, word);
            while left != 0 {
                act(word * 64 + left.trailing_zeros() as usize);
                left &= left - 1;
            }
        }
    }
}

/// The values of a column at these places one behind the other, and where each ends: what plug-ins of C are given. NULLs are zeros, or
/// empty.
pub(super) fn packed(
    batch: &Batch<'_>,
    column: &Column<'_>,
    places: Option<&[u32]>,
    data: &mut Vec<u8>,
    offsets: &mut Vec<u64>,
) {
    data.clear();
    offsets.clear();
    offsets.push(0);
    let mut put = |row: usize| {
        if !column.is_null(row) {
            data.extend_from_slice(column.bytes(row));
        } else if let Some(width) = width(column.ty) {
            data.resize(data.len() + width, 0);
        }
        offsets.push(data.len() as u64);
    };
    match places {
        Some(places) => places.iter().for_each(|row| put(*row as usize)),
        None => (0..batch.rows).for_each(put),
    }
}

/// The values of a column as they lie, if they lie so that C can read them: of fixed width, one behind the other.
pub(super) fn dense<'a>(batch: &Batch<'_>, column: &Column<'a>) -> Option<&'a [u8]> {
    let Data::Strided { bytes, offset, stride } = column.data else { return None };
    let width = width(column.ty)?;
    (stride == width && matches!(column.nulls, Nulls::None))
        .then(|| &bytes[offset..offset + batch.rows * width])
}
