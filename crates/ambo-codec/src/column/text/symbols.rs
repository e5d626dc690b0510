//! Symbol tables of FSST (Boncz, Neumann, Leis: "FSST: Fast Random Access String Compression", VLDB 2020): up to 255
//! symbols of one to eight bytes, each written as one byte.
//!
//! The crate `fsst-rs` trains tables and compresses. Its decompressor trusts codes and table, and rebuilding its compressor
//! from a stored table panics on tables that it did not make; so decoding and comparing are done here, over a
//! checked table.
//!
//! # Format
//! | part | size | meaning |
//! |---|---|---|
//! | counts | 8 | how many symbols have 2, 3, 4, 5, 6, 7, 8 bytes and 1 byte, in the order of their codes from 0 |
//! | symbols | | the bytes of all symbols, one after the other |
//!
//! In compressed bytes, 255 says that the next byte stands for itself, and any other byte is the code of a symbol.
//! Example: the symbols `ab` and `c` are `01 00 00 00 00 00 00 01 61 62 63`, and `abcd` is then `00 01 FF 64`.

use std::cmp::Ordering;

use fsst::{Compressor, ESCAPE_CODE};

use super::{BytesView, copy::SLACK, reader::Reader};
use crate::{Error, Result};

/// The lengths of symbols in the order of their codes.
const LENGTHS: [u8; 8] = [2, 3, 4, 5, 6, 7, 8, 1];

/// The most bytes that a byte of codes stands for.
pub(super) const EXPANSION_MAX: usize = 8;

/// The place between an escape and its byte, where no string ends.
pub(super) const INSIDE_ESCAPE: u32 = u32::MAX;

/// A table that decodes.
#[derive(Clone)]
pub(super) struct Symbols {
    /// The bytes of each symbol, the first lowest.
    symbols: [u64; 256],
    /// Their lengths; 0 for a code without a symbol.
    lengths: [u8; 256],
}

impl std::fmt::Debug for Symbols {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = self.lengths.iter().filter(|length| **length > 0).count();
        write!(f, "Symbols({count})")
    }
}

fn damaged(what: &'static str) -> Error {
    Error::malformed(0, what)
}

/// How a string lies to a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Comparison {
    /// As byte strings.
    pub(super) ordering: Ordering,
    /// Whether the string begins with the constant.
    pub(super) prefix: bool,
}

/// A constant to compare with, followed by eight bytes that may be loaded with its last one.
#[derive(Clone, Debug)]
pub(super) struct Constant {
    padded: Vec<u8>,
    len: usize,
}

impl Constant {
    pub(super) fn new(bytes: &[u8]) -> Self {
        let mut padded = bytes.to_vec();
        padded.resize(bytes.len() + 8, 0);
        Self { padded, len: bytes.len() }
    }

    /// The constant.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.padded[..self.len]
    }
}

impl Symbols {
    /// Reads a stored table.
    pub(super) fn parse(reader: &mut Reader<'_>) -> Result<Self> {
        let counts = reader.take(LENGTHS.len())?;
        if counts.iter().map(|count| usize::from(*count)).sum::<usize>() > usize::from(ESCAPE_CODE) {
            return Err(reader.damaged("more than 255 symbols"));
        }
        let mut table = Self { symbols: [0; 256], lengths: [0; 256] };
        let mut code = 0;
        for (length, count) in LENGTHS.into_iter().zip(counts) {
            for _ in 0..*count {
                let bytes = reader.take(usize::from(length))?;
                let mut symbol = [0; 8];
                symbol[..bytes.len()].copy_from_slice(bytes);
                table.symbols[code] = u64::from_le_bytes(symbol);
                table.lengths[code] = length;
                code += 1;
            }
        }
        Ok(table)
    }

    /// Decodes the codes of one string or of several to `out`, from `at` on, and returns where the last one ends. Up to
    /// [`SLACK`] bytes behind that are overwritten. `place` is called once for each code, in order: with the end of what is
    /// decoded, or with [`INSIDE_ESCAPE`]. Not to stop at the end of every string saves a mispredicted branch for each.
    #[inline]
    pub(super) fn decode(
        &self,
        codes: &[u8],
        out: &mut [u8],
        mut at: usize,
        mut place: impl FnMut(u32),
    ) -> Result<usize> {
        const FULL: &str = "a string decodes to more than its block";
        let mut rest = codes;
        while let Some((&code, behind)) = rest.split_first() {
            rest = behind;
            let Some(room) = out.get_mut(at..).and_then(|room| room.first_chunk_mut::<8>()) else {
                return Err(damaged(FULL));
            };
            let length = self.lengths[usize::from(code)];
            if length == 0 {
                let (&byte, behind) = self.escaped(code, rest)?;
                rest = behind;
                room[0] = byte;
                at += 1;
                place(INSIDE_ESCAPE);
            } else {
                *room = self.symbols[usize::from(code)].to_le_bytes();
                at += usize::from(length);
            }
            place(at as u32);
        }
        if at + SLACK > out.len() {
            return Err(damaged(FULL));
        }
        Ok(at)
    }

    /// Decodes the codes of several strings to `out`, from `at` on, and returns where the last one ends. `places` gets the end of what is
    /// decoded after each code, or [`INSIDE_ESCAPE`]. Up to [`SLACK`] bytes behind the end are overwritten.
    ///
    /// Four codes at a time: room is looked for once, and codes without a symbol (escapes, mostly) once behind all.
    ///
    /// REQUIRES: `places` is as long as `codes`.
    pub(super) fn decode_run(
        &self,
        codes: &[u8],
        out: &mut [u8],
        mut at: usize,
        places: &mut [u32],
    ) -> Result<usize> {
        const CODES: usize = 4;
        let mut done = 0;
        while let Some(four) = codes[done..].first_chunk::<CODES>()
            && let Some(room) = out.get_mut(at..).and_then(|room| room.first_chunk_mut::<{ CODES * 8 + 8 }>())
            && let Some(slots) = places.get_mut(done..).and_then(|slots| slots.first_chunk_mut::<CODES>())
        {
            let (mut end, mut all) = (0, true);
            for (code, slot) in four.iter().zip(slots) {
                let code = usize::from(*code);
                let length = self.lengths[code];
                all &= length != 0;
                // Three symbols have at most 24 bytes: the mask changes nothing, and the compiler knows that there is room.
                let begin = end & (CODES * 8 - 1);
                room[begin..begin + 8].copy_from_slice(&self.symbols[code].to_le_bytes());
                end += usize::from(length);
                *slot = (at + end) as u32;
            }
            if all {
                at += end;
                done += CODES;
                continue;
            }
            // An escape has its byte behind it, perhaps behind the four.
            let mut until = done;
            while until < done + CODES {
                until += 1 + usize::from(codes[until] == ESCAPE_CODE);
            }
            let until = until.min(codes.len());
            let mut slots = places[done..until].iter_mut();
            at = self.decode(&codes[done..until], out, at, |place| {
                if let Some(slot) = slots.next() {
                    *slot = place;
                }
            })?;
            done = until;
        }
        let mut slots = places[done..].iter_mut();
        self.decode(&codes[done..], out, at, |place| {
            if let Some(slot) = slots.next() {
                *slot = place;
            }
        })
    }

    /// The byte after an escape, and what follows it.
    #[inline]
    fn escaped<'c>(&self, code: u8, rest: &'c [u8]) -> Result<(&'c u8, &'c [u8])> {
        if code != ESCAPE_CODE {
            return Err(damaged("a code has no symbol"));
        }
        rest.split_first().ok_or(damaged("an escape has no byte"))
    }

    /// Compares a string with a constant, symbol by symbol, to the first difference.
    ///
    /// # Errors
    /// A code without a symbol before the first difference.
    #[inline]
    pub(super) fn compare(&self, codes: &[u8], constant: &Constant) -> Result<Comparison> {
        let (mut rest, mut at) = (codes, 0);
        while let Some((&code, behind)) = rest.split_first() {
            rest = behind;
            let (mut symbol, mut length) =
                (self.symbols[usize::from(code)], usize::from(self.lengths[usize::from(code)]));
            if length == 0 {
                let (&byte, behind) = self.escaped(code, rest)?;
                rest = behind;
                (symbol, length) = (u64::from(byte), 1);
            }
            let word = constant.padded[at..].first_chunk::<8>().expect("eight bytes follow the constant");
            let common = length.min(constant.len - at);
            let differing = (u64::from_le_bytes(*word) ^ symbol) & low_bytes(common);
            if differing != 0 {
                let shift = differing.trailing_zeros() & !7;
                let (ours, theirs) = (symbol >> shift & 0xff, u64::from_le_bytes(*word) >> shift & 0xff);
                return Ok(Comparison { ordering: ours.cmp(&theirs), prefix: false });
            }
            if common < length {
                return Ok(Comparison { ordering: Ordering::Greater, prefix: true });
            }
            at += length;
        }
        let ends = at == constant.len;
        Ok(Comparison { ordering: if ends { Ordering::Equal } else { Ordering::Less }, prefix: ends })
    }
}

/// Ones in the lowest `count` bytes.
#[inline]
fn low_bytes(count: usize) -> u64 {
    if count == 0 { 0 } else { u64::MAX >> (64 - 8 * count) }
}

/// A table that encodes, with the bytes that it is stored as.
pub(super) struct SymbolEncoder {
    compressor: Compressor,
    bytes: Vec<u8>,
}

impl SymbolEncoder {
    /// Trains a table on some 16 KB of `strings`; `None` when that gives no symbols, or none that would be of use.
    pub(super) fn train(strings: &BytesView<'_>) -> Option<Self> {
        let offsets = strings.offsets();
        if !pairs_repeat(&strings.data()[offsets[0] as usize..offsets[strings.len()] as usize]) {
            return None;
        }
        let sample: Vec<&[u8]> = strings.iter().filter(|string| !string.is_empty()).collect();
        let compressor = Compressor::train(&sample);
        let lengths = compressor.symbol_lengths();
        if lengths.is_empty() {
            return None;
        }
        let mut bytes: Vec<u8> = LENGTHS
            .iter()
            .map(|length| lengths.iter().filter(|other| *other == length).count() as u8)
            .collect();
        let order = |length: &u8| LENGTHS.iter().position(|other| other == length);
        assert!(lengths.is_sorted_by_key(order), "fsst-rs orders codes by length");
        for (symbol, length) in compressor.symbol_table().iter().zip(lengths) {
            bytes.extend_from_slice(&symbol.to_u64().to_le_bytes()[..usize::from(*length)]);
        }
        Some(Self { compressor, bytes })
    }

    /// The table as it is stored.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends the codes of all strings to `codes`, and where each ends to `ends`.
    pub(super) fn encode<'s>(
        &self,
        strings: impl Iterator<Item = &'s [u8]>,
        codes: &mut Vec<u8>,
        ends: &mut Vec<u64>,
    ) {
        let strings: Vec<&[u8]> = strings.collect();
        self.compressor.compress_bulk_into::<{ Compressor::DEFAULT_BULK_LANES }>(&strings, codes, ends);
    }
}

/// Stretches of bytes that are looked at to see whether any two of them repeat …
const STRETCHES: usize = 64;
/// … and the bytes of each.
const STRETCH: usize = 65;
/// Symbols save next to nothing where fewer than one in so many pairs of bytes was there before. Of random bytes it is one in 32, of UUIDs
/// in order, which begin with the same two bytes, one in eleven.
const PAIRS_A_REPEAT: usize = 8;

/// Whether pairs of neighbouring bytes repeat, as they do wherever symbols of more than one byte do.
fn pairs_repeat(bytes: &[u8]) -> bool {
    if bytes.len() < STRETCHES * STRETCH {
        return true;
    }
    let mut seen = [0u64; (1 << 16) / 64];
    let mut repeats = 0;
    for index in 0..STRETCHES {
        // Not always at the same place of strings that have all the same length.
        let start = index * (bytes.len() - STRETCH) / STRETCHES + index * 29 % STRETCH;
        let start = start.min(bytes.len() - STRETCH);
        for pair in bytes[start..start + STRETCH].windows(2) {
            let pair = usize::from(pair[0]) << 8 | usize::from(pair[1]);
            repeats += seen[pair / 64] >> (pair % 64) & 1;
            seen[pair / 64] |= 1 << (pair % 64);
        }
    }
    repeats as usize * PAIRS_A_REPEAT >= STRETCHES * (STRETCH - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: symbols that are not trained for strings of which only some bytes repeat, or trained for random ones.
    #[test]
    fn only_random_bytes_have_no_repeats() {
        let mix = |of: u64| {
            of.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
        };
        let rows = |row: &dyn Fn(u64) -> Vec<u8>, count: u64| (0..count).flat_map(row).collect::<Vec<u8>>();
        let random = |row: u64| [mix(row), mix(!row)].map(|half| (half ^ half >> 31).to_be_bytes()).concat();
        assert!(!pairs_repeat(&rows(&random, 8192)));
        assert!(!pairs_repeat(&rows(&random, 1000)));
        let ordered = |row: u64| [&[0x5a, 0x10 + (row * 30 / 8192) as u8], &random(row)[..14]].concat();
        assert!(!pairs_repeat(&rows(&ordered, 8192)), "UUIDs in order");
        let seven = |row: u64| [&(0x0190_1234_5678 + row).to_be_bytes()[2..], &random(row)[..10]].concat();
        assert!(pairs_repeat(&rows(&seven, 8192)), "UUIDs with a time");
        let long = |row: u64| [&[7; 8][..], &random(row), &random(row + 9), &random(!row)[..8]].concat();
        assert!(pairs_repeat(&rows(&long, 8192)), "eight bytes of 48");
        assert!(pairs_repeat(&rows(&|row| format!("{:016x}", mix(row)).into_bytes(), 8192)));
        assert!(pairs_repeat(b"few"));
    }
}
