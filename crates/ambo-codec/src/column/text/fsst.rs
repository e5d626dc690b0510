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
    symbols::{EXPANSION_MAX, Symbols},
};
use crate::Result;

pub(super) const OWN: u8 = 1;
pub(super) const SHARED: u8 = 2;

/// Strings for which room is made at once.
const ROOM_ROWS: usize = 32;

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
    pub(super) fn decode(&self, rows: Range<usize>, offsets: &mut Vec<u32>, data: &mut Vec<u8>) -> Result<()> {
        let mut at = data.len();
        let mut room = rows.start;
        let mut outcome = Ok(());
        self.bounds.each(rows.clone(), |row, bounds| {
            if outcome.is_err() {
                return;
            }
            if row == room {
                // Room for whatever the codes of the next rows stand for: their decoding cannot run out of it.
                room = (row + ROOM_ROWS).min(rows.end);
                let end = self.bounds.start(room).unwrap_or(self.codes.len());
                let most = at + end.saturating_sub(bounds.start) * EXPANSION_MAX + SLACK;
                data.resize(most.max(data.len()), 0);
            }
            match self.symbols.decode(&self.codes[bounds], data, at) {
                Ok(end) => {
                    at = end;
                    offsets.push(end as u32);
                }
                Err(error) => outcome = Err(error),
            }
        })?;
        data.truncate(at);
        outcome
    }

    /// Appends string `row`.
    pub(super) fn append(&self, row: usize, data: &mut Vec<u8>) -> Result<()> {
        let codes = &self.codes[self.bounds.get(row)?];
        let at = data.len();
        data.resize(at + codes.len() * EXPANSION_MAX + SLACK, 0);
        let end = self.symbols.decode(codes, data, at)?;
        data.truncate(end);
        Ok(())
    }
}
