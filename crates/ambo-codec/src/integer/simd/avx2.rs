//! Vectors of 256 bits: AVX2 with BMI1, BMI2 and POPCNT (Haswell, Zen and later).

use std::arch::x86_64::*;

use super::{
    lanes::Lanes,
    tables::{Controls, Spread},
    unrolled,
};
use crate::integer::{
    Word,
    bits::{Packing, ROW, get_row, mask},
    lengths::per_control,
    scalar,
};

/// Eight `u32`.
#[derive(Clone, Copy)]
pub(in crate::integer) struct Words32(__m256i);
/// Four `u64`.
#[derive(Clone, Copy)]
pub(in crate::integer) struct Words64(__m256i);

/// Only the first half of each row is used: the bytes of four lanes.
static SPREAD_32: Spread<16, 26> = Spread::new();

/// The first `N` bytes of `data` from `at` on, and zeros where it has none.
#[cold]
fn tail<const N: usize>(data: &[u8], at: usize) -> [u8; N] {
    let rest = data.get(at..).unwrap_or(&[]);
    let rest = &rest[..rest.len().min(N)];
    let mut bytes = [0; N];
    bytes[..rest.len()].copy_from_slice(rest);
    bytes
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn load_128(bytes: [u8; 16]) -> __m128i {
    // SAFETY: 16 bytes are there.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

/// The 16 bytes at `at`, zeros where `data` has none.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn half_at(data: &[u8], at: usize) -> __m128i {
    if data.len() >= 16 && at <= data.len() - 16 {
        // SAFETY: 16 bytes from `at` on are in `data`.
        return unsafe { _mm_loadu_si128(data.as_ptr().add(at).cast()) };
    }
    load_128(tail(data, at))
}

/// The row of lanes at `at`, zeros where `data` has none.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn row_at(data: &[u8], at: usize) -> __m256i {
    if data.len() >= ROW && at <= data.len() - ROW {
        // SAFETY: 32 bytes from `at` on are in `data`.
        return unsafe { _mm256_loadu_si256(data.as_ptr().add(at).cast()) };
    }
    let bytes = tail::<ROW>(data, at);
    // SAFETY: 32 bytes are there.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// Two control bytes, each with 16 bytes of integers, of which `bytes` are wanted.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn controlled(lengths: &Controls, controls: u32, data: &[u8], bytes: usize) -> Option<(__m256i, usize)> {
    let [low, high, ..] = controls.to_le_bytes().map(usize::from);
    let stored = u32::from(lengths.stored[low]) | u32::from(lengths.stored[high]) << 16;
    let wanted = if bytes >= 32 { u32::MAX } else { (1 << bytes) - 1 };
    let used = (stored & wanted).count_ones() as usize;
    if used > data.len() {
        return None;
    }
    let middle = lengths.stored[low].count_ones() as usize;
    let integers = _mm256_set_m128i(half_at(data, middle), half_at(data, 0));
    let shuffle = _mm256_set_m128i(load_128(lengths.shuffle[high]), load_128(lengths.shuffle[low]));
    Some((_mm256_shuffle_epi8(integers, shuffle), used))
}

/// `count` integers of seven bits a byte one by one, and their bytes.
#[inline]
fn vbytes_slow<W: Word, const N: usize>(data: &[u8], count: usize) -> Option<([W; N], usize)> {
    let mut rest = data;
    let mut words = [W::default(); N];
    for word in &mut words[..count] {
        *word = W::from_u64(scalar::vbyte::<W>(&mut rest).ok()?);
    }
    Some((words, data.len() - rest.len()))
}

/// `N` integers of one byte each, if that is what `data` begins with.
#[inline(always)]
fn small<const N: usize>(data: &[u8]) -> Option<[u8; N]> {
    let bytes = *data.first_chunk::<N>()?;
    bytes.iter().all(|byte| *byte < 0x80).then_some(bytes)
}

/// Eight integers in a row that are too wide for a shuffle.
#[inline(never)]
fn wide_row(data: &[u8], width: u8, group: usize) -> [u32; 8] {
    std::array::from_fn(|lane| get_row(data, width, group * 8 + lane) as u32)
}

/// The methods that are the same for both words.
macro_rules! common {
    () => {
        #[inline]
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        unsafe fn load(from: *const Self::Word) -> Self {
            // SAFETY: The caller's.
            Self(unsafe { _mm256_loadu_si256(from.cast()) })
        }

        #[inline]
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        unsafe fn store(self, to: *mut Self::Word) {
            // SAFETY: The caller's.
            unsafe { _mm256_storeu_si256(to.cast(), self.0) }
        }

        #[inline]
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        unsafe fn add_wide(self, other: Self) -> Self {
            Self(_mm256_add_epi64(self.0, other.0))
        }

        #[inline]
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        unsafe fn halves(self) -> (Self, Self) {
            let low = _mm256_and_si256(self.0, _mm256_set1_epi64x(0xffff_ffff));
            (Self(low), Self(_mm256_srli_epi64::<32>(self.0)))
        }

        #[inline]
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        unsafe fn controlled(
            lengths: &Controls,
            controls: u32,
            data: &[u8],
            count: usize,
        ) -> Option<(Self, usize)> {
            let (integers, used) = controlled(lengths, controls, data, count * size_of::<Self::Word>())?;
            let all = count >= 2 * per_control::<Self::Word>();
            // SAFETY: The caller's.
            Some((if all { Self(integers) } else { unsafe { Self(integers).keep_first(count) } }, used))
        }
    };
}

/// The constants of a width.
#[derive(Clone, Copy)]
pub(in crate::integer) struct Plan {
    width: u8,
    bytes: __m256i,
    shift: __m256i,
    mask: __m256i,
}

impl Lanes for Words32 {
    type Word = u32;
    const LEN: usize = 8;
    type Row = Plan;

    #[inline(always)]
    unsafe fn decode_lanes(first: u32, packing: Packing, data: &[u8], out: &mut [u32]) -> bool {
        let Ok(out) = out.try_into() else { return false };
        // SAFETY: The caller's.
        unsafe { unrolled::decode(first, packing, data, out) };
        true
    }

    #[inline(always)]
    unsafe fn sum_lanes(width: u8, data: &[u8], count: usize) -> Option<u64> {
        // SAFETY: The caller's.
        (count == 255).then(|| unsafe { unrolled::sum(width, data) })
    }

    common!();

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn splat(word: u32) -> Self {
        Self(_mm256_set1_epi32(word as i32))
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn line(first: u32, slope: u32) -> Self {
        let rise =
            _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(slope as i32));
        Self(_mm256_add_epi32(rise, _mm256_set1_epi32(first as i32)))
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn store_first(self, to: *mut u32, count: usize) {
        let first =
            _mm256_cmpgt_epi32(_mm256_set1_epi32(count as i32), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
        // SAFETY: Lanes that are masked are not written; for the others `to` has room.
        unsafe { _mm256_maskstore_epi32(to.cast::<i32>(), first, self.0) }
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn keep_first(self, count: usize) -> Self {
        Self(_mm256_and_si256(
            self.0,
            _mm256_cmpgt_epi32(_mm256_set1_epi32(count as i32), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)),
        ))
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn add(self, other: Self) -> Self {
        Self(_mm256_add_epi32(self.0, other.0))
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn total(self) -> u32 {
        let mut words = [0u32; 8];
        // SAFETY: The array has 8 words.
        unsafe { self.store(words.as_mut_ptr()) };
        words.iter().fold(0, |sum, word| sum.wrapping_add(*word))
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn prefix_sum(self) -> Self {
        let sum = _mm256_add_epi32(self.0, _mm256_slli_si256::<4>(self.0));
        let sum = _mm256_add_epi32(sum, _mm256_slli_si256::<8>(sum));
        // The lower four's sum is for all of the upper four.
        let low = _mm256_permutevar8x32_epi32(sum, _mm256_set1_epi32(3));
        Self(_mm256_add_epi32(sum, _mm256_blend_epi32::<0xf0>(_mm256_setzero_si256(), low)))
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn last(self) -> Self {
        Self(_mm256_permutevar8x32_epi32(self.0, _mm256_set1_epi32(7)))
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn below(self, other: Self) -> u32 {
        let not_below = _mm256_cmpeq_epi32(_mm256_max_epu32(self.0, other.0), self.0);
        !_mm256_movemask_ps(_mm256_castsi256_ps(not_below)) as u32 & 0xff
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn equal(self, other: Self) -> u32 {
        _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(self.0, other.0))) as u32
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn row_plan(width: u8) -> Plan {
        // Wider ones are read one by one.
        let at = usize::from(width).min(25);
        // SAFETY: A table row has 64 bytes.
        let bytes = unsafe { _mm256_loadu_si256(SPREAD_32.bytes[at].as_ptr().cast()) };
        // The upper half is loaded from the byte where its first integer begins.
        let base = _mm256_set_m128i(_mm_set1_epi8((at / 2) as i8), _mm_setzero_si128());
        let bytes = _mm256_sub_epi8(bytes, base);
        let shift = load_128(SPREAD_32.shift[at]);
        let mask = _mm256_set1_epi32(mask(width) as i32);
        Plan { width, bytes, shift: _mm256_cvtepu8_epi32(shift), mask }
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn row(plan: Plan, data: &[u8], group: usize) -> Self {
        if plan.width > 25 {
            // SAFETY: The array has 8 words.
            return unsafe { Self::load(wide_row(data, plan.width, group).as_ptr()) };
        }
        let width = usize::from(plan.width);
        let at = group * width;
        let low = half_at(data, at);
        let high = half_at(data, at + width / 2);
        let spread = _mm256_shuffle_epi8(_mm256_set_m128i(high, low), plan.bytes);
        Self(_mm256_and_si256(_mm256_srlv_epi32(spread, plan.shift), plan.mask))
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn lanes(data: &[u8], width: u8, group: usize) -> Self {
        let bit = group * usize::from(width);
        let at = bit / 32 * ROW;
        let shift = (bit % 32) as i32;
        let low = _mm256_srlv_epi32(row_at(data, at), _mm256_set1_epi32(shift));
        // A shift by 32 leaves nothing.
        let high = _mm256_sllv_epi32(row_at(data, at + ROW), _mm256_set1_epi32(32 - shift));
        Self(_mm256_and_si256(_mm256_or_si256(low, high), _mm256_set1_epi32(mask(width) as i32)))
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn vbyte(data: &[u8], count: usize) -> Option<(Self, usize)> {
        if count == 8
            && let Some(bytes) = small::<8>(data)
        {
            let bytes = _mm_cvtsi64_si128(i64::from_le_bytes(bytes));
            return Some((Self(_mm256_cvtepu8_epi32(bytes)), 8));
        }
        let (words, used) = vbytes_slow::<u32, 8>(data, count)?;
        // SAFETY: The array has 8 words.
        Some((unsafe { Self::load(words.as_ptr()) }, used))
    }
}

impl Lanes for Words64 {
    type Word = u64;
    const LEN: usize = 4;
    type Row = u8;

    common!();

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn splat(word: u64) -> Self {
        Self(_mm256_set1_epi64x(word as i64))
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn line(first: u64, slope: u64) -> Self {
        let at = |lane: u64| first.wrapping_add(slope.wrapping_mul(lane)) as i64;
        Self(_mm256_setr_epi64x(at(0), at(1), at(2), at(3)))
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn store_first(self, to: *mut u64, count: usize) {
        let first = _mm256_cmpgt_epi64(_mm256_set1_epi64x(count as i64), _mm256_setr_epi64x(0, 1, 2, 3));
        // SAFETY: Lanes that are masked are not written; for the others `to` has room.
        unsafe { _mm256_maskstore_epi64(to.cast::<i64>(), first, self.0) }
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn keep_first(self, count: usize) -> Self {
        Self(_mm256_and_si256(
            self.0,
            _mm256_cmpgt_epi64(_mm256_set1_epi64x(count as i64), _mm256_setr_epi64x(0, 1, 2, 3)),
        ))
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn add(self, other: Self) -> Self {
        Self(_mm256_add_epi64(self.0, other.0))
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn total(self) -> u64 {
        let mut words = [0u64; 4];
        // SAFETY: The array has 4 words.
        unsafe { self.store(words.as_mut_ptr()) };
        words.iter().fold(0, |sum, word| sum.wrapping_add(*word))
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn prefix_sum(self) -> Self {
        let sum = _mm256_add_epi64(self.0, _mm256_slli_si256::<8>(self.0));
        let low = _mm256_permute4x64_epi64::<0b0101_0101>(sum);
        Self(_mm256_add_epi64(sum, _mm256_blend_epi32::<0xf0>(_mm256_setzero_si256(), low)))
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn last(self) -> Self {
        Self(_mm256_permute4x64_epi64::<0b1111_1111>(self.0))
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn below(self, other: Self) -> u32 {
        let sign = _mm256_set1_epi64x(i64::MIN);
        let below = _mm256_cmpgt_epi64(_mm256_xor_si256(other.0, sign), _mm256_xor_si256(self.0, sign));
        _mm256_movemask_pd(_mm256_castsi256_pd(below)) as u32
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn equal(self, other: Self) -> u32 {
        _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(self.0, other.0))) as u32
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn row_plan(width: u8) -> u8 {
        width
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn row(width: u8, data: &[u8], group: usize) -> Self {
        let words: [u64; 4] = std::array::from_fn(|lane| get_row(data, width, group * 4 + lane));
        // SAFETY: The array has 4 words.
        unsafe { Self::load(words.as_ptr()) }
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn lanes(data: &[u8], width: u8, group: usize) -> Self {
        let bit = group * usize::from(width);
        let at = bit / 64 * ROW;
        let shift = (bit % 64) as i64;
        let low = _mm256_srlv_epi64(row_at(data, at), _mm256_set1_epi64x(shift));
        // A shift by 64 leaves nothing.
        let high = _mm256_sllv_epi64(row_at(data, at + ROW), _mm256_set1_epi64x(64 - shift));
        Self(_mm256_and_si256(_mm256_or_si256(low, high), _mm256_set1_epi64x(mask(width) as i64)))
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn vbyte(data: &[u8], count: usize) -> Option<(Self, usize)> {
        if count == 4
            && let Some(bytes) = small::<4>(data)
        {
            let bytes = _mm_cvtsi32_si128(i32::from_le_bytes(bytes));
            return Some((Self(_mm256_cvtepu8_epi64(bytes)), 4));
        }
        let (words, used) = vbytes_slow::<u64, 4>(data, count)?;
        // SAFETY: The array has 4 words.
        Some((unsafe { Self::load(words.as_ptr()) }, used))
    }
}
