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
//! Example: the codes 1000, 1003, 1001 of 2 bytes: `02`, `E8 03`, then one row of 64 bytes'… lanes of 8 bits:
//! `00 03 01 00 … 00`, 128 bytes.

use std::{marker::PhantomData, ops::Range};

use super::{
    Code, VECTOR,
    bits::{self, Lanes, ROW, low_bits, packed_len, width_of},
    compare,
    ranges::{Point, Ranges, Verdict},
    simd::{self, Kernel, Level},
};
use crate::{Error, Result};

/// Codes under frames of reference.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frames<'a, C> {
    widths: &'a [u8],
    bases: &'a [u8],
    packed: &'a [u8],
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
        let (widths, rest) = bytes.split_at_checked(vectors).ok_or(cut.clone())?;
        let (bases, rest) = rest.split_at_checked(vectors * C::SIZE).ok_or(cut.clone())?;
        if widths.iter().any(|&width| u32::from(width) > C::BITS) {
            return Err(Error::malformed(0, "differences wider than their codes"));
        }
        let len = match widths.split_last() {
            Some((&last, full)) => {
                start_of(full, full.len()) + packed_len(count - full.len() * VECTOR, last.into())
            }
            None => 0,
        };
        let (packed, rest) = rest.split_at_checked(len).ok_or(cut)?;
        *bytes = rest;
        Ok(Self { widths, bases, packed, count, code: PhantomData })
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// The base, the width and the bytes of vector `index`.
    #[inline(always)]
    pub(crate) fn frame(&self, index: usize) -> (C, u32, &'a [u8]) {
        let start = start_of(self.widths, index);
        (C::read(&self.bases[index * C::SIZE..]), self.widths[index].into(), &self.packed[start..])
    }

    /// The code of vector `index`, if all of them are equal.
    #[inline]
    pub(crate) fn constant(&self, index: usize) -> Option<C> {
        (self.widths[index] == 0).then(|| C::read(&self.bases[index * C::SIZE..]))
    }

    /// Code `index`. Panics when there is none.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> C {
        assert!(index < self.count);
        let (base, width, packed) = self.frame(index / VECTOR);
        base.add(C::truncate(bits::get_in_vector(packed, width, index % VECTOR)))
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
    fn run(self, _: Level) {
        let Self { frames, range, mut out, map } = self;
        let mut lanes = Lanes::new();
        for part in bits::vectors(range) {
            let (now, later) = out.split_at_mut(part.len());
            out = later;
            let (base, width, packed) = frames.frame(part.vector);
            bits::unpack_vector(packed, width, part.end, &mut lanes);
            if part.start == 0 {
                lanes.write(width, base, now, |code| map.map(code));
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
            bits::unpack_vector(packed, width, part.end, &mut lanes);
            let clipped = set.clip(base, last, |code| code.sub(base).widen());
            select_lanes(&lanes, width, part.end, clipped.as_slice(), mask, level);
        }
    }
}

/// [`compare::select`] on lanes of any width.
#[inline(always)]
fn select_lanes(
    lanes: &Lanes,
    width: u32,
    count: usize,
    ranges: &[(u64, u64)],
    mask: &mut [u64],
    level: Level,
) {
    macro_rules! select {
        ($int:ty, $values:expr) => {{
            let mut narrow = [(0 as $int, 0 as $int); 16];
            if ranges.len() <= narrow.len() {
                narrow.iter_mut().zip(ranges).for_each(|(to, from)| *to = (from.0 as $int, from.1 as $int));
                compare::select(&$values[..count], &narrow[..ranges.len()], mask, level);
            } else {
                let narrow: Vec<_> = ranges.iter().map(|from| (from.0 as $int, from.1 as $int)).collect();
                compare::select(&$values[..count], &narrow, mask, level);
            }
        }};
    }
    match bits::lane_bits(width) {
        8 => select!(u8, lanes.as_u8()),
        16 => select!(u16, lanes.as_u16().map(u16::from_le_bytes)),
        32 => select!(u32, lanes.as_u32().map(u32::from_le_bytes)),
        _ => select!(u64, lanes.as_u64().map(u64::from_le_bytes)),
    }
}

struct Sum<'a, C> {
    frames: Frames<'a, C>,
}

impl<C: Code + Point> Kernel for Sum<'_, C> {
    type Output = u128;

    #[inline(always)]
    fn run(self, _: Level) -> u128 {
        let mut lanes = Lanes::new();
        let mut sum = 0;
        for part in bits::vectors(0..self.frames.count) {
            let (base, width, packed) = self.frames.frame(part.vector);
            sum += u128::from(base.widen()) * part.end as u128;
            if width > 0 {
                bits::unpack_vector(packed, width, part.end, &mut lanes);
                sum += sum_lanes(&lanes, width, part.end);
            }
        }
        sum
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
