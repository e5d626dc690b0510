//! Comparing 64 codes at a time: the bits of those that lie in a range.

#![allow(unsafe_code)]

use super::{Code, simd::Level};

/// More ranges than this are looked up code by code.
const RANGES_MAX: usize = 16;

/// ANDs into `mask` the bits of the `values` that lie in one of `ranges` (inclusive, in order). Bits of words behind the
/// last value are left alone, those of its own word cleared.
///
/// REQUIRES: `mask` has a word for every 64 values.
#[inline(always)]
pub(crate) fn select<C: Code>(values: &[C], ranges: &[(C, C)], mask: &mut [u64], level: Level) {
    let chunks = values.chunks(64);
    for (values, word) in chunks.zip(mask) {
        if *word == 0 {
            continue;
        }
        let bits = match <&[C; 64]>::try_from(values) {
            Ok(values) => in_ranges(values, ranges, level),
            Err(_) => {
                let mut padded = [C::default(); 64];
                padded[..values.len()].copy_from_slice(values);
                in_ranges(&padded, ranges, level) & ((1 << values.len()) - 1)
            }
        };
        *word &= bits;
    }
}

#[inline(always)]
fn in_ranges<C: Code>(values: &[C; 64], ranges: &[(C, C)], level: Level) -> u64 {
    if ranges.len() > RANGES_MAX {
        let bit = |(index, &value): (usize, &C)| u64::from(super::ranges::contains(ranges, value)) << index;
        return values.iter().enumerate().map(bit).fold(0, |word, bit| word | bit);
    }
    ranges.iter().fold(0, |word, &(low, high)| word | in_range(values, low, high, level))
}

/// Bit `i` says whether `low <= values[i] <= high`.
#[inline(always)]
fn in_range<C: Code>(values: &[C; 64], low: C, high: C, level: Level) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if level == Level::Avx512 {
        // SAFETY: the level says that the processor has AVX-512F and AVX-512BW.
        return unsafe { in_range_avx512(values, low, high) };
    }
    let _ = level;
    in_range_base(values, low, high)
}

/// The twin of the others, for any processor.
#[inline(always)]
fn in_range_base<C: Code>(values: &[C; 64], low: C, high: C) -> u64 {
    // One comparison: below `low` the difference wraps round to more than the span.
    let span = high.sub(low);
    let mut flags = [0u8; 64];
    flags.iter_mut().zip(values).for_each(|(flag, value)| *flag = u8::from(value.sub(low) <= span));
    // The product has the lowest bits of its eight bytes side by side in the highest byte.
    let gather = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    flags.as_chunks().0.iter().enumerate().fold(0, |word, (index, bytes)| word | gather(bytes) << (8 * index))
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn in_range_avx512<C: Code>(values: &[C; 64], low: C, high: C) -> u64 {
    use std::arch::x86_64::*;

    let span = high.sub(low).widen();
    let low = low.widen();
    let at = values.as_ptr().cast::<u8>();
    // Vector `index` of the values.
    let load = |index: usize| {
        assert!((index + 1) * 64 <= size_of_val(values));
        // SAFETY: the 64 bytes lie inside `values`, as just checked; the load needs no alignment.
        unsafe { _mm512_loadu_si512(at.add(index * 64).cast()) }
    };
    match C::BITS {
        8 => {
            let (low, span) = (_mm512_set1_epi8(low as i8), _mm512_set1_epi8(span as i8));
            _mm512_cmple_epu8_mask(_mm512_sub_epi8(load(0), low), span)
        }
        16 => {
            let (low, span) = (_mm512_set1_epi16(low as i16), _mm512_set1_epi16(span as i16));
            let word = |index| u64::from(_mm512_cmple_epu16_mask(_mm512_sub_epi16(load(index), low), span));
            word(0) | word(1) << 32
        }
        32 => {
            let (low, span) = (_mm512_set1_epi32(low as i32), _mm512_set1_epi32(span as i32));
            let word = |index| u64::from(_mm512_cmple_epu32_mask(_mm512_sub_epi32(load(index), low), span));
            (0..4).fold(0, |all, index| all | word(index) << (16 * index))
        }
        _ => {
            let (low, span) = (_mm512_set1_epi64(low as i64), _mm512_set1_epi64(span as i64));
            let word = |index| u64::from(_mm512_cmple_epu64_mask(_mm512_sub_epi64(load(index), low), span));
            (0..8).fold(0, |all, index| all | word(index) << (8 * index))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::column::simd::{self, Kernel};

    struct Select<'a, C>(&'a [C], &'a [(C, C)], &'a mut [u64]);

    impl<C: Code> Kernel for Select<'_, C> {
        type Output = ();
        #[inline(always)]
        fn run(self, level: Level) {
            select(self.0, self.1, self.2, level);
        }
    }

    fn agree<C: Code>(values: &[C], mut ends: Vec<C>) {
        ends.sort_unstable();
        ends.dedup();
        let ranges: Vec<_> = ends.as_chunks::<2>().0.iter().map(|ends| (ends[0], ends[1])).collect();
        let words = values.len().div_ceil(64);
        let mut expected = vec![0; words];
        for (index, value) in values.iter().enumerate() {
            let inside = ranges.iter().any(|(low, high)| low <= value && value <= high);
            expected[index / 64] |= u64::from(inside && index % 3 != 0) << (index % 64);
        }
        let before: Vec<u64> = (0..words)
            .map(|word| (0..64).fold(0, |all, bit| all | u64::from((word * 64 + bit) % 3 != 0) << bit))
            .collect();
        let (mut fast, mut base) = (before.clone(), before);
        simd::run(Select(values, &ranges, &mut fast));
        Select(values, &ranges, &mut base).run(Level::Base);
        assert_eq!(fast, expected);
        assert_eq!(base, expected);
    }

    proptest! {
        // Keeps away a level that selects other rows than the plain comparison.
        #[test]
        fn levels_agree(
            values in prop::collection::vec(any::<u64>(), 0..300),
            ends in prop::collection::vec(any::<u64>(), 0..60),
        ) {
            macro_rules! narrow {
                ($($int:ty),*) => {$(
                    let narrow = |values: &[u64]| values.iter().map(|&value| value as $int).collect::<Vec<_>>();
                    agree(&narrow(&values), narrow(&ends));
                )*};
            }
            narrow!(u8, u16, u32, u64);
        }
    }
}
