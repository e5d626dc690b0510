//! Commits, as `transaction/mod.rs` orders their steps.

use std::{sync::Arc, time::Duration};

use ambo_base::column::ColumnSchema;
use ambo_pages::{log::Operation, page::PageStore};
use ambo_types::{
    Error, Result,
    id::Timestamp,
    record::{Record, RecordKind},
};
use parking_lot::MutexGuard;

use super::{
    blobs::read_whole,
    engine::Engine,
    notes::{LongValues, NOTES_TABLE},
    options::Sync,
    own_ranges::{self, check_ranges},
    ranges::{TableRange, table_of},
    version::{DatabaseVersion, TableVersion},
};
use crate::{
    catalog::{CATALOG_TABLE, CatalogChange},
    transaction::{
        fuse::Fuse,
        latch::LatchGuard,
        pipeline::{Pipeline, Sequencer, Validation},
        row_lock::OwnerId,
    },
};

/// Fails if something was changed that must not have been.
pub(super) type ReadCheck<'a> = dyn Fn(&DatabaseVersion) -> Result<()> + 'a;

/// What a commit asks for beyond its writes.
#[derive(Clone, Copy, Default)]
pub(super) struct Terms<'a> {
    /// Fail if a written key was changed after this snapshot.
    pub snapshot: Option<Timestamp>,
    /// Fail if anything read was changed after the snapshot: the check for a serializable transaction.
    pub reads: Option<&'a ReadCheck<'a>>,
    /// Whose row locks do not block it.
    pub owner: Option<OwnerId>,
    /// How long it waits for those of others, if not as the database says.
    pub lock_timeout: Option<Duration>,
    /// How durable, if not as the database is.
    pub sync: Option<Sync>,
    /// The indexes that the operations were made for, by the epoch of the version they were looked up in.
    pub index_epoch: Option<u64>,
    /// Ranges of keys that are deleted before the operations, at the same moment.
    pub ranges: &'a [TableRange<'a>],
    /// Where long values were written that the operations refer to, if it was without a snapshot.
    pub blobs_in: Option<&'a Arc<PageStore>>,
    /// Whether values have the time of the commit behind them already, in tables that keep it.
    pub is_stamped: bool,
}

/// What is known of the rows of a commit.
struct RowsChecked {
    /// Whether one of the tables has indexes.
    indexed: bool,
    /// Whether one keeps the time of commits.
    stamped: bool,
    /// The epoch in which that is true.
    epoch: u64,
}

/// The longest row of a column table: it is in memory as a whole while it is compacted.
const COLUMN_ROW_BYTES_MAX: u64 = 256 << 20;

/// Bookkeeping of a row in a memtable, for the budget.
pub(super) const ROW_OVERHEAD: usize = 48;

pub(super) fn bytes_of(operations: &[Operation<'_>]) -> usize {
    operations.iter().map(|op| op.key.len() + op.record.bytes.len() + ROW_OVERHEAD).sum()
}

impl Engine {
    /// Commits the operations at once, in their order. Those on rows of tables with indexes that come without the entries are given them.
    ///
    /// # Errors
    /// Without a snapshot [`Error::Conflict`] says that long values are not where their table is any more.
    pub(super) fn commit(
        self: &Arc<Self>,
        operations: &[Operation<'_>],
        terms: Terms<'_>,
    ) -> Result<Timestamp> {
        self.check_writable()?;
        loop {
            let room_made = self.room_made();
            let RowsChecked { indexed, stamped, epoch } = self.check_rows(operations, terms)?;
            if stamped && !terms.is_stamped {
                return self.commit_stamped(operations, terms);
            }
            if indexed && terms.index_epoch.is_none() {
                return self.commit_indexed(operations, terms);
            }
            if let Some(of_entries) = terms.index_epoch {
                check_tables(&self.versions.load(), operations, of_entries, |table| {
                    !table.indexes.is_empty()
                })?;
            }
            match self.commit_as_is(operations, terms, epoch) {
                // Indexes or storage were changed just now. Without a snapshot there is no other conflict.
                Err(Error::Conflict(_)) if terms.snapshot.is_none() => {}
                // Nothing was written, and the log itself may be what fills the disk.
                Err(Error::DiskFull(_)) if !self.is_flushed_soon() && self.make_room(room_made) => {}
                result => return result,
            }
        }
    }

    /// Commits operations that are complete for tables as they were at this epoch.
    fn commit_as_is(
        self: &Arc<Self>,
        operations: &[Operation<'_>],
        terms: Terms<'_>,
        epoch: u64,
    ) -> Result<Timestamp> {
        let bytes = bytes_of(operations) + terms.ranges.iter().map(TableRange::bytes).sum::<usize>();
        self.admit(bytes)?;
        self.admit_by_room(operations)?;
        let latches = match terms.ranges {
            [] => self.latch_unlocked(operations, terms)?,
            _ => self.latch_all_unlocked(terms)?,
        };
        if let Some(snapshot) = terms.snapshot {
            self.check_writes(operations, snapshot, epoch)?;
            check_ranges(&self.versions.load(), terms.ranges, Some(snapshot))?;
        }
        let (at, is_behind) = self.sequence_and_install(operations, terms, epoch)?;
        drop(latches);
        self.after_commit(at, bytes, is_behind)?;
        Ok(at)
    }

    /// Waits until a commit is seen by all, and has done what it makes due.
    pub(super) fn after_commit(self: &Arc<Self>, at: Timestamp, bytes: usize, is_behind: bool) -> Result<()> {
        self.pipeline.wait(at)?;
        debug_assert!(at <= self.pipeline.publisher.published(), "what is answered is seen by all");
        if at.0.is_multiple_of(64) {
            self.snapshots.refresh(&self.pipeline.publisher);
        }
        if self.governor.add(bytes) | self.pipeline.take_crowded() {
            self.request_flush();
        }
        if is_behind {
            self.catch_up();
        }
        Ok(())
    }

    /// Refuses rows that a column table could not store as columns, or with NULL where a column has come to refuse it: later would be too
    /// late. This is done before anything is locked.
    fn check_rows(&self, operations: &[Operation<'_>], terms: Terms<'_>) -> Result<RowsChecked> {
        let version = self.versions.load();
        let (mut indexed, mut stamped) = (false, false);
        for op in operations {
            // A table that is not there is noticed in the order of commits.
            if let Ok(table) = version.table(op.table) {
                if terms.index_epoch.is_some_and(|epoch| table.shared.moved > epoch) {
                    return Err(changed());
                }
                check_store(table, op, terms.blobs_in)?;
                if let Some(schema) = table.shared.row_check() {
                    check_row(schema, table, op)?;
                }
                indexed |= !table.indexes.is_empty();
                stamped |= table.shared.stamped;
            }
        }
        Ok(RowsChecked { indexed, stamped, epoch: version.index_epoch })
    }

    /// Commits values with the time of the commit behind them, where tables keep it. Those of a transaction have a time from when they were
    /// written.
    #[cold]
    fn commit_stamped(self: &Arc<Self>, operations: &[Operation<'_>], terms: Terms<'_>) -> Result<Timestamp> {
        let (version, stamp) = (self.versions.load_full(), self.stamp());
        let value = |op: &Operation<'_>| {
            let table = version.table(op.table).ok()?;
            let is_kept = table.shared.stamped && op.record.kind == RecordKind::Inline;
            let value = if terms.snapshot.is_some() { table.shown(op.record.bytes) } else { op.record.bytes };
            is_kept.then(|| [value, &stamp].concat())
        };
        let values: Vec<_> = operations.iter().map(value).collect();
        let stamped = operations.iter().zip(&values).map(|(op, value)| match value {
            Some(value) => Operation { record: Record::inline(value), ..*op },
            None => *op,
        });
        self.commit(&stamped.collect::<Vec<_>>(), Terms { is_stamped: true, ..terms })
    }

    /// Waits as long as the memtables' budget asks.
    #[inline]
    pub(super) fn admit(&self, bytes: usize) -> Result<()> {
        if !self.options.background_threads && self.governor.is_used_up() {
            // Nobody else makes room, or finds that there is space again.
            self.flush_and_report();
        }
        // A flush may have failed for another reason than space, and then nothing helps but reopening.
        self.governor.admit(bytes).map_err(|error| self.pipeline.check_poison().err().unwrap_or(error))
    }

    /// Latches the keys while nobody else holds a row lock on one of them, or a table.
    fn latch_unlocked(&self, operations: &[Operation<'_>], terms: Terms<'_>) -> Result<LatchGuard<'_>> {
        loop {
            match self.try_latch(operations, terms.owner) {
                Ok(guard) => return Ok(guard),
                Err(blocked) => self.wait_for_lock(blocked, terms)?,
            }
        }
    }

    /// Latches the keys if nobody else holds a row lock on one of them, or a table; otherwise the lock that is in the way.
    pub(super) fn try_latch(
        &self,
        operations: &[Operation<'_>],
        owner: Option<OwnerId>,
    ) -> Result<LatchGuard<'_>, u64> {
        let hash = |op: &Operation<'_>| Self::row_hash(op.table, op.key);
        let guard = match operations {
            [op] => self.latches.lock_one(hash(op)),
            _ => self.latches.lock_many(operations.iter().map(hash)),
        };
        if !self.row_locks.any() {
            return Ok(guard);
        }
        let tables = operations.chunk_by(|one, next| one.table == next.table);
        let tables = tables.map(|of_one| Self::table_hash(of_one[0].table));
        let mut locks = tables.chain(operations.iter().map(hash));
        locks.find(|hash| self.row_locks.blocked(*hash, owner)).map_or(Ok(guard), Err)
    }

    /// Waits until nobody else has a lock. REQUIRES: the caller has no latch.
    pub(super) fn wait_for_lock(&self, hash: u64, terms: Terms<'_>) -> Result<()> {
        let waiter = terms.owner.unwrap_or_else(|| self.new_owner());
        self.row_locks.wait(hash, waiter, terms.lock_timeout.unwrap_or_else(|| self.lock_timeout()))
    }

    fn check_writes(&self, operations: &[Operation<'_>], snapshot: Timestamp, epoch: u64) -> Result<()> {
        let version = self.versions.load();
        check_tables(&version, operations, epoch, depends_on_epoch)?;
        operations.iter().try_for_each(|op| version.table(op.table)?.check_unchanged(op.key, snapshot))
    }

    /// The timestamp of the operations, and what [`Self::install`] says.
    fn sequence_and_install(
        &self,
        operations: &[Operation<'_>],
        terms: Terms<'_>,
        epoch: u64,
    ) -> Result<(Timestamp, bool)> {
        let validation = terms.reads.map(|_| self.pipeline.validate()).transpose()?;
        if let Some(check) = terms.reads {
            check(&self.versions.load())?;
        }
        let mut sequencer = self.sequence(validation.as_ref());
        // Loaded under the sequencer's lock: a freeze changes memtables and timestamp together under it.
        let version = self.versions.load();
        check_tables(&version, operations, epoch, depends_on_epoch)?;
        check_ranges(&version, terms.ranges, None)?;
        self.pipeline.check_poison()?;
        let (at, logged) = match terms.ranges {
            [] => append(&self.pipeline, &mut sequencer, &version, &[], operations)?,
            ranges => {
                let keys: Vec<_> = ranges.iter().map(TableRange::key).collect();
                let deleted = own_ranges::operations(ranges, &keys);
                let all: Vec<_> = deleted.chain(operations.iter().copied()).collect();
                append(&self.pipeline, &mut sequencer, &version, &[], &all)?
            }
        };
        assert!(at > version.compacted, "bases have nothing that is later than a commit");
        assert!(terms.snapshot.is_none_or(|read| read < at), "a commit is later than what it has read");
        // Until it is complete, nothing that comes after it is visible.
        let in_flight = Fuse::in_flight(&self.pipeline, at);
        drop(sequencer);
        drop(validation);
        let in_flight = self.written(in_flight, at, logged, terms.sync)?;
        // If it fails, the log has it and memory in part: only a new start brings them together again.
        for range in terms.ranges {
            range.delete_in(&version.table(range.table)?.active, at, self.snapshots.oldest_hint());
        }
        let is_behind = self.install(&version, operations, at)?;
        in_flight.complete();
        Ok((at, is_behind))
    }

    /// Takes the sequencer, which who validates has for himself.
    pub(super) fn sequence<'e>(
        &'e self,
        validation: Option<&'e Validation<'e>>,
    ) -> MutexGuard<'e, Sequencer> {
        validation.map_or_else(|| self.pipeline.sequence(), Validation::sequence)
    }

    /// Makes sure that a commit is in the log if it is `logged`, as durable as it asks. On an error none of it is to be installed: the
    /// timestamp is used up, and what comes after it becomes visible.
    pub(super) fn written<'e>(
        &self,
        in_flight: Fuse<'e>,
        at: Timestamp,
        logged: bool,
        sync: Option<Sync>,
    ) -> Result<Fuse<'e>> {
        let durable = sync.unwrap_or(self.options.sync) == Sync::Commit;
        let written = if logged { self.pipeline.flush(at, durable) } else { Ok(()) };
        match written {
            Ok(()) => Ok(in_flight),
            Err(error) => {
                in_flight.complete();
                Err(error)
            }
        }
    }

    /// Puts operations into the memtables. Returns whether the layers of a table that is scanned are behind what is written to it.
    pub(super) fn install(
        &self,
        version: &DatabaseVersion,
        operations: &[Operation<'_>],
        at: Timestamp,
    ) -> Result<bool> {
        let oldest = self.snapshots.oldest_hint();
        debug_assert!(oldest < at, "what is not published is read by nobody");
        debug_assert!(
            self.pipeline.publisher.published() < at,
            "a commit is seen once all of it is installed"
        );
        let mut is_behind = false;
        for of_one in operations.chunk_by(|one, next| one.table == next.table) {
            let table = version.table(of_one[0].table)?;
            let mut inserter = table.active.inserter();
            for op in of_one {
                if let Err(error) = inserter.insert(op.key, at, op.record, oldest) {
                    self.pipeline.poison("a memtable was full");
                    return Err(Error::Poisoned(error.to_string()));
                }
                if op.record.kind == RecordKind::Blob {
                    self.note_fresh_blob(&table.shared, at, op.record.bytes);
                }
                is_behind |= table.shared.schema.is_some() && table.shared.fresh.demand.note_write();
            }
        }
        Ok(is_behind)
    }

    /// Has the memtables flushed: by the background thread, or here when there is none.
    pub(super) fn request_flush(&self) {
        if self.options.background_threads {
            self.signals.raise(|state| &mut state.flush);
        } else {
            self.flush_and_report();
            if self.options.background_merge {
                self.merge_and_report();
            }
        }
    }
}

/// Whether what is written to a table depends on what it looked like: its indexes, and the columns that rows have to fit.
pub(super) fn depends_on_epoch(table: &TableVersion) -> bool {
    !table.indexes.is_empty() || table.shared.row_check().is_some()
}

/// Fails if a table is not there, or depends on an epoch and is not what it was in this one.
pub(super) fn check_tables(
    version: &DatabaseVersion,
    operations: &[Operation<'_>],
    epoch: u64,
    depends: fn(&TableVersion) -> bool,
) -> Result<()> {
    let is_current = epoch == version.index_epoch;
    let depends = |table: &TableVersion| depends(table) || table.shared.moved > epoch;
    for op in operations {
        match version.table(op.table) {
            Ok(table) if !is_current && depends(table) => return Err(changed()),
            // It may have been an index.
            Err(_) if !is_current => return Err(changed()),
            result => drop(result?),
        }
    }
    Ok(())
}

fn changed() -> Error {
    Error::Conflict("indexes or the storage of a table that it wrote to were changed".into())
}

/// Fails if an operation refers to a long value that is not where its table is.
pub(super) fn check_store(
    table: &TableVersion,
    op: &Operation<'_>,
    blobs_in: Option<&Arc<PageStore>>,
) -> Result<()> {
    let is_there = |store| Arc::ptr_eq(store, &table.shared.store);
    match op.record.kind == RecordKind::Blob && !blobs_in.is_none_or(is_there) {
        true => Err(changed()),
        false => Ok(()),
    }
}

/// Gives changes of the catalog and operations a timestamp and appends them to the group, of the operations those of logged tables. Returns
/// whether there was anything to append.
///
/// # Errors
/// [`Error::Invalid`] if the group cannot take them: then nothing was given out.
pub(super) fn append(
    pipeline: &Pipeline,
    sequencer: &mut Sequencer,
    version: &DatabaseVersion,
    changes: &[CatalogChange],
    operations: &[Operation<'_>],
) -> Result<(Timestamp, bool)> {
    debug_assert!(version.compacted <= sequencer.last, "what is in the bases was sequenced");
    let at = Timestamp(sequencer.last.0 + 1);
    let is_logged =
        |op: &&Operation<'_>| version.tables.get(&table_of(op)).is_some_and(|table| table.shared.logged);
    let mut logged = operations.iter().filter(is_logged).peekable();
    let any = !changes.is_empty() || logged.peek().is_some();
    let mut blobs = false;
    let mut long = match pipeline.is_archived() {
        true => LongValues::of(version, operations.iter().filter(is_logged))?,
        false => LongValues::none(),
    };
    let fuse =
        Fuse::new(pipeline, "a commit was left in the middle of being appended to the log, by a panic");
    if any {
        sequencer.group.begin(at);
    }
    for change in changes {
        sequencer.group.op(CATALOG_TABLE, &change.key, change.record());
    }
    for op in logged {
        if op.record.kind == RecordKind::Blob {
            blobs = true;
            if let Some((key, value)) = long.next() {
                sequencer.group.op(NOTES_TABLE, &key, Record::inline(&value));
            }
        }
        sequencer.group.op(op.table, op.key, op.record);
    }
    let ended = if any { sequencer.group.end() } else { Ok(()) };
    fuse.take_out();
    ended?;
    sequencer.last = at;
    if any {
        sequencer.note_logged(blobs);
    }
    Ok((at, any))
}

/// Refuses a commit that the limits do not allow, before its first byte goes anywhere.
pub(super) fn check_size(bytes: usize, max: usize) -> Result<()> {
    match bytes <= max {
        true => Ok(()),
        false => Err(Error::Invalid(format!(
            "a transaction of {bytes} bytes; the limit is {max} (Options::transaction_bytes_max); commit in parts or use a bulk load"
        ))),
    }
}

pub(super) fn check_row(schema: &ColumnSchema, table: &TableVersion, op: &Operation<'_>) -> Result<()> {
    match op.record.kind {
        RecordKind::Tombstone => Ok(()),
        RecordKind::Inline => schema.check(op.key, op.record.bytes),
        RecordKind::Blob => {
            let blob = Engine::decode_blob(op.record.bytes, op.table)?;
            if blob.bytes() > COLUMN_ROW_BYTES_MAX {
                return Err(Error::Invalid(format!(
                    "a row of {} bytes; a column table takes up to {COLUMN_ROW_BYTES_MAX}, a btree table 4 GiB",
                    blob.bytes()
                )));
            }
            schema.check(op.key, &read_whole(&table.shared.store, &blob)?)
        }
    }
}
