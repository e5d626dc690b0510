//! Where each of many byte strings lies in the bytes of all: packed lengths, and a base for every 32 of them.
//!
//! # Format
//! | part | size | meaning |
//! |---|---|---|
//! | total | varint | bytes of all strings |
//! | shortest | varint | length of the shortest |
//! | width | 1 | bits of a packed length, 0 to 32; 0: all lengths are equal, and nothing follows |
//! | lengths | packed | of each string, what its length is more than the shortest |
//! | bases | packed | for strings 32, 64, … the sum of the packed lengths before, as many bits as the sum of all needs |
//!
//! Example: lengths 3, 5, 4 are total `0C`, shortest `03`, width `02`, lengths 0, 2, 1: `18`.

use std::ops::Range;

use super::{
    bits::{Packed, pack, packed_len, width_of},
    reader::Reader,
};
use crate::{Result, varint};

/// Strings from one base to the next.
const GROUP: usize = 32;

/// The shortest and the longest of `lengths`, and their sum.
fn extremes(lengths: impl Iterator<Item = u32>) -> (u32, u32, u64) {
    let (shortest, longest, total) = lengths.fold((u32::MAX, 0, 0), |(low, high, sum), length| {
        (length.min(low), length.max(high), sum + u64::from(length))
    });
    (shortest.min(longest), longest, total)
}

/// Appends the section of strings with these lengths.
///
/// REQUIRES: the lengths add up to at most `u32::MAX`.
pub(super) fn encode(lengths: impl ExactSizeIterator<Item = u32> + Clone, out: &mut Vec<u8>) {
    let (shortest, longest, total) = extremes(lengths.clone());
    let count = lengths.len();
    let width = width_of(longest - shortest);
    varint::encode(total, out);
    varint::encode(u64::from(shortest), out);
    out.push(width);
    if width == 0 {
        return;
    }
    pack(lengths.clone().map(|length| length - shortest), width, out);
    let excess = total - count as u64 * u64::from(shortest);
    let mut sum = 0;
    let mut bases = Vec::with_capacity(count / GROUP);
    for (index, length) in lengths.enumerate() {
        if index > 0 && index % GROUP == 0 {
            bases.push(sum);
        }
        sum += length - shortest;
    }
    pack(bases, width_of(excess as u32), out);
}

/// The bytes that [`encode`] appends for `count` lengths of these extremes.
pub(super) fn encoded_len(count: usize, shortest: u32, longest: u32, total: u64) -> usize {
    let width = width_of(longest - shortest);
    let fixed = varint::len(total) + varint::len(u64::from(shortest)) + 1;
    if width == 0 {
        return fixed;
    }
    let excess = total - count as u64 * u64::from(shortest);
    fixed + packed_len(count, width) + packed_len((count - 1) / GROUP, width_of(excess as u32))
}

/// As [`encoded_len`], from the lengths.
pub(super) fn encoded_len_of(lengths: impl ExactSizeIterator<Item = u32>) -> usize {
    let count = lengths.len();
    let (shortest, longest, total) = extremes(lengths);
    encoded_len(count, shortest, longest, total)
}

/// The bounds of strings, read where they are. Of hostile bytes the bounds may be any, but lie inside `total`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds<'a> {
    total: usize,
    shortest: usize,
    /// What the lengths are more than the shortest; `None` when nothing.
    lengths: Option<Packed<'a>>,
    bases: Packed<'a>,
    count: usize,
}

impl<'a> Bounds<'a> {
    /// Reads the section of `count` strings.
    pub(super) fn parse(reader: &mut Reader<'a>, count: usize) -> Result<Self> {
        let total = reader.length()?;
        let shortest = reader.length()?;
        let width = reader.byte()?;
        let Some(excess) = count.checked_mul(shortest).and_then(|least| total.checked_sub(least)) else {
            return Err(reader.damaged("the shortest strings are longer than all"));
        };
        if width == 0 {
            if excess != 0 {
                return Err(reader.damaged("equal lengths do not add up"));
            }
            let bases = Packed::new(&[], 0, 0).expect("nothing is no bytes");
            return Ok(Self { total, shortest, lengths: None, bases, count });
        }
        let lengths = reader.packed(count, width)?;
        let bases = reader.packed(count.saturating_sub(1) / GROUP, width_of(excess as u32))?;
        Ok(Self { total, shortest, lengths: Some(lengths), bases, count })
    }

    /// Bytes of all strings.
    pub(super) fn total(&self) -> usize {
        self.total
    }

    /// Where string `index` begins; `index` may be the number of strings.
    #[inline]
    pub(super) fn start(&self, index: usize) -> Result<usize> {
        let Some(lengths) = self.lengths else { return Ok(index * self.shortest) };
        if index == self.count {
            return Ok(self.total);
        }
        let group = index / GROUP;
        let base = if group == 0 { 0 } else { self.bases.get(group - 1) as usize };
        let excess: usize = lengths.iter(group * GROUP..index).map(|length| length as usize).sum();
        self.inside(index * self.shortest + base + excess)
    }

    /// Asks for the memory that [`Bounds::start`] reads.
    pub(super) fn prefetch(&self, index: usize) {
        if let Some(lengths) = self.lengths {
            let group = index / GROUP;
            lengths.prefetch(group * GROUP);
            self.bases.prefetch(group.saturating_sub(1));
        }
    }

    #[inline]
    fn inside(&self, at: usize) -> Result<usize> {
        if at > self.total {
            return Err(crate::Error::malformed(0, "a string ends beyond the strings"));
        }
        Ok(at)
    }

    /// Where string `index` lies.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Result<Range<usize>> {
        let start = self.start(index)?;
        Ok(start..self.inside(start + self.length(index))?)
    }

    /// The length of string `index`.
    #[inline]
    pub(super) fn length(&self, index: usize) -> usize {
        self.shortest + self.lengths.map_or(0, |lengths| lengths.get(index) as usize)
    }

    /// The lengths of the strings from `first` on, as many as `out` takes.
    pub(super) fn lengths(&self, first: usize, out: &mut [u32]) {
        match self.lengths {
            None => out.fill(0),
            Some(lengths) => lengths.unpack(first, out),
        }
        out.iter_mut().for_each(|length| *length = length.wrapping_add(self.shortest as u32));
    }

    /// Calls `string` with the number and the bounds of each of `rows`, in order, one after the other without gaps.
    #[inline]
    pub(super) fn each(&self, rows: Range<usize>, mut string: impl FnMut(usize, Range<usize>)) -> Result<()> {
        let mut at = self.start(rows.start)?;
        match self.lengths {
            None => {
                for row in rows {
                    string(row, at..at + self.shortest);
                    at += self.shortest;
                }
            }
            Some(lengths) => {
                for (row, length) in rows.clone().zip(lengths.iter(rows)) {
                    let end = self.inside(at + self.shortest + length as usize)?;
                    string(row, at..end);
                    at = end;
                }
            }
        }
        Ok(())
    }
}
