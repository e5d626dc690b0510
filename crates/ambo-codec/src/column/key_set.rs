//! Sets of integers that a join found on its one side, asked of the blocks of its other side before these are decoded.
//!
//! A set is one bit for each integer from its lowest to its highest. A question costs a subtraction, a comparison and a bit: less than a
//! nanosecond where the bits are in the cache. What the set says of whole ranges rules blocks out by their bounds.
//!
//! (Bitmaps as join filters: Graefe, Query evaluation techniques for large databases, ACM Computing Surveys 1993, §6.2.)

use rapidhash::RapidHashMap;

use super::{
    Block, Mask, VECTOR,
    mask::{ones, word_mask},
    simd::{self, Kernel, Level},
};
use crate::{Error, Result};

/// Bits of a chunk, of which a set is made while its range is not known.
const CHUNK: usize = 1 << 16;
/// Words of a chunk.
const CHUNK_WORDS: usize = CHUNK / 64;
/// Words that a bit of the summary stands for.
const SUMMED: usize = 64;
/// The largest range of a set whose integers are few in it.
const RANGE_MAX: u64 = 1 << 26;
/// The largest range of a set, in integers for each that is in it.
const RANGE_SHARE: u64 = 64;
/// A vector with fewer rows in the mask is read row by row.
const FEW_ROWS: usize = VECTOR / 16;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySet {
    /// The integer of the first bit.
    low: i64,
    /// How many bits have an integer; behind them is a bit that is zero.
    range: u64,
    words: Box<[u64]>,
    /// A bit for so many words as [`SUMMED`]: whether one of them has a bit.
    summary: Box<[u64]>,
    /// How many integers are in the set.
    keys: u64,
}

impl KeySet {
    /// The set of these integers; `None` if they lie so far apart that bits would take too much memory.
    pub fn new(keys: impl IntoIterator<Item = i64>) -> Option<Self> {
        let mut builder = KeySetBuilder::default();
        keys.into_iter().for_each(|key| builder.add(key));
        builder.finish()
    }

    /// How many integers are in it.
    pub fn len(&self) -> u64 {
        self.keys
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.keys == 0
    }

    /// The bytes that it takes.
    pub fn bytes(&self) -> usize {
        (self.words.len() + self.summary.len()) * size_of::<u64>()
    }

    /// The lowest and the highest integer.
    pub fn bounds(&self) -> Option<(i64, i64)> {
        let last = self.words.iter().rposition(|word| *word != 0)?;
        let first = self.words.iter().position(|word| *word != 0)?;
        let at = |word: usize, bit: u32| self.low.wrapping_add((word * 64) as i64 + i64::from(bit));
        Some((at(first, self.words[first].trailing_zeros()), at(last, 63 - self.words[last].leading_zeros())))
    }

    /// The integers, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        let at = |place: usize| self.low.wrapping_add(place as i64);
        self.words
            .iter()
            .enumerate()
            .flat_map(move |(index, &word)| ones(word).map(move |bit| at(index * 64 + bit)))
    }

    /// Whether an integer is in it.
    #[inline(always)]
    pub fn contains(&self, key: i64) -> bool {
        let place = (key.wrapping_sub(self.low) as u64).min(self.range);
        self.words[(place >> 6) as usize] >> (place & 63) & 1 != 0
    }

    /// Whether an integer from `low` to `high` is in it.
    pub fn has_between(&self, low: i64, high: i64) -> bool {
        let last = self.low.wrapping_add(self.range.wrapping_sub(1) as i64);
        let (low, high) = (low.max(self.low), high.min(last));
        if self.range == 0 || low > high {
            return false;
        }
        let place = |key: i64| key.wrapping_sub(self.low) as u64 as usize;
        let (from, to) = (place(low), place(high));
        let is_any = |word: usize| {
            let mut bits = self.words[word];
            if word == from / 64 {
                bits &= u64::MAX << (from % 64);
            }
            if word == to / 64 {
                bits &= word_mask(word, to + 1);
            }
            bits != 0
        };
        let mut word = from / 64;
        while word <= to / 64 {
            let group = word / SUMMED;
            if self.summary[group / 64] >> (group % 64) & 1 == 0 {
                word = (group + 1) * SUMMED;
                continue;
            }
            if is_any(word) {
                return true;
            }
            word += 1;
        }
        false
    }

    /// Takes out of `mask` the rows of a block of integers that are not in the set. NULLs have to be out already.
    ///
    /// # Errors
    /// [`Error::Invalid`]: a block of floats or text.
    pub(crate) fn filter(&self, block: &Block<'_>, mask: &mut Mask) -> Result<()> {
        if matches!(block.kind(), super::Kind::F32 | super::Kind::F64 | super::Kind::Bytes) {
            return Err(Error::invalid("a set of integers, asked of what are no integers"));
        }
        let rows = mask.len();
        let mut values = [0i64; VECTOR];
        let mut places = [0u32; FEW_ROWS];
        for (index, words) in mask.words_mut().chunks_mut(VECTOR / 64).enumerate() {
            let first = index * VECTOR;
            let count: usize = words.iter().map(|word| word.count_ones() as usize).sum();
            if count == 0 {
                continue;
            }
            if count < FEW_ROWS {
                let set = words.iter().enumerate();
                let set = set.flat_map(|(word, &bits)| ones(bits).map(move |bit| word * 64 + bit));
                set.zip(&mut places).for_each(|(at, place)| *place = (first + at) as u32);
                block.gather_integers(&places[..count], &mut values[..count])?;
                for (place, value) in places[..count].iter().zip(&values) {
                    let at = *place as usize - first;
                    words[at / 64] &= !(u64::from(!self.contains(*value)) << (at % 64));
                }
                continue;
            }
            let values = &mut values[..VECTOR.min(rows - first)];
            block.decode_integers(first..first + values.len(), values)?;
            simd::run(Test { set: self, values, mask: words });
        }
        Ok(())
    }
}

/// Asks a set about as many values as the mask has bits, or fewer in its last word.
struct Test<'a> {
    set: &'a KeySet,
    values: &'a [i64],
    mask: &'a mut [u64],
}

impl Kernel for Test<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: Level) {
        for (values, word) in self.values.chunks(64).zip(self.mask) {
            let found = values.iter().enumerate();
            *word &= found.fold(0, |bits, (at, value)| bits | u64::from(self.set.contains(*value)) << at);
        }
    }
}

/// A set that grows.
#[derive(Debug, Default)]
pub struct KeySetBuilder {
    /// Chunks by the integer of their first bit, divided by their size.
    chunks: RapidHashMap<i64, Box<[u64; CHUNK_WORDS]>>,
    /// How many integers were added, some perhaps more than once.
    added: u64,
    is_too_wide: bool,
}

impl KeySetBuilder {
    /// Adds an integer.
    #[inline]
    pub fn add(&mut self, key: i64) {
        self.add_all(&[key]);
    }

    /// Adds integers. Those that are near each other should follow each other.
    pub fn add_all(&mut self, keys: &[i64]) {
        let mut rest = keys;
        while let Some(first) = rest.first().filter(|_| !self.is_too_wide) {
            let number = first.div_euclid(CHUNK as i64);
            let before = self.chunks.len();
            let chunk = self.chunks.entry(number).or_insert_with(|| Box::new([0; CHUNK_WORDS]));
            let end = rest.iter().position(|key| key.div_euclid(CHUNK as i64) != number);
            let (of_chunk, other) = rest.split_at(end.unwrap_or(rest.len()));
            for key in of_chunk {
                let place = key.rem_euclid(CHUNK as i64) as usize;
                chunk[place / 64] |= 1 << (place % 64);
            }
            self.added += of_chunk.len() as u64;
            rest = other;
            // So many chunks that are not full are not worth their memory: neither is the set.
            let is_many = self.chunks.len() > before && self.chunks.len() as u64 > RANGE_MAX / CHUNK as u64;
            if is_many && self.added.saturating_mul(RANGE_SHARE) < self.bits() {
                (self.is_too_wide, self.chunks) = (true, RapidHashMap::default());
            }
        }
    }

    /// The bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.chunks.len() * CHUNK / 8
    }

    fn bits(&self) -> u64 {
        (self.chunks.len() * CHUNK) as u64
    }

    fn keys(&self) -> u64 {
        let words = self.chunks.values().flat_map(|chunk| chunk.iter());
        words.map(|word| u64::from(word.count_ones())).sum()
    }

    /// The set; `None` if its integers lie so far apart that bits would take too much memory.
    pub fn finish(self) -> Option<KeySet> {
        if self.is_too_wide {
            return None;
        }
        let keys = self.keys();
        let Some((first, last)) = self.chunks.keys().min().copied().zip(self.chunks.keys().max().copied())
        else {
            return Some(KeySet { low: 0, range: 0, words: [0].into(), summary: [0].into(), keys: 0 });
        };
        // From the first to the last word that has a bit.
        let ends = |chunk: &[u64; CHUNK_WORDS]| {
            chunk.iter().position(|word| *word != 0).zip(chunk.iter().rposition(|word| *word != 0))
        };
        let skipped = ends(&self.chunks[&first])?.0 as i128;
        let low = i128::from(first) * CHUNK as i128 + skipped * 64;
        let end = i128::from(last) * CHUNK as i128 + (ends(&self.chunks[&last])?.1 as i128 + 1) * 64;
        let range = u64::try_from(end - low).ok()?;
        if range > RANGE_MAX.max(keys.saturating_mul(RANGE_SHARE)) {
            return None;
        }
        let mut words = vec![0; range as usize / 64 + 1];
        for (number, chunk) in &self.chunks {
            let to = ((i128::from(*number) * CHUNK as i128 - low) / 64) as i64;
            let skip = (-to).max(0) as usize;
            let to = to.max(0) as usize;
            let count = (CHUNK_WORDS - skip).min(range as usize / 64 - to);
            words[to..to + count].copy_from_slice(&chunk[skip..skip + count]);
        }
        let mut summary = vec![0u64; words.len().div_ceil(SUMMED).div_ceil(64)];
        for (group, words) in words.chunks(SUMMED).enumerate() {
            summary[group / 64] |= u64::from(words.iter().any(|word| *word != 0)) << (group % 64);
        }
        let set = KeySet { low: low as i64, range, words: words.into(), summary: summary.into(), keys };
        debug_assert_eq!(set.iter().count() as u64, keys, "every integer has its bit");
        Some(set)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::{
        super::{ColumnSlice, Goal, Kind, Predicate, encode},
        *,
    };

    /// Integers that lie near, far apart, at the ends of the type.
    fn keys() -> impl Strategy<Value = Vec<i64>> {
        let near = prop::collection::vec(-300..300i64, 0..200);
        let some = prop::collection::vec(-200_000..200_000i64, 0..200);
        let ends =
            prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(i64::MAX - 3), Just(i64::MIN + 70), Just(0)];
        prop_oneof![near, some, prop::collection::vec(ends, 0..4)]
    }

    proptest! {
        /// Keeps away: integers that a set lost, or that were never in it.
        #[test]
        fn a_set_has_what_was_added(keys in keys(), asked in keys()) {
            let expected: BTreeSet<i64> = keys.iter().copied().collect();
            let Some(set) = KeySet::new(keys) else {
                let apart = expected.last().unwrap().abs_diff(*expected.first().unwrap());
                prop_assert!(apart > RANGE_MAX / 2);
                return Ok(());
            };
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), expected.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(set.len(), expected.len() as u64);
            prop_assert_eq!(set.bounds(), expected.first().copied().zip(expected.last().copied()));
            for pair in asked.windows(2) {
                prop_assert_eq!(set.contains(pair[0]), expected.contains(&pair[0]));
                let (low, high) = (pair[0].min(pair[1]), pair[0].max(pair[1]));
                prop_assert_eq!(set.has_between(low, high), expected.range(low..=high).next().is_some());
            }
        }

        /// Keeps away: rows that a block's filter lost, in vectors with many and with few rows left, of each width and encoding.
        #[test]
        fn rows_of_a_block_that_are_in_the_set_are_left(
            keys in prop::collection::vec(-120..120i8, 0..100),
            step in prop_oneof![Just(1usize), Just(2), Just(40)],
            shape in 0..3,
            rows in 1..3000usize,
        ) {
            let set = KeySet::new(keys.iter().map(|key| i64::from(*key))).unwrap();
            let value = |row: usize| match shape {
                0 => (row * 7919 % 251) as i64 - 125,
                1 => (row / 100) as i64,
                _ => 5,
            };
            let values: Vec<i64> = (0..rows).map(value).collect();
            let narrow: Vec<i8> = values.iter().map(|value| *value as i8).collect();
            for (slice, kind) in [(ColumnSlice::I64(&values), Kind::I64), (ColumnSlice::I8(&narrow), Kind::I8)] {
                let mut bytes = Vec::new();
                encode(slice, None, Goal::Speed, &mut bytes).unwrap();
                let block = Block::parse(&bytes, kind, rows).unwrap();
                let mut mask = Mask::none(rows);
                (0..rows).step_by(step).for_each(|row| mask.set(row, true));
                block.filter(Predicate::Among(&set.clone().into()), &mut mask).unwrap();
                let left = (0..rows).step_by(step).filter(|row| set.contains(values[*row]));
                prop_assert_eq!(mask.iter().collect::<Vec<_>>(), left.collect::<Vec<_>>());
            }
        }
    }

    /// Keeps away: a set of few integers that takes all memory, and one of many that is not made.
    #[test]
    fn a_set_is_as_wide_as_its_integers_are_worth() {
        assert!(KeySet::new([0, RANGE_MAX as i64 * 2]).is_none());
        assert!(KeySet::new((0..2000).map(|key| key << 40)).is_none());
        let wide = KeySet::new((0..2_000_000).map(|key| key * 60)).unwrap();
        assert!(wide.bytes() < 17 << 20 && wide.len() == 2_000_000, "{}", wide.bytes());
        let none = KeySet::new([]).unwrap();
        assert!(none.is_empty() && !none.contains(0) && !none.has_between(i64::MIN, i64::MAX));
    }
}
