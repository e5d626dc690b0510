//! Ascending numbers as their gaps, in a stream of bits: what sparse sets of positions take least room as, when a container of theirs would
//! have a few numbers only.
//!
//! A sequence is `count` ascending numbers below `universe`, both of which the reader knows. Each gap, the number less the one before it
//! less one, is a Rice code: its bits from `width` on in unary, as so many zeros and a one, then its lowest `width` bits. The width follows
//! from the mean gap ([`width`]), which for numbers that are spread at random is within some hundredths of a bit of the best, and never
//! needs more than `count` × (`width` + 1) bits and `universe` >> `width`. Bits are filled from the lowest of each byte.
//!
//! Example: 3, 5, 6 below 16 have width 1 and the gaps 3, 1, 0: `0 1 1`, `1 1`, `1 0`; as bytes `3e`.

use crate::{Error, Result};

/// Bits that a read of a word is sure to have.
const SURE: u32 = 56;

/// How many of the lowest bits of a gap are not in unary: of `count` numbers below `universe`.
pub fn width(count: u64, universe: u64) -> u32 {
    // ln 2 times the mean gap.
    let mean = u128::from(universe) * 177 / (u128::from(count.max(1)) * 256);
    mean.checked_ilog2().unwrap_or(0)
}

/// Writes sequences one behind the other.
#[derive(Debug, Default)]
pub struct GapWriter {
    bytes: Vec<u8>,
    word: u64,
    bits: u32,
}

impl GapWriter {
    fn put(&mut self, mut value: u64, mut bits: u32) {
        while bits > 0 {
            let taken = bits.min(64 - self.bits);
            self.word |= value << self.bits;
            self.bits += taken;
            bits -= taken;
            value = value.checked_shr(taken).unwrap_or(0);
            if self.bits == 64 {
                self.bytes.extend_from_slice(&self.word.to_le_bytes());
                (self.word, self.bits) = (0, 0);
            }
        }
    }

    /// Appends a sequence. REQUIRES: `count` ascending numbers below `universe`.
    pub fn push(&mut self, numbers: impl IntoIterator<Item = u64>, count: u64, universe: u64) {
        let width = width(count, universe);
        let (mut next, mut seen) = (0, 0);
        for number in numbers {
            debug_assert!((next..universe).contains(&number), "numbers ascend, below the universe");
            let gap = number - next;
            let mut zeros = gap.checked_shr(width).unwrap_or(0);
            while zeros > 32 {
                self.put(0, 32);
                zeros -= 32;
            }
            self.put(1 << zeros, zeros as u32 + 1);
            self.put(gap & (1u64 << width).wrapping_sub(1), width);
            next = number.wrapping_add(1);
            seen += 1;
        }
        debug_assert_eq!(seen, count, "as many as the reader expects");
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.bytes.len() + (self.bits as usize).div_ceil(8)
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes; the bits behind the last sequence are zero.
    pub fn finish(mut self) -> Vec<u8> {
        let len = self.len();
        self.bytes.extend_from_slice(&self.word.to_le_bytes());
        self.bytes.truncate(len);
        self.bytes
    }
}

/// Reads sequences one behind the other.
#[derive(Clone, Debug)]
pub struct GapReader<'a> {
    bytes: &'a [u8],
    /// The next bit.
    at: usize,
}

impl<'a> GapReader<'a> {
    /// A reader of what a [`GapWriter`] wrote.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next bits, at least [`SURE`] of them; zeros behind the end.
    #[inline]
    fn peek(&self) -> u64 {
        let byte = self.at / 8;
        let word = match self.bytes.get(byte..).and_then(|rest| rest.first_chunk()) {
            Some(word) => u64::from_le_bytes(*word),
            None => {
                let rest = self.bytes.get(byte..).unwrap_or_default();
                let mut word = [0; 8];
                word[..rest.len()].copy_from_slice(rest);
                u64::from_le_bytes(word)
            }
        };
        word >> (self.at % 8)
    }

    #[inline]
    fn zeros(&mut self) -> Result<u64> {
        let mut zeros = 0;
        loop {
            let word = self.peek();
            let here = word.trailing_zeros();
            if here < SURE {
                self.at += here as usize + 1;
                return Ok(zeros + u64::from(here));
            }
            zeros += u64::from(SURE);
            self.at += SURE as usize;
            if self.at >= self.bytes.len() * 8 {
                return Err(Error::malformed(self.bytes.len(), "gaps that are cut off"));
            }
        }
    }

    #[inline]
    fn low(&mut self, width: u32) -> u64 {
        let take = |reader: &mut Self, bits: u32| {
            let word = reader.peek() & ((1u64 << bits) - 1);
            reader.at += bits as usize;
            word
        };
        match width {
            0..=SURE => take(self, width),
            _ => take(self, SURE) | take(self, width - SURE) << SURE,
        }
    }

    /// Reads a sequence: calls `each` with its numbers.
    ///
    /// # Errors
    /// [`Error::Malformed`] if these are not `count` numbers below `universe`.
    #[inline]
    pub fn read(&mut self, count: u64, universe: u64, mut each: impl FnMut(u64)) -> Result<()> {
        let width = width(count, universe);
        let mut next = 0u64;
        for _ in 0..count {
            let high = self.zeros()?;
            let low = self.low(width);
            let gap = high.checked_mul(1 << width).and_then(|high| high.checked_add(low));
            match gap.and_then(|gap| next.checked_add(gap)).filter(|number| *number < universe) {
                Some(number) => {
                    each(number);
                    next = number + 1;
                }
                None => return Err(Error::malformed(self.at / 8, "gaps that lead out of the universe")),
            }
        }
        match self.at <= self.bytes.len() * 8 {
            true => Ok(()),
            false => Err(Error::malformed(self.bytes.len(), "gaps that are cut off")),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8], sequences: &[(u64, u64)]) -> Result<Vec<Vec<u64>>> {
        let mut reader = GapReader::new(bytes);
        let one = |(count, universe): &(u64, u64)| {
            let mut numbers = Vec::new();
            reader.read(*count, *universe, |number| numbers.push(number)).map(|()| numbers)
        };
        sequences.iter().map(one).collect()
    }

    /// Keeps away: bytes that differ from what is written down.
    #[test]
    fn worked_example() {
        let mut writer = GapWriter::default();
        writer.push([3, 5, 6], 3, 16);
        assert_eq!((width(3, 16), writer.len()), (1, 1));
        assert_eq!(writer.finish(), [0x3e]);
        assert_eq!(read(&[0x3e], &[(3, 16)]).unwrap(), [[3, 5, 6]]);
    }

    proptest! {
        /// Keeps away: numbers that come back otherwise, sequences that run into each other, and more bits than are promised.
        #[test]
        fn sequences_come_back(
            sequences in prop::collection::vec(
                (prop::collection::btree_set(any::<u64>().prop_map(|n| n >> (n % 64)), 0..50), 1u64..1 << 40),
                0..6,
            )
        ) {
            let mut writer = GapWriter::default();
            let (mut shapes, mut bits) = (Vec::new(), 0u128);
            let mut all = Vec::new();
            for (numbers, more) in sequences {
                let numbers: Vec<u64> = numbers.into_iter().filter(|number| *number < u64::MAX - 2).collect();
                let universe = numbers.last().map_or(0, |last| last + 1).saturating_add(more);
                let count = numbers.len() as u64;
                writer.push(numbers.iter().copied(), count, universe);
                let width = width(count, universe);
                bits += u128::from(count) * u128::from(width + 1) + u128::from(universe >> width);
                shapes.push((count, universe));
                all.push(numbers);
            }
            prop_assert!((writer.len() as u128) <= bits / 8 + 1);
            prop_assert_eq!(read(&writer.finish(), &shapes).unwrap(), all);
        }

        /// Keeps away: panics and numbers that are out of bounds, whatever the bytes are.
        #[test]
        fn foreign_bytes(bytes in prop::collection::vec(any::<u8>(), 0..40), count in 0u64..100, universe: u64) {
            if let Ok(found) = read(&bytes, &[(count, universe)]) {
                prop_assert!(found[0].is_sorted() && found[0].iter().all(|number| *number < universe));
            }
        }
    }
}
