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
        let total = self.total(first..rows.end, &suffixes)?;
        if total > decoded {
            return Err(damaged("the strings are longer than their block"));
        }
        let base = data.len();
        data.resize(base + total + SLACK, 0);
        let (mut at, mut before, mut cut) = (base, base, base);
        for (index, row) in (first..rows.end).enumerate() {
            let prefix = self.prefixes.get(row) as usize;
            let (start, len) = suffixes.bounds(index);
            copy::copy_within(data, before, prefix, at);
            suffixes.copy(start, len, data, at + prefix);
            before = at;
            at += prefix + len;
            if row < rows.start {
                cut = at;
            } else {
                offsets.push((at - (cut - base)) as u32);
            }
        }
        data.truncate(at);
        if cut > base {
            data.copy_within(cut.., base);
            data.truncate(at - (cut - base));
        }
        Ok(())
    }

    /// The bytes of these strings, of which each has no more in common with the one before it than that is long.
    fn total(&self, rows: Range<usize>, suffixes: &Strings) -> Result<usize> {
        let (mut total, mut before) = (0, 0);
        for (index, row) in rows.enumerate() {
            let prefix = self.prefixes.get(row) as usize;
            if prefix > if row % RESTART == 0 { 0 } else { before } {
                return Err(damaged("a prefix is longer than the string before"));
            }
            before = prefix + suffixes.bounds(index).1;
            total += before;
        }
        Ok(total)
    }

    /// Appends string `row`.
    pub(super) fn append(&self, row: usize, decoded: usize, data: &mut Vec<u8>) -> Result<()> {
        self.decode(row..row + 1, decoded, &mut Vec::new(), data)
    }
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
