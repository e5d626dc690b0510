//! The inner loops of packing: the same shift and mask in all lanes of a row.
//!
//! They take 64-bit words whatever the lanes: bits that a shift brings in from the lane beside are masked off. The compiler
//! unrolls such loops over 16 words to scalar code before it would vectorise them, hence the intrinsics; what they
//! do is said once, in [`loops`], for words of any size.

#![allow(unsafe_code)]

use super::{ROW, low_bits};
use crate::column::simd::Level;

/// 128 bytes.
type Row = [u8; ROW];

/// `lane`, which has `bits` bits, in every lane of a 64-bit word.
#[inline(always)]
const fn replicate(lane: u64, bits: u32) -> u64 {
    match bits {
        8 => lane * 0x0101_0101_0101_0101,
        16 => lane * 0x0001_0001_0001_0001,
        32 => lane * 0x0000_0001_0000_0001,
        _ => lane,
    }
}

/// Unpacks as many numbers of each lane as there are rows in `out`.
///
/// REQUIRES: `packed` has the rows that they reach into (else a panic), `width` is 1 to `lane`.
#[inline(always)]
pub(super) fn unpack(packed: &[Row], width: u32, lane: u32, out: &mut [Row], level: Level) {
    match level {
        Level::Base => base::unpack(packed, width, lane, out),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level says that the processor has AVX2.
        Level::Avx2 => unsafe { avx2::unpack(packed, width, lane, out) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level says that the processor has AVX-512F.
        Level::Avx512 => unsafe { avx512::unpack(packed, width, lane, out) },
    }
}

/// The inverse of [`unpack`]; `packed` is zero before. Values have no bits above `width`.
#[inline(always)]
pub(super) fn pack(values: &[Row], width: u32, lane: u32, packed: &mut [Row], level: Level) {
    match level {
        Level::Base => base::pack(values, width, lane, packed),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level says that the processor has AVX2.
        Level::Avx2 => unsafe { avx2::pack(values, width, lane, packed) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level says that the processor has AVX-512F.
        Level::Avx512 => unsafe { avx512::pack(values, width, lane, packed) },
    }
}

/// The two loops over words of some size. In scope are `Word`, `WORDS` (how many make a row), `load(&Row, index)`,
/// `store(&mut Row, index, Word)`, `splat(u64)`, `right(Word, u32)`, `left(Word, u32)`, `and`, `or`.
macro_rules! loops {
    ($(#[$feature:meta])*) => {
        $(#[$feature])*
        pub(super) fn unpack(packed: &[Row], width: u32, lane: u32, out: &mut [Row]) {
            let mask = replicate(low_bits(width), lane);
            let all = splat(mask);
            let (mut row, mut shift) = (0, 0);
            for out in out {
                let low = &packed[row];
                let taken = lane - shift;
                if width <= taken {
                    for word in 0..WORDS {
                        store(out, word, and(right(load(low, word), shift), all));
                    }
                } else {
                    let high = &packed[row + 1];
                    let low_mask = replicate(low_bits(taken), lane);
                    let (low_part, high_part) = (splat(low_mask), splat(mask & !low_mask));
                    for word in 0..WORDS {
                        let low = and(right(load(low, word), shift), low_part);
                        let high = and(left(load(high, word), taken), high_part);
                        store(out, word, or(low, high));
                    }
                }
                shift += width;
                if shift >= lane {
                    shift -= lane;
                    row += 1;
                }
            }
        }

        $(#[$feature])*
        pub(super) fn pack(values: &[Row], width: u32, lane: u32, packed: &mut [Row]) {
            let (mut row, mut shift) = (0, 0);
            for values in values {
                let taken = lane - shift;
                let low_part = splat(replicate(low_bits(taken.min(width)), lane));
                let low = &mut packed[row];
                for word in 0..WORDS {
                    let bits = left(and(load(values, word), low_part), shift);
                    let before = load(low, word);
                    store(low, word, or(before, bits));
                }
                if taken < width {
                    let high_part = splat(replicate(low_bits(width - taken), lane));
                    let high = &mut packed[row + 1];
                    for word in 0..WORDS {
                        store(high, word, and(right(load(values, word), taken), high_part));
                    }
                }
                shift += width;
                if shift >= lane {
                    shift -= lane;
                    row += 1;
                }
            }
        }
    };
}

/// Words of 64 bits, for any processor: the twin of the others.
mod base {
    use super::{ROW, Row, low_bits, replicate};

    const WORDS: usize = ROW / 8;

    #[inline(always)]
    fn load(row: &Row, index: usize) -> u64 {
        u64::from_le_bytes(row.as_chunks().0[index])
    }

    #[inline(always)]
    fn store(row: &mut Row, index: usize, word: u64) {
        row.as_chunks_mut().0[index] = word.to_le_bytes();
    }

    #[inline(always)]
    fn splat(word: u64) -> u64 {
        word
    }

    #[inline(always)]
    fn right(word: u64, bits: u32) -> u64 {
        word >> bits
    }

    #[inline(always)]
    fn left(word: u64, bits: u32) -> u64 {
        word << bits
    }

    #[inline(always)]
    fn and(a: u64, b: u64) -> u64 {
        a & b
    }

    #[inline(always)]
    fn or(a: u64, b: u64) -> u64 {
        a | b
    }

    loops!();
}

/// Words of an instruction set of x86.
#[cfg(target_arch = "x86_64")]
macro_rules! x86 {
    ($name:ident, $feature:literal, $word:ident, $load:ident, $store:ident, $splat:ident, $right:ident, $left:ident, $and:ident,
     $or:ident) => {
        mod $name {
            use std::arch::x86_64::*;

            use super::{ROW, Row, low_bits, replicate};

            type Word = $word;
            const BYTES: usize = size_of::<Word>();
            const WORDS: usize = ROW / BYTES;

            #[inline]
            #[target_feature(enable = $feature)]
            fn load(row: &Row, index: usize) -> Word {
                assert!(index < WORDS);
                // SAFETY: the word lies inside the row, as just checked; the load needs no alignment.
                unsafe { $load(row.as_ptr().add(index * BYTES).cast()) }
            }

            #[inline]
            #[target_feature(enable = $feature)]
            fn store(row: &mut Row, index: usize, word: Word) {
                assert!(index < WORDS);
                // SAFETY: the word lies inside the row, as just checked; the store needs no alignment.
                unsafe { $store(row.as_mut_ptr().add(index * BYTES).cast(), word) }
            }

            #[inline]
            #[target_feature(enable = $feature)]
            fn splat(word: u64) -> Word {
                $splat(word as i64)
            }

            #[inline]
            #[target_feature(enable = $feature)]
            fn right(word: Word, bits: u32) -> Word {
                $right(word, _mm_cvtsi32_si128(bits as i32))
            }

            #[inline]
            #[target_feature(enable = $feature)]
            fn left(word: Word, bits: u32) -> Word {
                $left(word, _mm_cvtsi32_si128(bits as i32))
            }

            #[inline]
            #[target_feature(enable = $feature)]
            fn and(a: Word, b: Word) -> Word {
                $and(a, b)
            }

            #[inline]
            #[target_feature(enable = $feature)]
            fn or(a: Word, b: Word) -> Word {
                $or(a, b)
            }

            loops!(#[target_feature(enable = $feature)]);
        }
    };
}

#[cfg(target_arch = "x86_64")]
x86!(
    avx2,
    "avx2",
    __m256i,
    _mm256_loadu_si256,
    _mm256_storeu_si256,
    _mm256_set1_epi64x,
    _mm256_srl_epi64,
    _mm256_sll_epi64,
    _mm256_and_si256,
    _mm256_or_si256
);
#[cfg(target_arch = "x86_64")]
x86!(
    avx512,
    "avx512f",
    __m512i,
    _mm512_loadu_si512,
    _mm512_storeu_si512,
    _mm512_set1_epi64,
    _mm512_srl_epi64,
    _mm512_sll_epi64,
    _mm512_and_si512,
    _mm512_or_si512
);

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::column::bits::{VECTOR, lane_bits};

    // Keeps away a level that packs other bits than the twin, of those levels too that this processor would not choose.
    #[test]
    fn levels_agree() {
        let mut state = 1u64;
        for width in 1..=64 {
            let lane = lane_bits(width);
            let mut values = vec![[0; ROW]; VECTOR / (1024 / lane as usize)];
            for word in values.iter_mut().flatten().collect::<Vec<_>>().chunks_mut(8) {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let bits = (state ^ state >> 31) & replicate(low_bits(width), lane);
                word.iter_mut().zip(bits.to_le_bytes()).for_each(|(to, from)| **to = from);
            }
            let mut expected = vec![[0; ROW]; width as usize];
            base::pack(&values, width, lane, &mut expected);
            for (has, level) in [
                (is_x86_feature_detected!("avx2"), Level::Avx2),
                (is_x86_feature_detected!("avx512f"), Level::Avx512),
                (true, Level::Base),
            ] {
                if has {
                    let mut packed = vec![[0; ROW]; width as usize];
                    pack(&values, width, lane, &mut packed, level);
                    assert_eq!(packed, expected, "width {width}, {level:?}");
                    let mut back = vec![[0; ROW]; values.len()];
                    unpack(&packed, width, lane, &mut back, level);
                    assert_eq!(back, values, "width {width}, {level:?}");
                }
            }
        }
    }
}
