//! Vectors of 512 bits: AVX-512 with F, BW, DQ, VL, VBMI and VBMI2, and BMI2 (Ice Lake, Zen 4 and later).

use std::arch::x86_64::*;

use super::{
    lanes::Lanes,
    tables::{Controls, Spread},
};
use crate::integer::{
    bits::{ROW, mask},
    scalar,
};

/// Sixteen `u32`.
#[derive(Clone, Copy)]
pub(in crate::integer) struct Words32(__m512i);
/// Eight `u64`.
#[derive(Clone, Copy)]
pub(in crate::integer) struct Words64(__m512i);

static SPREAD_32: Spread<16, 26> = Spread::new();
static SPREAD_64: Spread<8, 65> = Spread::new();

/// A bit for each of the first `count` bytes of 64.
#[inline]
#[target_feature(enable = "bmi2")]
fn first_bytes(count: usize) -> u64 {
    _bzhi_u64(u64::MAX, count.min(64) as u32)
}

/// The 64 bytes at `at`, zeros where `data` has none.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
fn bytes_at(data: &[u8], at: usize) -> __m512i {
    let left = data.len().saturating_sub(at);
    let from = data.as_ptr().wrapping_add(at).cast::<i8>();
    if left >= 64 {
        // SAFETY: 64 bytes from `at` on are in `data`.
        unsafe { _mm512_loadu_epi8(from) }
    } else {
        // SAFETY: Bytes that are masked are not read; the others are in `data`.
        unsafe { _mm512_maskz_loadu_epi8(first_bytes(left), from) }
    }
}

/// The row of lanes at `at`, zeros where `data` has none.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
fn row_at(data: &[u8], at: usize) -> __m256i {
    let left = data.len().saturating_sub(at);
    let from = data.as_ptr().wrapping_add(at);
    if left >= ROW {
        // SAFETY: 32 bytes from `at` on are in `data`.
        unsafe { _mm256_loadu_si256(from.cast()) }
    } else {
        // SAFETY: Bytes that are masked are not read; the others are in `data`.
        unsafe { _mm256_maskz_loadu_epi8(first_bytes(left) as u32, from.cast()) }
    }
}

/// Two rows of lanes, at `first` and `second`, one behind the other.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
fn rows_at(data: &[u8], first: usize, second: usize) -> __m512i {
    _mm512_inserti64x4::<1>(_mm512_castsi256_si512(row_at(data, first)), row_at(data, second))
}

/// `low` in the lower four 64-bit lanes, `high` in the upper.
#[inline]
#[target_feature(enable = "avx512f")]
fn two_halves(low: i64, high: i64) -> __m512i {
    _mm512_mask_blend_epi64(0xf0, _mm512_set1_epi64(low), _mm512_set1_epi64(high))
}

/// Eight integers of a width in a row, from byte `at` on, as 64 bits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi2")]
fn eight_at(plan: &Plan, data: &[u8], at: usize) -> __m512i {
    let spread = _mm512_permutexvar_epi8(plan.bytes, bytes_at(data, at));
    _mm512_and_si512(_mm512_srlv_epi64(spread, plan.shift), plan.mask)
}

/// The constants of a width.
#[derive(Clone, Copy)]
pub(in crate::integer) struct Plan {
    width: usize,
    bytes: __m512i,
    shift: __m512i,
    mask: __m512i,
}

/// The plan for lanes of 64 bits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
fn plan_64(width: u8) -> Plan {
    let at = usize::from(width);
    // SAFETY: A table row has 64 and 8 bytes.
    let (bytes, shift) = unsafe {
        (
            _mm512_loadu_si512(SPREAD_64.bytes[at].as_ptr().cast()),
            _mm_loadl_epi64(SPREAD_64.shift[at].as_ptr().cast()),
        )
    };
    Plan { width: at, bytes, shift: _mm512_cvtepu8_epi64(shift), mask: _mm512_set1_epi64(mask(width) as i64) }
}

/// The integers that a byte of `stored` for each 16 bytes says, from the beginning of `data`, and their bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,bmi2,popcnt")]
fn controlled(lengths: &Controls, controls: u32, data: &[u8], bytes: usize) -> Option<(__m512i, usize)> {
    let [a, b, c, d] = controls.to_le_bytes().map(|control| u64::from(lengths.stored[usize::from(control)]));
    let stored = (a | b << 16 | c << 32 | d << 48) & first_bytes(bytes);
    let used = stored.count_ones() as usize;
    if used > data.len() {
        return None;
    }
    Some((_mm512_maskz_expand_epi8(stored, bytes_at(data, 0)), used))
}

/// Where the first `count` integers of seven bits a byte lie in 64 bytes.
struct VBytes {
    bytes: __m512i,
    /// A bit for each byte that others follow.
    go_on: u64,
    /// Those of the integers.
    used: usize,
}

/// `None` if the integers do not end in the next 64 bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2,bmi1")]
fn vbytes(data: &[u8], count: usize) -> Option<VBytes> {
    let bytes = bytes_at(data, 0);
    let go_on = _mm512_movepi8_mask(bytes);
    let ends = !go_on & first_bytes(data.len());
    let end = _pdep_u64(1 << (count - 1), ends);
    if end == 0 {
        return None;
    }
    let used = end.trailing_zeros() as usize + 1;
    Some(VBytes { bytes, go_on: go_on & first_bytes(used), used })
}

/// The `count` integers at the beginning of `data` one by one.
#[cold]
fn vbytes_slow<W: super::Word>(data: &[u8], count: usize) -> Option<([W; 16], usize)> {
    let mut rest = data;
    let mut words = [W::default(); 16];
    for word in &mut words[..count] {
        *word = W::from_u64(scalar::vbyte::<W>(&mut rest).ok()?);
    }
    Some((words, data.len() - rest.len()))
}

/// The methods that are the same for both words, and the loop over the bytes of integers of seven bits a byte.
macro_rules! common {
    () => {
        #[inline]
        #[target_feature(
            enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt"
        )]
        unsafe fn load(from: *const Self::Word) -> Self {
            // SAFETY: The caller's.
            Self(unsafe { _mm512_loadu_si512(from.cast()) })
        }

        #[inline]
        #[target_feature(
            enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt"
        )]
        unsafe fn store(self, to: *mut Self::Word) {
            // SAFETY: The caller's.
            unsafe { _mm512_storeu_si512(to.cast(), self.0) }
        }

        #[inline]
        #[target_feature(
            enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt"
        )]
        unsafe fn add_wide(self, other: Self) -> Self {
            Self(_mm512_add_epi64(self.0, other.0))
        }

        #[inline]
        #[target_feature(
            enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt"
        )]
        unsafe fn halves(self) -> (Self, Self) {
            let low = _mm512_and_si512(self.0, _mm512_set1_epi64(0xffff_ffff));
            (Self(low), Self(_mm512_srli_epi64::<32>(self.0)))
        }

        #[inline]
        #[target_feature(
            enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt"
        )]
        unsafe fn controlled(
            lengths: &Controls,
            controls: u32,
            data: &[u8],
            count: usize,
        ) -> Option<(Self, usize)> {
            let (integers, used) = controlled(lengths, controls, data, count * size_of::<Self::Word>())?;
            Some((Self(integers), used))
        }
    };
}

impl Lanes for Words32 {
    type Word = u32;
    const LEN: usize = 16;
    type Row = Plan;

    common!();

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn splat(word: u32) -> Self {
        Self(_mm512_set1_epi32(word as i32))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn keep_first(self, count: usize) -> Self {
        Self(_mm512_maskz_mov_epi32(first_bytes(count) as u16, self.0))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn add(self, other: Self) -> Self {
        Self(_mm512_add_epi32(self.0, other.0))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn prefix_sum(self) -> Self {
        let zero = _mm512_setzero_si512();
        let sum = _mm512_add_epi32(self.0, _mm512_alignr_epi32::<15>(self.0, zero));
        let sum = _mm512_add_epi32(sum, _mm512_alignr_epi32::<14>(sum, zero));
        let sum = _mm512_add_epi32(sum, _mm512_alignr_epi32::<12>(sum, zero));
        Self(_mm512_add_epi32(sum, _mm512_alignr_epi32::<8>(sum, zero)))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn last(self) -> Self {
        Self(_mm512_permutexvar_epi32(_mm512_set1_epi32(15), self.0))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn below(self, other: Self) -> u32 {
        _mm512_cmplt_epu32_mask(self.0, other.0).into()
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn equal(self, other: Self) -> u32 {
        _mm512_cmpeq_epi32_mask(self.0, other.0).into()
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn row_plan(width: u8) -> Plan {
        let at = usize::from(width);
        if at > 25 {
            return plan_64(width);
        }
        // SAFETY: A table row has 64 and 16 bytes.
        let (bytes, shift) = unsafe {
            (
                _mm512_loadu_si512(SPREAD_32.bytes[at].as_ptr().cast()),
                _mm_loadu_si128(SPREAD_32.shift[at].as_ptr().cast()),
            )
        };
        let mask = _mm512_set1_epi32(mask(width) as i32);
        Plan { width: at, bytes, shift: _mm512_cvtepu8_epi32(shift), mask }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn row(plan: Plan, data: &[u8], group: usize) -> Self {
        let at = 2 * group * plan.width;
        if plan.width > 25 {
            let low = _mm512_cvtepi64_epi32(eight_at(&plan, data, at));
            let high = _mm512_cvtepi64_epi32(eight_at(&plan, data, at + plan.width));
            return Self(_mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high));
        }
        let spread = _mm512_permutexvar_epi8(plan.bytes, bytes_at(data, at));
        Self(_mm512_and_si512(_mm512_srlv_epi32(spread, plan.shift), plan.mask))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn lanes(data: &[u8], width: u8, group: usize) -> Self {
        let first = 2 * group * usize::from(width);
        let second = first + usize::from(width);
        let (at, next) = (first / 32 * ROW, second / 32 * ROW);
        let low = rows_at(data, at, next);
        let high = rows_at(data, at + ROW, next + ROW);
        let both = |shift: usize| (shift % 32) as i64 * 0x1_0000_0001;
        let shifted = _mm512_shrdv_epi32(low, high, two_halves(both(first), both(second)));
        Self(_mm512_and_si512(shifted, _mm512_set1_epi32(mask(width) as i32)))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn vbyte(data: &[u8], count: usize) -> Option<(Self, usize)> {
        let Some(found) = vbytes(data, count) else {
            let (words, used) = vbytes_slow::<u32>(data, count)?;
            // SAFETY: The array has 16 words.
            return Some((unsafe { Self::load(words.as_ptr()) }, used));
        };
        if found.go_on == 0 {
            let bytes = _mm_maskz_mov_epi8(first_bytes(count) as u16, _mm512_castsi512_si128(found.bytes));
            return Some((Self(_mm512_cvtepu8_epi32(bytes)), found.used));
        }
        let bytes = _mm512_and_si512(found.bytes, _mm512_set1_epi8(0x7f));
        // The bytes of the integers at one place of them, and the integers that have such a byte.
        let mut places = (!found.go_on << 1 | 1) & first_bytes(found.used);
        let mut having = first_bytes(count);
        let (mut integers, mut shift) = (_mm512_setzero_si512(), 0);
        while places != 0 {
            if shift > 28 {
                return None;
            }
            let packed = _mm512_castsi512_si128(_mm512_maskz_compress_epi8(places, bytes));
            let spread = _mm_maskz_expand_epi8(having as u16, packed);
            let part = _mm512_sllv_epi32(_mm512_cvtepu8_epi32(spread), _mm512_set1_epi32(shift));
            integers = _mm512_or_si512(integers, part);
            having = _pdep_u64(_pext_u64(found.go_on, places), having);
            places = (places & found.go_on) << 1;
            shift += 7;
        }
        Some((Self(integers), found.used))
    }
}

impl Lanes for Words64 {
    type Word = u64;
    const LEN: usize = 8;
    type Row = Plan;

    common!();

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn splat(word: u64) -> Self {
        Self(_mm512_set1_epi64(word as i64))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn keep_first(self, count: usize) -> Self {
        Self(_mm512_maskz_mov_epi64(first_bytes(count) as u8, self.0))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn add(self, other: Self) -> Self {
        Self(_mm512_add_epi64(self.0, other.0))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn prefix_sum(self) -> Self {
        let zero = _mm512_setzero_si512();
        let sum = _mm512_add_epi64(self.0, _mm512_alignr_epi64::<7>(self.0, zero));
        let sum = _mm512_add_epi64(sum, _mm512_alignr_epi64::<6>(sum, zero));
        Self(_mm512_add_epi64(sum, _mm512_alignr_epi64::<4>(sum, zero)))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn last(self) -> Self {
        Self(_mm512_permutexvar_epi64(_mm512_set1_epi64(7), self.0))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn below(self, other: Self) -> u32 {
        _mm512_cmplt_epu64_mask(self.0, other.0).into()
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn equal(self, other: Self) -> u32 {
        _mm512_cmpeq_epi64_mask(self.0, other.0).into()
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn row_plan(width: u8) -> Plan {
        plan_64(width)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn row(plan: Plan, data: &[u8], group: usize) -> Self {
        Self(eight_at(&plan, data, group * plan.width))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn lanes(data: &[u8], width: u8, group: usize) -> Self {
        let first = 2 * group * usize::from(width);
        let second = first + usize::from(width);
        let (at, next) = (first / 64 * ROW, second / 64 * ROW);
        let low = rows_at(data, at, next);
        let high = rows_at(data, at + ROW, next + ROW);
        let shift = two_halves((first % 64) as i64, (second % 64) as i64);
        let shifted = _mm512_shrdv_epi64(low, high, shift);
        Self(_mm512_and_si512(shifted, _mm512_set1_epi64(mask(width) as i64)))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn vbyte(data: &[u8], count: usize) -> Option<(Self, usize)> {
        let Some(found) = vbytes(data, count) else {
            let (words, used) = vbytes_slow::<u64>(data, count)?;
            // SAFETY: The array has 16 words.
            return Some((unsafe { Self::load(words.as_ptr()) }, used));
        };
        if found.go_on == 0 {
            let bytes = _mm_maskz_mov_epi8(first_bytes(count) as u16, _mm512_castsi512_si128(found.bytes));
            return Some((Self(_mm512_cvtepu8_epi64(bytes)), found.used));
        }
        let bytes = _mm512_and_si512(found.bytes, _mm512_set1_epi8(0x7f));
        // The bytes of the integers at one place of them, and the integers that have such a byte.
        let mut places = (!found.go_on << 1 | 1) & first_bytes(found.used);
        let mut having = first_bytes(count);
        let (mut integers, mut shift) = (_mm512_setzero_si512(), 0);
        while places != 0 {
            if shift > 63 {
                return None;
            }
            let packed = _mm512_castsi512_si128(_mm512_maskz_compress_epi8(places, bytes));
            let spread = _mm_maskz_expand_epi8(having as u16, packed);
            let part = _mm512_sllv_epi64(_mm512_cvtepu8_epi64(spread), _mm512_set1_epi64(shift));
            integers = _mm512_or_si512(integers, part);
            having = _pdep_u64(_pext_u64(found.go_on, places), having);
            places = (places & found.go_on) << 1;
            shift += 7;
        }
        Some((Self(integers), found.used))
    }
}
