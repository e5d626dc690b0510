//! Strings of FSST codes.
//!
//! # Format
//! | part | size | meaning |
//! |---|---|---|
//! | source | 1 | 1: the symbols follow; 2: the symbols are those of the shared table |
//! | symbols | | see [`super::symbols`] |
//! | bounds | | of each string's codes, see [`super::bounds`] |
//! | codes | bounds' total | |

use std::{ops::Range, sync::Arc};

use super::{
    SharedTable,
    bounds::Bounds,
    copy::SLACK,
    reader::Reader,
    symbols::{EXPANSION_MAX, INSIDE_ESCAPE, Symbols},
};
use crate::{Error, Result};

pub(super) const OWN: u8 = 1;
pub(super) const SHARED: u8 = 2;

/// Strings that are decoded as one.
const RUN: usize = 128;

#[derive(Clone, Debug)]
pub(super) struct Fsst<'a> {
    symbols: Arc<Symbols>,
    bounds: Bounds<'a>,
    codes: &'a [u8],
}

impl<'a> Fsst<'a> {
    pub(super) fn parse(
        reader: &mut Reader<'a>,
        rows: usize,
        decoded: usize,
        shared: Option<&SharedTable>,
    ) -> Result<Self> {
        let symbols = match reader.byte()? {
            OWN => Arc::new(Symbols::parse(reader)?),
            SHARED => match shared.and_then(SharedTable::symbols) {
                Some(symbols) => Arc::clone(symbols),
                None => return Err(reader.damaged("a block needs the shared symbols")),
            },
            _ => return Err(reader.damaged("unknown source of symbols")),
        };
        let bounds = Bounds::parse(reader, rows)?;
        let codes = reader.take(bounds.total())?;
        if decoded > codes.len() * EXPANSION_MAX {
            return Err(reader.damaged("more bytes than the codes can stand for"));
        }
        Ok(Self { symbols, bounds, codes })
    }

    /// Asks for the memory in which it stands where a string's codes are.
    pub(super) fn prefetch(&self, row: usize) {
        self.bounds.prefetch(row);
    }

    pub(super) fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Calls `string` with the number and the codes of each of `rows`.
    pub(super) fn each(&self, rows: Range<usize>, mut string: impl FnMut(usize, &'a [u8])) -> Result<()> {
        self.bounds.each(rows, |row, bounds| string(row, &self.codes[bounds]))
    }

    /// Appends the strings of `rows`.
    pub(super) fn decode(
        &self,
        rows: Range<usize>,
        offsets: &mut Vec<u32>,
        data: &mut Vec<u8>,
    ) -> Result<()> {
        let mut at = data.len();
        let mut places = Vec::new();
        let mut lengths = [0; RUN];
        let mut start = self.bounds.start(rows.start)?;
        let first = offsets.len();
        offsets.resize(first + rows.len(), 0);
        for (run, ends) in rows.step_by(RUN).zip(offsets[first..].chunks_mut(RUN)) {
            let lengths = &mut lengths[..ends.len()];
            self.bounds.lengths(run, lengths);
            let end = start + lengths.iter().map(|length| *length as usize).sum::<usize>();
            let Some(codes) = self.codes.get(start..end) else {
                return Err(Error::malformed(0, "a string ends beyond the strings"));
            };
            // Room for whatever the codes stand for: decoding cannot run out of it.
            data.resize(at + codes.len() * EXPANSION_MAX + SLACK, 0);
            places.resize(places.len().max(codes.len() + 1), 0);
            let places = &mut places[..=codes.len()];
            places[0] = at as u32;
            at = self.symbols.decode_run(codes, data, at, &mut places[1..])?;
            let (mut end, mut inside) = (0, false);
            for (slot, length) in ends.iter_mut().zip(lengths) {
                end += *length as usize;
                *slot = places.get(end).copied().unwrap_or(INSIDE_ESCAPE);
                inside |= *slot == INSIDE_ESCAPE;
            }
            if inside {
                return Err(Error::malformed(0, "a string ends inside an escape"));
            }
            start += codes.len();
        }
        data.truncate(at);
        Ok(())
    }

    /// Appends string `row`.
    pub(super) fn append(&self, row: usize, data: &mut Vec<u8>) -> Result<()> {
        let codes = &self.codes[self.bounds.get(row)?];
        let at = data.len();
        data.resize(at + codes.len() * EXPANSION_MAX + SLACK, 0);
        let end = self.symbols.decode(codes, data, at, |_| ())?;
        data.truncate(end);
        Ok(())
    }
}
