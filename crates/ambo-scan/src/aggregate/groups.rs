//! Numbers for the groups among a few thousand rows, from the numbers that dictionaries give to values where there are some.

use std::collections::HashMap;

use ambo_codec::{
    Result,
    column::{
        Block, Kind, Mask,
        arithmetic::{codes_above, groups_of_codes},
    },
};

use super::rows::Rows;

/// Up to so many numbers are used as they come, though few of them may be in use.
const DENSE_MAX: usize = 4096;

/// The numbers of rows' groups.
#[derive(Debug, Default)]
pub(super) struct LocalGroups {
    /// The number of each row's group; of rows that do not count, the count of groups.
    pub ids: Vec<u16>,
    /// How many numbers there are; some may be nobody's.
    pub count: usize,
    codes: Vec<u32>,
    other: Vec<u32>,
    offsets: Vec<u32>,
    data: Vec<u8>,
    integers: Vec<i64>,
}

/// A column to group by: its block, and between what its integers lie, if it has some.
pub(super) struct GroupColumn<'b, 'a> {
    pub block: &'b Block<'a>,
    /// The rows that have a value, if not all have.
    pub valid: Option<&'b Mask>,
    pub range: (i128, i128),
    /// What to say when the block is damaged.
    pub place: usize,
}

impl LocalGroups {
    /// Numbers the groups of `rows`, at most 16,384 of them. What a block says comes with the place of its column.
    pub(super) fn number(
        &mut self,
        columns: &[GroupColumn<'_, '_>],
        rows: &Rows<'_>,
    ) -> Result<(), (usize, ambo_codec::Error)> {
        debug_assert!(rows.len() < usize::from(u16::MAX), "a group for each still has a number of 16 bits");
        let mut total = 1;
        let mut codes = std::mem::take(&mut self.codes);
        let mut other = std::mem::take(&mut self.other);
        for (index, column) in columns.iter().enumerate() {
            let of = if index == 0 { &mut codes } else { &mut other };
            let count = self.code(column, rows, of).map_err(|error| (column.place, error))?;
            if index == 0 {
                total = count;
            } else if total * count <= u32::MAX as usize {
                let pairs = codes.iter_mut().zip(&other);
                pairs.for_each(|(code, other)| *code = *code * count as u32 + other);
                total *= count;
            } else {
                let pairs =
                    codes.iter().zip(&other).map(|(code, other)| u64::from(*code) << 32 | u64::from(*other));
                let ranks = rank(pairs);
                (total, codes) = ranks;
            }
            if total > DENSE_MAX {
                (total, codes) = rank(codes.iter().map(|code| u64::from(*code)));
            }
        }
        debug_assert!(total <= rows.len().max(DENSE_MAX), "too many numbers were made ranks");
        self.count = total;
        match rows {
            Rows::Range(range, words) => {
                groups_of_codes(&codes, &words[range.start / 64..], total as u16, &mut self.ids);
            }
            Rows::Places(_) => {
                self.ids.clear();
                self.ids.extend(codes.iter().map(|code| *code as u16));
            }
        }
        debug_assert_eq!(self.ids.len(), rows.len(), "a group for each row");
        (self.codes, self.other) = (codes, other);
        Ok(())
    }

    /// Numbers the values of one column, and returns how many numbers there are. NULL has one of its own.
    fn code(&mut self, column: &GroupColumn<'_, '_>, rows: &Rows<'_>, out: &mut Vec<u32>) -> Result<usize> {
        let block = column.block;
        let mut count = match block.kind() {
            Kind::Bytes => self.code_text(block, rows, out)?,
            Kind::F32 | Kind::F64 => {
                let mut floats = Vec::new();
                rows.floats(block, &mut floats)?;
                let count;
                (count, *out) = rank(floats.into_iter().map(canonical));
                count
            }
            _ => self.code_integers(column, rows, out)?,
        };
        if let Some(valid) = column.valid {
            let null = count as u32;
            let nulls = (0..rows.len()).filter(|row| !valid.get(rows.place(*row) as usize));
            nulls.for_each(|row| out[row] = null);
            count += 1;
        }
        debug_assert_eq!(out.len(), rows.len(), "each row has a number");
        Ok(count)
    }

    fn code_integers(
        &mut self,
        column: &GroupColumn<'_, '_>,
        rows: &Rows<'_>,
        out: &mut Vec<u32>,
    ) -> Result<usize> {
        let (low, high) = column.range;
        if i64::try_from(low).is_err() || i64::try_from(high).is_err() {
            let mut wide = Vec::new();
            rows.wide_integers(column.block, &mut wide)?;
            let (count, codes) = rank_by(wide.into_iter());
            *out = codes;
            return Ok(count);
        }
        rows.integers(column.block, &mut self.integers)?;
        let span = high - low;
        if span < DENSE_MAX as i128 {
            // At the places of NULLs stands any value.
            codes_above(&self.integers, low as i64, span as u32, out);
            return Ok(span as usize + 1);
        }
        let count;
        (count, *out) = rank(self.integers.iter().map(|value| *value as u64));
        Ok(count)
    }

    fn code_text(&mut self, block: &Block<'_>, rows: &Rows<'_>, out: &mut Vec<u32>) -> Result<usize> {
        let Some(text) = block.text() else {
            out.clear();
            out.resize(rows.len(), 0);
            return Ok(1);
        };
        if text.constant().is_some() {
            out.clear();
            out.resize(rows.len(), 0);
            return Ok(1);
        }
        if let Some(codes) = text.codes() {
            match rows {
                Rows::Range(range, _) => codes.read(range.clone(), out)?,
                Rows::Places(places) => codes.gather(places, out)?,
            }
            return Ok(codes.entries()?.len());
        }
        rows.texts(block, &mut self.offsets, &mut self.data)?;
        let strings = self.offsets.windows(2).map(|ends| &self.data[ends[0] as usize..ends[1] as usize]);
        let (count, codes) = rank_by(strings);
        *out = codes;
        Ok(count)
    }
}

/// The bits of a double with one zero and one NaN.
fn canonical(value: f64) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { (value + 0.0).to_bits() }
}

/// Numbers equal values alike, in the order in which they come; how many numbers there are comes first.
fn rank(values: impl ExactSizeIterator<Item = u64>) -> (usize, Vec<u32>) {
    let slots = (values.len() * 2).next_power_of_two();
    // A slot holds a number plus one; zero is free.
    let mut table = vec![0u32; slots];
    let mut known: Vec<u64> = Vec::new();
    let mut ranks = Vec::with_capacity(values.len());
    for value in values {
        // Both halves of the product: numbers may differ in high bits only, as doubles do.
        let product = u128::from(value) * 0x9e37_79b9_7f4a_7c15;
        let mut slot = ((product >> 64) as u64 ^ product as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize
            >> 40
            & (slots - 1);
        ranks.push(loop {
            match table[slot] {
                0 => {
                    known.push(value);
                    table[slot] = known.len() as u32;
                    break known.len() as u32 - 1;
                }
                used if known[used as usize - 1] == value => break used - 1,
                _ => slot = (slot + 1) & (slots - 1),
            }
        });
    }
    (known.len(), ranks)
}

/// As [`rank`], of values of any kind.
fn rank_by<T: std::hash::Hash + Eq>(values: impl Iterator<Item = T>) -> (usize, Vec<u32>) {
    let mut known: HashMap<T, u32, rapidhash::quality::RandomState> = HashMap::default();
    let ranks = values
        .map(|value| {
            let next = known.len() as u32;
            *known.entry(value).or_insert(next)
        })
        .collect();
    (known.len(), ranks)
}

#[cfg(test)]
mod tests {
    use ambo_codec::column::{ColumnSlice, Goal, encode};

    use super::*;

    /// Keeps away: rows of the middle of a group that count by the bits of its first ones, and groups of rows that do not count.
    #[test]
    fn rows_count_by_their_own_bits() {
        let values: Vec<i64> = (0..1000).map(|row| row * row % 7).collect();
        let mut bytes = Vec::new();
        encode(ColumnSlice::I64(&values), None, Goal::default(), &mut bytes).unwrap();
        let block = Block::parse(&bytes, Kind::I64, values.len()).unwrap();
        let words: Vec<u64> = (1..=16u64).map(|word| word.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let columns = [GroupColumn { block: &block, valid: None, range: (0, 6), place: 0 }];
        let mut groups = LocalGroups::default();
        for (start, end) in [(0, 1000), (128, 700), (960, 1000)] {
            groups.number(&columns, &Rows::Range(start..end, &words)).unwrap();
            let counts = |row: usize| words[row / 64] >> (row % 64) & 1 == 1;
            let expected = (start..end).map(|row| if counts(row) { values[row] as u16 } else { 7 });
            assert_eq!(groups.ids, expected.collect::<Vec<_>>());
            let places: Vec<u32> = (start..end).filter(|row| counts(*row)).map(|row| row as u32).collect();
            groups.number(&columns, &Rows::Places(&places)).unwrap();
            let expected = places.iter().map(|row| values[*row as usize] as u16);
            assert_eq!(groups.ids, expected.collect::<Vec<_>>());
        }
    }
}
