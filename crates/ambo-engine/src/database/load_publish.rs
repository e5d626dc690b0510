//! The end of a load of a column table: each key once, then one checkpoint.
//!
//! 1. The segments of the load are compared among themselves, by nobody's leave.
//! 2. What others wrote meanwhile is compacted into segments, and their keys are compared with those of the load: what was compared
//!    and has not changed need not be compared again.
//! 3. All keys are latched for a moment, so nobody has looked for conflicts and not committed yet, and nothing is sequenced. Rows that were
//!    written since step 2 are still in memtables, over the segments. Unless one of them has a key of the load, the load is published
//!    beside them; else all begins anew at step 2.
//!
//! A load that met such a row again and again has the latches for its last try from step 2 on: the memtables are empty then.

use std::sync::Arc;

use ambo_pages::page::PageRange;
use ambo_types::{Error, Result};

use super::{
    bulk_change::{BulkChange, check_flushed},
    checkpoint::Turnover,
    index_loads::{IndexRuns, LoadedRows},
    index_rows::SetRows,
    load::{Loaded, Shared},
    version::{DatabaseVersion, TableVersion},
    version_edit::{TableEdit, VersionEdit},
};
use crate::{catalog::Catalog, memtable::Memtable};
use ambo_base::{
    BaseOps,
    column::{ColumnSet, Duplicates, Exchanged, Finder, LoadedPart, LoadedParts, exchanged, store_deleted},
};

/// How often others may get in between before they have to wait.
const TRIES: usize = 3;
/// Nobody commits while rows of memtables are looked up, so there must be few.
const LOOKED_UP_MAX: usize = 4096;

impl Shared {
    pub(super) fn publish_parts(&self, parts: Vec<LoadedPart>, left_out: u64) -> Result<Loaded> {
        self.check_cancelled()?;
        let cancel = &*self.options.cancel;
        let rows: u64 = parts.iter().map(|loaded| u64::from(loaded.part.rows())).sum();
        let (mut parts, lost) =
            LoadedParts::new(self.schema().clone(), parts, self.options.duplicates, cancel)?;
        if parts.is_empty() {
            self.tell_alone()?;
            return Ok(Loaded { rows: 0, left_out: left_out + lost, replaced: 0 });
        }
        if self.removes() {
            parts = parts.as_removed();
        }
        let mut attempt = 1;
        while attempt <= TRIES {
            let loading = self.engine.loading.lock();
            // Before the checkpoint and the versions, although the order of locks has them behind: no commit waits for those two
            // while it has a latch, and of loads there is but one.
            let latches = (attempt == TRIES).then(|| self.engine.latches.lock_all());
            match self.try_publish(&mut parts, latches.is_some())? {
                Tried::Published(mut loaded) => {
                    assert!(loaded.rows <= rows, "nothing comes that was not loaded");
                    loaded.left_out = left_out + (rows - loaded.rows);
                    return Ok(loaded);
                }
                Tried::Overtaken => attempt += 1,
                Tried::Locked(lock) => {
                    drop((latches, loading));
                    let engine = &self.engine;
                    engine.row_locks.wait(lock, engine.bulk_owner(self.table), engine.lock_timeout())?;
                }
            }
        }
        Err(Error::Conflict("others kept writing keys of the load while it was to be published".into()))
    }

    fn removes(&self) -> bool {
        self.change.as_ref().is_some_and(|change| change.what == BulkChange::Delete)
    }

    /// One try.
    fn try_publish(&self, parts: &mut LoadedParts, alone: bool) -> Result<Tried> {
        let engine = &self.engine;
        debug_assert!(engine.loading.is_locked());
        if !alone {
            engine.limit_parts(self.table)?;
        }
        engine.flush()?;
        let _merging = engine.merging.lock();
        engine.compact_runs(self.table)?;
        let table = engine.kept_table(self.table)?;
        let Some(set) = table.base.columns().cloned() else {
            return Err(Error::Conflict(
                "the table's storage was changed while rows were loaded into it".into(),
            ));
        };
        parts.compare(&set, self.options.threads, &self.options.cancel)?;
        if let Some(change) = &self.change {
            check_flushed(&table, parts, &set, change.since())?;
        }
        if let Some(lock) = self.locked(parts, &set)? {
            return Ok(Tried::Locked(lock));
        }
        let joined = parts.join(&set);
        let loaded = Loaded { rows: joined.rows, left_out: 0, replaced: joined.replaced };
        if loaded.rows + loaded.replaced == 0 {
            self.tell_alone()?;
            return Ok(Tried::Published(loaded));
        }
        self.check_cancelled()?;
        let version = engine.versions.load_full();
        let runs = self.entries(&version, &table, &set, &joined.set)?;
        let mut born = Vec::new();
        let stored = store_deleted(&table.shared.store, &joined.set, None, &mut born);
        let published = stored.and_then(|stored| {
            let new = Arc::new(stored.unwrap_or(joined.set));
            let turn = Turn { old: &set, new, runs: &runs, born: born.clone() };
            self.publish_loaded(parts, turn, alone)
        });
        if !matches!(published, Ok(None)) {
            engine.give_back(&table.shared.store, born);
            engine.give_back_runs(&version, runs);
        }
        Ok(published?.unwrap_or(Tried::Published(loaded)))
    }

    /// What the load brings to the indexes of the table.
    fn entries(
        &self,
        version: &DatabaseVersion,
        table: &TableVersion,
        old: &ColumnSet,
        new: &ColumnSet,
    ) -> Result<IndexRuns> {
        if table.indexes.is_empty() {
            return Ok(IndexRuns::default());
        }
        let (come, gone) = (new.minus(old), old.minus(new));
        let rows = LoadedRows {
            new: &SetRows::new(&come, &table.indexes),
            gone: &SetRows::new(&gone, &table.indexes),
            after: &|key| new.get(key),
            threads: self.options.threads.min(self.engine.index_threads()),
        };
        self.engine.index_runs(version, table, rows, &self.options.cancel)
    }
}

/// How a try ended.
enum Tried {
    Published(Loaded),
    /// Somebody wrote a key of the load meanwhile, or the table is another by now.
    Overtaken,
    /// Somebody holds the row lock of this hash.
    Locked(u64),
}

/// What a load makes of a table.
struct Turn<'a> {
    old: &'a Arc<ColumnSet>,
    new: Arc<ColumnSet>,
    runs: &'a IndexRuns,
    /// New pages of deleted rows.
    born: Vec<PageRange>,
}

impl Shared {
    /// Shows the load to all. `alone`: the caller has all latches. What is in the way, if something is.
    fn publish_loaded(&self, parts: &LoadedParts, turn: Turn<'_>, alone: bool) -> Result<Option<Tried>> {
        let Turn { old, new, runs, born } = turn;
        let engine = &self.engine;
        debug_assert!(engine.merging.is_locked());
        let Exchanged { retired, new_segments, old_segments } = exchanged(old, &new);
        let turnover = Turnover { born, retired, new_segments, old_segments, ..Turnover::default() };
        let locks = engine.lock_checkpoint();
        // A commit that has its latches may have seen that nobody changed what it writes: it has to come first. Everything sequenced before
        // is installed, and nothing is sequenced until the load is.
        let locks = if alone { locks } else { locks.latched() }.quiet()?;
        let now = locks.version();
        let table = now.table(self.table)?;
        if !runs.fit(now, table) {
            return Ok(Some(Tried::Overtaken));
        }
        if table.shared.row_check().is_some_and(|there| parts.is_laxer_than(there)) {
            return Err(Error::Conflict(
                "a column of the table was made to refuse NULL while rows were loaded into it".into(),
            ));
        }
        let is_old = table.base.columns().is_some_and(|columns| Arc::ptr_eq(columns, old));
        if !is_old || !table.runs.is_empty() || self.is_in_the_way(table, parts, old)? {
            return Ok(Some(Tried::Overtaken));
        }
        if let Some(lock) = self.locked(parts, old)? {
            return Ok(Some(Tried::Locked(lock)));
        }
        // Memtables are not in the bases: the checkpoint's moment stays.
        let mut edit = VersionEdit { is_commit: true, ..VersionEdit::checkpoint(turnover) };
        edit.unlogged = Some(self.table);
        edit.table(self.table, TableEdit::LoadBase(new.into()));
        runs.install(&mut edit);
        edit.catalog = self.told_to(now)?;
        engine.apply(locks, edit)?;
        Ok(None)
    }

    /// The catalog with what is told with the rows, if something is.
    fn told_to(&self, now: &DatabaseVersion) -> Result<Option<Arc<Catalog>>> {
        let Some(object) = self.told.lock().clone() else { return Ok(None) };
        let mut catalog = now.catalog.clone();
        Arc::make_mut(&mut catalog).create_object(object, true)?;
        Ok(Some(catalog))
    }

    /// What is told without a row.
    fn tell_alone(&self) -> Result<()> {
        if self.told.lock().is_none() {
            return Ok(());
        }
        let _merging = self.engine.merging.lock();
        let locks = self.engine.lock_checkpoint().latched().quiet()?;
        let catalog = self.told_to(locks.version())?;
        let edit = VersionEdit { catalog, ..VersionEdit::checkpoint(Turnover::default()) };
        self.engine.apply(locks, edit)
    }

    /// Whether a row in the memtables has a key of the load, so that it would hide the row of the load. A change finds its conflict with
    /// the next try.
    ///
    /// # Errors
    /// [`Error::Exists`] if it is refused that there is such a row.
    fn is_in_the_way(&self, table: &TableVersion, parts: &LoadedParts, old: &ColumnSet) -> Result<bool> {
        let memtables =
            || std::iter::once(&table.active).chain(&table.frozen).filter(|memtable| !memtable.is_empty());
        if memtables().map(|memtable| memtable.rows()).sum::<usize>() > LOOKED_UP_MAX {
            return Ok(true);
        }
        let alone = parts.alone(old);
        let mut finder = Finder::new(&alone);
        for memtable in memtables() {
            if self.meets(memtable, parts, &mut finder)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn meets(&self, memtable: &Memtable, parts: &LoadedParts, finder: &mut Finder<'_>) -> Result<bool> {
        let mut cursor = memtable.cursor();
        let mut there = cursor.seek_first();
        while there {
            let newest = cursor.newest();
            if finder.find(cursor.key())?.is_some() {
                match (newest.record.is_tombstone(), self.options.duplicates) {
                    (false, Duplicates::Refuse) => return Err(parts.exists(cursor.key())),
                    // It stays, and hides the row of the load, as it should.
                    (false, Duplicates::KeepFirst) => {}
                    (true, _) | (false, Duplicates::KeepLast) => return Ok(true),
                }
            }
            there = cursor.next();
        }
        Ok(false)
    }
}
