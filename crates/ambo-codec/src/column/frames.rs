//! Frames of reference: codes in vectors of 1,024, each vector with a base of its own and only as many bits as its
//! largest difference from it needs.
//!
//! # Format
//! With `v = ceil(count / 1024)` vectors and codes of `s` bytes:
//!
//! | part | bytes | meaning |
//! |---|---|---|
//! | widths | v | the bits of each vector's differences, at most `8 s` |
//! | bases | v × s | the least code of each vector |
//! | differences | any | each vector packed as in [`super::bits`], one behind the other |
//!
//! The length follows from the widths, so it is not stored. An outlier widens one vector alone.
//!
//! Example: the codes 1000, 1003, 1001 of 2 bytes are `02`, `E8 03` and a row of 128 bytes, `00 03 01 00 … 00`.

use std::{marker::PhantomData, ops::Range};

use super::{
    BitsView, Code, VECTOR,
    bits::{self, Lanes, ROW, low_bits, packed_len, width_of},
    compare,
    ranges::{self, Point, Ranges, Verdict},
    simd::{self, Kernel, Level},
};
use crate::{Error, Result};

/// Codes under frames of reference.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frames<'a, C> {
    /// Widths, bases and differences: one slice, for blocks that are read for one value are moved as much as they are read.
    bytes: &'a [u8],
    count: usize,
    code: PhantomData<C>,
}

/// The least and the largest of some codes; not empty.
#[inline]
pub(crate) fn bounds<C: Code>(codes: &[C]) -> (C, C) {
    simd::run(Bounds(codes))
}

struct Bounds<'a, C>(&'a [C]);

impl<C: Code> Kernel for Bounds<'_, C> {
    type Output = (C, C);

    #[inline(always)]
    fn run(self, _: Level) -> (C, C) {
        self.0.iter().fold((C::MAX, C::default()), |(low, high), &code| (low.min(code), high.max(code)))
    }
}

/// Appends `codes` under frames of reference.
pub(crate) fn encode<C: Code>(codes: &[C], out: &mut Vec<u8>) {
    let frame = |codes: &[C]| {
        let (low, high) = bounds(codes);
        (low, width_of(high.sub(low).widen()))
    };
    let frames: Vec<(C, u32)> = codes.chunks(VECTOR).map(frame).collect();
    out.extend(frames.iter().map(|frame| frame.1 as u8));
    frames.iter().for_each(|frame| frame.0.write(out));
    for (codes, &(base, width)) in codes.chunks(VECTOR).zip(&frames) {
        bits::pack_above(codes, base, width, out);
    }
}

/// The bytes that [`encode`] appends.
pub(crate) fn encoded_len<C: Code>(codes: &[C]) -> usize {
    let frame = |codes: &[C]| {
        let (low, high) = bounds(codes);
        1 + C::SIZE + packed_len(codes.len(), width_of(high.sub(low).widen()))
    };
    codes.chunks(VECTOR).map(frame).sum()
}

impl<'a, C: Code + Point> Frames<'a, C> {
    /// Takes `count` codes from the front of `bytes`.
    pub(crate) fn parse(bytes: &mut &'a [u8], count: usize) -> Result<Self> {
        let cut = Error::malformed(0, "frames of reference are cut off");
        let vectors = count.div_ceil(VECTOR);
        let widths = bytes.get(..vectors).ok_or(cut.clone())?;
        if widths.iter().any(|&width| u32::from(width) > C::BITS) {
            return Err(Error::malformed(0, "differences wider than their codes"));
        }
        let len = match widths.split_last() {
            Some((&last, full)) => {
                start_of(full, full.len()) + packed_len(count - full.len() * VECTOR, last.into())
            }
            None => 0,
        };
        let (whole, rest) = bytes.split_at_checked(vectors * (1 + C::SIZE) + len).ok_or(cut)?;
        *bytes = rest;
        Ok(Self { bytes: whole, count, code: PhantomData })
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    #[inline(always)]
    fn vectors(&self) -> usize {
        self.count.div_ceil(VECTOR)
    }

    #[inline(always)]
    fn base(&self, index: usize) -> C {
        C::read(&self.bytes[self.vectors() + index * C::SIZE..])
    }

    /// The base, the width and the bytes of vector `index`.
    #[inline(always)]
    pub(crate) fn frame(&self, index: usize) -> (C, u32, &'a [u8]) {
        let vectors = self.vectors();
        let start = vectors * (1 + C::SIZE) + start_of(self.bytes, index);
        (self.base(index), self.bytes[..vectors][index].into(), &self.bytes[start..])
    }

    /// The code of vector `index`, if all of them are equal.
    #[inline]
    pub(crate) fn constant(&self, index: usize) -> Option<C> {
        (self.bytes[..self.vectors()][index] == 0).then(|| self.base(index))
    }

    /// Code `index`. Panics when there is none.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> C {
        assert!(index < self.count);
        let (base, width, packed) = self.frame(index / VECTOR);
        base.add(C::truncate(bits::get_in_vector(packed, width, index % VECTOR)))
    }

    /// Asks for the memory of code `index`, if there is one.
    #[inline]
    pub(crate) fn prefetch(&self, index: usize) {
        if index < self.count {
            let (_, width, packed) = self.frame(index / VECTOR);
            bits::prefetch_in_vector(packed, width, index % VECTOR);
        }
    }

    /// Writes `map(code)` for the codes of `range` to `out`, of the same length.
    pub(crate) fn decode<T, F: Map<C, T>>(&self, range: Range<usize>, out: &mut [T], map: F) {
        assert!(range.start <= range.end && range.end <= self.count && range.len() == out.len());
        simd::run(Decode { frames: *self, range, out, map });
    }

    /// Clears the bits of `mask` whose codes are not in `set`.
    pub(crate) fn filter(&self, set: &Ranges<C>, mask: &mut [u64]) {
        simd::run(Filter { frames: *self, set, mask });
    }

    /// The sum of all codes.
    pub(crate) fn sum(&self) -> u128 {
        simd::run(Sum { frames: *self })
    }

    /// The sum of the codes whose bit is set.
    pub(crate) fn sum_of(&self, rows: BitsView<'_>) -> u128 {
        assert_eq!(rows.len(), self.count);
        simd::run(SumOf { frames: *self, rows })
    }
}

/// Where vector `index` begins among the packed bytes; all vectors before it are full.
#[inline(always)]
fn start_of(widths: &[u8], index: usize) -> usize {
    widths[..index].iter().map(|&width| usize::from(width)).sum::<usize>() * ROW
}

/// What becomes of a code as it is decoded.
pub(crate) trait Map<C, T>: Copy {
    fn map(self, code: C) -> T;
}

/// The code itself.
#[derive(Clone, Copy)]
pub(crate) struct Same;

impl<C> Map<C, C> for Same {
    #[inline(always)]
    fn map(self, code: C) -> C {
        code
    }
}

struct Decode<'a, 'o, C, T, F> {
    frames: Frames<'a, C>,
    range: Range<usize>,
    out: &'o mut [T],
    map: F,
}

impl<C: Code + Point, T, F: Map<C, T>> Kernel for Decode<'_, '_, C, T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self, level: Level) {
        let Self { frames, range, mut out, map } = self;
        let mut lanes = Lanes::new();
        for part in bits::vectors(range) {
            let (now, later) = out.split_at_mut(part.len());
            out = later;
            let (base, width, packed) = frames.frame(part.vector);
            bits::unpack_vector(packed, width, part.end, &mut lanes, level);
            if part.start == 0 {
                lanes.write(width, base, 0, now, |code| map.map(code));
            } else {
                for (index, out) in now.iter_mut().enumerate() {
                    *out = map.map(base.add(C::truncate(lanes.get(width, part.start + index))));
                }
            }
        }
    }
}

struct Filter<'a, 'm, C> {
    frames: Frames<'a, C>,
    set: &'m Ranges<C>,
    mask: &'m mut [u64],
}

impl<C: Code + Point> Kernel for Filter<'_, '_, C> {
    type Output = ();

    #[inline(always)]
    fn run(self, level: Level) {
        let Self { frames, set, mask } = self;
        let mut lanes = Lanes::new();
        for (part, mask) in bits::vectors(0..frames.count).zip(mask.chunks_mut(VECTOR / 64)) {
            if mask.iter().all(|&word| word == 0) {
                continue;
            }
            let (base, width, packed) = frames.frame(part.vector);
            // A hostile base wraps round; what the set says of that does not matter.
            let last = base.widen().saturating_add(low_bits(width)).min(C::MAX.widen());
            let last = C::truncate(last);
            match set.verdict(base, last) {
                Verdict::All => continue,
                Verdict::None => {
                    mask.fill(0);
                    continue;
                }
                Verdict::Some => {}
            }
            bits::unpack_vector(packed, width, part.end, &mut lanes, level);
            let lane = bits::lane_bits(width);
            ranges::relative(set.overlapping(base, last), base, last, |ranges| {
                compare::select(&lanes, lane, ranges, mask, level);
            });
        }
    }
}

struct Sum<'a, C> {
    frames: Frames<'a, C>,
}

impl<C: Code + Point> Kernel for Sum<'_, C> {
    type Output = u128;

    #[inline(always)]
    fn run(self, level: Level) -> u128 {
        let mut lanes = Lanes::new();
        let mut sum = 0;
        for part in bits::vectors(0..self.frames.count) {
            let (base, width, packed) = self.frames.frame(part.vector);
            sum += u128::from(base.widen()) * part.end as u128;
            if width > 0 {
                bits::unpack_vector(packed, width, part.end, &mut lanes, level);
                sum += sum_lanes(&lanes, width, part.end);
            }
        }
        sum
    }
}

struct SumOf<'a, 'r, C> {
    frames: Frames<'a, C>,
    rows: BitsView<'r>,
}

impl<C: Code + Point> Kernel for SumOf<'_, '_, C> {
    type Output = u128;

    #[inline(always)]
    fn run(self, level: Level) -> u128 {
        let mut lanes = Lanes::new();
        let mut sum = 0;
        for part in bits::vectors(0..self.frames.count) {
            let first = part.vector * (VECTOR / 64);
            let mut words = [0; VECTOR / 64];
            for (index, word) in words.iter_mut().enumerate().take(part.end.div_ceil(64)) {
                *word = self.rows.word(first + index);
            }
            let count = words.iter().map(|word| word.count_ones()).sum::<u32>();
            let (base, width, packed) = self.frames.frame(part.vector);
            sum += u128::from(base.widen()) * u128::from(count);
            if width > 0 && count > 0 {
                bits::unpack_vector(packed, width, part.end, &mut lanes, level);
                // Lanes behind the last row are any, and their bits are zero.
                sum += sum_selected(&lanes, width, &words);
            }
        }
        sum
    }
}

/// Lanes that are summed side by side: whole registers are added, and put together at the end.
const SIDE_BY_SIDE: usize = 32;
/// Codes of so many bits, a vector of them side by side, have sums of 32 bits.
const NARROW: u32 = u32::BITS - (VECTOR / SIDE_BY_SIDE).ilog2();
/// The sum of the lanes whose bit is set.
#[inline(always)]
fn sum_selected(lanes: &Lanes, width: u32, words: &[u64; VECTOR / 64]) -> u128 {
    macro_rules! sums {
        ($lanes:expr, $int:ty, $sum:ty, $part:expr) => {{
            let mut sums: [$sum; SIDE_BY_SIDE] = [0; SIDE_BY_SIDE];
            let halves = words.iter().flat_map(|&word| [word as u32, (word >> 32) as u32]);
            for (lanes, half) in $lanes.as_chunks::<SIDE_BY_SIDE>().0.iter().zip(halves) {
                for (bit, sum) in sums.iter_mut().enumerate() {
                    let lane = <$int>::from_le_bytes(lanes[bit]);
                    *sum += if half & (1 << bit) != 0 { <$sum>::from($part(lane)) } else { 0 };
                }
            }
            sums.iter().map(|&sum| u64::from(sum)).sum::<u64>()
        }};
    }
    match bits::lane_bits(width) {
        8 => sums!(lanes.as_u8().as_chunks::<1>().0, u8, u16, |lane| lane).into(),
        16 => sums!(lanes.as_u16(), u16, u32, |lane| lane).into(),
        32 if width <= NARROW => sums!(lanes.as_u32(), u32, u32, |lane| lane).into(),
        32 => sums!(lanes.as_u32(), u32, u64, |lane| lane).into(),
        _ => {
            let low = sums!(lanes.as_u64(), u64, u64, |lane| lane & u64::from(u32::MAX));
            let high = sums!(lanes.as_u64(), u64, u64, |lane| lane >> 32);
            u128::from(low) + (u128::from(high) << 32)
        }
    }
}

#[inline(always)]
fn sum_lanes(lanes: &Lanes, width: u32, count: usize) -> u128 {
    match bits::lane_bits(width) {
        8 => lanes.as_u8()[..count].iter().map(|&lane| u32::from(lane)).sum::<u32>().into(),
        16 => {
            let lanes = lanes.as_u16()[..count].iter();
            lanes.map(|&lane| u32::from(u16::from_le_bytes(lane))).sum::<u32>().into()
        }
        32 => {
            let lanes = lanes.as_u32()[..count].iter();
            lanes.map(|&lane| u64::from(u32::from_le_bytes(lane))).sum::<u64>().into()
        }
        _ => {
            let lanes = lanes.as_u64()[..count].iter().map(|&lane| u64::from_le_bytes(lane));
            let (low, high) = lanes.fold((0u64, 0u64), |(low, high), lane| {
                (low + (lane & u64::from(u32::MAX)), high + (lane >> 32))
            });
            u128::from(low) + (u128::from(high) << 32)
        }
    }
}
