//! Whole blocks of `u32` in lanes: 32 rows, unrolled for each width, so that every shift is a constant.

use std::arch::x86_64::*;

use crate::integer::{
    bits::{Packing, ROW, mask},
    scalar::on_line,
};

/// Rows of a whole block, and its integers: the last lane of the last row has none.
const ROWS: usize = 32;
const INTEGERS: usize = 255;

/// What is done with each row.
trait Visit {
    /// # Safety
    /// The machine has AVX2.
    unsafe fn visit(&mut self, row: usize, integers: __m256i);
}

/// Eight lanes, all but the last of which are taken.
#[inline]
#[target_feature(enable = "avx2")]
fn all_but_last() -> __m256i {
    _mm256_setr_epi32(-1, -1, -1, -1, -1, -1, -1, 0)
}

/// Visits the rows of `data`.
///
/// # Safety
/// The machine has AVX2.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn rows<const WIDTH: usize>(data: &[u8], visit: &mut impl Visit) {
    let data = &data[..WIDTH * ROW];
    macro_rules! row {
        ($($row:literal)*) => {$({
            let (at, shift) = ($row * WIDTH / 32, $row * WIDTH % 32);
            // SAFETY: The last bit of the last row is in row `WIDTH - 1` of `data`; without width nothing is read.
            let word = |at: usize| unsafe { _mm256_loadu_si256(data.as_ptr().add(at * ROW).cast()) };
            let mut integers = _mm256_setzero_si256();
            if WIDTH > 0 {
                integers = _mm256_srlv_epi32(word(at), _mm256_set1_epi32(shift as i32));
                if shift + WIDTH > 32 {
                    let high = _mm256_sllv_epi32(word(at + 1), _mm256_set1_epi32(32 - shift as i32));
                    integers = _mm256_or_si256(integers, high);
                }
                if shift + WIDTH != 32 {
                    integers = _mm256_and_si256(integers, _mm256_set1_epi32(mask(WIDTH as u8) as i32));
                }
            }
            // SAFETY: The caller's.
            unsafe { visit.visit($row, integers) };
        })*};
    }
    row!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
}

/// Writes the values behind the first.
struct Decode<'o> {
    out: &'o mut [u32; INTEGERS],
    /// The line at the lanes of the row, and how much it rises to the next row.
    line: __m256i,
    rise: __m256i,
}

impl Visit for Decode<'_> {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn visit(&mut self, row: usize, integers: __m256i) {
        let values = _mm256_add_epi32(integers, self.line);
        let to = self.out[row * 8..].as_mut_ptr();
        // SAFETY: All rows but the last have eight integers, that has seven.
        unsafe {
            if row < ROWS - 1 {
                _mm256_storeu_si256(to.cast(), values);
            } else {
                // A masked write would be slower than two that overlap.
                let behind = _mm256_permutevar8x32_epi32(values, _mm256_setr_epi32(3, 4, 5, 6, 3, 4, 5, 6));
                _mm_storeu_si128(to.cast(), _mm256_castsi256_si128(values));
                _mm_storeu_si128(to.add(3).cast(), _mm256_castsi256_si128(behind));
            }
        }
        self.line = _mm256_add_epi32(self.line, self.rise);
    }
}

/// Adds up.
struct Sum<const WIDTH: usize> {
    /// 32-bit lanes if 32 integers do not carry out of them; else 64-bit lanes of the even and the odd integers.
    sums: [__m256i; 2],
}

impl<const WIDTH: usize> Visit for Sum<WIDTH> {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn visit(&mut self, row: usize, integers: __m256i) {
        let integers = if row < ROWS - 1 { integers } else { _mm256_and_si256(integers, all_but_last()) };
        let [even, odd] = self.sums;
        self.sums = if WIDTH <= 27 {
            [_mm256_add_epi32(even, integers), odd]
        } else {
            let low = _mm256_blend_epi32::<0b1010_1010>(integers, _mm256_setzero_si256());
            [_mm256_add_epi64(even, low), _mm256_add_epi64(odd, _mm256_srli_epi64::<32>(integers))]
        };
    }
}

#[target_feature(enable = "avx2")]
unsafe fn decode_width<const WIDTH: usize>(
    first: u32,
    packing: Packing,
    data: &[u8],
    out: &mut [u32; INTEGERS],
) {
    let slope = _mm256_set1_epi32(on_line(0u32, packing, 1, 0) as i32);
    let line = _mm256_mullo_epi32(slope, _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8));
    let line = _mm256_add_epi32(line, _mm256_set1_epi32(first as i32));
    let rise = _mm256_set1_epi32(on_line(0u32, packing, 8, 0) as i32);
    // SAFETY: The caller's.
    unsafe { rows::<WIDTH>(data, &mut Decode { out, line, rise }) }
}

#[target_feature(enable = "avx2")]
unsafe fn sum_width<const WIDTH: usize>(data: &[u8]) -> u64 {
    let mut sum = Sum::<WIDTH> { sums: [_mm256_setzero_si256(); 2] };
    // SAFETY: The caller's.
    unsafe { rows::<WIDTH>(data, &mut sum) };
    let [even, odd] = sum.sums;
    if WIDTH <= 27 {
        let mut words = [0u32; 8];
        // SAFETY: The array has 32 bytes.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), even) };
        return words.iter().map(|word| u64::from(*word)).sum();
    }
    let mut words = [0u64; 4];
    // SAFETY: The array has 32 bytes.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), _mm256_add_epi64(even, odd)) };
    words.iter().sum()
}

/// Calls a function with the width as a constant.
macro_rules! by_width {
    (@ $function:ident, $constant:literal, ($($argument:expr),*)) => { $function::<$constant>($($argument),*) };
    (# $width:expr => $function:ident $arguments:tt $($constant:literal)*) => {
        match $width {
            $($constant => by_width!(@ $function, $constant, $arguments),)*
            _ => by_width!(@ $function, 0, $arguments),
        }
    };
    ($width:expr => $function:ident $arguments:tt) => {
        by_width!(# $width => $function $arguments 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28
            29 30 31 32)
    };
}

/// The values behind the first of a whole block.
///
/// # Safety
/// The machine has AVX2.
#[inline]
pub(super) unsafe fn decode(first: u32, packing: Packing, data: &[u8], out: &mut [u32; INTEGERS]) {
    // SAFETY: The caller's.
    unsafe { by_width!(packing.width => decode_width(first, packing, data, out)) }
}

/// The sum of the integers of a whole block.
///
/// # Safety
/// The machine has AVX2.
#[inline]
pub(super) unsafe fn sum(width: u8, data: &[u8]) -> u64 {
    // SAFETY: The caller's.
    unsafe { by_width!(width => sum_width(data)) }
}
