//! Finding rows by an index.

use std::{ops::Bound, sync::Arc};

use ambo_codec::{KeyRange, Value as Datum};
use ambo_types::{Error, Result, id::TableId};

use super::{
    cursor::Seek,
    indexes::{TableIndex, find_index},
    snapshot::{Cursor, Snapshot},
    transaction::Transaction,
    value::Value,
    version::DatabaseVersion,
};

/// Which entries of an index to look at.
#[derive(Clone, Copy, Debug)]
pub enum IndexRange<'a> {
    /// Those of rows whose first columns have these values; in a hash index all columns are needed.
    Equal(&'a [Datum]),
    /// Those between two bounds on the first columns, in an ordered index.
    Between(Bound<&'a [Datum]>, Bound<&'a [Datum]>),
}

/// The rows that an index finds, by their keys: in the order of the index, those with equal values in the order of their keys.
pub struct IndexScan {
    index: Arc<TableIndex>,
    cursor: Cursor,
    range: KeyRange,
    /// The values as bytes, where others may share their hash.
    wanted: Option<Vec<u8>>,
    /// What was done last.
    state: ScanState,
    /// Whether from the last to the first.
    is_backward: bool,
    key: Vec<u8>,
    /// Where rows are looked up of a table whose rows expire: an entry stays as long as its row is stored.
    rows: Option<Box<Snapshot>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ScanState {
    Before,
    On,
    Behind,
}

impl IndexScan {
    fn new(
        index: Arc<TableIndex>,
        cursor: Cursor,
        range: KeyRange,
        wanted: Option<Vec<u8>>,
        rows: Option<Box<Snapshot>>,
    ) -> Self {
        debug_assert!(index.is_ready(), "an index is asked once it has all entries");
        Self {
            index,
            cursor,
            range,
            wanted,
            state: ScanState::Before,
            is_backward: false,
            key: Vec::new(),
            rows,
        }
    }

    /// The table whose rows it finds.
    pub fn table(&self) -> TableId {
        self.index.format.of().table
    }

    /// The same rows from the last to the first. To be called before the first step.
    #[must_use]
    pub fn rev(mut self) -> Self {
        assert!(self.state == ScanState::Before, "a scan is turned before its first step");
        self.is_backward = !self.is_backward;
        self
    }

    /// The stored key of the next row; `None` behind the last. Where the index is a hash index, the row may have other values:
    /// [`IndexScan::is_meant`] tells.
    pub fn next_key(&mut self) -> Result<Option<&[u8]>> {
        while self.step()? {
            let is_there = match &self.rows {
                Some(rows) => rows.get(self.table(), &self.key)?.is_some(),
                None => true,
            };
            if is_there {
                return Ok(Some(&self.key));
            }
        }
        Ok(None)
    }

    /// Goes to the next entry, and takes its row's key; false behind the last.
    fn step(&mut self) -> Result<bool> {
        let there = match self.state {
            ScanState::Before => {
                let last = self.range.upper.as_deref().map_or(Seek::Last, Seek::Lt);
                self.cursor.seek(if self.is_backward { last } else { Seek::Ge(&self.range.lower) })?
            }
            ScanState::On if self.is_backward => self.cursor.prev()?,
            ScanState::On => self.cursor.next()?,
            ScanState::Behind => false,
        };
        let within = |key: &[u8]| {
            let is_below = self.range.upper.as_deref().is_none_or(|upper| key < upper);
            is_below && *self.range.lower <= *key
        };
        if !there || !within(self.cursor.key()) {
            self.state = ScanState::Behind;
            return Ok(false);
        }
        self.state = ScanState::On;
        self.key.clear();
        let (key, value) = self.cursor.row()?;
        self.key.extend_from_slice(self.index.format.row_key(key, value)?);
        Ok(true)
    }

    /// The name of the index.
    pub fn index_name(&self) -> &str {
        self.index.format.name()
    }

    /// The error for a row that was found and is not there.
    pub fn no_row(&self, key: &[u8]) -> Error {
        no_row(&self.index, key)
    }

    /// Whether a row that was found has the values that were asked for.
    pub fn is_meant(&self, key: &[u8], row: &[u8]) -> Result<bool> {
        let Some(wanted) = &self.wanted else { return Ok(true) };
        self.index.format.has_values(key, row, wanted)
    }
}

impl TableIndex {
    /// The keys of entries in a range.
    pub(super) fn key_range(&self, range: IndexRange<'_>) -> Result<KeyRange> {
        match range {
            IndexRange::Equal(values) => self.format.prefix(values),
            IndexRange::Between(lower, upper) => self.format.range(lower, upper),
        }
    }
}

fn ready_index(version: &DatabaseVersion, id: TableId) -> Result<Arc<TableIndex>> {
    let index = find_index(version, id)?;
    match index.is_ready() {
        true => Ok(index),
        false => Err(Error::NotFound(format!("index \"{}\": it is still being built", index.format.name()))),
    }
}

fn bounds(index: &TableIndex, range: IndexRange<'_>) -> Result<(KeyRange, Option<Vec<u8>>)> {
    let wanted = match range {
        IndexRange::Equal(values) if index.format.is_hashed() => Some(index.format.as_bytes(values)?),
        _ => None,
    };
    Ok((index.key_range(range)?, wanted))
}

impl Snapshot {
    /// The rows that an index finds.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the snapshot has no such index, [`Error::Invalid`] if the range does not fit it.
    pub fn index_scan(&self, index: TableId, range: IndexRange<'_>) -> Result<IndexScan> {
        let index = ready_index(self.version(), index)?;
        let (range, wanted) = bounds(&index, range)?;
        let cursor = self.cursor(index.id)?;
        let rows = self.hides_rows(&index).then(|| Box::new(self.clone()));
        Ok(IndexScan::new(index, cursor, range, wanted, rows))
    }

    /// The first row with these values in an index.
    pub fn index_get(&self, index: TableId, values: &[Datum]) -> Result<Option<(Vec<u8>, Value)>> {
        let index = ready_index(self.version(), index)?;
        let (range, wanted) = bounds(&index, IndexRange::Equal(values))?;
        let table = index.format.of().table;
        if index.format.of().unique && !values.iter().any(Datum::is_null) {
            let Some(entry) = self.get(index.id, &range.lower)? else { return Ok(None) };
            let key = index.format.row_key(&range.lower, &entry)?.to_vec();
            let row = match self.get(table, &key)? {
                Some(row) => row,
                None if self.hides_rows(&index) => return Ok(None),
                None => return Err(no_row(&index, &key)),
            };
            let meant = match &wanted {
                Some(wanted) => index.format.has_values(&key, &row, wanted)?,
                None => true,
            };
            return Ok(meant.then_some((key, row)));
        }
        let cursor = self.cursor(index.id)?;
        let rows = self.hides_rows(&index).then(|| Box::new(self.clone()));
        let mut scan = IndexScan::new(index.clone(), cursor, range, wanted, rows);
        while let Some(key) = scan.next_key()? {
            let key = key.to_vec();
            let Some(row) = self.get(table, &key)? else { return Err(no_row(&index, &key)) };
            if scan.is_meant(&key, &row)? {
                return Ok(Some((key, row)));
            }
        }
        Ok(None)
    }

    /// Whether entries of an index may have rows that have expired.
    fn hides_rows(&self, index: &TableIndex) -> bool {
        let table = self.version().tables.get(&index.format.of().table);
        self.now().is_some() && table.is_some_and(|table| table.shared.expiry.is_some())
    }

    /// How many rows an index finds. A hash index, and one of rows that expire, has to look at them.
    pub fn index_count(&self, index: TableId, range: IndexRange<'_>) -> Result<u64> {
        let of = ready_index(self.version(), index)?;
        let (bounds, wanted) = bounds(&of, range)?;
        if wanted.is_none() && !self.hides_rows(&of) {
            return self.count(index, Some(&bounds.lower), bounds.upper.as_deref());
        }
        let mut scan = self.index_scan(index, range)?;
        let mut count = 0;
        while let Some(key) = scan.next_key()? {
            let key = key.to_vec();
            let Some(row) = self.get(scan.table(), &key)? else { return Err(no_row(&of, &key)) };
            count += u64::from(scan.is_meant(&key, &row)?);
        }
        Ok(count)
    }
}

impl Transaction {
    /// The rows that an index finds, with what this transaction wrote so far.
    ///
    /// # Errors
    /// As [`Snapshot::index_scan`].
    pub fn index_scan(&self, index: TableId, range: IndexRange<'_>) -> Result<IndexScan> {
        let index = ready_index(self.snapshot().version(), index)?;
        let (range, wanted) = bounds(&index, range)?;
        let cursor = self.cursor_in(index.id, &range.lower, range.upper.as_deref())?;
        let rows = self.snapshot().hides_rows(&index).then(|| Box::new(self.view()));
        Ok(IndexScan::new(index, cursor, range, wanted, rows))
    }
}

/// An entry without its row: they are written together, so this is damage.
fn no_row(index: &TableIndex, key: &[u8]) -> Error {
    Error::damaged(
        ambo_pages::page::NAME,
        0,
        format!(
            "index \"{}\" has an entry for a row that is not there (key {})",
            index.format.name(),
            key.escape_ascii()
        ),
    )
}
