//! Read-write transactions: a snapshot, buffered writes, locks.

use std::{collections::HashSet, sync::Arc, time::Duration};

use ambo_base::btree::KeySum;
use ambo_pages::{
    log::Operation,
    page::{PageStore, blob::BlobRef},
};
use ambo_types::{
    Error, Result,
    id::{TableId, Timestamp},
    record::{Record, RecordKind},
};
use parking_lot::Mutex;

use super::{
    access::check_value,
    blobs::INLINE_BYTES_MAX,
    commit::{ReadCheck, Terms, check_size},
    count,
    engine::Engine,
    expiry::Expiry,
    filters::check_filter,
    index_writes::{EntryWrite, Replaced},
    options::Sync,
    own_definitions::OwnDefinitions,
    own_ranges::OwnRanges,
    purge::check_expiry,
    scan::{ScanPlan, TableScan},
    snapshot::{Cursor, Snapshot},
    table::Picked,
    value::Value,
    version::DatabaseVersion,
};
use crate::{
    catalog::Catalog,
    transaction::{
        row_lock::OwnerId,
        write_set::{self, TableWrites, WriteSet},
    },
};

/// What a transaction is protected from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Isolation {
    /// Each statement reads at a moment of its own, see [`Transaction::refresh`]. What is written is locked at once, so nobody has to begin
    /// anew but the statement that comes second. Allows what two statements see to be different.
    ReadCommitted,
    /// Reads at one moment; of two that write the same row the second to commit fails. Allows write skew.
    Snapshot,
    /// As if one transaction ran after the other: whatever it read is checked when it commits.
    Serializable,
}

/// Whose rows a transaction of the engine deletes, and why they go.
enum Removes {
    Expired(TableId, Arc<Expiry>),
    Filtered(TableId, String),
}

/// A range that was read: `lower <= key < upper`.
struct ReadRange {
    table: TableId,
    lower: Box<[u8]>,
    upper: Option<Box<[u8]>>,
}

/// What a serializable transaction has read.
#[derive(Default)]
struct Reads {
    keys: HashSet<(TableId, Box<[u8]>)>,
    ranges: Vec<ReadRange>,
}

/// A moment inside a transaction: what was written and defined after it can be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint {
    writes: write_set::Savepoint,
    definitions: usize,
    ranges: usize,
}

impl Savepoint {
    pub(super) fn writes(self) -> write_set::Savepoint {
        self.writes
    }
}

/// A transaction. Dropped without `commit`, it never was.
pub struct Transaction {
    snapshot: Snapshot,
    pub(super) own: OwnDefinitions,
    writes: WriteSet,
    reads: Option<Mutex<Reads>>,
    /// Whether it goes on at later moments, and so locks what it writes.
    is_read_committed: bool,
    /// The epoch of indexes that the first write was made for: later moments may know others.
    written_at: Option<u64>,
    /// Row locks that were taken, by hash.
    locks: Vec<u64>,
    owner: OwnerId,
    /// How long it waits for a lock.
    lock_timeout: Duration,
    sync: Option<Sync>,
    /// Blobs that only this transaction refers to, and where they are.
    blobs: Vec<(Arc<PageStore>, BlobRef)>,
    /// Ranges of keys that it deletes as such.
    pub(super) ranges: OwnRanges,
    /// What its commit is bound to, beside rows.
    removes: Option<Removes>,
}

impl Transaction {
    pub(super) fn new(engine: &Arc<Engine>, isolation: Isolation) -> Result<Self> {
        engine.check_writable()?;
        Ok(Self {
            snapshot: Snapshot::new(engine),
            own: OwnDefinitions::default(),
            writes: WriteSet::default(),
            reads: (isolation == Isolation::Serializable).then(Mutex::default),
            is_read_committed: isolation == Isolation::ReadCommitted,
            written_at: None,
            locks: Vec::new(),
            owner: engine.new_owner(),
            lock_timeout: engine.lock_timeout(),
            sync: None,
            blobs: Vec::new(),
            ranges: OwnRanges::default(),
            removes: None,
        })
    }

    pub(super) fn engine(&self) -> &Arc<Engine> {
        self.snapshot.engine()
    }

    pub(super) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// From now on it sees rows that have expired, too.
    pub(super) fn show_expired(&mut self) {
        self.snapshot.show_expired();
    }

    pub(super) fn snapshot_mut(&mut self) -> &mut Snapshot {
        &mut self.snapshot
    }

    /// The schemas, tables and indexes as it sees them.
    pub fn catalog(&self) -> &Arc<Catalog> {
        self.snapshot.catalog()
    }

    /// What it wrote to a table so far.
    pub(super) fn own_writes(&self, table: TableId) -> Option<TableWrites> {
        self.writes.table(table)
    }

    /// Whose locks are its own.
    pub(super) fn owner(&self) -> OwnerId {
        self.owner
    }

    /// Whether what it reads is checked when it commits.
    pub(super) fn is_serializable(&self) -> bool {
        self.reads.is_some()
    }

    /// The moment that it reads at.
    pub fn timestamp(&self) -> Timestamp {
        self.snapshot.timestamp()
    }

    /// Chooses how durable its commit is.
    pub fn set_sync(&mut self, sync: Sync) {
        self.sync = Some(sync);
    }

    /// Chooses how long it waits for a lock, if not as the database says.
    pub fn set_lock_timeout(&mut self, timeout: Option<Duration>) {
        self.lock_timeout = timeout.unwrap_or_else(|| self.engine().lock_timeout());
    }

    fn note_read(&self, table: TableId, key: &[u8]) {
        if let Some(reads) = &self.reads {
            reads.lock().keys.insert((table, key.into()));
        }
    }

    pub(super) fn note_range(&self, table: TableId, lower: &[u8], upper: Option<&[u8]>) {
        if let Some(reads) = &self.reads {
            reads.lock().ranges.push(ReadRange { table, lower: lower.into(), upper: upper.map(Into::into) });
        }
    }

    /// The value of a key, as the transaction left or found it.
    pub fn get(&self, table: TableId, key: &[u8]) -> Result<Option<Value>> {
        self.get_picked(table, key, None)
    }

    /// As [`Transaction::get`], for [`RowFormat::decode_picked`](super::RowFormat::decode_picked): columns that are not picked may be NULL.
    pub fn get_picked(&self, table: TableId, key: &[u8], picked: Option<&Picked>) -> Result<Option<Value>> {
        match self.writes.get(table, key) {
            Some(own) => self.snapshot.own_value(table, key, own, self.snapshot.moment()),
            None => {
                self.note_read(table, key);
                self.snapshot.get_picked(table, key, picked)
            }
        }
    }

    /// As [`Snapshot::get_many`], as the transaction left or found them.
    pub(super) fn get_many(
        &self,
        table: TableId,
        keys: &[Vec<u8>],
        picked: Option<&[bool]>,
    ) -> Result<Vec<Option<Vec<u8>>>> {
        let is_own = |key: &&Vec<u8>| self.writes.get(table, key).is_some();
        keys.iter().filter(|key| !is_own(key)).for_each(|key| self.note_read(table, key));
        let mut values = self.snapshot.get_many(table, keys, picked)?;
        for (key, value) in keys.iter().zip(&mut values) {
            if let Some(own) = self.writes.get(table, key) {
                *value = self
                    .snapshot
                    .own_value(table, key, own, self.snapshot.moment())?
                    .map(|value| value.to_vec());
            }
        }
        Ok(values)
    }

    /// As [`Transaction::get`], for what the outcome does not depend on, or what is written then: it is no read to be checked.
    pub(super) fn peek(&self, table: TableId, key: &[u8]) -> Result<Option<Value>> {
        match self.writes.get(table, key) {
            Some(own) => self.snapshot.own_value(table, key, own, self.snapshot.moment()),
            None => self.snapshot.get(table, key),
        }
    }

    /// As [`Transaction::peek`], of a row that has expired, too.
    pub(super) fn stored(&self, table: TableId, key: &[u8]) -> Result<Option<Value>> {
        match self.writes.get(table, key) {
            Some(own) => self.snapshot.own_value(table, key, own, self.snapshot.moment_of_all()),
            None => self.snapshot.stored(table, key),
        }
    }

    /// Its commit fails if rows of a table expire otherwise by then.
    pub(super) fn purge(&mut self, table: TableId, expiry: &Arc<Expiry>) {
        self.removes = Some(Removes::Expired(table, expiry.clone()));
    }

    /// Its commit fails if another filter, or none, says which rows of a table go by then.
    pub(super) fn removes_by_filter(&mut self, table: TableId, filter: &str) {
        self.removes = Some(Removes::Filtered(table, filter.to_owned()));
    }

    /// Maps `key` to `value`.
    pub fn put(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        self.put_over(table, key, value, Replaced::Unknown)
    }

    /// Maps `key` to `value`, for a caller that has looked up what is there.
    pub fn put_over(
        &mut self,
        table: TableId,
        key: &[u8],
        value: &[u8],
        replaced: Replaced<'_>,
    ) -> Result<()> {
        Engine::check_key(key)?;
        check_value(value)?;
        self.free_expired(table, key, value)?;
        let engine = self.engine().clone();
        let value = &*engine.stamped(self.snapshot.version().table(table)?, value);
        let entries = self.entries_for(table, key, Some(value), replaced)?;
        if value.len() > INLINE_BYTES_MAX {
            // Where the table is for this transaction: it reads it there.
            let (store, blob) = Engine::write_blob(self.snapshot.version(), table, value)?;
            let encoded = blob.encode();
            self.blobs.push((store, blob));
            return self.write(table, key, Record { kind: RecordKind::Blob, bytes: &encoded }, entries);
        }
        self.write(table, key, Record::inline(value), entries)
    }

    /// Deletes `key`, whether or not it is there.
    pub fn delete(&mut self, table: TableId, key: &[u8]) -> Result<()> {
        self.delete_over(table, key, Replaced::Unknown)
    }

    /// Deletes `key`, for a caller that has looked up what is there.
    pub fn delete_over(&mut self, table: TableId, key: &[u8], replaced: Replaced<'_>) -> Result<()> {
        Engine::check_key(key)?;
        let entries = self.entries_for(table, key, None, replaced)?;
        self.write(table, key, Record::TOMBSTONE, entries)
    }

    /// Whether statements are to be at moments of their own.
    pub fn is_read_committed(&self) -> bool {
        self.is_read_committed
    }

    /// Goes on at the newest moment, where what others have committed meanwhile is seen; what it wrote itself stays. For a transaction that
    /// is not [`Isolation::ReadCommitted`] nothing changes.
    ///
    /// # Errors
    /// [`Error::Conflict`] if it has changed definitions that others have changed meanwhile.
    pub fn refresh(&mut self) -> Result<()> {
        if !self.is_read_committed {
            return Ok(());
        }
        let mut fresh = Snapshot::new(self.engine());
        debug_assert!(fresh.timestamp() >= self.timestamp(), "moments only go on");
        if let Some(version) = self.definitions_over(&fresh)? {
            fresh.set_version(version);
        }
        self.snapshot = fresh;
        Ok(())
    }

    /// Locks what is to be written, of a transaction that later looks at what others have committed meanwhile.
    fn lock_written(&mut self, table: TableId, key: &[u8], entries: &[EntryWrite]) -> Result<()> {
        self.lock(table, key)?;
        entries.iter().try_for_each(|entry| self.lock(entry.index, &entry.key))
    }

    /// Buffers a record of a table and what goes with it into its indexes: all or nothing.
    pub(super) fn write(
        &mut self,
        table: TableId,
        key: &[u8],
        record: Record<'_>,
        entries: Vec<EntryWrite>,
    ) -> Result<()> {
        let of_entries: usize = entries.iter().map(EntryWrite::bytes).sum();
        debug_assert!(
            entries.iter().all(|entry| entry.index != table),
            "entries are of indexes, not of the table"
        );
        check_size(
            self.writes.bytes() + key.len() + record.bytes.len() + of_entries,
            self.engine().options.transaction_bytes_max,
        )?;
        if self.is_read_committed {
            self.lock_written(table, key, &entries)?;
        }
        self.written_at.get_or_insert(self.own.base().unwrap_or(self.snapshot.version()).index_epoch);
        self.writes.insert(table, key, record);
        for entry in entries {
            self.writes.insert(entry.index, &entry.key, entry.record());
        }
        Ok(())
    }

    /// Takes the row's lock now and holds it to the end: nobody else can commit to it meanwhile.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the row was changed since the snapshot; [`Error::Lock`] after waiting in vain.
    pub fn lock(&mut self, table: TableId, key: &[u8]) -> Result<()> {
        Engine::check_key(key)?;
        if self.is_own_table(table) {
            return Ok(());
        }
        let (hash, of_table) = (Engine::row_hash(table, key), Engine::table_hash(table));
        let engine = self.engine().clone();
        loop {
            // Who holds the table would wait for the row, and this transaction for the table when it commits.
            if engine.row_locks.blocked(of_table, Some(self.owner)) {
                engine.row_locks.wait(of_table, self.owner, self.lock_timeout)?;
            }
            // Under the key's latch no commit to it is half done, and later ones will see the lock.
            let latch = engine.latches.lock_one(hash);
            match engine.row_locks.try_acquire(hash, self.owner) {
                Some(new) => {
                    if new {
                        debug_assert!(!self.locks.contains(&hash), "a lock is taken once");
                        self.locks.push(hash);
                    }
                    return engine.versions.load().table(table)?.check_unchanged(key, self.timestamp());
                }
                None => {
                    drop(latch);
                    engine.row_locks.wait(hash, self.owner, self.lock_timeout)?;
                }
            }
        }
    }

    /// As [`Transaction::lock`], of all rows of a table, whether or not they were changed.
    pub(super) fn lock_table(&mut self, table: TableId) -> Result<()> {
        let hash = Engine::table_hash(table);
        if self.engine().acquire_table(hash, self.owner, self.lock_timeout)? {
            debug_assert!(!self.locks.contains(&hash), "a lock is taken once");
            self.locks.push(hash);
        }
        Ok(())
    }

    /// A cursor over the table as the transaction sees it now; its later writes are not shown.
    ///
    /// A serializable transaction counts the whole table as read; [`Transaction::cursor_in`] says less.
    pub fn cursor(&self, table: TableId) -> Result<Cursor> {
        self.cursor_in(table, &[], None)
    }

    /// As [`Transaction::cursor`], for a caller that stays within `lower <= key < upper`.
    pub fn cursor_in(&self, table: TableId, lower: &[u8], upper: Option<&[u8]>) -> Result<Cursor> {
        self.note_range(table, lower, upper);
        self.snapshot.cursor_over(table, self.writes.table(table))
    }

    /// How many rows have keys from `lower` on and below `upper`.
    pub fn count(&self, table: TableId, lower: Option<&[u8]>, upper: Option<&[u8]>) -> Result<u64> {
        self.note_range(table, lower.unwrap_or_default(), upper);
        let own = self.writes.table(table);
        count::count(self.snapshot.version().table(table)?, own, self.snapshot.moment(), lower, upper)
    }

    /// The sum of the keys from `lower` on and below `upper`, and how many there are. See [`Snapshot::sum_keys`].
    pub fn sum_keys(&self, table: TableId, lower: Option<&[u8]>, upper: Option<&[u8]>) -> Result<KeySum> {
        self.note_range(table, lower.unwrap_or_default(), upper);
        let own = self.writes.table(table);
        count::sum_keys(self.snapshot.version().table(table)?, own, self.snapshot.moment(), lower, upper)
    }

    /// Prepares a scan of a column table, with what this transaction wrote. See [`Snapshot::scan_columns`].
    pub fn scan_columns(&self, table: TableId, plan: &ScanPlan) -> Result<TableScan> {
        self.note_range(table, &[], None);
        let own = self.writes.table(table);
        TableScan::new(self.snapshot.version(), table, own, self.snapshot.moment(), plan)
    }

    /// What the transaction sees now, for readers that outlive this call; its later writes are not shown.
    ///
    /// What is read there is no read of a serializable transaction: [`Transaction::note_scan`] says that it is.
    pub fn view(&self) -> Snapshot {
        self.snapshot.with_writes(self.writes.tables().clone())
    }

    /// Counts a table as read from end to end.
    pub fn note_scan(&self, table: TableId) {
        self.note_range(table, &[], None);
    }

    pub(super) fn writes(&self) -> &WriteSet {
        &self.writes
    }

    /// Marks this moment, to roll back to.
    pub fn savepoint(&mut self) -> Savepoint {
        let (definitions, ranges) = (self.own.len(), self.ranges.len());
        Savepoint { writes: self.writes.savepoint(), definitions, ranges }
    }

    /// Takes back what was written and defined after `savepoint`. Locks stay.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the savepoint itself was rolled back.
    pub fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        let is_known = savepoint.definitions <= self.own.len() && savepoint.ranges <= self.ranges.len();
        if !self.writes.knows(savepoint.writes) || !is_known {
            return Err(Error::Invalid("the savepoint was rolled back itself".into()));
        }
        self.writes.rollback_to(savepoint.writes);
        let undefined = self.own.truncate(savepoint.definitions);
        let shown = self.show_ranges(savepoint.ranges)?;
        debug_assert_eq!(
            (self.own.len(), self.ranges.len()),
            (savepoint.definitions, savepoint.ranges),
            "what came after a savepoint is taken back"
        );
        if let Some(version) = shown.or(undefined) {
            self.snapshot.set_version(version);
        }
        Ok(())
    }

    /// Makes the writes durable and visible, all or none.
    ///
    /// # Errors
    /// [`Error::Conflict`]: nothing was written, run it again. [`Error::DiskFull`]: nothing was written. [`Error::Poisoned`] or
    /// [`Error::Io`]: whether it was written is known after reopening.
    pub fn commit(mut self) -> Result<Timestamp> {
        if self.writes.is_empty() && self.own.base().is_none() && self.ranges.is_empty() {
            return Ok(self.timestamp());
        }
        let ranges = self.ranges_to_commit()?;
        let ranges = ranges.as_ranges();
        let writes = std::mem::take(&mut self.writes).into_order();
        let check = |now: &DatabaseVersion| self.check_reads(now);
        let terms = Terms {
            snapshot: Some(self.timestamp()),
            reads: (self.reads.is_some() || self.removes.is_some()).then_some(&check as &ReadCheck<'_>),
            owner: Some(self.owner),
            lock_timeout: Some(self.lock_timeout),
            sync: self.sync,
            index_epoch: Some(self.written_at.unwrap_or(self.snapshot.version().index_epoch)),
            blobs_in: None,
            is_stamped: false,
            ranges: &ranges,
        };
        let mut operations = writes.operations();
        let result = match self.own.base() {
            Some(base) => {
                // What was written to a table before it was dropped.
                operations.retain(|op| self.snapshot.version().tables.contains_key(&op.table));
                self.engine().commit_definitions(&self, base, &operations, terms)
            }
            None => self.engine().commit(&operations, terms),
        };
        if result.is_ok() {
            debug_assert!(result.as_ref().is_ok_and(|at| *at > self.timestamp() || operations.is_empty()));
            forget_committed(&mut self.blobs, &operations);
        } else if self.engine().pipeline.check_poison().is_err() {
            // Perhaps it was written: the pages must stay.
            self.blobs.clear();
        }
        result
    }

    /// Gives up all writes and locks.
    pub fn rollback(self) {}

    /// Fails if anything that was read has a newer version.
    fn check_reads(&self, now: &DatabaseVersion) -> Result<()> {
        match &self.removes {
            Some(Removes::Expired(table, expiry)) => check_expiry(now, *table, expiry)?,
            Some(Removes::Filtered(table, filter)) => check_filter(now, *table, filter)?,
            None => {}
        }
        let Some(reads) = &self.reads else { return Ok(()) };
        let reads = reads.lock();
        let since = self.timestamp();
        for (table, key) in reads.keys.iter().filter(|(table, _)| self.has_found(*table)) {
            now.table(*table)?.check_unchanged(key, since)?;
        }
        let ranges = reads.ranges.iter().filter(|range| self.has_found(range.table));
        for ReadRange { table, lower, upper } in ranges {
            now.table(*table)?.check_range_unchanged(lower, upper.as_deref(), since)?;
        }
        Ok(())
    }
}

/// Leaves only those blobs that no committed record refers to.
fn forget_committed(blobs: &mut Vec<(Arc<PageStore>, BlobRef)>, committed: &[Operation<'_>]) {
    if blobs.is_empty() {
        return;
    }
    let records = committed.iter().map(|op| op.record).filter(|record| record.kind == RecordKind::Blob);
    let committed: HashSet<&[u8]> = records.map(|record| record.bytes).collect();
    blobs.retain(|(_, blob)| !committed.contains(&blob.encode()[..]));
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if !self.locks.is_empty() {
            let engine = self.snapshot.engine();
            engine.row_locks.release(self.locks.drain(..), self.owner);
        }
        for (store, blob) in &self.blobs {
            store.free(blob.pages().iter().copied());
        }
    }
}
