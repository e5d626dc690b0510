//! Settling: merging runs and the main tree of a table.
//!
//! # When runs are merged
//!
//! A read looks into every run, so there must be few; a merge writes everything it takes, so it must take things of a
//! size. Runs are looked at from the newest on, taking the next one as long as it is at most [`GROWTH`] times what was
//! taken so far; the main tree is taken when all runs are and it is at most [`MAIN_GROWTH`] times as large. A merge happens when at least [`RUNS_WANTED`]
//! runs are there, so each byte is rewritten a logarithmic number of times (the tiered scheme of LSM trees: O'Neil et al. 1996,
//! and RocksDB's universal compaction). `settle` takes everything.

use std::sync::{Arc, atomic::AtomicBool};

use super::{
    checkpoint::Turnover,
    columns::{Extent, is_settling_due},
    compression::{is_outdated, keep_dictionary},
    engine::Engine,
    version::{DatabaseVersion, TableVersion},
    version_edit::{TableEdit, VersionEdit},
};
use crate::{
    Error, Result,
    base::btree::{MergeOptions, Merged, Tree, merge},
    catalog::roots::TREES_MAX,
    id::{PageNo, TableId},
    sync::Ordering,
};

const RUNS_WANTED: usize = 4;
const GROWTH: u64 = 2;
const MAIN_GROWTH: u64 = 4;
/// Free space is given back when it is more than this share of what is used, and more than this many pages: less will soon be
/// used again.
const RECLAIM_SHARE: u64 = 16;
const RECLAIM_PAGES_MIN: u64 = 64;
/// Free runs shorter than this are not worth a hole in the file.
pub(super) const HOLE_PAGES_MIN: u64 = 8;
/// With so many runs everything is merged, whatever its size.
const RUNS_MAX: usize = 16;
/// With so many a spill waits until they are fewer.
const RUNS_LIMIT: usize = 24;
const _: () = assert!(RUNS_LIMIT < TREES_MAX && RUNS_MAX < RUNS_LIMIT);

/// Which trees of a table to merge: the newest `runs` runs, and the main tree or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Choice {
    runs: usize,
    main: bool,
}

/// What a merge writes anew although nothing in it changes.
#[derive(Clone, Copy, Default, Debug)]
struct Rewrite {
    /// What lies in the file from this page on.
    relocate_from: Option<PageNo>,
    /// Everything.
    all: bool,
}

fn choose(runs: &[u64], main: u64) -> Option<Choice> {
    if runs.len() < RUNS_WANTED {
        return None;
    }
    let mut taken = runs[0];
    let mut count = 1;
    while count < runs.len() && (runs[count] <= taken * GROWTH || runs.len() >= RUNS_MAX) {
        taken += runs[count];
        count += 1;
    }
    let with_main = count == runs.len() && main <= taken * MAIN_GROWTH;
    (count > 1 || with_main).then_some(Choice { runs: count, main: with_main })
}

impl Engine {
    /// Spills all deltas, then merges every table into one packed tree.
    pub fn settle(&self) -> Result<()> {
        self.flush()?;
        let _tidying = self.tidying.lock();
        let _merging = self.merging.lock();
        let ids: Vec<_> = self.versions.load().tables.keys().copied().collect();
        for id in ids {
            self.merge_all(id, None)?;
        }
        self.reclaim()
    }

    /// Spills all deltas, and merges what is due: what the background does when it is given the time.
    pub fn settle_due(&self) -> Result<()> {
        self.flush()?;
        while self.merge_due()? {}
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

    /// Merges all trees of a table. With `relocate_from` their pages from there on are moved down.
    pub(super) fn merge_all(&self, id: TableId, relocate_from: Option<PageNo>) -> Result<()> {
        let version = self.versions.load_full();
        let Ok(table) = version.table(id) else { return Ok(()) };
        if table.columns.is_some() && !table.awaits_main {
            return self.settle_columns(table, Extent::All, relocate_from);
        }
        if relocate_from.is_none() && table.runs.is_empty() {
            return Ok(());
        }
        let choice = Choice { runs: table.runs.len(), main: !table.awaits_main };
        self.merge_trees(&version, table, choice, Rewrite { relocate_from, all: false })
    }

    /// Writes all of a table anew that is not compressed as its definition says.
    pub(super) fn rewrite_outdated(&self, id: TableId) -> Result<()> {
        let version = self.versions.load_full();
        let Some(definition) = version.catalog.table(id) else { return Ok(()) };
        let Ok(table) = version.table(id) else { return Ok(()) };
        if table.columns.is_some() || table.awaits_main || !is_outdated(table, definition) {
            return Ok(());
        }
        let choice = Choice { runs: table.runs.len(), main: true };
        self.merge_trees(&version, table, choice, Rewrite { relocate_from: None, all: true })
    }

    /// Waits for merges, or merges itself, as long as a table has so many runs that reads would suffer: merging has to keep up with
    /// spilling, whatever the options say.
    pub(super) fn limit_runs(&self) -> Result<()> {
        loop {
            let crowded = |table: &&Arc<TableVersion>| table.runs.len() >= RUNS_LIMIT;
            let id = self.versions.load().tables.values().find(crowded).map(|table| table.shared.id);
            let Some(id) = id else { return Ok(()) };
            match self.limit_runs_of(id) {
                // The database is being closed, and its last spill is one more run.
                Err(Error::Cancelled) => return Ok(()),
                merged => merged?,
            }
        }
    }

    fn limit_runs_of(&self, id: TableId) -> Result<()> {
        self.limit_column_runs(id)?;
        let _merging = self.merging.lock();
        let version = self.versions.load_full();
        let Some(table) = version.tables.get(&id).filter(|table| table.runs.len() >= RUNS_LIMIT) else {
            return Ok(());
        };
        let choice = Choice { runs: table.runs.len(), main: false };
        match &table.columns {
            Some(_) if !table.awaits_main => self.settle_columns(table, Extent::Runs, None),
            _ => self.merge_trees(&version, table, choice, Rewrite::default()),
        }
    }

    /// Merges what is due. Returns whether anything was.
    pub(super) fn merge_due(&self) -> Result<bool> {
        Ok(self.merge_runs_due()? | self.tidy_due()?)
    }

    /// Merges the segments of all tables as they are due. Returns whether any were.
    fn tidy_due(&self) -> Result<bool> {
        let ids: Vec<_> = self.versions.load().tables.keys().copied().collect();
        let _tidying = self.tidying.lock();
        ids.into_iter().try_fold(false, |any, id| Ok(self.tidy_columns(id)? || any))
    }

    /// Merges and settles runs that are due. Returns whether any were.
    fn merge_runs_due(&self) -> Result<bool> {
        let _merging = self.merging.lock();
        let version = self.versions.load_full();
        let mut any = false;
        for table in version.tables.values() {
            if table.columns.is_some() && !table.awaits_main {
                if is_settling_due(table) {
                    self.settle_columns(table, Extent::Runs, None)?;
                    any = true;
                }
                continue;
            }
            let sizes: Vec<_> = table.runs.iter().map(|run| run.meta().pages()).collect();
            let main = match table.awaits_main {
                true => u64::MAX,
                false => table.main.as_ref().map_or(0, |main| main.meta().pages()),
            };
            if let Some(choice) = choose(&sizes, main) {
                self.merge_trees(&version, table, choice, Rewrite::default())?;
                any = true;
            }
        }
        Ok(any)
    }

    /// Merges what was chosen of this very version of a table: newer runs may have come, none may have gone.
    fn merge_trees(
        &self,
        version: &DatabaseVersion,
        table: &TableVersion,
        choice: Choice,
        rewrite: Rewrite,
    ) -> Result<()> {
        let main = table.main.iter().filter(|_| choice.main);
        let inputs: Vec<_> = table.runs.iter().take(choice.runs).chain(main).cloned().collect();
        if inputs.is_empty() {
            return Ok(());
        }
        let id = table.shared.id;
        let mut build = version.build_options(id, &table.shared.store);
        if choice.main
            && let Some(records) = &mut build.records
            && let Some(dictionary) = self.train_dictionary(version, id, &inputs, rewrite.all)?
        {
            records.dictionary = Some(dictionary);
        }
        let options = MergeOptions {
            drop_tombstones: choice.main
                || (table.main.is_none() && !table.awaits_main && choice.runs == table.runs.len()),
            relocate_from: rewrite.relocate_from,
            rewrite: rewrite.all,
            build,
            ..MergeOptions::new(&self.cancel_merge)
        };
        let merged = merge(&inputs, &options)?;
        self.install_merged(id, &inputs, choice.main, merged, &options)
    }

    /// Publishes a merged tree in the place of its inputs.
    fn install_merged(
        &self,
        id: TableId,
        inputs: &[Arc<Tree>],
        to_main: bool,
        merged: Merged,
        options: &MergeOptions<'_>,
    ) -> Result<()> {
        let locks = self.lock_checkpoint();
        let now = locks.version();
        let store = inputs[0].store().clone();
        let Some(table) = now.tables.get(&id) else {
            // Dropped meanwhile: what was adopted belongs to the dropped trees.
            store.free(merged.written);
            return Ok(());
        };
        let mut catalog = now.catalog.clone();
        let is_whole = table.runs.iter().all(|run| inputs.iter().any(|input| Arc::ptr_eq(input, run)));
        if options.rewrite && is_whole {
            // No page is left that was compressed with an older dictionary.
            Arc::make_mut(&mut catalog).forget_dictionaries(id);
        }
        keep_dictionary(&mut catalog, id, &options.build);
        let mut edit = match Arc::ptr_eq(&store, &self.store) {
            true => VersionEdit::checkpoint(Turnover {
                born: merged.written.clone(),
                retired: merged.freed,
                ..Turnover::default()
            }),
            // In memory there is nothing to publish.
            false => VersionEdit {
                turnover: Turnover { private: vec![(store.clone(), merged.freed)], ..Turnover::default() },
                ..VersionEdit::default()
            },
        };
        edit.catalog = Some(catalog);
        let tree = (!merged.meta.is_empty()).then(|| Tree::open(store.clone(), merged.meta));
        edit.table(id, TableEdit::Merge { inputs: inputs.to_vec(), tree, to_main });
        self.apply(locks, edit).inspect_err(|_| self.give_back(&store, merged.written))
    }

    /// Merges in the background until nothing is due.
    pub(super) fn merge_and_report(&self) {
        self.work_and_report(Self::merge_due);
    }

    /// Merges and settles runs in the background until none are due.
    pub(super) fn merge_runs_and_report(&self) {
        self.work_and_report(Self::merge_runs_due);
    }

    /// Merges segments in the background until none are due.
    pub(super) fn tidy_and_report(&self) {
        self.work_and_report(Self::tidy_due);
    }

    fn work_and_report(&self, work: impl Fn(&Self) -> Result<bool>) {
        loop {
            match work(self) {
                Ok(true) if !self.signals.state.lock().stop => {
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
    use crate::{
        catalog::{Storage, TableDefinition},
        database::{Options, Sync},
        io::sim::SimDisk,
    };

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
                for run in 0..=RUNS_WANTED as u8 {
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

    /// Keeps away: rewriting a large tree for every small run, and ever more runs.
    #[test]
    fn merges_take_things_of_a_size() {
        assert_eq!(choose(&[10, 10, 10], 0), None);
        assert_eq!(choose(&[10, 10, 10, 10], 1000), Some(Choice { runs: 4, main: false }));
        assert_eq!(choose(&[10, 10, 10, 100], 1000), Some(Choice { runs: 3, main: false }));
        assert_eq!(choose(&[10, 10, 30, 100], 400), Some(Choice { runs: 4, main: true }));
        assert_eq!(choose(&[10, 100, 1000, 10_000], 1 << 20), None);
        assert_eq!(choose(&[1; 16], 1 << 20), Some(Choice { runs: 16, main: false }));
    }

    /// Keeps away: write amplification that grows faster than a logarithm, and reads of many runs, under endless spills.
    #[test]
    fn endless_spills_stay_cheap() {
        let (mut runs, mut main, mut written, mut most) = (Vec::<u64>::new(), 0u64, 0u64, 0);
        let spills = 2000;
        for _ in 0..spills {
            runs.insert(0, 100);
            written += 100;
            while let Some(choice) = choose(&runs, main) {
                let mut merged: u64 = runs.drain(..choice.runs).sum();
                if choice.main {
                    merged += main;
                    main = merged;
                } else {
                    runs.insert(0, merged);
                }
                written += merged;
            }
            most = most.max(runs.len());
        }
        assert!(written / (spills * 100) <= 12, "write amplification {}", written / (spills * 100));
        assert!(most < RUNS_MAX, "{most} runs");
    }
}
