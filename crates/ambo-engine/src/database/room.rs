//! Room on a small disk, or on one that is almost full.
//!
//! 1. The log leaves room for a checkpoint of what it holds ([`ambo_pages::log`]), so a full log can always be let go.
//! 2. A commit that finds the disk full makes a checkpoint and tries again, as long as checkpoints let something go.
//! 3. Runs hold what later ones replace. Before they are large beside the room that is left, a flush merges them: a merge needs room
//!    itself, and later there would be none.
//! 4. What is left in the end is kept for deletes and for checkpoints.

use std::sync::Arc;

use ambo_base::BaseOps;
use ambo_pages::{log::Operation, sync::Ordering};
use ambo_types::{Error, Result, id::TableId};

use super::{
    engine::Engine,
    version::{DatabaseVersion, TableVersion},
};

/// Pages that a checkpoint writes at most besides rows and a page for each table: catalog and list of free pages.
const CATALOG_PAGES: u64 = 4;
/// A page of the catalog has room for the roots of so many trees at least, unless their fences are long.
const ROOTS_PER_PAGE: u64 = 8;
/// Runs are merged before they have more than the so-many-th part of the room that is left.
const RUNS_SHARE: u64 = 2;

impl Engine {
    /// Has the log leave room for a checkpoint of a version.
    pub(super) fn keep_room(&self, version: &DatabaseVersion) {
        let trees: usize = version.tables.values().map(|table| table.base.trees().len()).sum();
        let pages = version.tables.len() as u64 + trees as u64 / ROOTS_PER_PAGE + CATALOG_PAGES;
        self.pipeline.keep_room(pages * self.store.page_size() as u64);
    }

    /// Refuses what adds rows where the rest of the disk is kept.
    #[inline]
    pub(super) fn admit_by_room(&self, operations: &[Operation<'_>]) -> Result<()> {
        if self.archiver.is_behind() {
            self.admit_behind_archive()?;
        }
        if self.pipeline.is_tight() { self.admit_deletes(operations) } else { Ok(()) }
    }

    #[cold]
    fn admit_deletes(&self, operations: &[Operation<'_>]) -> Result<()> {
        let version = self.versions.load();
        let takes_room = |op: &Operation<'_>| {
            let table = version.tables.get(&op.table);
            !op.record.is_tombstone() && table.is_some_and(|table| self.is_in_file(table))
        };
        match operations.iter().any(takes_room) {
            true => {
                Err(Error::DiskFull("writing rows; what is left is kept for deletes and checkpoints".into()))
            }
            false => Ok(()),
        }
    }

    fn is_in_file(&self, table: &TableVersion) -> bool {
        Arc::ptr_eq(&table.shared.store, &self.store)
    }

    /// Changes whenever room became free on the disk.
    pub(super) fn room_made(&self) -> u64 {
        self.room_made.load(Ordering::Relaxed)
    }

    pub(super) fn note_room_made(&self) {
        self.room_made.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether a flush found the disk full, and the background thread tries again every so often.
    pub(super) fn is_flushed_soon(&self) -> bool {
        self.options.background_threads && self.governor.has_failed()
    }

    /// Makes room for a commit that was refused: by a checkpoint in this thread, so that the log before it goes, and by giving back what is
    /// free. Returns whether it is worth another try: room became free since [`Engine::room_made`] was `seen`.
    pub(super) fn make_room(&self, seen: u64) -> bool {
        self.flush_and_report();
        if self.governor.has_failed() {
            self.signals.raise(|state| &mut state.flush);
        }
        if self.pipeline.is_tight()
            && let Err(error) = self.give_back_free()
        {
            self.pipeline.poison(&format!("giving space back: {error}"));
        }
        self.room_made() != seen
    }

    /// Gives free pages back to the disk, for the log, if it is still short of room.
    fn give_back_free(&self) -> Result<()> {
        if self.pipeline.weigh_room()? {
            self.sweep(&mut self.checkpoint.lock());
            self.store.truncate_tail()?;
            self.store.punch_free(1)?;
        }
        if !self.pipeline.weigh_room()? {
            self.note_room_made();
        }
        Ok(())
    }

    /// After a flush that found the disk full: waits for a merge that is under way, which gives back what it took if it fails and what it
    /// replaced if not, and frees what readers had.
    pub(super) fn await_room(&self) {
        drop(self.merging.lock());
        self.sweep(&mut self.checkpoint.lock());
    }

    /// Bytes that pages can still take; `None` if that has no limit or is not known.
    fn room(&self) -> Result<Option<u64>> {
        let free = self.pipeline.with_log(|log| Ok(log.free_bytes()))?;
        Ok(free.map(|bytes| bytes + self.store.idle_bytes()))
    }

    /// Merges runs where they are large beside the room that is left, or there is hardly any. Where a merge finds no room the flush goes on
    /// without it.
    pub(super) fn merge_for_room(&self) -> Result<()> {
        let Some(room) = self.room()? else { return Ok(()) };
        let (ids, bytes) = self.runs_in_file();
        let is_due = bytes * RUNS_SHARE > room || (bytes > 0 && self.pipeline.is_tight());
        if !is_due || self.no_room_to_merge.load(Ordering::Relaxed) == self.room_made() {
            return Ok(());
        }
        for id in ids {
            match self.merge_for_room_of(id) {
                Err(Error::DiskFull(_)) => self.no_room_to_merge.store(self.room_made(), Ordering::Relaxed),
                // It was dropped.
                Err(Error::NotFound(_)) => {}
                // The database is being closed.
                Err(Error::Cancelled) => return Ok(()),
                merged => merged?,
            }
        }
        self.reclaim()
    }

    /// Merges all runs of a table, and into what is settled: rows that were replaced or deleted there take room, too.
    fn merge_for_room_of(&self, id: TableId) -> Result<()> {
        // Where parts are merged a few at a time, that takes less room than a merge of all runs.
        if self.versions.load().table(id)?.base.trees().len() < 2 {
            let _merging = self.merging.lock();
            self.compact_runs(id)?;
        }
        // Those that the base took are part of it now.
        if self.versions.load().table(id)?.runs.is_empty() {
            return Ok(());
        }
        let _merging_segments = self.merging_segments.lock();
        let _merging = self.merging.lock();
        self.merge_all(id, None)
    }

    /// The tables of the file that have runs to merge, and the bytes of these. One run of a table that is held would become the same again.
    fn runs_in_file(&self) -> (Vec<TableId>, u64) {
        let version = self.versions.load();
        let has_runs = |table: &&Arc<TableVersion>| {
            table.runs.len() > usize::from(table.is_held) && self.is_in_file(table)
        };
        let tables: Vec<_> = version.tables.values().filter(has_runs).collect();
        let pages: u64 = tables.iter().flat_map(|table| &table.runs).map(|run| run.meta().pages()).sum();
        (tables.iter().map(|table| table.shared.id).collect(), pages * self.store.page_size() as u64)
    }
}
