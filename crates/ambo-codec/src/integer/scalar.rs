//! Reading blocks without vectors: what every machine can do, and what the vectors are held equal to.

use super::{
    Block, Damaged, Word,
    bits::{Packing, get_lanes, get_row},
    block::{CUT_OFF, Stored},
    lengths::{LengthCode, code_at, per_control, per_group},
};

/// The longest integer in bytes of seven bits.
const fn vbyte_max<W: Word>() -> usize {
    W::BITS.div_ceil(7)
}

const TOO_LONG: Damaged = Damaged("an integer that does not end");

/// Where the `count` integers at the beginning of `data` end.
pub(super) fn vbyte_size(data: &[u8], count: usize) -> Result<usize, Damaged> {
    let mut left = count;
    let mut at = 0;
    while left > 0 {
        let &byte = data.get(at).ok_or(CUT_OFF)?;
        left -= usize::from(byte < 0x80);
        at += 1;
    }
    Ok(at)
}

/// The integer at the beginning of `data`, moved behind it. Bits beyond those of a word are dropped.
#[inline(always)]
pub(super) fn vbyte<W: Word>(data: &mut &[u8]) -> Result<u64, Damaged> {
    let (&first, rest) = data.split_first().ok_or(CUT_OFF)?;
    if first < 0x80 {
        *data = rest;
        return Ok(first.into());
    }
    let mut integer = u64::from(first & 0x7f);
    for at in 1..vbyte_max::<W>() {
        let &byte = data.get(at).ok_or(CUT_OFF)?;
        integer |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            *data = &data[at + 1..];
            return Ok(integer);
        }
    }
    Err(TOO_LONG)
}

/// Calls `visit` with each integer that the block stores, in order, until it says `false`.
#[inline(always)]
fn integers<W: Word>(block: &Block<'_, W>, mut visit: impl FnMut(u64) -> bool) -> Result<(), Damaged> {
    let gaps = block.count - 1;
    match block.stored {
        Stored::VByte => {
            let mut data = block.data;
            for _ in 0..gaps {
                if !visit(vbyte::<W>(&mut data)?) {
                    break;
                }
            }
        }
        Stored::Stream(lengths) => {
            controlled::<W>(block.data, lengths, gaps, &mut visit)?;
        }
        Stored::Group(lengths) => {
            let (mut data, mut left) = (block.data, gaps);
            while left > 0 {
                let group = left.min(per_group::<W>());
                match controlled::<W>(data, lengths, group, &mut visit)? {
                    Some(rest) => data = rest,
                    None => break,
                }
                left -= group;
            }
        }
        Stored::GapRow(packing) | Stored::FrameRow(packing) => {
            (0..gaps).all(|index| visit(get_row(block.data, packing.width, index)));
        }
        Stored::FrameLanes(packing) => {
            (0..gaps).all(|index| visit(get_lanes::<W>(block.data, packing.width, index)));
        }
    }
    Ok(())
}

/// The `count` integers whose control bytes `data` begins with. Returns what is behind them, or `None` if `visit` stopped.
#[inline(always)]
fn controlled<'b, W: Word>(
    data: &'b [u8],
    lengths: LengthCode,
    count: usize,
    visit: &mut impl FnMut(u64) -> bool,
) -> Result<Option<&'b [u8]>, Damaged> {
    let (controls, mut data) = data.split_at_checked(count.div_ceil(per_control::<W>())).ok_or(CUT_OFF)?;
    for index in 0..count {
        let bytes = lengths.bytes(code_at::<W>(controls, index));
        let integer = match data.first_chunk::<8>() {
            // Two shifts, as a shift by 64 is none.
            Some(chunk) if bytes > 0 => u64::from_le_bytes(*chunk) << (64 - 8 * bytes) >> (64 - 8 * bytes),
            Some(_) => 0,
            None => {
                let mut chunk = [0; 8];
                chunk[..bytes].copy_from_slice(data.get(..bytes).ok_or(CUT_OFF)?);
                u64::from_le_bytes(chunk)
            }
        };
        data = &data[bytes..];
        if !visit(integer) {
            return Ok(None);
        }
    }
    Ok(Some(data))
}

/// Whether the block stores distances from the first value, and then how to get one by its position in the block.
#[inline(always)]
pub(super) fn frame<'b, W: Word>(block: &Block<'b, W>) -> Option<impl Fn(usize) -> W + use<'b, W>> {
    let (packing, lanes) = match block.stored {
        Stored::FrameRow(packing) => (packing, false),
        Stored::FrameLanes(packing) => (packing, true),
        _ => return None,
    };
    let (data, first) = (block.data, block.first);
    Some(move |position: usize| {
        if position == 0 {
            return first;
        }
        let integer = if lanes {
            get_lanes::<W>(data, packing.width, position - 1)
        } else {
            get_row(data, packing.width, position - 1)
        };
        on_line(first, packing, position as u64, integer)
    })
}

/// The value at `position` of a frame.
#[inline(always)]
pub(super) fn on_line<W: Word>(first: W, packing: Packing, position: u64, integer: u64) -> W {
    let line = packing.step.wrapping_add(1).wrapping_mul(position);
    W::from_u64(first.to_u64().wrapping_add(line).wrapping_add(integer))
}

/// Calls `visit` with each value but the first, in order, until it says `false`.
#[inline(always)]
fn values<W: Word>(block: &Block<'_, W>, mut visit: impl FnMut(W) -> bool) -> Result<(), Damaged> {
    if let Some(value) = frame(block) {
        (1..block.count).all(|position| visit(value(position)));
        return Ok(());
    }
    let least = match block.stored {
        Stored::GapRow(packing) => packing.step.wrapping_add(1),
        _ => 1,
    };
    let mut value = block.first.to_u64();
    integers(block, |integer| {
        value = value.wrapping_add(integer).wrapping_add(least);
        visit(W::from_u64(value))
    })
}

/// The first `out.len()` values. See [`Block::decode`].
pub(super) fn decode_any<W: Word>(block: &Block<'_, W>, out: &mut [W]) -> Result<(), Damaged> {
    let Some((head, out)) = out.split_first_mut() else { return Ok(()) };
    *head = block.first;
    if out.is_empty() {
        return Ok(());
    }
    let (len, mut at) = (out.len(), 0);
    values(block, |value| {
        out[at] = value;
        at += 1;
        at < len
    })
}

/// See [`Block::select`].
pub(super) fn select<W: Word>(block: &Block<'_, W>, index: usize) -> Result<W, Damaged> {
    if let Some(value) = frame(block) {
        return Ok(value(index));
    }
    let (mut found, mut left) = (block.first, index);
    if left > 0 {
        values(block, |value| {
            found = value;
            left -= 1;
            left > 0
        })?;
    }
    Ok(found)
}

/// See [`Block::lower_bound`]. REQUIRES: `key` is larger than the first value.
pub(super) fn lower_bound<W: Word>(block: &Block<'_, W>, key: W) -> Result<(usize, bool), Damaged> {
    if let Some(value) = frame(block) {
        let (mut begin, mut len) = (1, block.count - 1);
        while len > 0 {
            let half = len / 2;
            if value(begin + half) < key {
                begin += half + 1;
                len -= half + 1;
            } else {
                len = half;
            }
        }
        return Ok((begin, begin < block.count && value(begin) == key));
    }
    let (mut below, mut equal) = (1, false);
    values(block, |value| {
        equal = value == key;
        below += usize::from(value < key);
        value < key
    })?;
    Ok((below, equal))
}

/// See [`Block::sum`].
pub(super) fn sum<W: Word>(block: &Block<'_, W>) -> Result<u128, Damaged> {
    let mut sum = u128::from(block.first.to_u64());
    values(block, |value| {
        sum += u128::from(value.to_u64());
        true
    })?;
    Ok(sum)
}
