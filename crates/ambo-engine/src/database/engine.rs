//! The engine: what all handles of an open database share.

use std::{collections::HashMap, sync::Arc, time::Duration};

use ambo_base::{Base, Stores, column::SegmentStore};
use ambo_pages::{
    io::{Clock, Lock},
    page::PageStore,
    readers::Watch,
    sync::{AtomicU64, Ordering},
};
use ambo_types::{
    Error, Result,
    id::{TableId, Timestamp},
    record::RecordKind,
};
use arc_swap::ArcSwap;
use parking_lot::{Mutex, RwLock};

use super::{
    archive::Archiver,
    beside::Beside,
    checkpoint::CheckpointState,
    filters::Filtering,
    governor::Governor,
    lineage::Lineage,
    memtables::Memtables,
    options::Options,
    signals::Signals,
    table::Picked,
    value::{Keeper, Value},
    version::{DatabaseVersion, Found, TableShared, TableVersion},
};
use crate::transaction::{latch::Latches, pipeline::Pipeline, row_lock::RowLocks, snapshots::Snapshots};

/// Reads at "now": no timestamp is greater.
pub(super) const NEWEST: Timestamp = Timestamp(u64::MAX);

/// An open database.
pub struct Engine {
    pub(super) options: Options,
    pub(super) store: Arc<PageStore>,
    pub(super) clock: Arc<dyn Clock>,
    /// Where column tables have their segments.
    pub(super) segments: Arc<SegmentStore>,
    pub(super) versions: ArcSwap<DatabaseVersion>,
    /// What `versions` was before.
    pub(super) lineage: Mutex<Lineage>,
    /// Held by whoever replaces `versions`.
    pub(super) version_lock: Mutex<()>,
    /// Shared by whoever changes definitions, and held for a moment that is to have all of them: before all other locks.
    pub(super) defining: RwLock<()>,
    /// Ids of tables below this are given out, to transactions that are still open, too.
    pub(super) end_of_ids: Mutex<u32>,
    pub(super) memtables: Memtables,
    pub(super) pipeline: Pipeline,
    pub(super) snapshots: Snapshots,
    pub(super) latches: Latches,
    pub(super) row_locks: RowLocks,
    pub(super) governor: Governor,
    /// Held while a checkpoint is written.
    pub(super) checkpoint: Mutex<CheckpointState>,
    /// Held while runs are merged, and while bases are replaced by what others made of them.
    pub(super) merging: Mutex<()>,
    /// Held while segments are merged, before `merging`: loads and compacting go on meanwhile.
    pub(super) merging_segments: Mutex<()>,
    /// Held while a load is published: it may have the latches before the checkpoint, or after.
    pub(super) loading: Mutex<()>,
    /// Tables that were dropped since the last checkpoint, for their pages.
    pub(super) dropped: Mutex<Vec<Arc<TableVersion>>>,
    /// Blobs that commits referred to since the last freeze.
    pub(super) fresh_blobs: Mutex<Vec<super::blobs::FreshBlob>>,
    pub(super) signals: Signals,
    /// Set to end a merge early.
    pub(super) cancel_merge: std::sync::atomic::AtomicBool,
    /// How often room became free on the disk: a checkpoint let go of log or of pages of tables, or the log has room again. A checkpoint
    /// that does neither does not count, so who is refused does not try for ever.
    pub(super) room_made: AtomicU64,
    /// What it was when a merge found no room.
    pub(super) no_room_to_merge: AtomicU64,
    next_owner: AtomicU64,
    /// The archive of the log.
    pub(super) archiver: Archiver,
    /// The latest time that was told by the clock.
    pub(super) newest_now: std::sync::atomic::AtomicI64,
    /// When rows of tables that had expired were last deleted in the background.
    pub(super) purged: Mutex<HashMap<TableId, i64>>,
    /// What is known of the filters of tables.
    pub(super) filtering: Filtering,
    /// Who reads beside this process, if that writes.
    pub(super) readers: Option<Watch>,
    /// How it is read beside a process that writes.
    pub(super) beside: Option<Beside>,
    _lock: Option<Box<dyn Lock>>,
}

/// The parts that opening a database prepares.
pub(super) struct Parts {
    pub options: Options,
    pub store: Arc<PageStore>,
    pub clock: Arc<dyn Clock>,
    pub segments: Arc<SegmentStore>,
    pub version: DatabaseVersion,
    pub memtables: Memtables,
    pub pipeline: Pipeline,
    pub checkpoint: CheckpointState,
    /// Tables of the checkpoint that the log drops.
    pub dropped: Vec<Arc<TableVersion>>,
    pub fresh_blobs: Vec<super::blobs::FreshBlob>,
    pub memtable_bytes: usize,
    pub archiver: Archiver,
    pub readers: Option<Watch>,
    pub beside: Option<Beside>,
    pub lock: Option<Box<dyn Lock>>,
}

impl Engine {
    pub(super) fn new(parts: Parts) -> Self {
        let governor = Governor::new(parts.options.memtable_bytes);
        let wants_freeze = governor.add(parts.memtable_bytes);
        let engine = Self {
            governor,
            options: parts.options,
            store: parts.store,
            clock: parts.clock,
            segments: parts.segments,
            versions: ArcSwap::from_pointee(parts.version),
            lineage: Mutex::default(),
            version_lock: Mutex::new(()),
            defining: RwLock::new(()),
            end_of_ids: Mutex::default(),
            memtables: parts.memtables,
            pipeline: parts.pipeline,
            snapshots: Snapshots::default(),
            latches: Latches::new(),
            row_locks: RowLocks::default(),
            checkpoint: Mutex::new(parts.checkpoint),
            merging: Mutex::new(()),
            merging_segments: Mutex::new(()),
            loading: Mutex::new(()),
            dropped: Mutex::new(parts.dropped),
            fresh_blobs: Mutex::new(parts.fresh_blobs),
            signals: Signals::default(),
            cancel_merge: super::compact::not_cancelled(),
            room_made: AtomicU64::new(0),
            no_room_to_merge: AtomicU64::new(u64::MAX),
            next_owner: AtomicU64::new(1),
            archiver: parts.archiver,
            newest_now: std::sync::atomic::AtomicI64::new(i64::MIN),
            purged: Mutex::default(),
            filtering: Filtering::default(),
            readers: parts.readers,
            beside: parts.beside,
            _lock: parts.lock,
        };
        assert!(
            engine.versions.load().compacted <= engine.pipeline.publisher.published(),
            "what is in the bases is published"
        );
        engine.keep_room(&engine.versions.load());
        engine.snapshots.refresh(&engine.pipeline.publisher);
        if wants_freeze {
            engine.signals.raise(|state| &mut state.flush);
        }
        engine
    }

    /// The settings it was opened with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The tables as they are now.
    pub fn current(&self) -> Arc<DatabaseVersion> {
        self.look();
        self.versions.load_full()
    }

    /// A new identity for row locks.
    pub(super) fn new_owner(&self) -> u64 {
        self.next_owner.fetch_add(1, Ordering::Relaxed)
    }

    /// # Errors
    /// [`Error::Invalid`] when opened read-only, [`Error::Poisoned`] after a failed write.
    #[inline]
    pub(super) fn check_writable(&self) -> Result<()> {
        if self.options.read_only {
            let how = if self.beside.is_some() { "beside the process that writes it" } else { "read-only" };
            return Err(Error::Invalid(format!("the database was opened {how}")));
        }
        self.pipeline.check_poison()
    }

    /// The newest committed value of a key.
    #[inline]
    pub fn get(&self, table: TableId, key: &[u8]) -> Result<Option<Value>> {
        self.get_picked(table, key, None)
    }

    /// As [`Engine::get`], for [`RowFormat::decode_picked`](super::RowFormat::decode_picked): columns that are not picked may be NULL.
    #[inline]
    pub fn get_picked(&self, table: TableId, key: &[u8], picked: Option<&Picked>) -> Result<Option<Value>> {
        self.look();
        let keeper = Keeper::Guard(self.versions.load());
        let mut hidden = 0;
        let value = Value::find(keeper, |version| {
            let table = version.table(table)?;
            hidden = table.hidden_bytes();
            table.find_picked(key, self.newest(table), picked)
        })?;
        Ok(self.finish_newest(table, value)?.map(|value| value.hiding(hidden)))
    }

    /// Waits for a commit that was found before it was published, drops tombstones and loads blobs.
    #[inline]
    fn finish_newest(&self, table: TableId, value: Option<Value>) -> Result<Option<Value>> {
        let Some(value) = value else { return Ok(None) };
        let kind = match value.found() {
            Some(found) => {
                if let Found::Memtable(version) = found
                    && version.timestamp > self.pipeline.publisher.published()
                {
                    self.pipeline.wait(version.timestamp)?;
                    debug_assert!(
                        version.timestamp <= self.pipeline.publisher.published(),
                        "what is answered is seen by all"
                    );
                }
                found.record().kind
            }
            None => RecordKind::Inline,
        };
        match kind {
            RecordKind::Inline => Ok(Some(value)),
            RecordKind::Tombstone => Ok(None),
            RecordKind::Blob => Self::load_blob(value.version(), table, &value).map(Some),
        }
    }

    /// Whether a key has a committed value.
    pub fn contains(&self, table: TableId, key: &[u8]) -> Result<bool> {
        self.look();
        let version = self.versions.load();
        let table = version.table(table)?;
        let found = table.find(key, self.newest(table))?;
        if let Some(Found::Memtable(version)) = &found {
            self.pipeline.wait(version.timestamp)?;
        }
        Ok(super::version::is_live(&found))
    }

    /// Where its bases are.
    pub(super) fn place(&self) -> Stores<'_> {
        Stores { pages: &self.store, segments: &self.segments, part_bytes: self.options.part_bytes }
    }

    /// An empty table.
    pub(super) fn new_table(
        memtables: &Memtables,
        place: Stores<'_>,
        shared: TableShared,
        floor: Timestamp,
    ) -> Result<Arc<TableVersion>> {
        debug_assert_eq!(
            shared.schema.is_some(),
            shared.storage.traits().by_column,
            "a table that is stored by column has columns"
        );
        Ok(Arc::new(TableVersion {
            active: memtables.make(shared.storage)?,
            base: Base::empty(shared.storage, place, shared.schema.as_ref()),
            shared: Arc::new(shared),
            frozen: Vec::new(),
            retired: Vec::new(),
            history_floor: floor,
            runs: Vec::new(),
            indexes: Arc::new([]),
            is_held: false,
            damage: None,
        }))
    }

    /// Stops background work; the caller joins the threads.
    pub(super) fn stop(&self) {
        self.signals.raise(|state| &mut state.stop);
    }

    /// How long a wait for a row lock may take.
    pub fn lock_timeout(&self) -> Duration {
        self.options.lock_timeout
    }

    /// A hash for latches and row locks.
    pub(super) fn row_hash(table: TableId, key: &[u8]) -> u64 {
        rapidhash::v3::rapidhash_v3_seeded(key, &row_hash_seed(table))
    }

    /// Refuses keys that no table can hold.
    pub(super) fn check_key(key: &[u8]) -> Result<()> {
        match key.len() <= ambo_types::record::KEY_BYTES_MAX {
            true => Ok(()),
            false => Err(Error::Invalid(format!(
                "a key of {} bytes; at most {} are possible",
                key.len(),
                ambo_types::record::KEY_BYTES_MAX
            ))),
        }
    }
}

fn row_hash_seed(table: TableId) -> rapidhash::v3::RapidSecrets {
    rapidhash::v3::RapidSecrets::seed_cpp(u64::from(table.0))
}
