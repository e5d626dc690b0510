//! Integers of up to 32 bits, packed one after the other at one width.
//!
//! # Format
//! Value `i` takes the bits `i × width .. (i + 1) × width` of the section, counted from the lowest bit of its first
//! byte. The section ends with the byte that holds its last bit. Width 0 takes no bytes.
//!
//! Example: 1, 2, 3 at width 3 are the bits `011 010 001`, that is `D1 00`.

use std::ops::Range;

use crate::prefetch::prefetch_byte;

/// The number of bits that `value` needs.
pub(super) fn width_of(value: u32) -> u8 {
    (32 - value.leading_zeros()) as u8
}

/// The bytes of `count` values of `width` bits.
pub(super) fn packed_len(count: usize, width: u8) -> usize {
    (count * usize::from(width)).div_ceil(8)
}

/// Appends `values` at `width` bits each.
///
/// REQUIRES: `width` ≤ 32 and no value needs more.
pub(super) fn pack(values: impl IntoIterator<Item = u32>, width: u8, out: &mut Vec<u8>) {
    let (mut pending, mut bits) = (0u64, 0u32);
    for value in values {
        pending |= u64::from(value) << bits;
        bits += u32::from(width);
        while bits >= 8 {
            out.push(pending as u8);
            pending >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        out.push(pending as u8);
    }
}

/// Packed values, read where they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packed<'a> {
    bytes: &'a [u8],
    width: u8,
    len: usize,
}

impl<'a> Packed<'a> {
    /// `len` values at the beginning of `bytes`; `None` when `bytes` is too short or `width` is more than 32.
    pub(super) fn new(bytes: &'a [u8], len: usize, width: u8) -> Option<Self> {
        if width > 32 {
            return None;
        }
        Some(Self { bytes: bytes.get(..packed_len(len, width))?, width, len })
    }

    /// Value `index`.
    ///
    /// # Panics
    /// When there is no such value.
    #[inline]
    pub(super) fn get(&self, index: usize) -> u32 {
        assert!(index < self.len, "value {index} of {}", self.len);
        self.at(index)
    }

    /// Asks for the memory of value `index`.
    #[inline]
    pub(super) fn prefetch(&self, index: usize) {
        prefetch_byte(self.bytes, index * usize::from(self.width) / 8);
    }

    /// Value `index`, or noise beyond the end.
    #[inline]
    fn at(&self, index: usize) -> u32 {
        let bit = index * usize::from(self.width);
        let mask = (1u64 << self.width) - 1;
        let word = match self.bytes.get(bit / 8..).and_then(|rest| rest.first_chunk::<8>()) {
            Some(chunk) => u64::from_le_bytes(*chunk),
            None => self.tail(bit / 8),
        };
        (word >> (bit % 8) & mask) as u32
    }

    /// The last bytes, where eight cannot be loaded at once.
    #[cold]
    fn tail(&self, at: usize) -> u64 {
        let rest = self.bytes.get(at..).unwrap_or(&[]);
        rest.iter().take(8).rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
    }

    /// The values from `first` on, as many as `out` takes.
    ///
    /// # Panics
    /// When there are fewer.
    pub(super) fn unpack(&self, first: usize, out: &mut [u32]) {
        const TOGETHER: usize = 8;
        assert!(first + out.len() <= self.len, "values {first} + {} of {}", out.len(), self.len);
        let (width, mask) = (usize::from(self.width), (1u64 << self.width) - 1);
        let mut at = first;
        let mut groups = out.chunks_exact_mut(TOGETHER);
        // Eight values begin and end with a byte, and up to width 8 they are one load.
        if width <= 8 && first.is_multiple_of(TOGETHER) {
            for group in groups.by_ref() {
                let from = at / TOGETHER * width;
                let mut word = match self.bytes.get(from..).and_then(|rest| rest.first_chunk::<8>()) {
                    Some(chunk) => u64::from_le_bytes(*chunk),
                    None => self.tail(from),
                };
                for value in group {
                    *value = (word & mask) as u32;
                    word >>= width & 63;
                }
                at += TOGETHER;
            }
        } else {
            for group in groups.by_ref() {
                for value in group {
                    *value = self.at(at);
                    at += 1;
                }
            }
        }
        for value in groups.into_remainder() {
            *value = self.at(at);
            at += 1;
        }
    }

    /// The values of `range`, in order.
    pub(super) fn iter(&self, range: Range<usize>) -> impl ExactSizeIterator<Item = u32> + '_ {
        assert!(range.start <= range.end && range.end <= self.len, "values {range:?} of {}", self.len);
        range.map(|index| self.at(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // Keeps away drift from the documented bytes.
    #[test]
    fn worked_example() {
        let mut bytes = Vec::new();
        pack([1, 2, 3], 3, &mut bytes);
        assert_eq!(bytes, [0xd1, 0x00]);
    }

    proptest! {
        // Keeps away values that read back as others, at every width and alignment.
        #[test]
        fn round_trip(values in prop::collection::vec(any::<u32>(), 0..70), shift in 0u32..=32) {
            let values: Vec<u32> = values.iter().map(|value| value.checked_shr(shift).unwrap_or(0)).collect();
            let width = (32 - shift) as u8;
            let mut bytes = Vec::new();
            pack(values.iter().copied(), width, &mut bytes);
            prop_assert_eq!(bytes.len(), packed_len(values.len(), width));
            let packed = Packed::new(&bytes, values.len(), width).unwrap();
            let again: Vec<u32> = packed.iter(0..values.len()).collect();
            prop_assert_eq!(&again, &values);
            for first in 0..values.len().min(10) {
                let mut some = vec![0; values.len() - first];
                packed.unpack(first, &mut some);
                prop_assert_eq!(&some, &values[first..]);
            }
            prop_assert!(values.iter().enumerate().all(|(index, value)| packed.get(index) == *value));
            prop_assert!(bytes.is_empty() || Packed::new(&bytes[1..], values.len(), width).is_none());
        }
    }
}
