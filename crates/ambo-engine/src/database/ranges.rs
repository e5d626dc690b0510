//! Deleting all rows of a range of keys, however many there are.
//!
//! 1. It is one operation of the log and one entry of the active memtable, which hides from snapshots after it what is older: in the
//!    memtable itself, in older ones, in runs and the base. Cursors go on behind the range.
//! 2. When the memtable is flushed, each key of the range that is there becomes a tombstone of its run. So bases know nothing of ranges.
//! 3. It conflicts as a write to each key of the range does: who has read an older snapshot and writes such a key comes second. So that
//!    none is overlooked it has the latches of all keys, for as long as it takes to be written to the log.
//! 4. Where more than rows depend on it, rows are deleted one by one instead, in one transaction: in a table with indexes, whose entries
//!    have to follow; in a table of columns, whose scans know of deleted rows only; while the table is given another storage; and while
//!    any row is locked by a transaction. [`TableVersion::takes_ranges`] says the first three, and a commit asks where it gets its
//!    timestamp, so no range is deleted that another commit does not know of.
//!
//! What a transaction deletes as a range waits for its commit: `own_ranges`.
//!
//! [`TableVersion::takes_ranges`]: super::version::TableVersion::takes_ranges

use std::sync::Arc;

use ambo_pages::log::Operation;
use ambo_types::{
    Error, Result,
    id::{TableId, Timestamp},
    record::{KEY_BYTES_MAX, Record},
};

use super::{
    commit::{ROW_OVERHEAD, append},
    engine::Engine,
    transaction::{Isolation, Transaction},
};
use crate::{memtable::Memtable, transaction::fuse::Fuse};

/// Under this table the log has deleted ranges: the key is the table's id and the lower bound, the value the upper bound, or nothing where
/// there is none. No table has this id.
pub(super) const RANGES_TABLE: TableId = TableId(u32::MAX);

/// How often rows are deleted one by one before others that write them are told of.
const TRIES: usize = 16;

/// A range of keys of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TableRange<'a> {
    pub table: TableId,
    pub lower: &'a [u8],
    /// Not in it; none is unbounded.
    pub upper: Option<&'a [u8]>,
}

impl<'a> TableRange<'a> {
    /// The range that an operation of the log deletes; none if its bytes are not one.
    pub(super) fn decode(operation: &Operation<'a>) -> Option<Self> {
        debug_assert_eq!(operation.table, RANGES_TABLE);
        let (table, lower) = operation.key.split_first_chunk()?;
        let upper = Some(operation.record.bytes).filter(|upper| !upper.is_empty());
        let is_range = upper.is_none_or(|upper| lower < upper);
        is_range.then_some(Self { table: TableId(u32::from_be_bytes(*table)), lower, upper })
    }

    /// The key of its operation in the log.
    pub(super) fn key(&self) -> Vec<u8> {
        [&self.table.0.to_be_bytes(), self.lower].concat()
    }

    /// Its operation in the log.
    pub(super) fn operation<'o>(&'o self, key: &'o [u8]) -> Operation<'o> {
        let record = Record::inline(self.upper.unwrap_or_default());
        let operation = Operation { table: RANGES_TABLE, key, record };
        debug_assert_eq!(TableRange::decode(&operation).as_ref(), Some(self), "the log has this range");
        operation
    }

    /// Bytes that it takes of the memtables' budget.
    pub(super) fn bytes(&self) -> usize {
        self.lower.len() + self.upper.map_or(0, <[u8]>::len) + ROW_OVERHEAD
    }

    /// Refuses bounds that no key has; none if there is no key between them.
    pub(super) fn checked(table: TableId, lower: &'a [u8], upper: Option<&'a [u8]>) -> Result<Option<Self>> {
        // A bound may be the key behind the longest one.
        let longest = lower.len().max(upper.map_or(0, <[u8]>::len));
        if longest > KEY_BYTES_MAX + 1 {
            return Err(Error::Invalid(format!(
                "the bound of a range has {longest} bytes; a key has at most {KEY_BYTES_MAX}"
            )));
        }
        let has_keys = upper.is_none_or(|upper| lower < upper);
        Ok(has_keys.then_some(Self { table, lower, upper }))
    }

    /// Deletes it in a memtable.
    pub(super) fn delete_in(&self, memtable: &Memtable, at: Timestamp, oldest: Timestamp) {
        memtable.delete_range(self.lower, self.upper, at, oldest);
    }
}

/// The table that an operation changes.
#[inline]
pub(super) fn table_of(operation: &Operation<'_>) -> TableId {
    match operation.table {
        RANGES_TABLE => TableRange::decode(operation).map_or(RANGES_TABLE, |range| range.table),
        table => table,
    }
}

impl Engine {
    /// Deletes all rows with keys from `lower` on and below `upper`, without which there is no end: one commit. It does not depend on how
    /// many there are, but where rows are deleted one by one: see the module.
    ///
    /// # Errors
    /// Where rows are deleted one by one, [`Error::Conflict`] if others kept writing them, [`Error::Invalid`] if they are too many for a
    /// transaction: nothing is deleted then.
    pub fn delete_range(self: &Arc<Self>, table: TableId, lower: &[u8], upper: Option<&[u8]>) -> Result<()> {
        self.check_writable()?;
        let Some(range) = TableRange::checked(table, lower, upper)? else { return Ok(()) };
        loop {
            let room_made = self.room_made();
            match self.commit_range(&range) {
                Ok(true) => return Ok(()),
                Ok(false) => return self.delete_rows(&range),
                // Nothing was written, and the log itself may be what fills the disk.
                Err(Error::DiskFull(_)) if !self.is_flushed_soon() && self.make_room(room_made) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Deletes a range as such; false if it cannot be.
    fn commit_range(self: &Arc<Self>, range: &TableRange<'_>) -> Result<bool> {
        let bytes = range.bytes();
        self.admit(bytes)?;
        if !self.versions.load().table(range.table)?.takes_ranges() {
            return Ok(false);
        }
        let latches = self.latches.lock_all();
        if self.row_locks.any() {
            return Ok(false);
        }
        let mut sequencer = self.pipeline.sequence();
        // Loaded under the sequencer's lock: a freeze changes memtables and timestamp together under it.
        let version = self.versions.load();
        let table = version.table(range.table)?;
        if !table.takes_ranges() {
            return Ok(false);
        }
        self.pipeline.check_poison()?;
        let key = range.key();
        let operation = range.operation(&key);
        let (at, logged) = append(&self.pipeline, &mut sequencer, &version, &[], &[operation])?;
        assert!(at > version.compacted, "bases have nothing that is later than a commit");
        let in_flight = Fuse::in_flight(&self.pipeline, at);
        drop(sequencer);
        let in_flight = self.written(in_flight, at, logged, None)?;
        range.delete_in(&table.active, at, self.snapshots.oldest_hint());
        in_flight.complete();
        drop(latches);
        self.after_commit(at, bytes, false)?;
        Ok(true)
    }

    /// Deletes the rows of a range one by one.
    fn delete_rows(self: &Arc<Self>, range: &TableRange<'_>) -> Result<()> {
        let mut tried = 0;
        loop {
            tried += 1;
            let mut tx = Transaction::new(self, Isolation::Snapshot)?;
            tx.delete_rows(range)?;
            match tx.commit() {
                Err(Error::Conflict(_)) if tried < TRIES => {}
                committed => return committed.map(drop),
            }
        }
    }
}
