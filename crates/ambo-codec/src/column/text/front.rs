//! Front coding: what a string has in common with the one before it is not stored. Every sixteenth string begins anew.
//!
//! # Format
//! | part | size | meaning |
//! |---|---|---|
//! | width | 1 | bits of a prefix length, 0 to 32 |
//! | prefixes | packed | how many bytes each string shares with the one before it; 0 for strings 0, 16, 32, … |
//! | suffixes | | the rest of each string, as a text block that is raw or FSST |
//!
//! Example: `car`, `cart`, `cat` are width `02`, prefixes 0, 3, 2: `2C`, and a raw block of `car`, `t`, `t`.

use std::ops::Range;

use super::{
    TextBlock,
    bits::Packed,
    copy::{self, SLACK},
    reader::Reader,
    strings::Strings,
};
use crate::{Error, Result};

/// Strings from one that begins anew to the next.
pub(super) const RESTART: usize = 16;

#[derive(Clone, Debug)]
pub(super) struct Front<'a> {
    prefixes: Packed<'a>,
    suffixes: Box<TextBlock<'a>>,
}

fn damaged(what: &'static str) -> Error {
    Error::malformed(0, what)
}

impl<'a> Front<'a> {
    /// Reads the prefixes; `suffixes` reads the block behind them.
    pub(super) fn parse(
        reader: &mut Reader<'a>,
        rows: usize,
        decoded: usize,
        suffixes: impl FnOnce(&'a [u8]) -> Result<TextBlock<'a>>,
    ) -> Result<Self> {
        let width = reader.byte()?;
        let prefixes = reader.packed(rows, width)?;
        let suffixes = Box::new(suffixes(reader.rest())?);
        if decoded > suffixes.decoded_len().saturating_mul(RESTART) {
            return Err(reader.damaged("more bytes than the suffixes can stand for"));
        }
        Ok(Self { prefixes, suffixes })
    }

    /// Appends the strings of `rows`; `decoded` is the size of all strings of the block.
    pub(super) fn decode(
        &self,
        rows: Range<usize>,
        decoded: usize,
        offsets: &mut Vec<u32>,
        data: &mut Vec<u8>,
    ) -> Result<()> {
        let first = rows.start / RESTART * RESTART;
        let (mut ends, mut bytes) = (Vec::new(), Vec::new());
        self.suffixes.decode(first..rows.end, &mut ends, &mut bytes)?;
        let suffixes = Strings::new(ends, bytes);
        let mut prefixes = vec![0; rows.end - first];
        self.prefixes.unpack(first, &mut prefixes);
        let total = total(&prefixes, &suffixes)?;
        if total > decoded {
            return Err(damaged("the strings are longer than their block"));
        }
        let base = data.len();
        data.resize(base + total + SLACK, 0);
        let skipped = rows.start - first;
        let ends_at = offsets.len();
        offsets.resize(ends_at + rows.len(), 0);
        let (mut at, mut cut) = (base, base);
        // The first bytes of the string before. From memory they would have to wait until it is written, as the two
        // writes that made it cannot be read as one.
        let mut head = 0;
        let mut before = base;
        for (index, prefix) in prefixes.iter().enumerate() {
            let prefix = *prefix as usize;
            let (suffix, start, len) = suffixes.sixteen(index);
            if prefix + len < HEAD {
                head = head & LOW_BYTES[prefix % HEAD] | suffix << (8 * (prefix % HEAD));
                *head_at(data, at) = head.to_le_bytes();
            } else {
                copy::copy_within(data, before, prefix, at);
                suffixes.copy(start, len, data, at + prefix);
                head = u128::from_le_bytes(*head_at(data, at));
            }
            before = at;
            at += prefix + len;
            if index < skipped {
                cut = at;
            } else {
                offsets[ends_at + index - skipped] = (at - (cut - base)) as u32;
            }
        }
        data.truncate(at);
        if cut > base {
            data.copy_within(cut.., base);
            data.truncate(at - (cut - base));
        }
        Ok(())
    }

    /// Appends string `row`.
    pub(super) fn append(&self, row: usize, decoded: usize, data: &mut Vec<u8>) -> Result<()> {
        self.decode(row..row + 1, decoded, &mut Vec::new(), data)
    }
}

/// Bytes of a string that are made in a register.
const HEAD: usize = 16;

/// The first bytes of a string in `data`.
#[inline]
fn head_at(data: &mut [u8], at: usize) -> &mut [u8; HEAD] {
    data[at..].first_chunk_mut().expect("bytes that may be overwritten follow the strings")
}

/// Ones in so many of the lowest bytes.
static LOW_BYTES: [u128; HEAD] = {
    let mut ones = [0; HEAD];
    let mut count = 1;
    while count < HEAD {
        ones[count] = ones[count - 1] << 8 | 0xff;
        count += 1;
    }
    ones
};

/// The bytes of these strings, of which each has no more in common with the one before it than that is long. The first begins anew.
fn total(prefixes: &[u32], suffixes: &Strings) -> Result<usize> {
    let (mut total, mut before, mut fits) = (0, 0, true);
    for (index, prefix) in prefixes.iter().enumerate() {
        let prefix = *prefix as usize;
        fits &= prefix <= if index % RESTART == 0 { 0 } else { before };
        before = prefix + suffixes.bounds(index).1;
        total += before;
    }
    if fits { Ok(total) } else { Err(damaged("a prefix is longer than the string before")) }
}

/// The prefix lengths of `strings`.
pub(super) fn prefixes<'s>(strings: impl Iterator<Item = &'s [u8]>) -> Vec<u32> {
    let mut before: &[u8] = &[];
    let prefix = |(index, string): (usize, &'s [u8])| {
        let common = if index % RESTART == 0 { 0 } else { common_prefix(before, string) };
        before = string;
        common as u32
    };
    strings.enumerate().map(prefix).collect()
}

/// How many bytes `a` and `b` have in common at their beginning.
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let mut at = 0;
    while let (Some(x), Some(y)) = (a[at..].first_chunk::<8>(), b[at..].first_chunk::<8>()) {
        let difference = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if difference != 0 {
            return at + (difference.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    at + a[at..].iter().zip(&b[at..]).take_while(|(x, y)| x == y).count()
}
