//! Ranges of keys that a transaction deletes as such.
//!
//! 1. What the transaction sees from then on is a version of its own of the table: with a memtable above all others that has nothing but
//!    the range, deleted at the moment of the transaction. So reads, cursors, counts and scans need not know of it. What the transaction
//!    has written in the range before becomes tombstones, what it writes later is above it.
//! 2. Of several ranges the later are hidden in the same version, unless a cursor or a view looks at it. To take some back is to make the
//!    version anew with the others.
//! 3. The commit deletes the range for all, before its rows. It counts as a write to each key of the range: whatever others have written
//!    there since the transaction began is a conflict.
//! 4. Where that cannot be, rows are deleted one by one: see `ranges`. So it is where rows are locked as they are written, and once the
//!    transaction changes definitions, which happens in versions without ranges. Where it turns out at the commit, ranges become rows
//!    there.

use std::sync::Arc;

use ambo_pages::log::Operation;
use ambo_types::{
    Error, Result,
    id::{TableId, Timestamp},
    record::Record,
};

use super::{
    commit::{Terms, check_size},
    cursor::{Cover, MergedCursor, Seek},
    engine::Engine,
    expiry::Moment,
    index_writes::Replaced,
    ranges::TableRange,
    transaction::Transaction,
    version::DatabaseVersion,
};
use crate::transaction::latch::LatchGuard;

/// A range that a transaction deletes.
pub(super) struct OwnRange {
    table: TableId,
    lower: Vec<u8>,
    upper: Option<Vec<u8>>,
}

impl OwnRange {
    fn as_range(&self) -> TableRange<'_> {
        TableRange { table: self.table, lower: &self.lower, upper: self.upper.as_deref() }
    }
}

/// The ranges that a transaction deletes, in order.
#[derive(Default)]
pub(super) struct OwnRanges {
    ranges: Vec<OwnRange>,
    /// What the transaction saw before the first, if there is one.
    found: Option<Arc<DatabaseVersion>>,
    bytes: usize,
}

impl OwnRanges {
    pub(super) fn len(&self) -> usize {
        self.ranges.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// That its parts fit each other.
    fn verify(&self) {
        let bytes: usize = self.ranges.iter().map(|range| range.as_range().bytes()).sum();
        assert_eq!(self.bytes, bytes, "bytes are those of the ranges");
        assert_eq!(self.found.is_some(), !self.ranges.is_empty(), "who hides ranges knows what was there");
    }
    /// All of them.
    pub(super) fn as_ranges(&self) -> Vec<TableRange<'_>> {
        self.ranges.iter().map(OwnRange::as_range).collect()
    }
}

/// Hides a range in a version that a transaction has for itself, made of the one that it has found. REQUIRES: nobody else looks at it.
fn hide(
    engine: &Engine,
    own: &mut DatabaseVersion,
    found: &DatabaseVersion,
    range: &TableRange<'_>,
    at: Timestamp,
) -> Result<()> {
    let was = found.table(range.table)?;
    let table = Arc::make_mut(own.tables.get_mut(&range.table).expect("it has the tables that were found"));
    if Arc::ptr_eq(&table.active, &was.active) {
        let hidden = engine.memtables.make(table.shared.storage)?;
        let active = std::mem::replace(&mut table.active, hidden);
        table.frozen.insert(0, active);
    }
    range.delete_in(&table.active, at, at);
    debug_assert_eq!(table.active.rows(), 0, "it has ranges alone");
    Ok(())
}

/// What a transaction has found, without these ranges. It keeps the version that was found, and that the pages.
fn without(
    engine: &Engine,
    found: &Arc<DatabaseVersion>,
    ranges: &[OwnRange],
    at: Timestamp,
) -> Result<Arc<DatabaseVersion>> {
    debug_assert!(found.under_ranges.is_none(), "ranges are hidden in what hides none");
    let mut own = (**found).clone();
    own.under_ranges = Some(found.clone());
    ranges.iter().try_for_each(|range| hide(engine, &mut own, found, &range.as_range(), at))?;
    Ok(Arc::new(own))
}

impl Transaction {
    /// Deletes all rows with keys from `lower` on and below `upper`, without which there is no end. It does not depend on how many there
    /// are, but where rows are deleted one by one: see the module.
    ///
    /// # Errors
    /// Where rows are deleted one by one, [`Error::Invalid`] if they are too many for a transaction, and as [`Transaction::delete`]: none
    /// is deleted then.
    pub fn delete_range(&mut self, table: TableId, lower: &[u8], upper: Option<&[u8]>) -> Result<()> {
        let Some(range) = TableRange::checked(table, lower, upper)? else { return Ok(()) };
        if self.takes_range(table)? { self.hide_range(&range) } else { self.delete_rows(&range) }
    }

    /// Whether a range of the table would be deleted as such now, and not row by row.
    pub fn takes_range(&self, table: TableId) -> Result<bool> {
        let is_alone = !self.engine().row_locks.held_by_others(self.owner());
        let takes_ranges = self.snapshot().version().table(table)?.takes_ranges();
        Ok(takes_ranges && is_alone && !self.is_read_committed() && self.own.len() == 0)
    }

    /// Deletes the rows of a range one by one, all or none.
    pub(super) fn delete_rows(&mut self, range: &TableRange<'_>) -> Result<()> {
        let before = self.savepoint();
        let deleted = self.delete_each(range);
        if deleted.is_err() {
            self.rollback_to(before)?;
        }
        deleted
    }

    fn delete_each(&mut self, range: &TableRange<'_>) -> Result<()> {
        let has_indexes = !self.snapshot().version().table(range.table)?.indexes.is_empty();
        let mut cursor = self.cursor_in(range.table, range.lower, range.upper)?;
        let mut key = Vec::new();
        let mut there = cursor.seek(Seek::Ge(range.lower))?;
        while there && range.upper.is_none_or(|upper| cursor.key() < upper) {
            key.clear();
            key.extend_from_slice(cursor.key());
            // What is deleted of indexes follows from the row.
            let replaced = if has_indexes { Replaced::Row(cursor.value()?) } else { Replaced::Unknown };
            self.delete_over(range.table, &key, replaced)?;
            there = cursor.next()?;
        }
        Ok(())
    }

    /// Sees a range as deleted from now on.
    fn hide_range(&mut self, range: &TableRange<'_>) -> Result<()> {
        let bytes = self.writes().bytes() + self.ranges.bytes + range.bytes();
        check_size(bytes, self.engine().options.transaction_bytes_max)?;
        let found = self.ranges.found.clone().unwrap_or_else(|| self.snapshot().version().clone());
        self.delete_own(range)?;
        let (engine, at) = (self.engine().clone(), self.timestamp());
        let (lower, upper) = (range.lower.to_vec(), range.upper.map(<[u8]>::to_vec));
        self.ranges.ranges.push(OwnRange { table: range.table, lower, upper });
        // Cursors and views keep what they see, and their version.
        let alone = self.snapshot_mut().version_mut().filter(|own| own.under_ranges.is_some());
        let hidden = match alone {
            Some(own) => hide(&engine, own, &found, range, at).map(|()| None),
            None => without(&engine, &found, &self.ranges.ranges, at).map(Some),
        };
        let hidden = hidden.inspect_err(|_| drop(self.ranges.ranges.pop()))?;
        hidden.into_iter().for_each(|own| self.snapshot_mut().set_version(own));
        self.ranges.bytes += range.bytes();
        self.ranges.found = Some(found);
        if cfg!(debug_assertions) {
            self.ranges.verify();
        }
        Ok(())
    }

    /// Takes away what it has written itself in a range.
    fn delete_own(&mut self, range: &TableRange<'_>) -> Result<()> {
        let Some(own) = self.own_writes(range.table) else { return Ok(()) };
        let is_below = |key: &[u8]| range.upper.is_none_or(|upper| key < upper);
        let from = (std::ops::Bound::Included(range.lower), std::ops::Bound::Unbounded);
        let written = own.range::<[u8], _>(from).take_while(|(key, _)| is_below(key));
        let written = written.filter(|(_, of)| !of.borrow().is_tombstone());
        let keys: Vec<_> = written.map(|(key, _)| key.clone()).collect();
        drop(own);
        if keys.is_empty() {
            return Ok(());
        }
        let before = self.savepoint();
        let mut keys = keys.iter();
        let deleted = keys.try_for_each(|key| self.write(range.table, key, Record::TOMBSTONE, Vec::new()));
        if deleted.is_err() {
            self.rollback_to(before)?;
        }
        deleted
    }

    /// Takes back all ranges but the first `count`. Returns what it saw before the others, if there are any.
    pub(super) fn show_ranges(&mut self, count: usize) -> Result<Option<Arc<DatabaseVersion>>> {
        if count == self.ranges.len() {
            return Ok(None);
        }
        let (engine, at) = (self.engine().clone(), self.timestamp());
        let own = &mut self.ranges;
        own.ranges.truncate(count);
        own.bytes = own.ranges.iter().map(|range| range.as_range().bytes()).sum();
        let found = own.found.clone().expect("there was a range");
        if count == 0 {
            own.found = None;
        }
        if cfg!(debug_assertions) {
            own.verify();
        }
        if count == 0 {
            return Ok(Some(found));
        }
        without(&engine, &found, &own.ranges, at).map(Some)
    }

    /// The ranges that its commit deletes as such. They become rows if they cannot be.
    pub(super) fn ranges_to_commit(&mut self) -> Result<OwnRanges> {
        if self.ranges.is_empty() {
            return Ok(OwnRanges::default());
        }
        let is_alone = !self.engine().row_locks.held_by_others(self.owner());
        // Behind changes of definitions they are rows already.
        if is_alone || self.own.len() > 0 {
            let ranges = std::mem::take(&mut self.ranges);
            return Ok(if self.own.len() == 0 { ranges } else { OwnRanges::default() });
        }
        self.ranges_to_rows()?;
        Ok(OwnRanges::default())
    }

    /// Deletes the rows of its ranges one by one. Returns the version that it has found, without the ranges.
    pub(super) fn ranges_to_rows(&mut self) -> Result<Arc<DatabaseVersion>> {
        let found = self.ranges.found.as_ref().unwrap_or(self.snapshot().version()).clone();
        assert!(found.under_ranges.is_none(), "a range that is hidden would leave its rows there");
        let ranges = std::mem::take(&mut self.ranges.ranges);
        let deleted = ranges.iter().try_for_each(|own| self.delete_found(&found, &own.as_range()));
        self.ranges.ranges = ranges;
        deleted.map(|()| found)
    }

    /// Writes a tombstone for each row of a range that was there when it began, and that it has not written itself.
    fn delete_found(&mut self, found: &DatabaseVersion, range: &TableRange<'_>) -> Result<()> {
        let table = found.table(range.table)?;
        let mut cursor = MergedCursor::new(table, None, Moment::all(self.timestamp()), Cover::LiveKeys);
        let mut there = cursor.seek(Seek::Ge(range.lower))?;
        while there && range.upper.is_none_or(|upper| cursor.key() < upper) {
            if self.writes().get(range.table, cursor.key()).is_none() {
                self.write(range.table, cursor.key(), Record::TOMBSTONE, Vec::new())?;
            }
            there = cursor.next()?;
        }
        Ok(())
    }
}

impl Engine {
    /// Latches all keys for a commit that deletes ranges, while nobody else has a row lock.
    ///
    /// # Errors
    /// [`Error::Conflict`] if somebody has.
    pub(super) fn latch_all_unlocked(&self, terms: Terms<'_>) -> Result<LatchGuard<'_>> {
        let latches = self.latches.lock_all();
        match terms.owner.is_some_and(|owner| self.row_locks.held_by_others(owner)) {
            true => {
                Err(Error::Conflict("rows of a range that was deleted may be locked by others by now".into()))
            }
            false => Ok(latches),
        }
    }
}

/// Fails if ranges cannot be deleted as such, or something in them was changed since a moment.
pub(super) fn check_ranges(
    version: &DatabaseVersion,
    ranges: &[TableRange<'_>],
    since: Option<Timestamp>,
) -> Result<()> {
    for range in ranges {
        let table = version.table(range.table)?;
        if !table.takes_ranges() {
            return Err(Error::Conflict(
                "indexes or the storage of a table that it wrote to were changed".into(),
            ));
        }
        if let Some(since) = since {
            table.check_range_unchanged(range.lower, range.upper, since)?;
        }
    }
    Ok(())
}

/// The operations of the log that delete ranges; `keys` are theirs.
pub(super) fn operations<'o>(
    ranges: &'o [TableRange<'_>],
    keys: &'o [Vec<u8>],
) -> impl Iterator<Item = Operation<'o>> {
    debug_assert_eq!(ranges.len(), keys.len(), "a key for each range");
    ranges.iter().zip(keys).map(|(range, key)| range.operation(key))
}
