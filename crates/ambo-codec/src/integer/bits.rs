//! Bit-packed integers: their header and their two layouts.
//!
//! # Header
//! | part | bytes | meaning |
//! |---|---|---|
//! | width | 1 | bits 0 to 6: the width of an integer, 0 to 32 or 0 to 56 and 64; bit 7: a step follows |
//! | step | LEB128 | only with bit 7: what every gap of the block is at least, less one |
//!
//! # Layouts
//! *In a row* (`for`, `bp128`): integer `i` is the bits `i * width ..` of the bytes, the lowest bit first. *In lanes*
//! (`simd-for`): rows of 32 bytes, eight lanes of `u32` or four of `u64`. Integer `i` is in lane `i % lanes`; the words of
//! one lane, one of each row, are again bits in a row: `i / lanes * width ..`.

use super::{Damaged, IntegerCodec, Word};
use crate::varint;

/// Bit 7 of the width.
const HAS_STEP: u8 = 0x80;
/// Bytes of a row of lanes.
pub(super) const ROW: usize = 32;

/// The width of integers up to `max`. Seven bits of shift and 57 bits would still fit a load of 64 bits; wider ones are whole words.
#[inline(always)]
fn width(max: u64) -> u8 {
    let bits = 64 - max.leading_zeros() as u8;
    if bits > 56 { 64 } else { bits }
}

/// How the integers of a block are packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Packing {
    /// What each gap has beyond 1 at least, and is not stored.
    pub step: u64,
    /// Bits of an integer.
    pub width: u8,
}

impl Packing {
    /// The smaller one of packing integers up to `plain`, and of those up to `stepped` that `step` leaves.
    #[inline]
    pub(super) fn choose<W: Word>(
        codec: IntegerCodec,
        count: usize,
        plain: u64,
        step: u64,
        stepped: u64,
    ) -> Self {
        let without = Self { step: 0, width: width(plain) };
        let with = Self { step, width: width(stepped) };
        if step == 0 || with.width == without.width {
            return without;
        }
        if with.size::<W>(codec, count) < without.size::<W>(codec, count) { with } else { without }
    }

    /// How a block of so many gaps is packed: each less one from `min` to `max`, and `distance` from the first value to the
    /// last.
    #[inline]
    pub(super) fn of_gaps<W: Word>(
        codec: IntegerCodec,
        gaps: usize,
        min: u64,
        max: u64,
        distance: u64,
    ) -> Self {
        let (plain, stepped) = if codec == IntegerCodec::Bp128 {
            (max, max - min)
        } else {
            let excess = distance - gaps as u64;
            (excess, excess - gaps as u64 * min)
        };
        Self::choose::<W>(codec, gaps, plain, min, stepped)
    }

    /// Bytes of the header.
    #[inline]
    pub(super) fn header_size(self) -> usize {
        if self.step == 0 { 1 } else { 1 + varint::len(self.step) }
    }

    /// Bytes of `count` integers without the header.
    #[inline]
    pub(super) fn packed_size<W: Word>(self, codec: IntegerCodec, count: usize) -> usize {
        let width = self.width as usize;
        if codec != IntegerCodec::SimdFor {
            return (count * width).div_ceil(8);
        }
        let rows = count.div_ceil(ROW / W::BYTES);
        (rows * width).div_ceil(W::BITS) * ROW
    }

    /// Bytes of `count` integers and the header.
    #[inline]
    pub(super) fn size<W: Word>(self, codec: IntegerCodec, count: usize) -> usize {
        self.header_size() + self.packed_size::<W>(codec, count)
    }

    /// Appends the header.
    pub(super) fn encode(self, out: &mut Vec<u8>) {
        if self.step == 0 {
            out.push(self.width);
        } else {
            out.push(self.width | HAS_STEP);
            varint::encode(self.step, out);
        }
    }

    /// The header at the beginning of `bytes` and its size.
    #[inline]
    pub(super) fn decode<W: Word>(bytes: &[u8]) -> Result<(Self, usize), Damaged> {
        let &first = bytes.first().ok_or(Damaged("a block without its header"))?;
        let width = first & !HAS_STEP;
        if width as usize > W::BITS || (width > 56 && width != 64) {
            return Err(Damaged("a width that no block has"));
        }
        if first & HAS_STEP == 0 {
            return Ok((Self { step: 0, width }, 1));
        }
        let (step, size) = varint::decode(&bytes[1..]).ok_or(Damaged("a step that does not end"))?;
        if step != W::from_u64(step).to_u64() {
            return Err(Damaged("a step that no two values are apart"));
        }
        Ok((Self { step, width }, 1 + size))
    }
}

/// The low `width` bits.
#[inline(always)]
pub(super) const fn mask(width: u8) -> u64 {
    if width == 64 { u64::MAX } else { (1 << width) - 1 }
}

/// Appends `integers` in a row, `width` bits each.
pub(super) fn pack_row(integers: &[u64], width: u8, out: &mut Vec<u8>) {
    if width == 0 {
        return;
    }
    if width == 64 {
        out.extend(integers.iter().flat_map(|integer| integer.to_le_bytes()));
        return;
    }
    let (mut word, mut filled) = (0u64, 0u32);
    for &integer in integers {
        word |= integer << filled;
        filled += u32::from(width);
        if filled >= 64 {
            out.extend_from_slice(&word.to_le_bytes());
            filled -= 64;
            // The bits of `integer` that did not fit; none if it ended with the word.
            word = integer.checked_shr(u32::from(width) - filled).unwrap_or(0);
        }
    }
    out.extend_from_slice(&word.to_le_bytes()[..filled.div_ceil(8) as usize]);
}

/// Integer `index` of those that [`pack_row`] wrote to `bytes`, and perhaps more behind them.
#[inline(always)]
pub(super) fn get_row(bytes: &[u8], width: u8, index: usize) -> u64 {
    let bit = index * width as usize;
    let at = bit / 8;
    let word = match bytes.get(at..at + 8) {
        Some(word) => u64::from_le_bytes(word.try_into().expect("8 bytes")),
        None => tail_word(bytes, at),
    };
    word >> (bit % 8) & mask(width)
}

/// The last bytes from `at` on, and zeros.
#[cold]
fn tail_word(bytes: &[u8], at: usize) -> u64 {
    let tail = bytes.get(at..).unwrap_or(&[]);
    let tail = &tail[..tail.len().min(8)];
    let mut word = [0; 8];
    word[..tail.len()].copy_from_slice(tail);
    u64::from_le_bytes(word)
}

/// Appends `integers` in lanes, `width` bits each.
pub(super) fn pack_lanes<W: Word>(integers: &[u64], width: u8, out: &mut Vec<u8>) {
    let lanes = ROW / W::BYTES;
    let (mut word, mut filled) = ([0u64; 8], 0);
    let width = width as usize;
    for row in integers.chunks(lanes) {
        for (word, &integer) in word.iter_mut().zip(row) {
            *word |= integer << filled;
        }
        filled += width;
        if filled >= W::BITS {
            put_row::<W>(&word, out);
            filled -= W::BITS;
            word = [0; 8];
            for (word, &integer) in word.iter_mut().zip(row) {
                *word = integer.checked_shr((width - filled) as u32).unwrap_or(0);
            }
        }
    }
    if filled > 0 {
        put_row::<W>(&word, out);
    }
}

/// Appends a row of lanes, the low bits of each of `words`.
#[inline(always)]
fn put_row<W: Word>(words: &[u64; 8], out: &mut Vec<u8>) {
    for word in &words[..ROW / W::BYTES] {
        out.extend_from_slice(&word.to_le_bytes()[..W::BYTES]);
    }
}

/// Integer `index` of those that [`pack_lanes`] wrote to `bytes`, and perhaps more behind them.
#[inline(always)]
pub(super) fn get_lanes<W: Word>(bytes: &[u8], width: u8, index: usize) -> u64 {
    let lanes = ROW / W::BYTES;
    let bit = index / lanes * width as usize;
    let at = bit / W::BITS * ROW + index % lanes * W::BYTES;
    let word = |at: usize| -> u64 {
        let Some(word) = bytes.get(at..at + W::BYTES) else { return 0 };
        let mut wide = [0; 8];
        wide[..W::BYTES].copy_from_slice(word);
        u64::from_le_bytes(wide)
    };
    let shift = bit % W::BITS;
    let low = word(at) >> shift;
    if shift + width as usize <= W::BITS {
        return low & mask(width);
    }
    (low | word(at + ROW) << (W::BITS - shift)) & mask(width)
}
