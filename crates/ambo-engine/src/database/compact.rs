//! Compacting: when runs become part of the base of their table, and when parts of a base are merged.
//!
//! The base decides what is merged, and builds it ([`ambo_base`]); here is when that is done, and how what was built becomes visible.
//! While what is compacted of a table is held, runs are merged among themselves alone ([`runs`]). `compact` takes everything.

use std::sync::{Arc, atomic::AtomicBool};

use ambo_base::{
    Base, BaseOps, Compacted, Compaction, Crowding, LeaveOut, Workshop,
    runs::{self, RUNS_MAX},
};
use ambo_pages::sync::Ordering;
use ambo_types::{
    Error, Result,
    id::{PageNo, TableId},
    record::Record,
};

use super::{
    blobs::read_whole,
    checkpoint::Turnover,
    compression::keep_dictionary,
    engine::Engine,
    expiry::Expired,
    version::{DatabaseVersion, TableVersion},
    version_edit::{TableEdit, VersionEdit},
};
use crate::catalog::roots::TREES_MAX;

/// Free space is given back when it is more than this share of what is used, and more than this many pages: less will soon be
/// used again.
const RECLAIM_SHARE: u64 = 16;
const RECLAIM_PAGES_MIN: u64 = 64;
/// Free runs shorter than this are not worth a hole in the file.
pub(super) const HOLE_PAGES_MIN: u64 = 8;
/// With so many a flush waits until they are fewer.
const RUNS_LIMIT: usize = 24;
const _: () = assert!(RUNS_LIMIT < TREES_MAX && RUNS_MAX < RUNS_LIMIT);

/// What a compaction writes anew although nothing in it changes.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Rewrite {
    /// What lies in the file from this page on.
    relocate_from: Option<PageNo>,
    /// Everything.
    all: bool,
}

impl TableVersion {
    /// What of the runs is to be merged now, if anything.
    fn compaction_due(&self) -> Option<Compaction> {
        if self.is_held { runs::due(&self.runs) } else { self.base.due(&self.runs) }
    }

    /// All runs, with all that is compacted or not.
    fn all_runs(&self, whole: bool) -> Compaction {
        Compaction { runs: self.runs.len(), whole }
    }

    fn compact_runs(
        &self,
        compaction: Compaction,
        workshop: &Workshop<'_>,
    ) -> Result<Option<Compacted<Base>>> {
        if self.is_held {
            return runs::compact(&self.runs[..compaction.runs], workshop);
        }
        self.base.compact(&self.runs, compaction, workshop)
    }
}

impl Engine {
    /// Flushes all memtables, then merges all of every table, but for rows that are kept no longer or that filters remove.
    pub fn compact(self: &Arc<Self>) -> Result<()> {
        self.drop_expired()?;
        self.purge_all_expired()?;
        self.apply_filters()?;
        self.flush()?;
        let _merging_segments = self.merging_segments.lock();
        let _merging = self.merging.lock();
        let ids: Vec<_> = self.versions.load().tables.keys().copied().collect();
        for id in ids {
            self.merge_all(id, None)?;
        }
        self.tend_postings(&self.cancel_merge)?;
        self.reclaim()
    }

    /// Flushes all memtables, and merges what is due: what the background does when it is given the time.
    pub fn compact_due(self: &Arc<Self>) -> Result<()> {
        self.drop_expired()?;
        self.purge_all_expired()?;
        self.apply_filters_due()?;
        self.flush()?;
        while self.merge_due()? {}
        self.tend_postings(&self.cancel_merge)?;
        self.reclaim()
    }

    /// Frees what old versions held, and gives the file's free end and larger holes back to the file system once they are
    /// a fair part of it.
    pub(super) fn reclaim(&self) -> Result<()> {
        let mut checkpoint = self.checkpoint.lock();
        self.sweep(&mut checkpoint);
        let stats = self.store.stats();
        if stats.free_pages > RECLAIM_PAGES_MIN.max(stats.used_pages / RECLAIM_SHARE) {
            self.store.truncate_tail()?;
            self.store.punch_free(HOLE_PAGES_MIN)?;
        }
        Ok(())
    }

    /// Merges all that is compacted and all runs of a table. With `relocate_from` its pages from there on are moved down. The caller holds
    /// `merging_segments` and `merging`.
    pub(super) fn merge_all(&self, id: TableId, relocate_from: Option<PageNo>) -> Result<()> {
        debug_assert!(self.merging.is_locked());
        loop {
            let version = self.versions.load_full();
            let Ok(table) = version.table(id) else { return Ok(()) };
            if table.is_held && table.runs.is_empty() {
                return Ok(());
            }
            let rewrite = Rewrite { relocate_from, all: false };
            if !self.compact_table(&version, table, table.all_runs(true), rewrite)? {
                return Ok(());
            }
        }
    }

    /// Writes all of a table anew that is not compressed as its definition says.
    pub(super) fn rewrite_outdated(&self, id: TableId) -> Result<()> {
        let version = self.versions.load_full();
        let Some(definition) = version.catalog.table(id) else { return Ok(()) };
        let Ok(table) = version.table(id) else { return Ok(()) };
        if table.is_held || !table.base.is_outdated(&table.runs, definition) {
            return Ok(());
        }
        let rewrite = Rewrite { relocate_from: None, all: true };
        self.compact_table(&version, table, table.all_runs(true), rewrite).map(drop)
    }

    /// Merges all runs of a table, into what is compacted if the base takes them. The caller holds `merging`.
    pub(super) fn compact_runs(&self, id: TableId) -> Result<()> {
        let version = self.versions.load_full();
        let table = version.table(id)?;
        if table.runs.is_empty() {
            return Ok(());
        }
        self.compact_table(&version, table, table.all_runs(false), Rewrite::default()).map(drop)
    }

    /// Waits for merges, or merges itself, as long as a table has so many runs that reads would suffer: merging has to keep up with
    /// flushing, whatever the options say.
    pub(super) fn limit_runs(&self) -> Result<()> {
        loop {
            let crowded = |table: &&Arc<TableVersion>| table.runs.len() >= RUNS_LIMIT;
            let id = self.versions.load().tables.values().find(crowded).map(|table| table.shared.id);
            let Some(id) = id else { return self.merge_for_room() };
            match self.limit_runs_of(id) {
                // The database is being closed, and its last flush is one more run.
                Err(Error::Cancelled) => return Ok(()),
                merged => merged?,
            }
        }
    }

    fn limit_runs_of(&self, id: TableId) -> Result<()> {
        self.limit_parts(id)?;
        let _merging = self.merging.lock();
        let version = self.versions.load_full();
        let Some(table) = version.tables.get(&id).filter(|table| table.runs.len() >= RUNS_LIMIT) else {
            return Ok(());
        };
        self.compact_table(&version, table, table.all_runs(false), Rewrite::default()).map(drop)
    }

    /// Merges what is due. Returns whether anything was.
    pub(super) fn merge_due(&self) -> Result<bool> {
        Ok(self.merge_runs_due()? | self.merge_segments_due()?)
    }

    /// Merges parts of all bases as they are due. Returns whether any were.
    fn merge_segments_due(&self) -> Result<bool> {
        let ids: Vec<_> = self.versions.load().tables.keys().copied().collect();
        let _merging_segments = self.merging_segments.lock();
        ids.into_iter().try_fold(false, |any, id| Ok(self.merge_parts(id)? || any))
    }

    /// Merges and compacts runs that are due. Returns whether any were.
    fn merge_runs_due(&self) -> Result<bool> {
        let _merging = self.merging.lock();
        let version = self.versions.load_full();
        let mut any = false;
        for table in version.tables.values() {
            if let Some(compaction) = table.compaction_due() {
                self.compact_table(&version, table, compaction, Rewrite::default())?;
                any = true;
            }
        }
        Ok(any)
    }

    /// Merges what was chosen of this very version of a table, or some of it: newer runs may have come, none may have gone. Returns whether
    /// more of the same is to be done. The caller holds `merging`.
    fn compact_table(
        &self,
        version: &DatabaseVersion,
        table: &TableVersion,
        compaction: Compaction,
        rewrite: Rewrite,
    ) -> Result<bool> {
        debug_assert!(self.merging.is_locked());
        let compacted =
            self.in_workshop(version, table, rewrite, |workshop| table.compact_runs(compaction, workshop))?;
        let Some(compacted) = compacted else { return Ok(false) };
        let is_more = compacted.is_more;
        self.install_compacted(table, compacted, rewrite).map(|()| is_more)
    }

    /// Merges parts of the base of a table as they are due, beside loads and compacting. Returns whether some were. The caller holds
    /// `merging_segments`.
    fn merge_parts(&self, id: TableId) -> Result<bool> {
        debug_assert!(self.merging_segments.is_locked());
        let Some(from) = self.crowded(id, Crowding::Due) else { return Ok(false) };
        let merged = from.merge_parts(&self.cancel_merge)?;
        let _merging = self.merging.lock();
        let version = self.versions.load_full();
        // It may be held as it is by now.
        let Some(table) = version.tables.get(&id).filter(|table| !table.is_held) else {
            return Ok(false);
        };
        let rewrite = Rewrite::default();
        let compacted = self.in_workshop(&version, table, rewrite, |workshop| {
            table.base.take_merged(&merged, &from, workshop)
        })?;
        compacted.map_or(Ok(()), |compacted| self.install_compacted(table, compacted, rewrite))?;
        Ok(true)
    }

    /// The base of a table, if its parts are so much in need of being merged.
    fn crowded(&self, id: TableId, crowding: Crowding) -> Option<Base> {
        let version = self.versions.load();
        let table = version.tables.get(&id).filter(|table| !table.is_held)?;
        (table.base.crowding() >= crowding).then(|| table.base.clone())
    }

    /// Merges parts of the base of a table as long as they are so many that look-ups would suffer: who brings more keeps up with merging.
    pub(super) fn limit_parts(&self, id: TableId) -> Result<()> {
        while self.crowded(id, Crowding::Limit).is_some() {
            let _merging_segments = self.merging_segments.lock();
            self.merge_parts(id)?;
        }
        Ok(())
    }

    /// Lets a base of a table be built with what that takes.
    fn in_workshop<R>(
        &self,
        version: &DatabaseVersion,
        table: &TableVersion,
        rewrite: Rewrite,
        build: impl FnOnce(&Workshop<'_>) -> R,
    ) -> R {
        let (id, store) = (table.shared.id, &table.shared.store);
        // Entries of indexes would stay: such rows are deleted.
        let expired = table.expired(self.newest(table)).filter(|_| table.indexes.is_empty());
        let all_below = expired.as_ref().and_then(Expired::live_from);
        let leave_out = expired.map(|expired| {
            Box::new(move |key: &[u8], record: Record<'_>| expired.has(key, record)) as Box<LeaveOut<'_>>
        });
        build(&Workshop {
            store,
            build: version.build_options(id, store),
            train: &|trees| self.train_dictionary(version, id, trees, rewrite.all),
            read_blob: &|reference| read_whole(store, &Self::decode_blob(reference, id)?),
            copy_blob: None,
            relocate_from: rewrite.relocate_from,
            rewrite: rewrite.all,
            cancel: &self.cancel_merge,
            leave_out: leave_out.as_deref(),
            all_below: all_below.as_deref(),
        })
    }

    /// Publishes what was made of runs of a table, and of its base.
    fn install_compacted(
        &self,
        table: &TableVersion,
        compacted: Compacted<Base>,
        rewrite: Rewrite,
    ) -> Result<()> {
        let (id, store) = (table.shared.id, &table.shared.store);
        let Compacted { inputs, made, born, retired, new_segments, old_segments, dictionary, .. } = compacted;
        debug_assert!(self.merging.is_locked(), "nobody else merges");
        debug_assert!(
            inputs.iter().all(|input| table.runs.iter().any(|run| Arc::ptr_eq(run, input))),
            "what was merged are runs of the table"
        );
        debug_assert!(
            !new_segments.iter().any(|new| old_segments.iter().any(|old| old.id() == new.id())),
            "a segment that is new does not go"
        );
        let locks = self.lock_checkpoint();
        let now = locks.version();
        let Some(now_table) = now.tables.get(&id) else {
            // Dropped meanwhile: what is old belongs to the dropped table, and nobody has what is new.
            store.free(born);
            return Ok(());
        };
        let same_expiry = match (&table.shared.expiry, &now_table.shared.expiry) {
            (None, _) => true,
            (Some(before), Some(now)) => before.is_same(now),
            (Some(_), None) => false,
        };
        let left_out = table.shared.expiry.is_some() && table.indexes.is_empty();
        if left_out && !(same_expiry && now_table.indexes.is_empty()) {
            // Rows may be missing that are there by now, or have entries: all of it is done again.
            self.give_back(store, born);
            return Ok(());
        }
        self.filtering.note_merged(id, now.catalog.table(id));
        let mut catalog = now.catalog.clone();
        let is_whole = now_table.runs.iter().all(|run| inputs.iter().any(|input| Arc::ptr_eq(input, run)));
        if rewrite.all && is_whole {
            // No page is left that was compressed with an older dictionary.
            Arc::make_mut(&mut catalog).forget_dictionaries(id);
        }
        keep_dictionary(&mut catalog, id, dictionary.as_ref());
        let mut edit = match table.is_durable() {
            true => VersionEdit::checkpoint(Turnover {
                born: born.clone(),
                retired,
                new_segments,
                old_segments,
                ..Turnover::default()
            }),
            // In memory there is nothing to publish.
            false => VersionEdit {
                turnover: Turnover { private: vec![(store.clone(), retired)], ..Turnover::default() },
                ..VersionEdit::default()
            },
        };
        edit.catalog = Some(catalog);
        edit.table(id, TableEdit::Compact { inputs, made });
        self.apply(locks, edit).inspect_err(|_| self.give_back(store, born))
    }

    /// Merges in the background until nothing is due.
    pub(super) fn merge_and_report(&self) {
        self.work_and_report(Self::merge_due);
    }

    /// Merges and compacts runs in the background until none are due.
    pub(super) fn merge_runs_and_report(&self) {
        self.work_and_report(Self::merge_runs_due);
    }

    /// Merges segments in the background until none are due. What is kept no longer goes before it is merged.
    pub(super) fn merge_segments_and_report(&self) {
        self.work_and_report(|engine| engine.drop_expired().map(|rows| rows > 0));
        self.work_and_report(Self::merge_segments_due);
    }

    pub(super) fn work_and_report(&self, work: impl Fn(&Self) -> Result<bool>) {
        loop {
            match work(self) {
                Ok(true) if !self.signals.is_stopped() => {
                    if let Err(error) = self.reclaim() {
                        return self.pipeline.poison(&format!("giving space back: {error}"));
                    }
                }
                // A full disk stops merging, not the database: reads and writes go on with more runs.
                Ok(_) | Err(Error::Cancelled | Error::DiskFull(_) | Error::Poisoned(_)) => return,
                Err(error) => return self.pipeline.poison(&format!("merging: {error}")),
            }
        }
    }

    /// Stops a merge that is under way, and every other until they are allowed again.
    pub(super) fn cancel_merges(&self) {
        self.cancel_merge.store(true, Ordering::Relaxed);
    }

    /// Merges are not cancelled any more.
    pub(super) fn allow_merges(&self) {
        self.cancel_merge.store(false, Ordering::Relaxed);
    }
}

/// A flag that is not set.
pub(super) fn not_cancelled() -> AtomicBool {
    AtomicBool::new(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::{Options, Sync};
    use ambo_pages::io::sim::SimDisk;
    use ambo_types::Storage;
    use ambo_types::TableDefinition;

    /// Keeps away: a change of the catalog that a merge's checkpoint makes durable, and commits before it that a loss of power takes.
    #[test]
    fn what_a_merge_publishes_does_not_overtake_commits() {
        let options = || Options {
            background_threads: false,
            background_merge: false,
            sync: Sync::Off,
            page_size: 4096,
            ..Options::default()
        };
        for storage in [Storage::BTree, Storage::Column] {
            for seed in 0..20 {
                let disk = SimDisk::new(seed);
                let engine = Arc::new(Engine::open(disk.env(), options()).unwrap().0);
                let definition = TableDefinition::key_value("t").storage(storage);
                let table = engine.create_table(definition).unwrap();
                for run in 0..=runs::RUNS_WANTED as u8 {
                    engine.put(table, &[run], b"flushed").unwrap();
                    engine.flush().unwrap();
                }
                engine.put(table, b"before", b"the other table").unwrap();
                engine.create_table(TableDefinition::key_value("other")).unwrap();
                assert!(engine.merge_due().unwrap());
                let crashed = disk.crash();
                drop(engine);
                let engine = Arc::new(Engine::open(crashed.env(), options()).unwrap().0);
                let is_there = engine.current().catalog.find("other").is_ok();
                assert!(is_there, "the merge's checkpoint has it");
                assert!(engine.get(table, b"before").unwrap().is_some(), "{storage:?} {seed}");
                assert!(engine.check().unwrap().is_sound());
            }
        }
    }
}
