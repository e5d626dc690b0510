//! Running sums: each value becomes the sum of all up to it.

#![allow(unsafe_code)]

use super::{Code, simd::Level};

/// Replaces each value by the sum of all up to it, modulo 2^BITS.
#[inline(always)]
pub(crate) fn running_sum<C: Code>(values: &mut [C], level: Level) {
    #[cfg(target_arch = "x86_64")]
    if level == Level::Avx512 && C::BITS >= 32 {
        // SAFETY: the level says that the processor has AVX-512F.
        return unsafe { running_sum_avx512(values) };
    }
    let _ = level;
    running_sum_base(C::default(), values);
}

/// The twin of the other, for any processor.
#[inline(always)]
fn running_sum_base<C: Code>(mut sum: C, values: &mut [C]) {
    for value in values {
        sum = sum.add(*value);
        *value = sum;
    }
}

/// A vector of values at a time: sums within the vector by doubling steps, then what came before is added to all of it.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn running_sum_avx512<C: Code>(values: &mut [C]) {
    use std::arch::x86_64::*;

    let zero = _mm512_setzero_si512();
    let mut before = zero;
    let lanes = 512 / C::BITS as usize;
    let mut chunks = values.chunks_exact_mut(lanes);
    for chunk in &mut chunks {
        debug_assert_eq!(size_of_val(chunk), 64);
        // SAFETY: the chunk has 64 bytes, as its `lanes` of `C::BITS` bits; the load needs no alignment.
        let mut sums = unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) };
        let total;
        if C::BITS == 64 {
            sums = _mm512_add_epi64(sums, _mm512_alignr_epi64::<7>(sums, zero));
            sums = _mm512_add_epi64(sums, _mm512_alignr_epi64::<6>(sums, zero));
            sums = _mm512_add_epi64(sums, _mm512_alignr_epi64::<4>(sums, zero));
            total = _mm512_permutexvar_epi64(_mm512_set1_epi64(7), sums);
            sums = _mm512_add_epi64(sums, before);
            before = _mm512_add_epi64(before, total);
        } else {
            sums = _mm512_add_epi32(sums, _mm512_alignr_epi32::<15>(sums, zero));
            sums = _mm512_add_epi32(sums, _mm512_alignr_epi32::<14>(sums, zero));
            sums = _mm512_add_epi32(sums, _mm512_alignr_epi32::<12>(sums, zero));
            sums = _mm512_add_epi32(sums, _mm512_alignr_epi32::<8>(sums, zero));
            total = _mm512_permutexvar_epi32(_mm512_set1_epi32(15), sums);
            sums = _mm512_add_epi32(sums, before);
            before = _mm512_add_epi32(before, total);
        }
        // SAFETY: as of the load; the chunk is ours alone.
        unsafe { _mm512_storeu_si512(chunk.as_mut_ptr().cast(), sums) };
    }
    let low = _mm_cvtsi128_si64(_mm512_castsi512_si128(before));
    running_sum_base(C::truncate(low as u64), chunks.into_remainder());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::column::simd;

    fn agree<C: Code>(values: &[C]) {
        let (mut fast, mut base) = (values.to_vec(), values.to_vec());
        running_sum(&mut fast, simd::level());
        running_sum(&mut base, Level::Base);
        let mut sum = C::default();
        let plain: Vec<C> = values.iter().map(|&value| { sum = sum.add(value); sum }).collect();
        assert_eq!(fast, plain);
        assert_eq!(base, plain);
    }

    proptest! {
        // Keeps away a level that sums otherwise than one value after the other.
        #[test]
        fn levels_agree(values in prop::collection::vec(any::<u64>(), 0..100)) {
            agree(&values);
            agree(&values.iter().map(|&value| value as u32).collect::<Vec<_>>());
            agree(&values.iter().map(|&value| value as u16).collect::<Vec<_>>());
        }
    }
}
