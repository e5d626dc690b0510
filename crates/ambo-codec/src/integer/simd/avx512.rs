//! Vectors of 512 bits: AVX-512 with F, BW, DQ, VL, VBMI and VBMI2, and BMI2 (Ice Lake, Zen 4 and later).

use std::arch::x86_64::*;

use super::{
    lanes::Lanes,
    tables::{Controls, GapPlan, PairPlan, Sixteen, Spread},
    unrolled,
};
use crate::integer::{
    bits::{Packing, ROW, mask},
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
static GAPS: [GapPlan; 26] = GapPlan::ALL;
static PAIRS: [PairPlan; 17] = PairPlan::ALL;

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

/// The plan for lanes of 32 bits and widths that such a table has.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
fn plan_32<const WIDTHS: usize>(spread: &Spread<16, WIDTHS>, width: u8) -> Plan {
    let at = usize::from(width);
    // SAFETY: A table row has 64 and 16 bytes.
    let (bytes, shift) = unsafe {
        (
            _mm512_loadu_si512(spread.bytes[at].as_ptr().cast()),
            _mm_loadu_si128(spread.shift[at].as_ptr().cast()),
        )
    };
    Plan { width: at, bytes, shift: _mm512_cvtepu8_epi32(shift), mask: _mm512_set1_epi32(mask(width) as i32) }
}

/// What [`Sixteen`] has, in vectors.
#[derive(Clone, Copy)]
struct Unpack {
    bytes: __m512i,
    shift: __m512i,
    mask: __m512i,
}

impl Unpack {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(plan: &Sixteen) -> Self {
        // SAFETY: Each has 64 bytes.
        let (bytes, shift, mask) = unsafe {
            (
                _mm512_load_si512(plan.bytes.as_ptr().cast()),
                _mm512_load_si512(plan.shift.as_ptr().cast()),
                _mm512_load_si512(plan.mask.as_ptr().cast()),
            )
        };
        // The compiler would compare each shift with 32 if it could not see that they are smaller.
        Self { bytes, shift: _mm512_and_si512(shift, _mm512_set1_epi32(7)), mask }
    }

    /// The integers in the bytes from `at` on.
    ///
    /// # Safety
    /// The machine has the instructions, and `data` 64 bytes from `at` on.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    unsafe fn at(&self, data: &[u8], at: usize) -> __m512i {
        // SAFETY: The caller's.
        let bytes = unsafe { _mm512_loadu_epi8(data.as_ptr().add(at).cast()) };
        let spread = _mm512_permutexvar_epi8(self.bytes, bytes);
        _mm512_and_si512(_mm512_srlv_epi32(spread, self.shift), self.mask)
    }
}

/// A whole block of gaps, whose values are written in whole vectors: the first one begins with `first`. `false` if the
/// width or what lies behind the block does not allow it.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
unsafe fn gap_row(first: u32, packing: Packing, data: &[u8], out: &mut [u32; 128]) -> bool {
    let width = usize::from(packing.width);
    if width > 25 || data.len() < 14 * width + 64 {
        return false;
    }
    let least = packing.step.wrapping_add(1) as u32;
    // SAFETY: The machine has the instructions, and nothing is read from byte `14 * width` on but 64 bytes.
    unsafe {
        if width <= 16 {
            gap_pairs(first, least, packing.width, data, out);
        } else {
            gaps(first, least, packing.width, data, out);
        }
    }
    true
}

/// `first + slope * lane`.
#[inline]
#[target_feature(enable = "avx512f")]
fn line_32(first: u32, slope: u32) -> __m512i {
    let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let rise = _mm512_mullo_epi32(lanes, _mm512_set1_epi32(slope as i32));
    _mm512_add_epi32(rise, _mm512_set1_epi32(first as i32))
}

/// As [`gap_row`], a vector at a time. `least` of each gap is added as a line.
///
/// # Safety
/// As it says.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
unsafe fn gaps(first: u32, least: u32, width: u8, data: &[u8], out: &mut [u32; 128]) {
    let to = out.as_mut_ptr();
    let width = usize::from(width);
    let plan = &GAPS[width];
    let rise = line_32(least, least);
    let base = _mm512_add_epi32(rise, _mm512_set1_epi32(first.wrapping_sub(least) as i32));
    // SAFETY: The caller's; `out` has eight vectors.
    unsafe {
        let mut values = Words32(Unpack::new(&plan.first).at(data, 0)).prefix_sum().add(Words32(base));
        values.store(to);
        let next = Unpack::new(&plan.next);
        for vector in 0..7 {
            let base = values.last().add(Words32(rise));
            let integers = next.at(data, 15 * width / 8 + 2 * width * vector);
            values = Words32(integers).prefix_sum().add(base);
            values.store(to.add((vector + 1) * 16));
        }
    }
}

/// As [`gap_row`], two vectors at a time: one of the even values' gaps and one of the odd ones', so that they are summed in
/// pairs and one prefix sum does for both. 32 integers have to fit a vector.
///
/// # Safety
/// As it says, and `width` is at most 16.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
unsafe fn gap_pairs(first: u32, least: u32, width: u8, data: &[u8], out: &mut [u32; 128]) {
    let to = out.as_mut_ptr();
    let width = usize::from(width);
    let plan = &PAIRS[width];
    let low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    let high = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    let leasts = _mm512_set1_epi32(least as i32);
    // The line of the odd values: from one pair of vectors to the next, and in the first one.
    let twice = least.wrapping_mul(2);
    let rise = line_32(twice, twice);
    let mut base = _mm512_add_epi32(rise, _mm512_set1_epi32(first.wrapping_sub(least) as i32));
    // SAFETY: The caller's; `out` has four pairs of vectors.
    unsafe {
        let (even_plan, odd_plan) = (Unpack::new(&plan.even), Unpack::new(&plan.odd));
        let mut even = Unpack::new(&plan.first).at(data, 0);
        // From memory, as the compiler would make two shuffles of a lane that it knows.
        let last = _mm512_load_si512(plan.last.as_ptr().cast());
        for pair in 0..4 {
            let odd = odd_plan.at(data, 4 * width * pair);
            let sums = Words32(_mm512_add_epi32(even, odd)).prefix_sum();
            let odd_values = _mm512_add_epi32(sums.0, base);
            let even_values = _mm512_sub_epi32(odd_values, _mm512_add_epi32(odd, leasts));
            let to = to.add(32 * pair);
            Words32(_mm512_permutex2var_epi32(even_values, low, odd_values)).store(to);
            Words32(_mm512_permutex2var_epi32(even_values, high, odd_values)).store(to.add(16));
            if pair < 3 {
                even = even_plan.at(data, 31 * width / 8 + 4 * width * pair);
                base = _mm512_add_epi32(_mm512_permutexvar_epi32(last, odd_values), rise);
            }
        }
    }
}

/// The sum of the sums of the first 1, 2, … 127 of the integers of a whole block of gaps; of a block that [`gap_row`] does not
/// take: `None`.
///
/// # Safety
/// The machine has the instructions.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
unsafe fn sum_gap_row(width: u8, data: &[u8]) -> Option<u64> {
    let bytes = usize::from(width);
    if width > 25 || data.len() < 14 * bytes + 64 {
        return None;
    }
    let (first, next) = (Unpack::new(&GAPS[bytes].first), Unpack::new(&GAPS[bytes].next));
    // SAFETY: 64 bytes from there on are in `data`; the rest is the caller's.
    let mut lanes = unsafe { first.at(data, 0) };
    // The sum of `lanes` after each vector: at most 36 integers of 25 bits.
    let mut running = lanes;
    for vector in 0..7 {
        // SAFETY: As above.
        lanes = _mm512_add_epi32(lanes, unsafe { next.at(data, 15 * bytes / 8 + 2 * bytes * vector) });
        running = _mm512_add_epi32(running, lanes);
    }
    // The gap before value `16 * k + l` is in `128 - 16 * k - l` sums, and `8 - k` times in `running`.
    let lane = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    let too_often = _mm512_mul_epu32(lanes, lane);
    let next_lane = _mm512_add_epi64(lane, _mm512_set1_epi64(1));
    let odd_too_often = _mm512_mul_epu32(_mm512_srli_epi64::<32>(lanes), next_lane);
    let even = _mm512_and_si512(running, _mm512_set1_epi64(0xffff_ffff));
    let sums = _mm512_slli_epi64::<4>(_mm512_add_epi64(even, _mm512_srli_epi64::<32>(running)));
    let sums = _mm512_sub_epi64(sums, _mm512_add_epi64(too_often, odd_too_often));
    Some(_mm512_reduce_add_epi64(sums) as u64)
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

/// The `count` integers of seven bits a byte that `data` begins with, if each is one byte.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
fn small(data: &[u8], count: usize) -> Option<__m128i> {
    let wanted = first_bytes(count) as u16;
    let from = data.as_ptr().cast();
    let bytes = if data.len() >= 16 {
        // SAFETY: 16 bytes are there.
        unsafe { _mm_maskz_mov_epi8(wanted, _mm_loadu_si128(from)) }
    } else if data.len() >= count {
        // SAFETY: Bytes that are masked are not read; the others are in `data`.
        unsafe { _mm_maskz_loadu_epi8(wanted, from.cast()) }
    } else {
        return None;
    };
    (_mm_movepi8_mask(bytes) == 0).then_some(bytes)
}

/// Sixteen integers of seven bits a byte. Those of at most four bytes are spread to four bytes each, whose
/// sevens are multiplied together.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
fn vbyte_32(data: &[u8], count: usize) -> Option<(__m512i, usize)> {
    if let Some(VBytes { bytes, go_on, used }) = vbytes(data, count) {
        // The bytes at each place of their integers, and which integers have one there.
        let first = (!go_on << 1 | 1) & first_bytes(used);
        let second = (first & go_on) << 1;
        let third = (second & go_on) << 1;
        let fourth = (third & go_on) << 1;
        if fourth & go_on == 0 {
            let has_first = first_bytes(count);
            let has_second = _pext_u64(go_on, first);
            let has_third = _pdep_u64(_pext_u64(go_on, second), has_second);
            let has_fourth = _pdep_u64(_pext_u64(go_on, third), has_third);
            let slots = _pdep_u64(has_first, 0x1111_1111_1111_1111)
                | _pdep_u64(has_second, 0x2222_2222_2222_2222)
                | _pdep_u64(has_third, 0x4444_4444_4444_4444)
                | _pdep_u64(has_fourth, 0x8888_8888_8888_8888);
            let spread = _mm512_maskz_expand_epi8(slots, _mm512_and_si512(bytes, _mm512_set1_epi8(0x7f)));
            // 128 is a factor without sign, so the factors are the first argument.
            let pairs = _mm512_maddubs_epi16(_mm512_set1_epi16(0x8001u16 as i16), spread);
            return Some((_mm512_madd_epi16(pairs, _mm512_set1_epi32(0x4000_0001)), used));
        }
    }
    let (words, used) = vbytes_slow::<u32>(data, count)?;
    // SAFETY: The array has 16 words.
    Some((unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }, used))
}

/// Eight integers of seven bits a byte. The sevens of those of at most eight bytes are extracted one by one, but
/// where they end is found at once.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
fn vbyte_64(data: &[u8], count: usize) -> Option<(__m512i, usize)> {
    const SEVENS: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    if data.len() >= 64 + 8 {
        // SAFETY: 64 bytes are there.
        let go_on = _mm512_movepi8_mask(unsafe { _mm512_loadu_epi8(data.as_ptr().cast()) });
        let mut ends = !go_on;
        let (mut words, mut begin, mut short) = ([0u64; 8], 0, ends.count_ones() as usize >= count);
        for word in words.iter_mut().take(count) {
            let end = ends.trailing_zeros() as usize + 1;
            ends &= ends.wrapping_sub(1);
            let length = end.wrapping_sub(begin);
            short &= length <= 8;
            // SAFETY: `begin` is at most 64 and 8 more bytes are there.
            let bytes = unsafe { data.as_ptr().add(begin.min(64)).cast::<u64>().read_unaligned() };
            *word = _pext_u64(bytes, _bzhi_u64(SEVENS, 8 * length as u32));
            begin = end;
        }
        if short {
            // SAFETY: The array has 8 words.
            return Some((unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }, begin));
        }
    }
    let (words, used) = vbytes_slow::<u64>(data, count)?;
    // SAFETY: The array has 16 words.
    Some((unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }, used))
}

/// The methods that are the same for both words.
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

    #[inline(always)]
    unsafe fn decode_gap_row(first: u32, packing: Packing, data: &[u8], out: &mut [u32]) -> bool {
        let Ok(out) = out.try_into() else { return false };
        // SAFETY: The caller's.
        unsafe { gap_row(first, packing, data, out) }
    }

    #[inline(always)]
    unsafe fn decode_lanes(first: u32, packing: Packing, data: &[u8], out: &mut [u32]) -> bool {
        let Ok(out) = out.try_into() else { return false };
        // SAFETY: The caller's.
        unsafe { unrolled::decode(first, packing, data, out) };
        true
    }

    #[inline(always)]
    unsafe fn sum_gap_row(width: u8, data: &[u8], count: usize) -> Option<u64> {
        // SAFETY: The caller's.
        if count == 127 { unsafe { sum_gap_row(width, data) } } else { None }
    }

    #[inline(always)]
    unsafe fn sum_lanes(width: u8, data: &[u8], count: usize) -> Option<u64> {
        // SAFETY: The caller's.
        (count == 255).then(|| unsafe { unrolled::sum(width, data) })
    }

    common!();

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn splat(word: u32) -> Self {
        Self(_mm512_set1_epi32(word as i32))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn line(first: u32, slope: u32) -> Self {
        Self(line_32(first, slope))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn keep_first(self, count: usize) -> Self {
        Self(_mm512_maskz_mov_epi32(first_bytes(count) as u16, self.0))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn store_first(self, to: *mut u32, count: usize) {
        // SAFETY: Lanes that are masked are not written; for the others `to` has room.
        unsafe { _mm512_mask_storeu_epi32(to.cast(), first_bytes(count) as u16, self.0) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn add(self, other: Self) -> Self {
        Self(_mm512_add_epi32(self.0, other.0))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn total(self) -> u32 {
        _mm512_reduce_add_epi32(self.0) as u32
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
        if width > 25 { plan_64(width) } else { plan_32(&SPREAD_32, width) }
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
        if let Some(bytes) = small(data, count) {
            return Some((Self(_mm512_cvtepu8_epi32(bytes)), count));
        }
        vbyte_32(data, count).map(|(integers, used)| (Self(integers), used))
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
    unsafe fn line(first: u64, slope: u64) -> Self {
        let lanes = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
        let rise = _mm512_mullo_epi64(lanes, _mm512_set1_epi64(slope as i64));
        Self(_mm512_add_epi64(rise, _mm512_set1_epi64(first as i64)))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn keep_first(self, count: usize) -> Self {
        Self(_mm512_maskz_mov_epi64(first_bytes(count) as u8, self.0))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn store_first(self, to: *mut u64, count: usize) {
        // SAFETY: Lanes that are masked are not written; for the others `to` has room.
        unsafe { _mm512_mask_storeu_epi64(to.cast(), first_bytes(count) as u8, self.0) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn add(self, other: Self) -> Self {
        Self(_mm512_add_epi64(self.0, other.0))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn total(self) -> u64 {
        _mm512_reduce_add_epi64(self.0) as u64
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
        if let Some(bytes) = small(data, count) {
            return Some((Self(_mm512_cvtepu8_epi64(bytes)), count));
        }
        vbyte_64(data, count).map(|(integers, used)| (Self(integers), used))
    }
}
