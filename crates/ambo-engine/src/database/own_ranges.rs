//! Ranges of keys that a transaction deletes as such.
//!
//! 1. What the transaction sees from then on is a version of its own of the table: with a memtable above all others that has nothing but
//!    the range, deleted at the moment of the transaction. So reads, cursors, counts and scans need not know of it. What the transaction
//!    has written in the range before becomes tombstones, what it writes later is above it.
//! 2. To take it back is to go on with the version before it.
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
    /// What the transaction saw before.
    before: Arc<DatabaseVersion>,
}

impl OwnRange {
    pub(super) fn as_range(&self) -> TableRange<'_> {
        TableRange { table: self.table, lower: &self.lower, upper: self.upper.as_deref() }
    }
}

/// The ranges that a transaction deletes, in order.
#[derive(Default)]
pub(super) struct OwnRanges(Vec<OwnRange>);

impl OwnRanges {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes back all but the first `count`. Returns what the transaction saw before the others.
    pub(super) fn truncate(&mut self, count: usize) -> Option<Arc<DatabaseVersion>> {
        self.0.drain(count..).next().map(|first| first.before)
    }

    /// All of them.
    pub(super) fn as_ranges(&self) -> Vec<TableRange<'_>> {
        self.0.iter().map(OwnRange::as_range).collect()
    }
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
        let is_alone = !self.engine().row_locks.held_by_others(self.owner());
        let takes_ranges = self.snapshot().version().table(table)?.takes_ranges();
        if takes_ranges && is_alone && !self.is_read_committed() && self.own.len() == 0 {
            return self.hide_range(&range);
        }
        self.delete_rows(&range)
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
        self.check_ranges_size(range.bytes())?;
        let before = self.snapshot().version().clone();
        let of_table = before.table(range.table)?;
        let hidden = self.engine().memtables.make(of_table.shared.storage)?;
        let mut next = (*before).clone();
        let seen = Arc::make_mut(next.tables.get_mut(&range.table).expect("it was just there"));
        let at = self.timestamp();
        let is_first = !self.ranges.0.iter().any(|own| own.table == range.table);
        if is_first {
            seen.frozen.insert(0, seen.active.clone());
        } else {
            // Who looks at the one before does not see this range.
            for known in seen.active.deleted_ranges() {
                hidden.delete_range(&known.lower, known.upper.as_deref(), at, at);
            }
        }
        range.delete_in(&hidden, at, at);
        seen.active = hidden;
        // The version that it has found keeps the pages.
        let found = self.ranges.0.first().map_or(&before, |own| &own.before).clone();
        next.under_ranges = Some(found);
        self.delete_own(range)?;
        let (lower, upper) = (range.lower.to_vec(), range.upper.map(<[u8]>::to_vec));
        self.ranges.0.push(OwnRange { table: range.table, lower, upper, before });
        self.snapshot_mut().set_version(Arc::new(next));
        Ok(())
    }

    /// Takes away what it has written itself in a range.
    fn delete_own(&mut self, range: &TableRange<'_>) -> Result<()> {
        let Some(own) = self.own_writes(range.table) else { return Ok(()) };
        let is_below = |key: &[u8]| range.upper.is_none_or(|upper| key < upper);
        let from = (std::ops::Bound::Included(range.lower), std::ops::Bound::Unbounded);
        let written = own.range::<[u8], _>(from).take_while(|(key, _)| is_below(key));
        let keys: Vec<_> =
            written.filter(|(_, of)| !of.borrow().is_tombstone()).map(|(key, _)| key.clone()).collect();
        drop(own);
        keys.iter().try_for_each(|key| self.write(range.table, key, Record::TOMBSTONE, Vec::new()))
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
        let found = self.ranges.0.first().map_or(self.snapshot().version(), |own| &own.before).clone();
        let ranges = std::mem::take(&mut self.ranges);
        assert!(found.under_ranges.is_none(), "a range that is hidden would leave its rows there");
        let deleted = ranges.0.iter().try_for_each(|own| self.delete_found(&found, &own.as_range()));
        self.ranges = ranges;
        deleted.map(|()| found)
    }

    /// Writes a tombstone for each row of a range that was there when it began, and that it has not written itself.
    fn delete_found(&mut self, found: &DatabaseVersion, range: &TableRange<'_>) -> Result<()> {
        let table = found.table(range.table)?;
        let mut cursor = MergedCursor::new(table, None, self.timestamp(), Cover::LiveKeys);
        let mut there = cursor.seek(Seek::Ge(range.lower))?;
        while there && range.upper.is_none_or(|upper| cursor.key() < upper) {
            if self.writes().get(range.table, cursor.key()).is_none() {
                self.write(range.table, cursor.key(), Record::TOMBSTONE, Vec::new())?;
            }
            there = cursor.next()?;
        }
        Ok(())
    }

    /// Refuses ranges that are, with so many bytes more and with its rows, more than a transaction may write.
    fn check_ranges_size(&self, bytes: usize) -> Result<()> {
        let ranges: usize = self.ranges.0.iter().map(|own| own.as_range().bytes()).sum();
        check_size(self.writes().bytes() + ranges + bytes, self.engine().options.transaction_bytes_max)
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
    ranges.iter().zip(keys).map(|(range, key)| range.operation(key))
}
