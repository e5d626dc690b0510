//! Bit packing: any number of codes, each of the same 0 to 64 bits, without losing their order.
//!
//! # Use
//! [`pack`] appends codes below `2^width`; [`packed_len`] says how many bytes that takes. [`Packed::parse`] checks
//! the length of such bytes, then [`Packed::get`] reads one code and [`Packed::unpack`] any range of them, whole
//! vectors of 1,024 fastest.
//!
//! ```
//! use ambo_codec::column::bits::{Packed, pack, width_of};
//!
//! let codes: Vec<u32> = (0..3000).map(|i| i % 100).collect();
//! let mut bytes = Vec::new();
//! pack(&codes, width_of(99), &mut bytes);
//!
//! let packed = Packed::parse(&bytes, 7, 3000)?;
//! assert_eq!(packed.get(2999), 99);
//! let mut some = [0u32; 2000];
//! packed.unpack(500..2500, &mut some);
//! assert_eq!(some, codes[500..2500]);
//! # Ok::<(), ambo_codec::Error>(())
//! ```
//!
//! # Format
//! Codes are packed in vectors of 1,024; the last vector may be shorter. A vector is a sequence of *rows* of 128
//! bytes. The width decides on the lanes of a row, and so does nothing else:
//!
//! | width | lane, bits | lanes a row |
//! |---|---|---|
//! | 0 | | nothing is stored |
//! | 1 to 8 | 8 | 128 |
//! | 9 to 16 | 16 | 64 |
//! | 17 to 32 | 32 | 32 |
//! | 33 to 64 | 64 | 16 |
//!
//! Code `i` of a vector belongs to lane `i % lanes`, where it is number `k = i / lanes`. Each lane is a stream of
//! bits: number `k` takes the bits from `k * width` on, lowest first. Bit `b` of the stream is bit `b % lane` of
//! the lane's little-endian word in row `b / lane`. A full vector takes `width` rows. A vector of `n` codes takes the rows
//! that its `ceil(n / lanes)` numbers reach into; lanes that hold no code there are zero.
//!
//! Example: the codes 1, 2, 3 and so on to 200 with width 8 take two rows, `01 02 03 … 80` and `81 … C8 00 … 00`.
//! 130 codes of width 4, all zero but code 0 = 5, code 1 = 7 and code 128 = 10, take one row, `A5 07 00 … 00`.
//!
//! Why: a lane never looks at its neighbour, so a row is unpacked by the same shift and mask in all its lanes,
//! whatever the size of the processor's vectors; narrow codes come out as narrow integers, 64 of which are compared in
//! one instruction; and the codes come out in their order. The idea of interleaved lanes is that of FastLanes (Afroozeh
//! and Boncz, "The FastLanes Compression Layout", VLDB 2023); the lanes by width and the order are ours.

mod rows;

use std::{cell::Cell, ops::Range};

use super::{
    Code, VECTOR,
    simd::{self, Kernel, Level},
};
use crate::{Error, Result, prefetch::prefetch_byte};

/// The bytes of a row.
pub(crate) const ROW: usize = 128;
/// The bits that `largest` takes: 0 for 0, 64 for the largest code.
#[inline]
pub const fn width_of(largest: u64) -> u32 {
    64 - largest.leading_zeros()
}

/// The bits of a lane for codes of `width` bits.
#[inline(always)]
pub(crate) const fn lane_bits(width: u32) -> u32 {
    match width {
        0..=8 => 8,
        9..=16 => 16,
        17..=32 => 32,
        _ => 64,
    }
}

/// The lanes of a row for codes of `width` bits.
#[inline(always)]
const fn lanes(width: u32) -> usize {
    1024 / lane_bits(width) as usize
}

/// The rows of a vector of `count` codes.
#[inline]
const fn vector_rows(count: usize, width: u32) -> usize {
    (count.div_ceil(lanes(width)) * width as usize).div_ceil(lane_bits(width) as usize)
}

/// The bytes that `count` codes of `width` bits take.
#[inline]
pub const fn packed_len(count: usize, width: u32) -> usize {
    (count / VECTOR * width as usize + vector_rows(count % VECTOR, width)) * ROW
}

/// A word with the low `bits` bits set.
#[inline(always)]
pub(crate) const fn low_bits(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// Codes as lanes of one vector: the unpacked side of the kernels.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Lanes {
    bytes: [u8; VECTOR * 8],
}

impl Lanes {
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; VECTOR * 8] }
    }

    /// Lends the lanes of this thread; what is in them is any. For kernels that are run for a key or a vector, which clearing lanes of
    /// their own would slow down by a tenth or more.
    #[inline]
    pub(crate) fn lend<R>(then: impl FnOnce(&mut Self) -> R) -> R {
        thread_local! {
            static KEPT: Cell<Option<Box<Lanes>>> = const { Cell::new(None) };
        }
        let mut lanes = KEPT.take().unwrap_or_else(|| Box::new(Self::new()));
        let result = then(&mut lanes);
        KEPT.set(Some(lanes));
        result
    }

    /// 1,024 lanes of 8 bits.
    #[inline(always)]
    pub(crate) fn as_u8(&self) -> &[u8; VECTOR] {
        self.bytes.first_chunk().expect("8,192 bytes")
    }

    /// 1,024 lanes of 16 bits, little-endian.
    #[inline(always)]
    pub(crate) fn as_u16(&self) -> &[[u8; 2]; VECTOR] {
        self.bytes.as_chunks().0.first_chunk().expect("8,192 bytes")
    }

    /// 1,024 lanes of 32 bits, little-endian.
    #[inline(always)]
    pub(crate) fn as_u32(&self) -> &[[u8; 4]; VECTOR] {
        self.bytes.as_chunks().0.first_chunk().expect("8,192 bytes")
    }

    /// 1,024 lanes of 64 bits, little-endian.
    #[inline(always)]
    pub(crate) fn as_u64(&self) -> &[[u8; 8]; VECTOR] {
        self.bytes.as_chunks().0.first_chunk().expect("8,192 bytes")
    }

    /// The bytes of lanes `64 * index` to `64 * index + 63`, of `lane` bits each.
    #[inline(always)]
    pub(crate) fn word(&self, index: usize, lane: u32) -> &[u8] {
        let bytes = lane as usize * 8;
        &self.bytes[index * bytes..][..bytes]
    }

    /// Fills the lanes for codes of `width` bits with the codes of `values`, and zero behind them.
    #[inline(always)]
    pub(crate) fn fill<T: Copy>(&mut self, values: &[T], width: u32, code: impl Fn(T) -> u64) {
        macro_rules! fill {
            ($int:ty) => {{
                let lanes = &mut self.bytes.as_chunks_mut().0[..VECTOR];
                let pairs = lanes.iter_mut().zip(values);
                pairs.for_each(|(lane, &value)| *lane = (code(value) as $int).to_le_bytes());
                lanes[values.len()..].fill([0; size_of::<$int>()]);
            }};
        }
        match lane_bits(width) {
            8 => fill!(u8),
            16 => fill!(u16),
            32 => fill!(u32),
            _ => fill!(u64),
        }
    }

    /// Writes lanes, from one of them on, as codes on top of `base`.
    #[inline(always)]
    pub(crate) fn write<C: Code, T>(
        &self,
        width: u32,
        base: C,
        from: usize,
        out: &mut [T],
        map: impl Fn(C) -> T,
    ) {
        let code = |lane: u64| map(base.add(C::truncate(lane)));
        match lane_bits(width) {
            8 => out.iter_mut().zip(&self.as_u8()[from..]).for_each(|(out, &lane)| *out = code(lane.into())),
            16 => {
                let pairs = out.iter_mut().zip(&self.as_u16()[from..]);
                pairs.for_each(|(out, &lane)| *out = code(u16::from_le_bytes(lane).into()));
            }
            32 => {
                let pairs = out.iter_mut().zip(&self.as_u32()[from..]);
                pairs.for_each(|(out, &lane)| *out = code(u32::from_le_bytes(lane).into()));
            }
            _ => {
                let pairs = out.iter_mut().zip(&self.as_u64()[from..]);
                pairs.for_each(|(out, &lane)| *out = code(u64::from_le_bytes(lane)));
            }
        }
    }

    /// One lane.
    #[inline(always)]
    pub(crate) fn get(&self, width: u32, index: usize) -> u64 {
        match lane_bits(width) {
            8 => self.as_u8()[index].into(),
            16 => u16::from_le_bytes(self.as_u16()[index]).into(),
            32 => u32::from_le_bytes(self.as_u32()[index]).into(),
            _ => u64::from_le_bytes(self.as_u64()[index]),
        }
    }
}

/// Unpacks the first `count` codes of a vector into lanes; lanes behind them are any.
///
/// REQUIRES: `packed` holds them.
#[inline(always)]
pub(crate) fn unpack_vector(packed: &[u8], width: u32, count: usize, out: &mut Lanes, level: Level) {
    let lane = lane_bits(width);
    let numbers = count.div_ceil(lanes(width)).min(lane as usize);
    let out = &mut out.bytes.as_chunks_mut().0[..numbers];
    if width == 0 {
        out.fill([0; ROW]);
    } else {
        rows::unpack(packed.as_chunks().0, width, lane, out, level);
    }
}

/// The inverse of [`unpack_vector`]; `packed` is zero before.
#[inline(always)]
fn pack_vector(lanes_in: &Lanes, width: u32, count: usize, packed: &mut [u8], level: Level) {
    let numbers = count.div_ceil(lanes(width));
    let values = &lanes_in.bytes.as_chunks().0[..numbers];
    rows::pack(values, width, lane_bits(width), packed.as_chunks_mut().0, level);
}

struct Pack<'a, C> {
    codes: &'a [C],
    base: C,
    width: u32,
    out: &'a mut [u8],
}

impl<C: Code> Kernel for Pack<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run(self, level: Level) {
        let mut lanes = Lanes::new();
        let full = self.width as usize * ROW;
        for (vector, codes) in self.codes.chunks(VECTOR).enumerate() {
            lanes.fill(codes, self.width, |code| code.sub(self.base).widen());
            pack_vector(&lanes, self.width, codes.len(), &mut self.out[vector * full..], level);
        }
    }
}

/// Appends `codes`, `width` bits each: [`packed_len`] bytes.
///
/// REQUIRES: `width` is at most 64 and every code is below `2^width`.
pub fn pack<C: Code>(codes: &[C], width: u32, out: &mut Vec<u8>) {
    pack_above(codes, C::default(), width, out);
}

/// As [`pack`], of the differences to `base`.
pub(crate) fn pack_above<C: Code>(codes: &[C], base: C, width: u32, out: &mut Vec<u8>) {
    assert!(width <= 64, "a code has at most 64 bits");
    debug_assert!(codes.iter().all(|code| code.sub(base).widen() <= low_bits(width)));
    if width == 0 {
        return;
    }
    let at = out.len();
    out.resize(at + packed_len(codes.len(), width), 0);
    simd::run(Pack { codes, base, width, out: &mut out[at..] });
}

/// One code of a vector.
///
/// REQUIRES: `packed` holds it.
#[inline]
pub(crate) fn get_in_vector(packed: &[u8], width: u32, index: usize) -> u64 {
    if width == 0 {
        return 0;
    }
    let lane = lane_bits(width);
    let (at, shift) = place_in_vector(width, index);
    let word = |at: usize| match lane {
        8 => u64::from(packed[at]),
        16 => u16::read(&packed[at..]).widen(),
        32 => u32::read(&packed[at..]).widen(),
        _ => u64::read(&packed[at..]),
    };
    let low = word(at) >> shift;
    let high = if shift + width > lane { word(at + ROW) << (lane - shift) } else { 0 };
    (low | high) & low_bits(width)
}

/// Where the word is in which code `index` of a vector begins, and at which bit of it.
#[inline]
fn place_in_vector(width: u32, index: usize) -> (usize, u32) {
    let (lane, lanes) = (lane_bits(width), lanes(width));
    let bit = (index / lanes) as u32 * width;
    ((bit / lane) as usize * ROW + index % lanes * (lane as usize / 8), bit % lane)
}

/// Asks for the memory that [`get_in_vector`] reads.
#[inline]
pub(crate) fn prefetch_in_vector(packed: &[u8], width: u32, index: usize) {
    if width == 0 {
        return;
    }
    let (at, shift) = place_in_vector(width, index);
    prefetch_byte(packed, at);
    if shift + width > lane_bits(width) {
        prefetch_byte(packed, at + ROW);
    }
}

/// Packed codes of one width.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a> {
    bytes: &'a [u8],
    width: u32,
    count: usize,
}

impl<'a> Packed<'a> {
    /// Checks that `bytes` are as many as `count` codes of `width` bits take.
    pub fn parse(bytes: &'a [u8], width: u32, count: usize) -> Result<Self> {
        if width > 64 {
            return Err(Error::malformed(0, "codes of more than 64 bits"));
        }
        if count > bytes.len().saturating_mul(8) && width > 0 || bytes.len() != packed_len(count, width) {
            return Err(Error::malformed(0, "packed codes of another length"));
        }
        Ok(Self { bytes, width, count })
    }

    /// How many codes.
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is no code.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The bits of a code.
    #[inline]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Code `index`. Panics when there is none.
    #[inline]
    pub fn get(&self, index: usize) -> u64 {
        assert!(index < self.count, "no such code");
        get_in_vector(self.vector(index / VECTOR), self.width, index % VECTOR)
    }

    /// Asks for the memory of code `index`, if there is one.
    #[inline]
    pub fn prefetch(&self, index: usize) {
        if index < self.count {
            prefetch_in_vector(self.vector(index / VECTOR), self.width, index % VECTOR);
        }
    }

    /// The bytes of vector `index`, and of those behind it.
    #[inline]
    fn vector(&self, index: usize) -> &'a [u8] {
        &self.bytes[index * self.width as usize * ROW..]
    }

    /// Writes the codes of `range` to `out`; codes too large for `C` lose their high bits.
    ///
    /// Panics when `range` reaches behind the end or `out` is of another length.
    pub fn unpack<C: Code>(&self, range: Range<usize>, out: &mut [C]) {
        assert!(range.start <= range.end && range.end <= self.count, "no such codes");
        assert_eq!(range.len(), out.len(), "as many places as codes");
        simd::run(Unpack { packed: *self, range, out });
    }
}

struct Unpack<'a, C> {
    packed: Packed<'a>,
    range: Range<usize>,
    out: &'a mut [C],
}

impl<C: Code> Kernel for Unpack<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run(self, level: Level) {
        let Self { packed, range, mut out } = self;
        let mut lanes = Lanes::new();
        for part in vectors(range) {
            let (now, later) = out.split_at_mut(part.len());
            out = later;
            let bytes = packed.vector(part.vector);
            unpack_vector(bytes, packed.width, part.end, &mut lanes, level);
            if part.start == 0 {
                lanes.write(packed.width, C::default(), 0, now, |code| code);
            } else {
                let places = now.iter_mut().enumerate();
                places.for_each(|(index, out)| {
                    *out = C::truncate(lanes.get(packed.width, part.start + index));
                });
            }
        }
    }
}

/// The part of a range that lies in one vector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) vector: usize,
    /// The first position, within the vector.
    pub(crate) start: usize,
    /// Behind the last position, within the vector.
    pub(crate) end: usize,
}

impl Part {
    #[inline(always)]
    pub(crate) fn len(self) -> usize {
        self.end - self.start
    }
}

/// The vectors that `range` touches.
#[inline(always)]
pub(crate) fn vectors(range: Range<usize>) -> impl Iterator<Item = Part> {
    let vectors = if range.is_empty() { 0..0 } else { range.start / VECTOR..range.end.div_ceil(VECTOR) };
    vectors.map(move |vector| Part {
        vector,
        start: range.start.saturating_sub(vector * VECTOR),
        end: (range.end - vector * VECTOR).min(VECTOR),
    })
}

#[cfg(test)]
mod tests;
