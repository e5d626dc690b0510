//! Writing blocks.

use super::{
    BlockMeasure, Damaged, IntegerCodec, Word,
    bits::{self, Packing},
    lengths::{LengthCode, code_bits, per_control, per_group},
};
use crate::varint;

/// The most values of a block, of all codecs.
pub(super) const BLOCK_MAX: usize = 256;

impl IntegerCodec {
    /// The size in bytes of the block of `values`, which are as [`IntegerCodec::encode`] wants them.
    pub fn encoded_size<W: Word>(self, values: &[W]) -> usize {
        values.iter().fold(BlockMeasure::new(self), |block, &value| block.with(value)).bytes()
    }

    /// Appends the block of `values` to `out`. What it takes of `values[0]` and `values.len()` to read it is kept by the caller.
    ///
    /// Panics unless there are 1 to [`IntegerCodec::block_len`] values, strictly increasing.
    pub fn encode<W: Word>(self, values: &[W], out: &mut Vec<u8>) {
        assert!(
            (1..=self.block_len()).contains(&values.len()),
            "a block has 1 to {} values",
            self.block_len()
        );
        let mut integers = [0; BLOCK_MAX];
        let integers = &mut integers[..values.len() - 1];
        let mut increasing = true;
        for (integer, pair) in integers.iter_mut().zip(values.windows(2)) {
            increasing &= pair[0] < pair[1];
            *integer = pair[1].to_u64().wrapping_sub(pair[0].to_u64()).wrapping_sub(1);
        }
        assert!(increasing, "values of a block are strictly increasing");
        if integers.is_empty() {
            return;
        }
        match self {
            Self::VByte | Self::MaskedVByte => vbyte(integers, out),
            Self::GroupVarint => controlled::<W>(LengthCode::of::<W>(self), integers, per_group::<W>(), out),
            Self::StreamVByte => controlled::<W>(LengthCode::of::<W>(self), integers, BLOCK_MAX, out),
            Self::For | Self::SimdFor | Self::Bp128 => packed::<W>(self, values, integers, out),
        }
    }

    /// Adds `value` behind the last of a block: `block` is its bytes and becomes those that [`IntegerCodec::encode`] gives
    /// for all values. A block of whole bytes grows at its end; a bit-packed one is written anew.
    ///
    /// Errors if the block is damaged or full or `value` is not larger than its last; `block` is as it was then.
    pub fn append<W: Word>(
        self,
        block: &mut Vec<u8>,
        first: W,
        count: usize,
        value: W,
    ) -> Result<(), Damaged> {
        if count >= self.block_len() {
            return Err(Damaged("a full block takes no more values"));
        }
        let read = self.block(block, first, count)?;
        let last = read.last()?;
        if value <= last {
            return Err(Damaged("a value that is not larger than the last"));
        }
        let end = read.bytes_used()?;
        let gap = value.to_u64() - last.to_u64() - 1;
        let gaps = count - 1;
        match self {
            Self::VByte | Self::MaskedVByte => {
                block.truncate(end);
                varint::encode(gap, block);
            }
            Self::StreamVByte => {
                block.truncate(end);
                append_controlled::<W>(LengthCode::of::<W>(self), block, 0, gaps, gap);
            }
            Self::GroupVarint => {
                let group = gaps / per_group::<W>() * per_group::<W>();
                let begin = self.block(block, first, group + 1)?.bytes_used()?;
                block.truncate(end);
                append_controlled::<W>(LengthCode::of::<W>(self), block, begin, gaps - group, gap);
            }
            Self::For | Self::SimdFor | Self::Bp128 => {
                let mut values = [W::default(); BLOCK_MAX];
                read.decode(&mut values[..count])?;
                values[count] = value;
                if !values[..=count].windows(2).all(|pair| pair[0] < pair[1]) {
                    return Err(Damaged("values that are not strictly increasing"));
                }
                block.clear();
                self.encode(&values[..=count], block);
            }
        }
        Ok(())
    }
}

/// Seven bits a byte, the lowest first, bit 7 in all but the last byte of an integer.
fn vbyte(integers: &[u64], out: &mut Vec<u8>) {
    let mut bytes = [0; BLOCK_MAX * varint::LEN_MAX];
    let mut end = 0;
    for &integer in integers {
        if integer < 0x80 {
            bytes[end] = integer as u8;
            end += 1;
            continue;
        }
        let length = varint::len(integer);
        if length > 8 {
            end += varint::encode_to(integer, &mut bytes[end..]);
            continue;
        }
        // Fourteen times four bits apart, then seven times two, then one: each seven in its byte.
        let apart = (integer & 0x0fff_ffff) | (integer & 0x00ff_ffff_f000_0000) << 4;
        let apart = (apart & 0x0000_3fff_0000_3fff) | (apart & 0x0fff_c000_0fff_c000) << 2;
        let apart = (apart & 0x007f_007f_007f_007f) | (apart & 0x3f80_3f80_3f80_3f80) << 1;
        let go_on = 0x8080_8080_8080_8080 & ((1 << (8 * (length - 1))) - 1);
        // Eight bytes always; the next integer overwrites those that are too many.
        bytes[end..end + 8].copy_from_slice(&(apart | go_on).to_le_bytes());
        end += length;
    }
    out.extend_from_slice(&bytes[..end]);
}

/// `integers` in groups: the control bytes of a group, and then its bytes.
fn controlled<W: Word>(lengths: LengthCode, integers: &[u64], group: usize, out: &mut Vec<u8>) {
    let mut bytes = [0; BLOCK_MAX * 8 + BLOCK_MAX + 8];
    let mut end = 0;
    for integers in integers.chunks(group) {
        let begin = end;
        end += integers.len().div_ceil(per_control::<W>());
        for (at, integers) in integers.chunks(per_control::<W>()).enumerate() {
            let mut control = 0;
            for (index, &integer) in integers.iter().enumerate() {
                let code = lengths.code(integer);
                control |= code << (index * code_bits::<W>());
                // Eight bytes always; the next integer overwrites those that are too many.
                bytes[end..end + 8].copy_from_slice(&integer.to_le_bytes());
                end += lengths.bytes(code);
            }
            bytes[begin + at] = control;
        }
    }
    out.extend_from_slice(&bytes[..end]);
}

/// Adds an integer to the `count` whose control bytes begin at `begin` and which end the block.
fn append_controlled<W: Word>(
    lengths: LengthCode,
    block: &mut Vec<u8>,
    begin: usize,
    count: usize,
    integer: u64,
) {
    let code = lengths.code(integer);
    let control = begin + count / per_control::<W>();
    let in_byte = count % per_control::<W>();
    if in_byte == 0 {
        block.insert(control, 0);
    }
    block[control] |= code << (in_byte * code_bits::<W>());
    block.extend_from_slice(&integer.to_le_bytes()[..lengths.bytes(code)]);
}

/// The header and the bits. `integers` has the gaps less one, and is used up.
fn packed<W: Word>(codec: IntegerCodec, values: &[W], integers: &mut [u64], out: &mut Vec<u8>) {
    let (mut min, mut max) = (u64::MAX, 0);
    for &integer in &*integers {
        (min, max) = (min.min(integer), max.max(integer));
    }
    let distance = values[values.len() - 1].to_u64() - values[0].to_u64();
    let packing = Packing::of_gaps::<W>(codec, integers.len(), min, max, distance);
    let mut sum = 0u64;
    for integer in integers.iter_mut() {
        *integer -= packing.step;
        if codec != IntegerCodec::Bp128 {
            sum += *integer;
            *integer = sum;
        }
    }
    packing.encode(out);
    if codec == IntegerCodec::SimdFor {
        bits::pack_lanes::<W>(integers, packing.width, out);
    } else {
        bits::pack_row(integers, packing.width, out);
    }
}
