//! The kernels for AVX2 and AVX-512. Each returns none where the processor has neither (or, for a kernel without a form for
//! AVX2, not AVX-512).
#![allow(unsafe_code, reason = "SIMD")]

use std::{arch::x86_64::*, sync::LazyLock};

use super::{
    super::container::{Low, Word, Words},
    And, SLACK, scalar,
};

#[derive(Clone, Copy, PartialEq)]
enum Level {
    Neither,
    Avx2,
    Avx512,
}

static LEVEL: LazyLock<Level> = LazyLock::new(|| {
    let avx2 = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2");
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("avx512vpopcntdq");
    match (avx2, avx512) {
        (true, true) => Level::Avx512,
        (true, false) => Level::Avx2,
        _ => Level::Neither,
    }
});

/// A kernel whose two forms are the scalar body, compiled for more of the processor.
macro_rules! compiled_for {
    ($name:ident, $avx2:ident, $avx512:ident, ($($argument:ident: $type:ty),*) -> $result:ty) => {
        #[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
        pub(super) fn $avx2($($argument: $type),*) -> $result {
            scalar::$name($($argument),*)
        }

        #[target_feature(enable = "avx2,popcnt,bmi1,bmi2,avx512f,avx512bw,avx512vl,avx512vpopcntdq")]
        pub(super) fn $avx512($($argument: $type),*) -> $result {
            scalar::$name($($argument),*)
        }

        #[inline]
        pub(super) fn $name($($argument: $type),*) -> Option<$result> {
            match *LEVEL {
                // SAFETY: the level says that the processor has the features.
                Level::Avx512 => Some(unsafe { $avx512($($argument),*) }),
                // SAFETY: the level says that the processor has the features.
                Level::Avx2 => Some(unsafe { $avx2($($argument),*) }),
                Level::Neither => None,
            }
        }
    };
}

compiled_for!(and, and_avx2, and_avx512, (x: &Words, y: &Words, how: And, out: &mut Words) -> u32);
compiled_for!(xor, xor_avx2, xor_avx512, (x: &Words, y: &Words, flip: bool, out: &mut Words) -> u32);
compiled_for!(count, count_avx2, count_avx512, (words: &Words) -> u32);
compiled_for!(count_steps, count_steps_avx2, count_steps_avx512, (list: &[Low]) -> usize);
compiled_for!(count_runs, count_runs_avx2, count_runs_avx512, (words: &Words) -> u32);

pub(super) fn keep(x: &[Low], y: &[Low], wanted: bool, out: &mut [Low]) -> Option<usize> {
    match *LEVEL {
        // SAFETY: the level says that the processor has the features.
        Level::Avx512 => Some(unsafe { keep_avx512(x, y, wanted, out) }),
        // SAFETY: the level says that the processor has the features.
        Level::Avx2 => Some(unsafe { keep_avx2(x, y, wanted, out) }),
        Level::Neither => None,
    }
}

/// There is no form for AVX2.
pub(super) fn union(a: &[Low], b: &[Low], out: &mut [Low]) -> Option<usize> {
    // SAFETY: the level says that the processor has the features.
    (*LEVEL == Level::Avx512).then(|| unsafe { union_avx512(a, b, out) })
}

/// The scalar loop, a bit a step, is the form for AVX2.
pub(super) fn decode(words: &[Word], base: u16, flip: bool, out: &mut [Low]) -> Option<usize> {
    // SAFETY: the level says that the processor has the features.
    (*LEVEL == Level::Avx512).then(|| unsafe { decode_avx512(words, base, flip, out) })
}

/// Which of 32 elements are equal to one of `few`. Comparisons of 256 bits, because those of 512 bits make masks, of which
/// a processor makes fewer in a cycle.
#[target_feature(enable = "avx2,popcnt,bmi1,bmi2,avx512f,avx512bw,avx512vl,avx512vbmi2")]
#[inline]
fn equal_to_any(lows: __m512i, few: &[Low]) -> u32 {
    let halves = [_mm512_castsi512_si256(lows), _mm512_extracti64x4_epi64(lows, 1)];
    let mut found = [_mm256_setzero_si256(); 2];
    for low in few {
        let low = _mm256_set1_epi16(i16::from_le_bytes(*low));
        for (found, half) in found.iter_mut().zip(halves) {
            *found = _mm256_or_si256(*found, _mm256_cmpeq_epi16(half, low));
        }
    }
    _mm256_movepi16_mask(found[0]) as u32 | (_mm256_movepi16_mask(found[1]) as u32) << 16
}

/// Compares a block of `x` with eight elements of `y` at a time, then goes on in the one that ends first. Each element of `x`
/// is written at most once, whatever the order of damaged lists.
#[target_feature(enable = "avx2,popcnt,bmi1,bmi2,avx512f,avx512bw,avx512vl,avx512vbmi2")]
pub(super) fn keep_avx512(x: &[Low], y: &[Low], wanted: bool, out: &mut [Low]) -> usize {
    let (mut in_x, mut at, mut len, mut found) = (0, 0, 0, 0);
    // No branch depends on the elements.
    while let (Some(block), Some(eight)) = (x[in_x..].first_chunk::<32>(), y[at..].first_chunk::<8>()) {
        // SAFETY: `block` is the 64 bytes that are loaded.
        let lows = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
        found |= equal_to_any(lows, eight);
        let (last_x, last_y) = (u16::from_le_bytes(block[31]), u16::from_le_bytes(eight[7]));
        let done = last_x <= last_y;
        let kept = if wanted { found } else { !found };
        store_kept(kept, lows, &mut out[len..]);
        len += if done { kept.count_ones() as usize } else { 0 };
        found = if done { 0 } else { found };
        in_x += if done { 32 } else { 0 };
        at += if last_y <= last_x { 8 } else { 0 };
    }
    for block in x[in_x..].chunks(32) {
        let lanes = u32::MAX >> (32 - block.len());
        // SAFETY: the mask leaves out the lanes that are not in the block.
        let lows = unsafe { _mm512_maskz_loadu_epi16(lanes, block.as_ptr().cast()) };
        let last = u16::from_le_bytes(block[block.len() - 1]);
        while let Some(eight) = y[at..].first_chunk::<8>() {
            found |= equal_to_any(lows, eight);
            if u16::from_le_bytes(eight[7]) > last {
                break;
            }
            at += 8;
        }
        if y.len() - at < 8 {
            found |= equal_to_any(lows, &y[at..]);
        }
        let kept = if wanted { found } else { !found } & lanes;
        store_kept(kept, lows, &mut out[len..]);
        len += kept.count_ones() as usize;
        found = 0;
    }
    len
}

/// Stores the lanes of a mask, packed, and anything behind them.
#[target_feature(enable = "avx2,popcnt,bmi1,bmi2,avx512f,avx512bw,avx512vl,avx512vbmi2")]
#[inline]
fn store_kept(kept: u32, lows: __m512i, out: &mut [Low]) {
    let room: &mut [Low; 32] = out.first_chunk_mut().expect("slack");
    // SAFETY: `room` is the 64 bytes that are stored.
    unsafe { _mm512_storeu_si512(room.as_mut_ptr().cast(), _mm512_maskz_compress_epi16(kept, lows)) };
}

/// As [`keep_avx512`], 16 elements of `x` at a time.
#[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
pub(super) fn keep_avx2(x: &[Low], y: &[Low], wanted: bool, out: &mut [Low]) -> usize {
    let (mut at, mut len) = (0, 0);
    for block in x.chunks(16) {
        let mut padded = [[0; 2]; 16];
        padded[..block.len()].copy_from_slice(block);
        // SAFETY: `padded` is the 32 bytes that are loaded.
        let lows = unsafe { _mm256_loadu_si256(padded.as_ptr().cast()) };
        let last = u16::from_le_bytes(block[block.len() - 1]);
        let equal = |low: &Low| _mm256_cmpeq_epi16(lows, _mm256_set1_epi16(i16::from_le_bytes(*low)));
        let either = |found, low| _mm256_or_si256(found, equal(low));
        let mut found = _mm256_setzero_si256();
        while let Some(eight) = y[at..].first_chunk::<8>() {
            found = eight.iter().fold(found, either);
            if u16::from_le_bytes(eight[7]) > last {
                break;
            }
            at += 8;
        }
        if y.len() - at < 8 {
            found = y[at..].iter().fold(found, either);
        }
        let found = _mm256_movemask_epi8(found) as u32;
        for (lane, &low) in block.iter().enumerate() {
            out[len] = low;
            len += usize::from((found >> (2 * lane) & 1 != 0) == wanted);
        }
    }
    len
}

/// Merges two lists, each in blocks of 32, by a bitonic network; the tails as the scalar form does. After Inoue, Taura,
/// "SIMD- and cache-friendly algorithm for sorting an array of structures" (2015), as Roaring does with blocks of 8.
#[target_feature(enable = "avx2,popcnt,bmi1,bmi2,avx512f,avx512bw,avx512vl,avx512vbmi2")]
pub(super) fn union_avx512(a: &[Low], b: &[Low], out: &mut [Low]) -> usize {
    let (Some(first_a), Some(first_b)) = (a.first_chunk::<32>(), b.first_chunk::<32>()) else {
        return scalar::union(a, b, out);
    };
    // SAFETY: a chunk is the 64 bytes that are loaded.
    let load = |chunk: &[Low; 32]| unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) };
    let (mut rest_a, mut rest_b) = (&a[32..], &b[32..]);
    let (mut low, mut high) = merge_blocks(load(first_a), load(first_b));
    // Below the first element there is none: anything but it.
    let first = u16::from_le_bytes(a[0]).min(u16::from_le_bytes(b[0]));
    let mut before = _mm512_set1_epi16(!first as i16);
    let mut len = 0;
    loop {
        let kept = new_lanes(before, low);
        store_kept(kept, low, &mut out[len..]);
        len += kept.count_ones() as usize;
        before = low;
        let a_next = match (rest_a.first(), rest_b.first()) {
            (Some(a), Some(b)) => u16::from_le_bytes(*a) <= u16::from_le_bytes(*b),
            _ => break,
        };
        let rest = if a_next { &mut rest_a } else { &mut rest_b };
        let Some((block, behind)) = rest.split_first_chunk::<32>() else { break };
        *rest = behind;
        (low, high) = merge_blocks(high, load(block));
    }
    let mut carried = [[0; 2]; 32];
    let kept = new_lanes(before, high);
    store_kept(kept, high, &mut carried);
    let carried = &carried[..kept.count_ones() as usize];
    // What was last written may be the next of either list.
    let last = out[len - 1];
    let skip = |rest: &mut &[Low]| *rest = &rest[usize::from(rest.first() == Some(&last))..];
    skip(&mut rest_a);
    skip(&mut rest_b);
    let (short, long) = if rest_a.len() < rest_b.len() { (rest_a, rest_b) } else { (rest_b, rest_a) };
    let mut merged = [[0; 2]; 64];
    if short.len() < 32 {
        let both = scalar::union(carried, short, &mut merged);
        len + scalar::union(&merged[..both], long, &mut out[len..])
    } else {
        // Only where neither list is out of order is one of them nearly at its end.
        len
    }
}

/// The lower and the upper half of two sorted blocks, sorted.
#[target_feature(enable = "avx2,popcnt,bmi1,bmi2,avx512f,avx512bw,avx512vl,avx512vbmi2")]
#[inline]
fn merge_blocks(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
    let reversed = _mm512_permutexvar_epi16(lanes(|lane| 31 - lane), b);
    let mut halves = [_mm512_min_epu16(a, reversed), _mm512_max_epu16(a, reversed)];
    for half in &mut halves {
        // Each half is bitonic: exchange at distances 16, 8, 4, 2, 1.
        let far = _mm512_shuffle_i64x2(*half, *half, 0b01_00_11_10);
        *half = _mm512_mask_max_epu16(_mm512_min_epu16(*half, far), 0xffff_0000, *half, far);
        let far = _mm512_shuffle_i64x2(*half, *half, 0b10_11_00_01);
        *half = _mm512_mask_max_epu16(_mm512_min_epu16(*half, far), 0xff00_ff00, *half, far);
        let far = _mm512_shuffle_epi32(*half, 0b01_00_11_10);
        *half = _mm512_mask_max_epu16(_mm512_min_epu16(*half, far), 0xf0f0_f0f0, *half, far);
        let far = _mm512_shuffle_epi32(*half, 0b10_11_00_01);
        *half = _mm512_mask_max_epu16(_mm512_min_epu16(*half, far), 0xcccc_cccc, *half, far);
        let far = _mm512_rol_epi32(*half, 16);
        *half = _mm512_mask_max_epu16(_mm512_min_epu16(*half, far), 0xaaaa_aaaa, *half, far);
    }
    (halves[0], halves[1])
}

/// The lanes that differ from the lane before; the first from the last of `before`.
#[target_feature(enable = "avx2,popcnt,bmi1,bmi2,avx512f,avx512bw,avx512vl,avx512vbmi2")]
#[inline]
fn new_lanes(before: __m512i, block: __m512i) -> u32 {
    _mm512_cmpneq_epi16_mask(block, _mm512_permutex2var_epi16(before, lanes(|lane| lane + 31), block))
}

/// A number for each lane.
#[target_feature(enable = "avx2,popcnt,bmi1,bmi2,avx512f,avx512bw,avx512vl,avx512vbmi2")]
#[inline]
fn lanes(of: impl Fn(u16) -> u16) -> __m512i {
    let lanes: [u16; 32] = std::array::from_fn(|lane| of(lane as u16));
    // SAFETY: `lanes` is the 64 bytes that are loaded.
    unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
}

/// Packs the numbers 0 to 31, shifted to where they are, by each half word.
#[target_feature(enable = "avx2,popcnt,bmi1,bmi2,avx512f,avx512bw,avx512vl,avx512vbmi2")]
pub(super) fn decode_avx512(words: &[Word], base: u16, flip: bool, out: &mut [Low]) -> usize {
    let numbers = lanes(|lane| lane);
    let flip = if flip { !0 } else { 0 };
    let mut first = base as i16;
    let mut len = 0;
    for word in words {
        let Some(room) = out.get_mut(len..).and_then(|out| out.first_chunk_mut::<{ 64 + SLACK }>()) else {
            break;
        };
        let word = u64::from_le_bytes(*word) ^ flip;
        let (low, high) = (word as u32, (word >> 32) as u32);
        let behind_low = low.count_ones() as usize;
        let lows = _mm512_add_epi16(numbers, _mm512_set1_epi16(first));
        let highs = _mm512_add_epi16(numbers, _mm512_set1_epi16(first.wrapping_add(32)));
        let to = room.as_mut_ptr();
        // SAFETY: `room` has 96 elements; 32 are stored at 0 and 32 at `behind_low`, which is at most 32.
        unsafe {
            _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi16(low, lows));
            _mm512_storeu_si512(to.add(behind_low).cast(), _mm512_maskz_compress_epi16(high, highs));
        }
        len += word.count_ones() as usize;
        first = first.wrapping_add(64);
    }
    len
}

/// A form of `keep`, and whether this processor has it.
#[cfg(test)]
pub(super) type KeepForm = (bool, fn(&[Low], &[Low], bool, &mut [Low]) -> usize);

/// A form of `and`, and whether this processor has it.
#[cfg(test)]
pub(super) type AndForm = (bool, fn(&Words, &Words, And, &mut Words) -> u32);

#[cfg(test)]
pub(super) fn keep_forms() -> [KeepForm; 2] {
    [
        // SAFETY: the test calls only forms that the level allows.
        (*LEVEL != Level::Neither, |x, y, wanted, out| unsafe { keep_avx2(x, y, wanted, out) }),
        // SAFETY: the test calls only forms that the level allows.
        (*LEVEL == Level::Avx512, |x, y, wanted, out| unsafe { keep_avx512(x, y, wanted, out) }),
    ]
}

#[cfg(test)]
pub(super) fn and_forms() -> [AndForm; 2] {
    [
        // SAFETY: the test calls only forms that the level allows.
        (*LEVEL != Level::Neither, |x, y, how, out| unsafe { and_avx2(x, y, how, out) }),
        // SAFETY: the test calls only forms that the level allows.
        (*LEVEL == Level::Avx512, |x, y, how, out| unsafe { and_avx512(x, y, how, out) }),
    ]
}
