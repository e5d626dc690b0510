//! Comparing 64 codes at a time: the bits of those that lie in a range.

#![allow(unsafe_code)]

use super::{
    bits::Lanes,
    ranges::{self, FEW},
    simd::Level,
};

/// ANDs into `mask` the bits of the codes in `lanes`, of `lane` bits each, that lie in one of `ranges` (inclusive, in order,
/// no end above the lanes' largest). Word `i` of the mask belongs to lanes `64 i` to `64 i + 63`; words of no bits are not
/// looked at.
///
/// REQUIRES: `mask` has at most 16 words.
#[inline(always)]
pub(crate) fn select(lanes: &Lanes, lane: u32, ranges: &[(u64, u64)], mask: &mut [u64], level: Level) {
    if ranges.len() > FEW {
        return look_up(lanes, lane, ranges, mask);
    }
    #[cfg(target_arch = "x86_64")]
    if level == Level::Avx512 {
        // SAFETY: the level says that the processor has AVX-512F and AVX-512BW.
        return unsafe { select_avx512(lanes, lane, ranges, mask) };
    }
    let _ = level;
    match lane {
        8 => select_base::<1>(lanes, ranges, mask),
        16 => select_base::<2>(lanes, ranges, mask),
        32 => select_base::<4>(lanes, ranges, mask),
        _ => select_base::<8>(lanes, ranges, mask),
    }
}

/// A code at a time: for many ranges.
fn look_up(lanes: &Lanes, lane: u32, ranges: &[(u64, u64)], mask: &mut [u64]) {
    for (index, word) in mask.iter_mut().enumerate() {
        for bit in super::mask::ones(*word) {
            if !ranges::contains(ranges, lanes.get(lane, index * 64 + bit)) {
                *word &= !(1 << bit);
            }
        }
    }
}

/// The twin of the others, for any processor, of codes of `BYTES` bytes.
#[inline(always)]
fn select_base<const BYTES: usize>(lanes: &Lanes, ranges: &[(u64, u64)], mask: &mut [u64]) {
    let all = u64::MAX >> (64 - BYTES * 8);
    for (index, word) in mask.iter_mut().enumerate().filter(|(_, word)| **word != 0) {
        let codes: &[[u8; BYTES]] = lanes.word(index, BYTES as u32 * 8).as_chunks().0;
        let mut flags = [0u8; 64];
        for &(low, high) in ranges {
            // One comparison: below `low` the difference wraps round to more than the span.
            let span = high - low;
            for (flag, code) in flags.iter_mut().zip(codes) {
                let mut wide = [0; 8];
                wide[..BYTES].copy_from_slice(code);
                *flag |= u8::from(u64::from_le_bytes(wide).wrapping_sub(low) & all <= span);
            }
        }
        // The product has the lowest bits of its eight bytes side by side in the highest byte.
        let gather = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        let bytes = flags.as_chunks().0.iter().enumerate();
        *word &= bytes.fold(0, |bits, (index, bytes)| bits | gather(bytes) << (8 * index));
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
fn select_avx512(lanes: &Lanes, lane: u32, ranges: &[(u64, u64)], mask: &mut [u64]) {
    use std::arch::x86_64::*;

    /// Vector `index` of the codes.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(codes: &[u8], index: usize) -> __m512i {
        let codes = &codes[index * 64..index * 64 + 64];
        // SAFETY: 64 bytes, as just checked; the load needs no alignment.
        unsafe { _mm512_loadu_si512(codes.as_ptr().cast()) }
    }

    // One comparison: below `low` the difference wraps round to more than the span.
    macro_rules! select {
        ($int:ty, $vectors:literal, $splat:ident, $subtract:ident, $compare:ident) => {
            for (index, word) in mask.iter_mut().enumerate() {
                if *word == 0 {
                    continue;
                }
                let codes = lanes.word(index, <$int>::BITS);
                let mut bits = 0;
                for &(low, high) in ranges {
                    let (low, span) = ($splat(low as $int), $splat((high - low) as $int));
                    for vector in 0..$vectors {
                        let below = $compare($subtract(load(codes, vector), low), span);
                        bits |= u64::from(below) << (vector * 64 / $vectors);
                    }
                }
                *word &= bits;
            }
        };
    }
    match lane {
        8 => select!(i8, 1, _mm512_set1_epi8, _mm512_sub_epi8, _mm512_cmple_epu8_mask),
        16 => select!(i16, 2, _mm512_set1_epi16, _mm512_sub_epi16, _mm512_cmple_epu16_mask),
        32 => select!(i32, 4, _mm512_set1_epi32, _mm512_sub_epi32, _mm512_cmple_epu32_mask),
        _ => select!(i64, 8, _mm512_set1_epi64, _mm512_sub_epi64, _mm512_cmple_epu64_mask),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::column::simd;

    proptest! {
        // Keeps away a level that selects other rows than the plain comparison.
        #[test]
        fn levels_agree(
            values in prop::collection::vec(any::<u64>(), 0..300),
            ends in prop::collection::vec(any::<u64>(), 0..60),
            few in any::<bool>(),
        ) {
            for lane in [8, 16, 32, 64] {
                let cut = |value: u64| value & u64::MAX >> (64 - lane);
                let mut ends: Vec<u64> = ends.iter().map(|&end| cut(end)).take(if few { 6 } else { 60 }).collect();
                ends.sort_unstable();
                ends.dedup();
                let ranges: Vec<_> = ends.as_chunks::<2>().0.iter().map(|ends| (ends[0], ends[1])).collect();
                let mut lanes = Lanes::new();
                lanes.fill(&values, lane, cut);
                let mut expected = vec![0; values.len().div_ceil(64)];
                let mut before = expected.clone();
                for (index, &value) in values.iter().enumerate() {
                    let inside = ranges.iter().any(|&(low, high)| low <= cut(value) && cut(value) <= high);
                    before[index / 64] |= u64::from(index % 3 != 0) << (index % 64);
                    expected[index / 64] |= u64::from(inside && index % 3 != 0) << (index % 64);
                }
                for level in [simd::level(), Level::Base] {
                    let mut mask = before.clone();
                    select(&lanes, lane, &ranges, &mut mask, level);
                    prop_assert_eq!(&mask, &expected, "{:?}, lanes of {}", level, lane);
                }
            }
        }
    }
}
