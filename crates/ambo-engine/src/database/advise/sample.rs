//! Rows from all over a table.

use ambo_base::{BaseOps, Lowest};
use ambo_types::{
    Result,
    id::{TableId, Timestamp},
};

use crate::database::{
    blobs::read_whole,
    cursor::{Cover, MergedCursor, Seek},
    engine::Engine,
    expiry::Moment,
    version::TableVersion,
};

/// Stretches of neighbours: what codecs of keys do depends on the next key.
const STRETCHES: u64 = 16;
/// Longer values are left out.
const VALUE_BYTES_MAX: u64 = 1 << 20;
/// The most bytes of a stretch.
const STRETCH_BYTES_MAX: usize = 4 << 20;

/// A row.
pub(super) type Row = (Vec<u8>, Vec<u8>);

/// Stretches of rows, each in key order and behind the one before.
pub(super) struct Sample {
    pub(super) stretches: Vec<Vec<Row>>,
    pub(super) left_out: u64,
}

impl Sample {
    /// About `wanted` of the `total` rows that a table has at a moment.
    pub(super) fn take(
        table: &TableVersion,
        id: TableId,
        at: Timestamp,
        total: u64,
        wanted: u64,
    ) -> Result<Self> {
        let mut cursor = MergedCursor::new(table, None, Moment::all(at), Cover::Live);
        let mut sample = Self { stretches: Vec::new(), left_out: 0 };
        let length = if total <= wanted { total } else { wanted.div_ceil(STRETCHES) };
        let runs = table.runs.iter().cloned().map(Lowest::Tree);
        let compacted = table.base.clone().take_lowest().into_iter().chain(runs).max_by_key(Lowest::rows);
        let compacted = compacted.filter(|trees| trees.rows() >= total / 2 && total > wanted);
        let starts = match &compacted {
            Some(trees) => {
                places(trees.rows(), length).map(|place| trees.nth(place)).collect::<Result<Vec<_>>>()?
            }
            None => Vec::new(),
        };
        if compacted.is_some() {
            for start in starts.iter().flatten() {
                let last = sample.stretches.last().and_then(|rows: &Vec<Row>| rows.last());
                let there = match last {
                    Some((last, _)) if last >= start => cursor.seek(Seek::Gt(last))?,
                    _ => cursor.seek(Seek::Ge(start))?,
                };
                sample.read(&mut cursor, there, table, id, length)?;
            }
            return Ok(sample);
        }
        // Most of it is in memory, where walking costs little.
        let mut there = cursor.seek(Seek::First)?;
        let mut position = 0;
        for place in places(total, length) {
            while there && position < place {
                there = cursor.next()?;
                position += 1;
            }
            let (read, more) = sample.read(&mut cursor, there, table, id, length)?;
            position += read;
            there = more;
        }
        Ok(sample)
    }

    /// Takes `length` rows from where the cursor stands on; returns how many it went by, and whether there are more.
    fn read(
        &mut self,
        cursor: &mut MergedCursor,
        mut there: bool,
        table: &TableVersion,
        id: TableId,
        length: u64,
    ) -> Result<(u64, bool)> {
        let (mut rows, mut bytes, mut read) = (Vec::new(), 0, 0);
        while there && read < length && bytes < STRETCH_BYTES_MAX {
            let value = match cursor.is_blob() {
                false => Some(cursor.record().bytes.to_vec()),
                true => {
                    let blob = Engine::decode_blob(cursor.record().bytes, id)?;
                    match blob.bytes() <= VALUE_BYTES_MAX {
                        true => Some(read_whole(&table.shared.store, &blob)?),
                        false => None,
                    }
                }
            };
            match value {
                Some(value) => {
                    bytes += cursor.key().len() + value.len();
                    rows.push((cursor.key().to_vec(), value));
                }
                None => self.left_out += 1,
            }
            read += 1;
            there = cursor.next()?;
        }
        if !rows.is_empty() {
            self.stretches.push(rows);
        }
        Ok((read, there))
    }

    /// All rows.
    pub(super) fn all(&self) -> impl Iterator<Item = &Row> {
        self.stretches.iter().flatten()
    }

    pub(super) fn rows(&self) -> u64 {
        self.stretches.iter().map(|rows| rows.len() as u64).sum()
    }

    pub(super) fn key_bytes(&self) -> u64 {
        self.all().map(|(key, _)| key.len() as u64).sum()
    }

    pub(super) fn record_bytes(&self) -> u64 {
        self.all().map(|(_, value)| value.len() as u64).sum()
    }

    pub(super) fn has_keys_of(&self, bytes: usize) -> bool {
        self.all().all(|(key, _)| key.len() == bytes)
    }
}

/// Where stretches of `length` of `total` rows begin: one in each of as many equal parts, at a place that depends on
/// its number.
fn places(total: u64, length: u64) -> impl Iterator<Item = u64> {
    let stretches = if length >= total { 1 } else { STRETCHES };
    let part = total / stretches;
    let slack = part.saturating_sub(length) + 1;
    (0..stretches).map(move |number| {
        let mut state = number;
        number * part + ambo_pages::io::sim::split_mix(&mut state) % slack
    })
}
