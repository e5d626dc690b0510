//! Sets of rows as bits: which rows are valid, which are selected.

use std::ops::Range;

use super::simd::{self, Kernel, Level};

/// Bits that someone else owns: bit `i` is bit `i % 64` of word `i / 64`.
#[derive(Clone, Copy, Debug)]
pub struct BitsView<'a> {
    words: &'a [u64],
    len: usize,
}

impl<'a> BitsView<'a> {
    /// REQUIRES: `words` has room for `len` bits. Bits behind them are ignored. Panics otherwise.
    pub fn new(words: &'a [u64], len: usize) -> Self {
        Self { words: &words[..len.div_ceil(64)], len }
    }

    /// How many bits.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no bit.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bit `index`. Panics when there is none.
    #[inline]
    pub fn get(&self, index: usize) -> bool {
        assert!(index < self.len);
        self.words[index / 64] >> (index % 64) & 1 != 0
    }

    /// 64 bits from bit `64 * index` on; those behind the end are zero.
    #[inline]
    pub fn word(&self, index: usize) -> u64 {
        self.words[index] & word_mask(index, self.len)
    }

    /// 64 bits from bit `first` on; those behind the end are zero.
    #[inline]
    fn bits_from(&self, first: usize) -> u64 {
        let word = |index| if index < self.words.len() { self.word(index) } else { 0 };
        match first % 64 {
            0 => word(first / 64),
            shift => word(first / 64) >> shift | word(first / 64 + 1) << (64 - shift),
        }
    }

    /// The words; the bits behind the end are any.
    #[inline]
    pub fn words(&self) -> &'a [u64] {
        self.words
    }

    /// How many bits are set.
    pub fn count(&self) -> usize {
        let Some(last) = self.len.div_ceil(64).checked_sub(1) else { return 0 };
        count_ones(&self.words[..last]) + self.word(last).count_ones() as usize
    }

    /// How many bits of `range` are set. Panics when it reaches behind the end.
    pub fn count_range(&self, range: Range<usize>) -> usize {
        let mut count = 0;
        for_words(range, self.len, |index, bits| count += (self.words[index] & bits).count_ones() as usize);
        count
    }
}

/// How many bits are set. The base instruction set has no instruction for that.
#[inline]
fn count_ones(words: &[u64]) -> usize {
    simd::run(CountOnes(words)) as usize
}

struct CountOnes<'a>(&'a [u64]);

impl Kernel for CountOnes<'_> {
    type Output = u64;

    #[inline(always)]
    fn run(self, _: Level) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// The bits of word `index` that lie in front of `len`.
#[inline]
pub(crate) fn word_mask(index: usize, len: usize) -> u64 {
    match len.saturating_sub(index * 64) {
        0 => 0,
        left @ 1..64 => (1 << left) - 1,
        _ => u64::MAX,
    }
}

/// A set of rows of one block; bits behind the last row are zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    words: Vec<u64>,
    len: usize,
}

impl Mask {
    /// All of `len` rows.
    pub fn all(len: usize) -> Self {
        let mut words = vec![u64::MAX; len.div_ceil(64)];
        if let Some(last) = words.last_mut() {
            *last = word_mask(0, len - (len - 1) / 64 * 64);
        }
        Self { words, len }
    }

    /// None of `len` rows.
    pub fn none(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(64)], len }
    }

    /// The rows whose bit is set.
    pub fn from_bits(bits: BitsView<'_>) -> Self {
        Self { words: (0..bits.words.len()).map(|index| bits.word(index)).collect(), len: bits.len }
    }

    /// How many rows there are, in the set or not.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows at all.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether row `index` is in the set. Panics when there is no such row.
    #[inline]
    pub fn get(&self, index: usize) -> bool {
        self.view().get(index)
    }

    /// Puts row `index` in or takes it out. Panics when there is no such row.
    #[inline]
    pub fn set(&mut self, index: usize, to: bool) {
        assert!(index < self.len);
        let bit = 1 << (index % 64);
        let word = &mut self.words[index / 64];
        *word = if to { *word | bit } else { *word & !bit };
    }

    /// The same bits, borrowed.
    #[inline]
    pub fn view(&self) -> BitsView<'_> {
        BitsView { words: &self.words, len: self.len }
    }

    /// The words, bit `i` being bit `i % 64` of word `i / 64`.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The same, to be written. ENSURES by the caller: bits behind the last row stay zero.
    #[inline]
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// How many rows are in the set.
    pub fn count(&self) -> usize {
        count_ones(&self.words)
    }

    /// Keeps of the rows in the set those whose bit is set in `kept`, which has one bit for each row in the set. Panics when it has more
    /// or fewer.
    pub fn keep(&mut self, kept: BitsView<'_>) {
        assert_eq!(self.count(), kept.len(), "one bit for each row in the set");
        let mut first = 0;
        for word in &mut self.words {
            let rows = word.count_ones() as usize;
            *word = deposit(kept.bits_from(first), *word);
            first += rows;
        }
    }

    /// For each row in `rows` one bit, in their order: whether the row is in this set. Panics when the lengths differ.
    pub fn among(&self, rows: &Mask) -> Mask {
        assert_eq!(self.len, rows.len);
        let len = rows.count();
        let mut words = vec![0; len.div_ceil(64)];
        let mut end = 0;
        for (&bits, &word) in self.words.iter().zip(&rows.words) {
            let found = extract(bits, word);
            let (place, shift) = (end / 64, end % 64);
            end += word.count_ones() as usize;
            if found != 0 {
                words[place] |= found << shift;
                if shift > 0 && found >> (64 - shift) != 0 {
                    words[place + 1] |= found >> (64 - shift);
                }
            }
        }
        Mask { words, len }
    }

    /// Takes every row out.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Keeps the rows that are in `other` too. Panics when the lengths differ.
    pub fn and(&mut self, other: BitsView<'_>) {
        assert_eq!(self.len, other.len);
        self.words.iter_mut().zip(other.words).for_each(|(word, other)| *word &= other);
    }

    /// Keeps the rows that are not in `other`. Panics when the lengths differ.
    pub fn and_not(&mut self, other: BitsView<'_>) {
        assert_eq!(self.len, other.len);
        self.words.iter_mut().zip(other.words).for_each(|(word, other)| *word &= !other);
    }

    /// Takes out the rows whose position in `gone` is `first` more than their own.
    pub fn deselect(&mut self, gone: &impl crate::bitmap::Positions, first: u64) {
        gone.deselect_from(first, &mut self.words);
    }

    /// Adds the rows of `other`. Panics when the lengths differ.
    pub fn or(&mut self, other: BitsView<'_>) {
        assert_eq!(self.len, other.len);
        (0..self.words.len()).for_each(|index| self.words[index] |= other.word(index));
    }

    /// Takes the rows of `range` out. Panics when it reaches behind the end.
    pub fn clear_range(&mut self, range: Range<usize>) {
        for_words(range, self.len, |index, bits| self.words[index] &= !bits);
    }

    /// Puts the rows of `range` in. Panics when it reaches behind the end.
    pub fn set_range(&mut self, range: Range<usize>) {
        for_words(range, self.len, |index, bits| self.words[index] |= bits);
    }

    /// The rows in the set, in increasing order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| ones(word).map(move |bit| index * 64 + bit))
    }
}

/// The lowest bits of `bits`, one after the other, at the places of the bits of `word`.
#[inline]
fn deposit(bits: u64, word: u64) -> u64 {
    if word == u64::MAX {
        return bits;
    }
    ones(word).enumerate().fold(0, |deposited, (index, place)| deposited | (bits >> index & 1) << place)
}

/// The bits of `bits` at the places of the bits of `word`, one after the other.
#[inline]
fn extract(bits: u64, word: u64) -> u64 {
    if word == u64::MAX {
        return bits;
    }
    ones(word).enumerate().fold(0, |found, (index, place)| found | (bits >> place & 1) << index)
}

/// Calls `each` with every word that `range` touches, and the bits of it.
fn for_words(range: Range<usize>, len: usize, mut each: impl FnMut(usize, u64)) {
    assert!(range.end <= len, "rows behind the end");
    if range.start >= range.end {
        return;
    }
    for index in range.start / 64..=(range.end - 1) / 64 {
        each(index, word_mask(index, range.end) & !word_mask(index, range.start));
    }
}

/// The positions of the set bits of a word, lowest first.
#[inline]
pub(crate) fn ones(mut word: u64) -> impl Iterator<Item = usize> + Clone {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros() as usize;
        word &= word.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mask(rows: &[bool]) -> Mask {
        let mut mask = Mask::none(rows.len());
        rows.iter().enumerate().for_each(|(row, &is_in)| mask.set(row, is_in));
        mask
    }

    proptest! {
        #[test]
        fn of_the_rows_in_the_set_those_whose_bit_is_set_are_kept(
            rows in prop_oneof![
                prop::collection::vec(any::<bool>(), 0..300),
                prop::collection::vec(prop::bool::weighted(0.99), 0..300),
            ],
            bits in prop::collection::vec(any::<bool>(), 300),
        ) {
            let mut kept = mask(&rows);
            let bits = &bits[..kept.count()];
            kept.keep(mask(bits).view());
            let mut left = bits.iter();
            let expected: Vec<bool> = rows.iter().map(|&is_in| is_in && *left.next().unwrap()).collect();
            prop_assert_eq!(&kept, &mask(&expected));
            prop_assert_eq!(kept.among(&mask(&rows)), mask(bits));
        }
    }
}
