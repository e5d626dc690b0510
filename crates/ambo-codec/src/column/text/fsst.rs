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
        let mut start = self.bounds.start(rows.start)?;
        for first in rows.clone().step_by(RUN) {
            let run = first..(first + RUN).min(rows.end);
            let end = self.bounds.start(run.end)?;
            let Some(codes) = self.codes.get(start..end) else {
                return Err(Error::malformed(0, "the strings are not in order"));
            };
            // Room for whatever the codes stand for: decoding cannot run out of it.
            data.resize(at + codes.len() * EXPANSION_MAX + SLACK, 0);
            places.resize(places.len().max(codes.len() + 1), 0);
            places[0] = at as u32;
            at = self.symbols.decode_run(codes, data, at, &mut places[1..=codes.len()])?;
            let mut inside = false;
            self.bounds.each(run, |_, bounds| {
                let place = bounds.end.checked_sub(start).and_then(|end| places.get(end));
                let place = place.copied().unwrap_or(INSIDE_ESCAPE);
                inside |= place == INSIDE_ESCAPE;
                offsets.push(place);
            })?;
            if inside || offsets.last().is_none_or(|last| *last as usize != at) {
                return Err(Error::malformed(0, "a string ends inside an escape"));
            }
            start = end;
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
