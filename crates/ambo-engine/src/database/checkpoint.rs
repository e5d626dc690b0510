//! Freeze, flush, checkpoint: how memtables become durable pages, and the log before them goes.
//!
//! 1. *Freeze*: nothing is sequenced while every active memtable is set aside and a new one takes its place. The last
//!    timestamp given out, F, and the log's end are noted: both are exact, since nothing was in flight.
//! 2. *Flush*: the newest version of each key of each frozen memtable goes, in key order, into a run of packed pages. A range of keys
//!    that it deleted becomes a tombstone for each key that is there.
//! 3. *Publish*: the catalog is written with the new roots, then the list of free pages; the file is synced; then one of
//!    the two superblocks is written and synced. That is the moment at which the checkpoint counts.
//! 4. The new version of the database is installed, log segments behind the noted position are deleted, and replaced
//!    pages wait in the graveyard for their last reader, in this process or another ([`super::readers`]).
//!
//! A crash before 3's last sync leaves the old checkpoint with all its pages and log; pages written meanwhile are
//! free in its list.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use ambo_base::{
    BaseOps,
    btree::{BuildOptions, Tree, TreeBuilder, TreeMeta},
    column::{Segment, SegmentStore},
    key_filter::{FEW_BITS, KeyFilter},
};
use ambo_pages::{
    page::{PageRange, PageStore, RetiredPages, are_disjoint, superblock::Superblock},
    sync::Ordering,
};
use ambo_types::{
    Error, Result,
    id::{Lsn, TableId, Timestamp},
    record::{Record, RecordKind},
};
use parking_lot::Mutex;

use super::{
    beside,
    cursor::{MergedCursor, Seek},
    engine::Engine,
    version::{DatabaseVersion, TableVersion},
    version_edit::{Compacted, Durability, TableEdit, VersionEdit},
};
use crate::{catalog::roots::TableRoots, memtable::Memtable};

/// The pages that come and go with a checkpoint.
#[derive(Default)]
pub(super) struct Turnover {
    /// Pages of trees that are new.
    pub born: Vec<PageRange>,
    /// Pages of blobs that memtables referred to before.
    pub blobs: Vec<PageRange>,
    /// Pages of the last checkpoint that nothing new reads.
    pub retired: Vec<PageRange>,
    /// Pages that no checkpoint ever knew and nothing new reads, with their store.
    pub private: Vec<(Arc<PageStore>, Vec<PageRange>)>,
    /// Segments that are new, written and synced.
    pub new_segments: Vec<Arc<Segment>>,
    /// Segments that nothing new reads.
    pub old_segments: Vec<Arc<Segment>>,
}

/// Pages that nothing new reads, waiting for their last reader.
struct Grave {
    /// Pages that a checkpoint retired; free when this is dropped.
    retired: Option<RetiredPages>,
    private: Vec<(Arc<PageStore>, Vec<PageRange>)>,
    /// Segments that the checkpoint left out: their files go with the grave.
    segments: Vec<Arc<Segment>>,
    /// Files of segments that were found when the database was opened, and that no checkpoint named.
    files: Option<(Arc<SegmentStore>, Vec<u64>)>,
    /// No version from this number on …
    from: u64,
    /// … and before this one must be left.
    before: u64,
    /// No reader in another process must hold a checkpoint before this one. Zero for what no checkpoint ever had.
    sequence: u64,
}

impl Grave {
    /// A grave of a checkpoint that waits for other processes alone.
    fn of_checkpoint(sequence: u64) -> Self {
        Self {
            retired: None,
            private: Vec::new(),
            segments: Vec::new(),
            files: None,
            from: 0,
            before: 0,
            sequence,
        }
    }

    /// Whether a reader may have what is in it: `read` are versions of this process, `oldest` is the oldest checkpoint of others.
    fn is_read(&self, read: &[u64], oldest: Option<u64>) -> bool {
        let first = read.partition_point(|version| *version < self.from);
        let here = read.get(first).is_some_and(|version| *version < self.before);
        here || oldest.is_some_and(|oldest| oldest < self.sequence)
    }

    /// Frees what is in it.
    fn open(self) -> Result<()> {
        drop(self.retired);
        for (store, ranges) in self.private {
            store.free(ranges);
        }
        self.segments.iter().for_each(|segment| segment.discard());
        match self.files {
            Some((store, files)) => files.into_iter().try_for_each(|id| store.remove(id)),
            None => Ok(()),
        }
    }
}

/// A moment of the log: everything at or before the timestamp is in groups before the position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Moment {
    pub timestamp: Timestamp,
    pub log_from: Lsn,
}

impl Moment {
    /// Whether the other is the same or later, by its commits and by its place in the log.
    fn is_before(self, other: Self) -> bool {
        self.timestamp <= other.timestamp && self.log_from <= other.log_from
    }
}

/// The most frozen memtables of a table: reads look into each.
pub(super) const FROZEN_MAX: usize = 8;

/// What the last checkpoint leaves behind for the next.
pub(super) struct CheckpointState {
    /// The moment of the last freeze.
    frozen: Option<Moment>,
    superblock: Superblock,
    catalog_pages: Vec<PageRange>,
    graveyard: Vec<Grave>,
    /// When the last checkpoint was published.
    at: Duration,
    /// When those were that readers in other processes may hold, oldest first; of very many, some.
    times: VecDeque<(u64, Duration)>,
}

/// What readers in other processes keep from being reused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct HeldBack {
    pub pages: u64,
    pub segment_bytes: u64,
}

/// So many times of checkpoints are known.
const TIMES_MAX: usize = 1024;

/// A memtable that was written out.
struct Flushed {
    table: TableId,
    store: Arc<PageStore>,
    memtable: Arc<Memtable>,
    run: Run,
}

/// A run that is written and not yet part of a checkpoint.
struct Run {
    meta: TreeMeta,
    pages: Vec<PageRange>,
    /// Taken when the run is installed.
    filter: Mutex<Option<KeyFilter>>,
}

impl Flushed {
    /// What it changes in its table.
    fn edit(&self) -> TableEdit {
        let filter = self.run.filter.lock().take();
        let open = || Tree::open_filtered(self.store.clone(), self.run.meta, filter);
        TableEdit::Flush { memtable: self.memtable.clone(), run: (!self.run.meta.is_empty()).then(open) }
    }
}

impl CheckpointState {
    /// The state after `superblock` was read.
    pub(super) fn new(superblock: &Superblock, catalog_pages: Vec<PageRange>) -> Self {
        Self {
            frozen: None,
            superblock: superblock.clone(),
            catalog_pages,
            graveyard: Vec::new(),
            at: Duration::ZERO,
            times: VecDeque::new(),
        }
    }

    /// Notes when a checkpoint was published.
    fn note_time(&mut self, sequence: u64, at: Duration) {
        self.at = at;
        self.times.push_back((sequence, at));
        if self.times.len() > TIMES_MAX {
            let mut is_kept = false;
            self.times.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
        }
    }

    /// When the checkpoint of that number was published, or one before it; none if that was before the database was opened.
    pub(super) fn time_of(&self, sequence: u64) -> Option<Duration> {
        let behind = self.times.partition_point(|(of, _)| *of <= sequence);
        Some(self.times[behind.checked_sub(1)?].1)
    }

    /// What waits for readers of other processes, the oldest of which hold that checkpoint.
    pub(super) fn held_back(&self, oldest: Option<u64>) -> HeldBack {
        let mut held = HeldBack::default();
        let waiting = self.graveyard.iter().filter(|grave| grave.is_read(&[], oldest));
        for grave in waiting {
            held.pages += grave.retired.as_ref().map_or(0, RetiredPages::pages);
            held.segment_bytes += grave.segments.iter().map(|segment| segment.file_bytes()).sum::<u64>();
        }
        held
    }

    /// The superblock of the last checkpoint.
    pub(super) fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// Pages of a store that no checkpoint knew and that wait for their last reader.
    pub(super) fn buried<'a>(&'a self, store: &'a Arc<PageStore>) -> impl Iterator<Item = PageRange> + 'a {
        let private = self.graveyard.iter().flat_map(|grave| &grave.private);
        private.filter(move |(of, _)| Arc::ptr_eq(of, store)).flat_map(|(_, pages)| pages.iter().copied())
    }

    /// When the last checkpoint was published.
    pub(super) fn at(&self) -> Duration {
        self.at
    }

    /// Whether the last checkpoint is of one moment: it has nothing that is later than what else it has.
    pub(super) fn is_whole(&self) -> bool {
        beside::is_whole(&self.superblock)
    }

    /// Whether something waits for readers in other processes.
    pub(super) fn waits_for_others(&self) -> bool {
        self.graveyard.iter().any(|grave| grave.sequence > 0)
    }

    /// Goes on with a later checkpoint, which another process has published.
    pub(super) fn follow(&mut self, superblock: Superblock, catalog_pages: Vec<PageRange>) {
        (self.superblock, self.catalog_pages) = (superblock, catalog_pages);
    }

    /// Lets all that is free, and files that no checkpoint names, wait for readers that hold a checkpoint before this one.
    pub(super) fn hold_free(
        &mut self,
        store: &Arc<PageStore>,
        segments: &Arc<SegmentStore>,
        files: Vec<u64>,
    ) {
        let mut grave = Grave::of_checkpoint(self.superblock.sequence);
        grave.retired = Some(store.hold_free());
        grave.files = Some((segments.clone(), files));
        self.graveyard.push(grave);
    }

    /// What the last checkpoint holds.
    pub(super) fn moment(&self) -> Moment {
        Moment { timestamp: self.superblock.timestamp, log_from: self.superblock.log_from }
    }
}

impl Engine {
    /// Flushes all memtables and publishes a checkpoint. Commits go on meanwhile.
    pub fn flush(&self) -> Result<()> {
        self.check_writable()?;
        match self.try_flush() {
            Err(Error::DiskFull(_)) => {
                self.await_room();
                self.try_flush()
            }
            flushed => flushed,
        }
    }

    fn try_flush(&self) -> Result<()> {
        self.limit_runs()?;
        self.flush_within(&mut self.checkpoint.lock())
    }

    /// As [`Engine::flush`], for a caller that has locked checkpoints and goes on with that.
    pub(super) fn flush_within(&self, checkpoint: &mut CheckpointState) -> Result<()> {
        let most_frozen = self.versions.load().tables.values().map(|table| table.frozen.len()).max();
        if let Some(frozen) = checkpoint.frozen
            && most_frozen.is_some_and(|most| most >= FROZEN_MAX)
        {
            // Flushes have failed again and again: before more is set aside, what is must go.
            self.checkpoint_at(checkpoint, frozen)?;
        }
        let moment = self.freeze()?;
        assert!(
            checkpoint.frozen.is_none_or(|before| before.is_before(moment)),
            "a freeze is later than the last"
        );
        checkpoint.frozen = Some(moment);
        if moment == checkpoint.moment() && self.dropped.lock().is_empty() && checkpoint.is_whole() {
            return Ok(());
        }
        self.checkpoint_at(checkpoint, moment)
    }

    /// Flushes all frozen memtables, which hold everything up to `moment` that is not in bases, and publishes it.
    fn checkpoint_at(&self, checkpoint: &mut CheckpointState, moment: Moment) -> Result<()> {
        let flushed = self.flush_all()?;
        let locks = self.lock_versions_within(checkpoint);
        let tables = &locks.version().tables;
        let (kept, orphaned): (Vec<_>, Vec<_>) =
            flushed.into_iter().partition(|flush| tables.contains_key(&flush.table));
        self.abandon(&orphaned);
        assert!(
            kept.iter().all(|flush| !flush.memtable.is_later_than(moment.timestamp)),
            "a checkpoint has nothing that is later than its moment"
        );
        let mut turnover = Turnover { born: self.pages_in_file(&kept).collect(), ..Turnover::default() };
        self.compact_blobs(moment.timestamp, &kept, &mut turnover);
        let compacted = Compacted {
            at: moment.timestamp,
            oldest: self.snapshots.oldest(),
            history_bytes: self.options.memtable_bytes / 2,
        };
        let mut edit = VersionEdit {
            durability: Durability::CheckpointAt(moment),
            turnover,
            compacted: Some(compacted),
            ..VersionEdit::default()
        };
        for flush in &kept {
            edit.table(flush.table, flush.edit());
        }
        self.apply(locks, edit).inspect_err(|_| self.abandon(&kept))?;
        self.fresh_blobs.lock().retain(|blob| blob.at > moment.timestamp);
        self.governor.flushed();
        self.pipeline.with_log(|log| log.remove_before(moment.log_from).map(drop))?;
        self.archive_due();
        Ok(())
    }

    /// Sets the active memtables aside.
    fn freeze(&self) -> Result<Moment> {
        let locks = self.lock_versions().quiet()?;
        let mut edit = VersionEdit { is_freeze: true, ..VersionEdit::default() };
        for (id, table) in &locks.version().tables {
            if !table.active.is_empty() {
                edit.table(*id, TableEdit::Freeze(self.memtables.make(table.shared.storage)?));
            }
        }
        let moment = Moment { timestamp: locks.last(), log_from: self.pipeline.written_lsn() };
        self.apply(locks, edit)?;
        Ok(moment)
    }

    /// Writes every frozen memtable of every table as a run.
    fn flush_all(&self) -> Result<Vec<Flushed>> {
        let version = self.versions.load_full();
        let mut flushed = Vec::new();
        for (id, table) in &version.tables {
            // Oldest first, so that runs are installed in order.
            for (age, memtable) in table.frozen.iter().rev().enumerate() {
                let bottom = age == 0 && table.has_no_base();
                let options = version.build_options(*id, &table.shared.store);
                // What it has deleted as ranges of keys becomes tombstones of those that are there.
                let older = &table.frozen[table.frozen.len() - age..];
                let older = memtable.has_ranges().then(|| MergedCursor::older(table, older));
                match flush(&table.shared.store, memtable, older, bottom, options) {
                    Ok(run) => flushed.push(Flushed {
                        table: *id,
                        store: table.shared.store.clone(),
                        memtable: memtable.clone(),
                        run,
                    }),
                    Err(error) => {
                        self.abandon(&flushed);
                        return Err(error);
                    }
                }
            }
        }
        Ok(flushed)
    }

    /// Gives the pages of runs back that were not published.
    fn abandon(&self, flushed: &[Flushed]) {
        for flush in flushed {
            self.give_back(&flush.store, flush.run.pages.iter().copied());
        }
    }

    /// Frees pages that a failed step wrote, unless the superblock on the device may refer to them: then they stay until the
    /// database is reopened.
    pub(super) fn give_back(&self, store: &Arc<PageStore>, pages: impl IntoIterator<Item = PageRange>) {
        if self.pipeline.check_poison().is_ok() {
            store.free(pages);
        }
    }

    /// The pages among those flushed that are in the database's file.
    fn pages_in_file<'a>(&self, flushed: &'a [Flushed]) -> impl Iterator<Item = PageRange> + 'a {
        let file = self.store.clone();
        flushed
            .iter()
            .filter(move |flush| Arc::ptr_eq(&flush.store, &file))
            .flat_map(|flush| flush.run.pages.iter().copied())
    }

    /// Sorts the blobs that commits up to `at` referred to: those that a flushed memtable still refers to become part of the base; the
    /// others were replaced before they got there.
    fn compact_blobs(&self, at: Timestamp, flushed: &[Flushed], pages: &mut Turnover) {
        let fresh = self.fresh_blobs.lock();
        if fresh.iter().all(|blob| blob.at > at) {
            return;
        }
        // A table may have moved: two blobs of it may be in the same pages of different stores.
        let place = |store: &Arc<PageStore>| Arc::as_ptr(store).addr();
        let mut live: HashSet<(TableId, usize, Vec<u8>)> = HashSet::new();
        for flush in flushed {
            for_each_newest(&flush.memtable, |_, record| {
                if record.kind == RecordKind::Blob {
                    live.insert((flush.table, place(&flush.store), record.bytes.to_vec()));
                }
                Ok(())
            })
            .expect("looking at records does not fail");
        }
        for fresh in fresh.iter().filter(|blob| blob.at <= at) {
            match live.contains(&(fresh.table, place(&fresh.store), fresh.blob.encode())) {
                true if Arc::ptr_eq(&fresh.store, &self.store) => pages.blobs.extend(fresh.blob.pages()),
                true => {}
                false => pages.private.push((fresh.store.clone(), fresh.blob.pages().to_vec())),
            }
        }
    }

    /// Writes a checkpoint of `next` and installs it: what [`Engine::apply`] does with edits that need one.
    ///
    /// It shows the newest catalog and all loads, and of rows in memtables only those up to `moment`. So that no commit is lost that came
    /// before one of these, the log is synced first where it has to be.
    ///
    /// # Errors
    /// Before the flip nothing has changed, and `published` pages are still the caller's. After a failed flip the database is
    /// poisoned.
    pub(super) fn publish(
        &self,
        checkpoint: &mut CheckpointState,
        moment: Moment,
        next: DatabaseVersion,
        pages: Turnover,
    ) -> Result<()> {
        let Turnover { mut born, blobs, mut retired, private, new_segments, old_segments } = pages;
        debug_assert!(self.checkpoint.is_locked(), "checkpoints are published under their lock");
        assert!(checkpoint.moment().is_before(moment), "checkpoints only go on");
        assert_eq!(next.compacted, moment.timestamp, "the bases have what the log before the checkpoint has");
        // What is kept of the log is whole, too: from here on it counts as durable, as the bases have it.
        let is_kept = self.options.keep_log_bytes > 0 || self.pipeline.is_archived();
        if next.beyond > moment.timestamp || is_kept {
            self.pipeline.sync_all()?;
        }
        retired.extend(self.dropped_tables()?);
        if !new_segments.is_empty() {
            self.segments.sync_directory()?;
        }
        // The catalog takes the place of the last one.
        let makes_room = moment.log_from > checkpoint.superblock.log_from || !retired.is_empty();
        let (catalog, catalog_pages) = self.write_catalog(&next)?;
        born.extend(catalog_pages.iter().copied());
        retired.extend(checkpoint.catalog_pages.iter().copied());
        let published: Vec<_> = born.iter().copied().chain(blobs).collect();
        debug_assert!(are_disjoint(&published), "a page that is new has one owner");
        debug_assert!(are_disjoint(&retired), "a page goes once");

        // From the flip on the superblock on the device may name them.
        new_segments.iter().for_each(|segment| segment.keep());
        let flipped = self.flip(checkpoint, (moment, next.beyond), &catalog, &published, retired.clone());
        let (superblock, owner) = flipped.inspect_err(|_| {
            self.give_back(&self.store, catalog_pages.iter().copied());
            if self.pipeline.check_poison().is_ok() {
                new_segments.iter().for_each(|segment| segment.discard());
            }
        })?;
        let dropped = std::mem::take(&mut *self.dropped.lock());
        let of_dropped = dropped.iter().flat_map(|table| table.base.segments());
        let old_segments = old_segments.into_iter().chain(of_dropped).collect();
        let sequence = superblock.sequence;
        checkpoint.superblock = superblock;
        checkpoint.note_time(sequence, self.clock.now());
        checkpoint.catalog_pages = catalog_pages;
        self.install_version(next);
        if makes_room {
            self.note_room_made();
        }
        let (parts, before) = {
            let mut lineage = self.lineage.lock();
            let parts = lineage.part(&retired);
            lineage.born(born);
            (parts, lineage.count())
        };
        for (from, pages) in parts {
            let retired = Some(owner.split(&pages));
            let grave = Grave::of_checkpoint(sequence);
            checkpoint.graveyard.push(Grave { retired, from, before, ..grave });
        }
        // What is left is the list of free pages of the checkpoint before: nobody here reads it.
        let rest = Grave::of_checkpoint(sequence);
        checkpoint.graveyard.push(Grave { retired: Some(owner), segments: old_segments, ..rest });
        self.bury(checkpoint, private);
        Ok(())
    }

    /// Lets pages that no checkpoint knows wait for the readers of all versions replaced so far.
    pub(super) fn bury(
        &self,
        checkpoint: &mut CheckpointState,
        private: Vec<(Arc<PageStore>, Vec<PageRange>)>,
    ) {
        debug_assert!(self.checkpoint.is_locked(), "pages are buried under the lock of checkpoints");
        let before = self.lineage.lock().count();
        checkpoint.graveyard.push(Grave { private, before, ..Grave::of_checkpoint(0) });
        self.sweep(checkpoint);
    }

    /// Makes the checkpoint durable: pages first, then the superblock that names them. Returns the superblock and the retired pages.
    fn flip(
        &self,
        checkpoint: &CheckpointState,
        (moment, beyond): (Moment, Timestamp),
        catalog: &TreeMeta,
        published: &[PageRange],
        retired: Vec<PageRange>,
    ) -> Result<(Superblock, RetiredPages)> {
        let pages = self.store.begin_checkpoint(published, &retired)?;
        let superblock = Superblock {
            page_size: self.store.page_size() as u32,
            database_id: checkpoint.superblock.database_id,
            sequence: checkpoint.superblock.sequence + 1,
            timestamp: moment.timestamp,
            log_from: moment.log_from,
            file_pages: pages.file_pages(),
            free_list: pages.free_list(),
            catalog: catalog.encode().to_vec(),
            other: beside::note(beyond),
        };
        let synced = self.store.sync();
        let flipped =
            synced.and_then(|()| self.store.write_superblock(&superblock)).and_then(|()| self.store.sync());
        match flipped {
            Ok(()) => Ok((superblock, pages.commit())),
            Err(error) => {
                // Which superblock the device has is not known: the pages of neither state may be touched.
                // So "disk full" would say too much.
                Err(self.pipeline.poisoned(&format!("publishing a checkpoint: {error}")))
            }
        }
    }

    /// Frees the pages whose last reader is gone.
    pub(super) fn sweep(&self, checkpoint: &mut CheckpointState) {
        debug_assert!(self.checkpoint.is_locked(), "who frees pages has locked checkpoints");
        let read = self.lineage.lock().read();
        // Looked for after the checkpoint was published, as `ambo_pages::readers` has it.
        let oldest = self.oldest_held(checkpoint.waits_for_others());
        let last = checkpoint.superblock.sequence;
        while checkpoint.times.get(1).is_some_and(|(next, _)| *next <= oldest.unwrap_or(last)) {
            checkpoint.times.pop_front();
        }
        let graves = std::mem::take(&mut checkpoint.graveyard);
        let (kept, open) = graves.into_iter().partition(|grave| grave.is_read(&read, oldest));
        checkpoint.graveyard = kept;
        for grave in open {
            // A file that cannot be removed is swept by the next opening.
            let _left: Result<()> = grave.open();
        }
    }

    fn write_catalog(&self, version: &DatabaseVersion) -> Result<(TreeMeta, Vec<PageRange>)> {
        let mut rows = version.catalog.rows();
        rows.extend(version.catalog.view_rows());
        rows.extend(version.catalog.object_rows());
        rows.extend(version.tables.iter().flat_map(|(id, table)| roots_of(table).rows(*id)));
        rows.sort_unstable();
        let mut builder = TreeBuilder::new(&self.store, BuildOptions::default());
        for (key, value) in rows {
            builder.push(&key, Record::inline(&value))?;
        }
        builder.finish_with_pages()
    }

    /// The pages of tables that were dropped since the last checkpoint.
    fn dropped_tables(&self) -> Result<Vec<PageRange>> {
        let dropped = self.dropped.lock();
        let in_file = dropped.iter().filter(|table| Arc::ptr_eq(&table.shared.store, &self.store));
        let mut pages = Vec::new();
        for table in in_file {
            pages.extend(table.pages()?);
            pages.extend(table.damage.iter().flat_map(|damage| damage.pages.iter().copied()));
        }
        Ok(pages)
    }

    /// Flushes, and tells waiting writers what went wrong if something did.
    pub(super) fn flush_and_report(&self) {
        if let Err(error) = self.flush() {
            if !matches!(error, Error::DiskFull(_)) {
                self.pipeline.poison(&format!("flushing: {error}"));
            }
            self.governor.flush_failed(error.to_string());
        }
    }
}

/// Writes the newest version of each key of a frozen memtable into a packed tree. At the bottom, tombstones hide nothing. `older` are the
/// keys that it may have deleted as ranges.
fn flush(
    store: &Arc<PageStore>,
    memtable: &Arc<Memtable>,
    older: Option<MergedCursor>,
    bottom: bool,
    options: BuildOptions,
) -> Result<Run> {
    // A run is soon merged; what of it is read before comes into the cache then. Filling the cache would slow the writers
    // that wait for this flush.
    let mut builder = TreeBuilder::new(store, BuildOptions { keep_in_cache: store.is_memory(), ..options });
    // A look-up asks every run: all but one in a hundred of those that do not have the key say so at once. How many keys ranges had is not
    // known before.
    let has_ranges = older.is_some();
    let mut filter = if bottom || has_ranges { None } else { KeyFilter::new(memtable.rows(), FEW_BITS) };
    let push = |key: &[u8], record: Record<'_>| {
        if bottom && record.is_tombstone() {
            return Ok(());
        }
        if let Some(filter) = &mut filter {
            filter.insert(key);
        }
        builder.push(key, record)
    };
    match older {
        Some(older) => for_each_with_ranges(memtable, older, push)?,
        None => for_each_newest(memtable, push)?,
    }
    let (meta, pages) = builder.finish_with_pages()?;
    let rows = memtable.rows() as u64;
    let has_all = meta.rows == rows || bottom && meta.rows < rows || has_ranges && meta.rows >= rows;
    assert!(has_all, "each key of a frozen memtable is in its run");
    assert!(!bottom || meta.tombstones == 0, "below the lowest run is nothing to be deleted");
    Ok(Run { meta, pages, filter: Mutex::new(filter) })
}

fn for_each_newest(
    memtable: &Arc<Memtable>,
    mut visit: impl FnMut(&[u8], Record<'_>) -> Result<()>,
) -> Result<()> {
    let mut cursor = memtable.cursor();
    let mut there = cursor.seek_first();
    while there {
        visit(cursor.key(), cursor.newest().record)?;
        there = cursor.next();
    }
    Ok(())
}

/// As [`for_each_newest`], and a tombstone for each older key in a range that the memtable deleted.
fn for_each_with_ranges(
    memtable: &Arc<Memtable>,
    mut older: MergedCursor,
    mut visit: impl FnMut(&[u8], Record<'_>) -> Result<()>,
) -> Result<()> {
    let mut cursor = memtable.cursor();
    let mut there = cursor.seek_first();
    for range in memtable.deleted_ranges() {
        let mut is_older = older.seek(Seek::Ge(&range.lower))?;
        while is_older && range.has(older.key()) {
            while there && cursor.key() < older.key() {
                visit(cursor.key(), cursor.newest().record)?;
                there = cursor.next();
            }
            if !there || cursor.key() != older.key() {
                visit(older.key(), Record::TOMBSTONE)?;
            }
            is_older = older.next()?;
        }
    }
    while there {
        visit(cursor.key(), cursor.newest().record)?;
        there = cursor.next();
    }
    Ok(())
}

/// Where a table is. Tables in memory have nothing to find again.
fn roots_of(table: &TableVersion) -> TableRoots {
    let mut roots =
        TableRoots { next_row: table.shared.next_row.load(Ordering::Relaxed), ..TableRoots::default() };
    if table.is_durable() {
        roots.runs = table.runs.iter().map(|run| *run.meta()).collect();
        roots.base = match &table.damage {
            Some(damage) => damage.roots.clone(),
            None => table.base.roots(),
        };
    }
    roots
}
