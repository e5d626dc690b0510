//! Versions: what a reader sees, as one immutable value.
//!
//! # Invariants
//!
//! 1. A version's bases hold exactly the commits at or before its `compacted`; its memtables hold the rest up to now.
//! 2. A snapshot at `t` uses a version with `compacted <= t` whose active memtables took every commit at or before `t`.
//! 3. Nothing in a version changes but the contents of active memtables, which only grow.
//!
//! What holds of its parts is listed in `verify`; the next version is made by `apply`, of a `version_edit`.

use std::{collections::HashMap, hash::BuildHasherDefault, sync::Arc};

use ambo_base::{Base, BaseOps, BaseRecord, btree::Tree, column::ColumnSchema};
use ambo_pages::{
    page::{PageRange, PageStore},
    sync::{AtomicU64, Ordering},
};
use ambo_types::{
    Error, Result, Storage, TableDefinition,
    id::{TableId, Timestamp},
    record::{Record, RecordKind},
};

use super::{
    damage::Damage,
    expiry::{Expiry, Moment},
    fresh::FreshCache,
    indexes::TableIndex,
    statistics::Samples,
    table::Picked,
};
use crate::{
    catalog::Catalog,
    memtable::{Memtable, Version},
};

/// What stays the same for a table through all its versions, as long as its columns do.
pub struct TableShared {
    /// The table's id.
    pub id: TableId,
    /// Where its pages are: the database's file, or memory of its own.
    pub store: Arc<PageStore>,
    /// The shape of its base.
    pub storage: Storage,
    /// Whether commits to it are logged.
    pub logged: bool,
    /// The epoch since which its pages are there. What was prepared before, long values above all, is elsewhere.
    pub moved: u64,
    /// The next hidden row number or auto-increment value.
    pub next_row: Arc<AtomicU64>,
    /// The columns of a table that is stored by column.
    pub schema: Option<Arc<ColumnSchema>>,
    /// What else rows are compared with as they are written; none where those who write do it.
    pub(super) guard: Option<RowGuard>,
    /// What is newer than its segments, as scans last saw it.
    pub(super) fresh: FreshCache,
    /// How many different values its columns have, about, where that was asked for.
    pub(super) samples: Samples,
    /// When its rows expire, if they do.
    pub(super) expiry: Option<Arc<Expiry>>,
    /// Whether the time of their commit is kept behind its values.
    pub(super) stamped: bool,
}

/// The columns that refuse NULL although there may be handles that do not know it. From the moment when the first column of a table
/// is made NOT NULL until the database is closed.
#[derive(Clone)]
pub(super) struct RowGuard {
    /// The columns as they are now.
    pub schema: Arc<ColumnSchema>,
    /// Slots that refuse NULL beyond what the definition says: all rows are looked at.
    pub pending: Vec<usize>,
}

impl TableShared {
    /// The same table with its compacted part in pages of another store, or in another shape.
    pub(super) fn with_base(
        &self,
        store: &Arc<PageStore>,
        storage: Storage,
        schema: Option<Arc<ColumnSchema>>,
    ) -> Self {
        Self {
            id: self.id,
            store: store.clone(),
            storage,
            logged: self.logged,
            moved: self.moved,
            next_row: self.next_row.clone(),
            schema,
            guard: self.guard.clone(),
            fresh: FreshCache::default(),
            samples: Samples::default(),
            expiry: self.expiry.clone(),
            stamped: self.stamped,
        }
    }

    /// The same table with other columns.
    fn with_columns(&self, schema: &Arc<ColumnSchema>, guard: Option<RowGuard>) -> Self {
        let schema = self.schema.as_ref().map(|_| schema.clone());
        Self { guard, ..self.with_base(&self.store, self.storage, schema) }
    }

    /// What rows have to fit when they are written.
    pub(super) fn row_check(&self) -> Option<&Arc<ColumnSchema>> {
        self.schema.as_ref().or(self.guard.as_ref().map(|guard| &guard.schema))
    }

    /// Slots that refuse NULL beyond what the definition says.
    pub(super) fn pending(&self) -> &[usize] {
        self.guard.as_ref().map_or(&[], |guard| &guard.pending)
    }

    /// Takes the next row number.
    pub fn take_row_number(&self) -> u64 {
        self.next_row.fetch_add(1, Ordering::Relaxed)
    }

    /// Makes later numbers greater than `used`.
    pub fn note_row_number(&self, used: u64) {
        self.next_row.fetch_max(used.saturating_add(1), Ordering::Relaxed);
    }
}

/// One table at one moment: everything that a read looks into, newest first.
#[derive(Clone)]
pub struct TableVersion {
    /// What stays the same from version to version, but for its columns.
    pub shared: Arc<TableShared>,
    /// Takes the writes.
    pub active: Arc<Memtable>,
    /// Waiting to be flushed, newest first.
    pub frozen: Vec<Arc<Memtable>>,
    /// Flushed and kept only so that open transactions find their conflicts, newest first.
    pub retired: Vec<Arc<Memtable>>,
    /// Commits after this are found in the memtables above; older ones may be in the bases alone, without their timestamps.
    pub history_floor: Timestamp,
    /// Flushed memtables that are not merged yet, newest first.
    pub runs: Vec<Arc<Tree>>,
    /// The compacted part.
    pub base: Base,
    /// The indexes that follow it, those that are still built among them.
    pub indexes: Arc<[Arc<TableIndex>]>,
    /// Whether what is compacted is held as it is: nothing is merged into it, and tombstones in runs are kept. So while an index is built,
    /// whose compacted part comes later, and while a compacted part of another shape is built.
    pub is_held: bool,
    /// What is wrong with it, if it cannot be read.
    pub damage: Option<Arc<Damage>>,
}

/// Where a key was found.
pub enum Found<'a> {
    /// In a memtable.
    Memtable(Version<'a>),
    /// In a run or the base.
    Base(BaseRecord<'a>),
}

impl Found<'_> {
    /// What was found.
    pub fn record(&self) -> Record<'_> {
        match self {
            Self::Memtable(version) => version.record,
            Self::Base(record) => record.record(),
        }
    }
}

impl TableVersion {
    /// The newest record of `key` at a moment, unless it has expired. Tombstones are found too.
    #[inline]
    pub fn find(&self, key: &[u8], moment: Moment) -> Result<Option<Found<'_>>> {
        self.find_picked(key, moment, None)
    }

    /// As [`TableVersion::find`]; of a row that is put together, columns that are not picked may be NULL.
    #[inline]
    pub fn find_picked(
        &self,
        key: &[u8],
        moment: Moment,
        picked: Option<&Picked>,
    ) -> Result<Option<Found<'_>>> {
        let picked = picked.map(Picked::slots);
        if self.shared.expiry.is_some() {
            return self.find_unexpired(key, moment, picked);
        }
        match self.find_above(key, moment.at)? {
            Some(found) => Ok(Some(found)),
            None => Ok(self.base.get(key, picked)?.map(Found::Base)),
        }
    }

    /// As [`TableVersion::find_picked`], of a table whose rows expire.
    fn find_unexpired(
        &self,
        key: &[u8],
        moment: Moment,
        picked: Option<&[bool]>,
    ) -> Result<Option<Found<'_>>> {
        let picked = picked.map(|picked| self.picked_with_time(picked));
        let found = match self.find_above(key, moment.at)? {
            Some(found) => Some(found),
            None => self.base.get(key, picked.as_deref())?.map(Found::Base),
        };
        match &found {
            Some(there) if self.has_expired(key, there.record(), moment)? => Ok(None),
            _ => Ok(found),
        }
    }

    /// Slots that are asked for, with that of the time that rows expire by.
    pub(super) fn picked_with_time(&self, picked: &[bool]) -> Vec<bool> {
        self.shared.expiry.as_ref().map_or_else(|| picked.to_vec(), |expiry| expiry.with_slot(picked))
    }

    /// As [`TableVersion::find`], in what is above the base.
    #[inline]
    pub(super) fn find_above(&self, key: &[u8], at: Timestamp) -> Result<Option<Found<'_>>> {
        for memtable in std::iter::once(&self.active).chain(&self.frozen) {
            if !memtable.is_empty()
                && let Some(version) = memtable.get(key, at)
            {
                return Ok(Some(Found::Memtable(version)));
            }
        }
        for run in &self.runs {
            if let Some(record) = run.get(key)? {
                return Ok(Some(Found::Base(BaseRecord::Tree(record))));
            }
        }
        Ok(None)
    }

    /// Fails if a commit to `key` after `since` is known. REQUIRES: no other commit to the key is half done.
    ///
    /// # Errors
    /// [`Error::Conflict`] when there is one, or when `since` is so long ago that it cannot be told.
    pub fn check_unchanged(&self, key: &[u8], since: Timestamp) -> Result<()> {
        self.check_history(since)?;
        // A commit to the key has raised its memtable's newest timestamp before its latch, which the caller has now, was free.
        for memtable in self.memtables().filter(|memtable| memtable.is_later_than(since)) {
            if memtable.newest(key).is_some_and(|newest| newest > since) {
                return Err(Error::Conflict(
                    "a row was changed by a transaction that committed first".into(),
                ));
            }
        }
        Ok(())
    }

    /// As [`TableVersion::check_unchanged`], of all keys from `lower` on and below `upper`.
    ///
    /// # Errors
    /// As there.
    pub(super) fn check_range_unchanged(
        &self,
        lower: &[u8],
        upper: Option<&[u8]>,
        since: Timestamp,
    ) -> Result<()> {
        self.check_history(since)?;
        for memtable in self.memtables().filter(|memtable| memtable.is_later_than(since)) {
            let mut is_changed = memtable.is_range_touched(lower, upper, since);
            let mut cursor = memtable.cursor();
            let mut there = cursor.seek_ge(lower);
            while !is_changed && there && upper.is_none_or(|upper| cursor.key() < upper) {
                is_changed = cursor.newest().timestamp > since;
                there = cursor.next();
            }
            if is_changed {
                return Err(Error::Conflict(
                    "a row in a range that was read or deleted was changed by a transaction that committed first".into(),
                ));
            }
        }
        Ok(())
    }

    /// Whether all commits after `since` are still known one by one.
    pub fn check_history(&self, since: Timestamp) -> Result<()> {
        match since >= self.history_floor {
            true => Ok(()),
            false => Err(Error::Conflict(
                "the transaction began before the oldest change that is still kept in memory".into(),
            )),
        }
    }

    /// All memtables that hold timestamps, newest first.
    pub fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        std::iter::once(&self.active)
            .chain(&self.frozen)
            .chain(&self.retired)
            .filter(|memtable| !memtable.is_empty())
    }

    /// Drops retired memtables that no open transaction needs, and the oldest beyond `bytes`. Everything up to `at` is in the
    /// bases.
    pub(super) fn forget_history(&mut self, at: Timestamp, oldest: Option<Timestamp>, bytes: usize) {
        let mut kept = 0;
        let mut floor = self.history_floor;
        let oldest = oldest.unwrap_or(at);
        // Newest first: once one is dropped, so are all that are older.
        let mut dropping = false;
        self.retired.retain(|memtable| {
            let newest = memtable.timestamps().map_or(Timestamp(0), |(_, newest)| newest);
            kept += memtable.bytes();
            dropping |= newest <= oldest || kept > bytes;
            if dropping {
                floor = floor.max(newest);
            }
            !dropping
        });
        debug_assert!(floor <= self.history_floor.max(at), "what is forgotten is in the bases");
        self.history_floor = floor;
    }

    /// Whether its memtables have deleted ranges of keys.
    pub(super) fn has_ranges(&self) -> bool {
        std::iter::once(&self.active).chain(&self.frozen).any(|memtable| memtable.has_ranges())
    }

    /// Whether a range of its keys can be deleted as a range: `ranges` says what is in the way.
    pub(super) fn takes_ranges(&self) -> bool {
        self.indexes.is_empty() && self.shared.schema.is_none() && !self.is_held
    }

    /// Whether nothing is compacted: what comes is the oldest.
    pub(super) fn has_no_base(&self) -> bool {
        self.runs.is_empty() && !self.is_held && self.base.is_empty()
    }

    /// Runs and the trees of the base, newest first.
    pub fn trees(&self) -> impl Iterator<Item = &Arc<Tree>> {
        self.runs.iter().chain(self.base.trees())
    }

    /// The pages of runs and base, each once.
    pub(super) fn pages(&self) -> Result<Vec<PageRange>> {
        let mut pages = self.base.pages()?;
        for run in &self.runs {
            pages.extend(run.all_pages()?);
        }
        Ok(pages)
    }

    /// Whether its rows outlive the process: its pages are in the file.
    pub(super) fn is_durable(&self) -> bool {
        !self.shared.store.is_memory()
    }
}

/// Hashes small dense ids by spreading their bits.
#[derive(Default)]
pub struct IdHasher(u64);

impl std::hash::Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(u32::from(byte));
        }
    }
    fn write_u32(&mut self, id: u32) {
        // Fibonacci hashing: the top bits, which the table takes for its tags, depend on all bits.
        self.0 = (self.0 ^ u64::from(id)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

/// All tables at one moment.
#[derive(Clone)]
pub struct DatabaseVersion {
    /// Everything at or before this is in the bases.
    pub compacted: Timestamp,
    /// What the tables are called and how they look.
    pub catalog: Arc<Catalog>,
    /// Snapshots that use it are not older than this: an index does not know what was before it was built.
    pub since: Timestamp,
    /// The newest commit that any checkpoint of it shows, whatever its moment: a change of the catalog, or a load.
    pub beyond: Timestamp,
    /// Greater with every change of what has to be written to indexes, and of the storage of a table.
    pub index_epoch: u64,
    /// If it is what a transaction has changed for itself: the version that it has found. That keeps the pages which this one reads.
    pub stem: Option<Arc<DatabaseVersion>>,
    /// The same, if a transaction has hidden ranges of keys from itself.
    pub under_ranges: Option<Arc<DatabaseVersion>>,
    /// The tables by id.
    pub tables: HashMap<TableId, Arc<TableVersion>, BuildHasherDefault<IdHasher>>,
}

/// The stored columns of a table with this definition, and which indexes of it have postings in files.
pub(super) fn stored_columns(
    catalog: &Catalog,
    id: TableId,
    definition: &TableDefinition,
) -> Result<ColumnSchema> {
    let columns = ColumnSchema::new(definition)?;
    Ok(match definition.storage.traits().bitmap_indexes {
        true => columns.indexing(catalog.posting_indexes(id)),
        false => columns,
    })
}

impl DatabaseVersion {
    /// The stored columns of a table, and where they refuse NULL.
    pub(super) fn columns_of(&self, id: TableId) -> Result<ColumnSchema> {
        let (Some(definition), Some(table)) = (self.catalog.table(id), self.tables.get(&id)) else {
            return Err(gone(id));
        };
        Ok(stored_columns(&self.catalog, id, definition)?.requiring(table.shared.pending()))
    }

    /// The same if the table were of this storage.
    pub(super) fn columns_in(&self, id: TableId, storage: Storage) -> Result<ColumnSchema> {
        let (Some(definition), Some(table)) = (self.catalog.table(id), self.tables.get(&id)) else {
            return Err(gone(id));
        };
        let columns = stored_columns(&self.catalog, id, &definition.with_storage(storage))?;
        Ok(columns.requiring(table.shared.pending()))
    }

    /// Gives a table the stored columns that its definition says.
    pub(super) fn reform(&mut self, id: TableId) -> Result<()> {
        match self.tables.get(&id).map(|table| table.shared.guard.clone()) {
            Some(guard) => self.reform_guarded(id, guard),
            None => Ok(()),
        }
    }

    /// As [`DatabaseVersion::reform`], with another guard, whose schema follows from what is pending.
    pub(super) fn reform_guarded(&mut self, id: TableId, guard: Option<RowGuard>) -> Result<()> {
        let (Some(definition), Some(table)) = (self.catalog.table(id), self.tables.get_mut(&id)) else {
            return Err(gone(id));
        };
        let expiry = Expiry::of(definition)?;
        let is_as_before = match (&expiry, &table.shared.expiry) {
            (None, None) => true,
            (Some(new), Some(old)) => new.is_same(old),
            _ => false,
        };
        if !is_as_before {
            let table = Arc::make_mut(table);
            let shared = table.shared.with_base(
                &table.shared.store,
                table.shared.storage,
                table.shared.schema.clone(),
            );
            table.shared = Arc::new(TableShared { expiry, ..shared });
        }
        if table.shared.schema.is_none() && guard.is_none() && table.shared.guard.is_none() {
            return Ok(());
        }
        let pending = guard.map(|guard| guard.pending);
        let schema = stored_columns(&self.catalog, id, definition)?;
        let schema = schema.requiring(pending.as_deref().unwrap_or_default());
        if table.shared.row_check().is_some_and(|there| **there == schema)
            && table.shared.guard.as_ref().map(|guard| &guard.pending) == pending.as_ref()
        {
            return Ok(());
        }
        let schema = Arc::new(schema);
        let guard = pending.map(|pending| RowGuard { schema: schema.clone(), pending });
        let table = Arc::make_mut(table);
        table.shared = Arc::new(table.shared.with_columns(&schema, guard));
        table.base = table.base.with_schema(&schema);
        Ok(())
    }

    /// The table with this id.
    ///
    /// # Errors
    /// [`Error::NotFound`] if it was dropped, or truncated, or created after this version; [`Error::Damaged`] if it cannot be read.
    #[inline]
    pub fn table(&self, id: TableId) -> Result<&Arc<TableVersion>> {
        match self.tables.get(&id) {
            Some(table) if table.damage.is_none() => Ok(table),
            table => Err(refused(id, table)),
        }
    }
}

#[cold]
fn refused(id: TableId, table: Option<&Arc<TableVersion>>) -> Error {
    match table.and_then(|table| table.damage.as_ref()) {
        Some(damage) => damage.error(),
        None => gone(id),
    }
}

pub(super) fn gone(id: TableId) -> Error {
    Error::NotFound(format!("table {id} (it was dropped or truncated, or is newer than the snapshot)"))
}

/// Whether a found record is a live row.
pub fn is_live(found: &Option<Found<'_>>) -> bool {
    found.as_ref().is_some_and(|found| found.record().kind != RecordKind::Tombstone)
}
