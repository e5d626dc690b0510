//! Snapshots: reads at one moment, in step with nobody.

use std::{collections::BTreeMap, sync::Arc};

use ambo_base::{BaseOps, btree::KeySum};
use ambo_types::{
    Result,
    id::{TableId, Timestamp},
    record::{Record, RecordKind},
};

use super::{
    blobs::whole,
    count,
    cursor::{Cover, MergedCursor},
    engine::Engine,
    expiry::Moment,
    table::Picked,
    value::{Keeper, Value},
    version::DatabaseVersion,
};
use crate::{
    catalog::Catalog,
    transaction::write_set::{OwnedRecord, TableWrites, Writes},
};

/// A consistent, unchanging view of all tables.
///
/// It blocks nobody. While it lives, the memtables and pages that it began with are kept.
pub struct Snapshot {
    engine: Arc<Engine>,
    at: Timestamp,
    /// When rows expire; none shows all.
    now: Option<i64>,
    version: Arc<DatabaseVersion>,
    /// What a transaction wrote so far, if this is its view.
    own: BTreeMap<TableId, Writes>,
}

impl Snapshot {
    pub(super) fn new(engine: &Arc<Engine>) -> Self {
        let (at, version) = engine.snapshots.register(&engine.pipeline.publisher, |at| {
            // The version must have been current when the timestamp was read, or later; its bases must hold nothing newer than the
            // timestamp, and its indexes must know that moment.
            let version = engine.versions.load_full();
            (version.compacted.max(version.since) <= at).then_some(version)
        });
        assert_shows(&version, at);
        // Behind the version: what that has not any more has expired by then.
        let now = Some(engine.now());
        Self { engine: engine.clone(), at, now, version, own: BTreeMap::new() }
    }

    /// The same moment with a transaction's writes.
    pub(super) fn with_writes(&self, own: BTreeMap<TableId, Writes>) -> Self {
        self.engine.snapshots.register_again(self.at);
        Self { engine: self.engine.clone(), at: self.at, now: self.now, version: self.version.clone(), own }
    }

    /// Reads from another version, of the same moment.
    pub(super) fn set_version(&mut self, version: Arc<DatabaseVersion>) {
        assert_shows(&version, self.at);
        self.version = version;
    }

    /// The version that it reads from, if nobody else does.
    pub(super) fn version_mut(&mut self) -> Option<&mut DatabaseVersion> {
        Arc::get_mut(&mut self.version)
    }

    /// The moment that it shows.
    pub fn timestamp(&self) -> Timestamp {
        self.at
    }

    /// The same, and what of expired rows is seen.
    pub(super) fn moment(&self) -> Moment {
        Moment { at: self.at, now: self.now }
    }

    /// From now on it shows rows that have expired, too.
    pub(super) fn show_expired(&mut self) {
        self.now = None;
    }

    /// The same with rows that have expired, as far as they are still there.
    #[must_use]
    pub fn with_expired(mut self) -> Self {
        self.show_expired();
        self
    }

    /// When rows expire that it does not show, in microseconds since 1970.
    pub fn now(&self) -> Option<i64> {
        self.now
    }

    /// The schemas, tables and indexes at that moment.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.version.catalog
    }

    /// The writes to a table that belong to this view.
    pub(super) fn own(&self, table: TableId) -> Option<TableWrites> {
        self.own.get(&table).map(|writes| writes.ordered().clone())
    }

    pub(super) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    pub(super) fn version(&self) -> &Arc<DatabaseVersion> {
        &self.version
    }

    /// The value of a key.
    pub fn get(&self, table: TableId, key: &[u8]) -> Result<Option<Value>> {
        self.get_picked(table, key, None)
    }

    /// As [`Snapshot::get`], for [`RowFormat::decode_picked`](super::RowFormat::decode_picked): columns that are not picked may be NULL.
    pub fn get_picked(&self, table: TableId, key: &[u8], picked: Option<&Picked>) -> Result<Option<Value>> {
        self.get_at(table, key, picked, self.moment())
    }

    /// What is stored under a key, expired or not.
    pub(super) fn stored(&self, table: TableId, key: &[u8]) -> Result<Option<Value>> {
        self.get_at(table, key, None, self.moment_of_all())
    }

    fn get_at(
        &self,
        table: TableId,
        key: &[u8],
        picked: Option<&Picked>,
        moment: Moment,
    ) -> Result<Option<Value>> {
        if let Some(own) = self.own.get(&table).and_then(|writes| writes.get(key)) {
            return self.own_value(table, key, own, moment);
        }
        let hidden = self.version.table(table)?.hidden_bytes();
        let found = match self.get_raw(table, key, picked, moment)? {
            Some(value) => match value.found().map(|found| found.record().kind) {
                Some(RecordKind::Tombstone) => Ok(None),
                Some(RecordKind::Blob) => Engine::load_blob(&self.version, table, &value).map(Some),
                Some(RecordKind::Inline) | None => Ok(Some(value)),
            },
            None => Ok(None),
        };
        Ok(found?.map(|value| value.hiding(hidden)))
    }

    /// The value that a transaction wrote; none if it deleted the row, or that has expired.
    pub(super) fn own_value(
        &self,
        table: TableId,
        key: &[u8],
        own: &OwnedRecord,
        moment: Moment,
    ) -> Result<Option<Value>> {
        let Some(value) = Engine::own_value(&self.version, table, own)? else { return Ok(None) };
        let of = self.version.table(table)?;
        Ok((!of.has_expired(key, Record::inline(&value), moment)?).then(|| value.hiding(of.hidden_bytes())))
    }

    /// The values of many keys, none of those that have none. Of rows that are put together, columns that are not `picked` may be NULL.
    /// REQUIRES: each key is there once.
    pub(super) fn get_many(
        &self,
        table: TableId,
        keys: &[Vec<u8>],
        picked: Option<&[bool]>,
    ) -> Result<Vec<Option<Vec<u8>>>> {
        let version = self.version.table(table)?;
        let mut values = vec![None; keys.len()];
        let mut compacted = Vec::new();
        for (index, key) in keys.iter().enumerate() {
            let own = self.own.get(&table).and_then(|writes| writes.get(key));
            values[index] = match own {
                Some(own) => self.own_value(table, key, own, self.moment())?.map(|value| value.to_vec()),
                None => match version.find_above(key, self.at)? {
                    Some(found) if found.record().is_tombstone() => None,
                    Some(found) if version.has_expired(key, found.record(), self.moment())? => None,
                    Some(found) => {
                        let whole = whole(&version.shared.store, table, found.record())?;
                        Some(version.shown(&whole).to_vec())
                    }
                    None => {
                        compacted.push(index);
                        None
                    }
                },
            };
        }
        compacted.sort_unstable_by_key(|index| &keys[*index]);
        let sought: Vec<&[u8]> = compacted.iter().map(|index| &keys[*index][..]).collect();
        debug_assert!(sought.is_sorted_by(|one, next| one < next), "each key is there once");
        let picked = picked.map(|picked| version.picked_with_time(picked));
        version.base.get_many(&sought, picked.as_deref(), &mut |place, record| {
            if version.has_expired(sought[place], record.record(), self.moment())? {
                return Ok(());
            }
            let whole = |record: Record<'_>| Ok(whole(&version.shared.store, table, record)?.into_owned());
            let mut value = record.into_value(whole)?;
            value.truncate(version.shown(&value).len());
            values[compacted[place]] = Some(value);
            Ok(())
        })?;
        Ok(values)
    }

    /// What is stored under a key: tombstones and references to blobs too.
    pub(super) fn get_raw(
        &self,
        table: TableId,
        key: &[u8],
        picked: Option<&Picked>,
        moment: Moment,
    ) -> Result<Option<Value>> {
        let keeper = Keeper::Arc(self.version.clone());
        Value::find(keeper, |version| version.table(table)?.find_picked(key, moment, picked))
    }

    /// A cursor over a table.
    pub fn cursor(&self, table: TableId) -> Result<Cursor> {
        self.cursor_over(table, self.own(table))
    }

    pub(super) fn cursor_over(&self, table: TableId, own: Option<TableWrites>) -> Result<Cursor> {
        let of = self.version.table(table)?;
        let merged = MergedCursor::new(of, own, self.moment(), Cover::Live);
        Ok(Cursor { merged, table, hidden: of.hidden_bytes(), pin: Pin::new(self), blob: None })
    }

    /// How many rows have keys from `lower` on and below `upper`. `None` is unbounded.
    pub fn count(&self, table: TableId, lower: Option<&[u8]>, upper: Option<&[u8]>) -> Result<u64> {
        count::count(self.version.table(table)?, self.own(table), self.moment(), lower, upper)
    }

    /// The sum of the keys from `lower` on and below `upper`, as big-endian numbers, and how many there are. REQUIRES: all keys of the
    /// table have one length of up to 8 bytes.
    pub fn sum_keys(&self, table: TableId, lower: Option<&[u8]>, upper: Option<&[u8]>) -> Result<KeySum> {
        count::sum_keys(self.version.table(table)?, self.own(table), self.moment(), lower, upper)
    }
}

impl Clone for Snapshot {
    fn clone(&self) -> Self {
        self.with_writes(self.own.clone())
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        self.engine.snapshots.release(self.at, &self.engine.pipeline.publisher);
    }
}

/// That a version may be read at a moment.
fn assert_shows(version: &DatabaseVersion, at: Timestamp) {
    debug_assert!(version.compacted <= at, "bases have nothing that is later than who reads them");
    debug_assert!(version.since <= at, "indexes know the moment of who reads them");
}
/// Keeps a snapshot's registration for a cursor that may outlive it.
struct Pin {
    engine: Arc<Engine>,
    at: Timestamp,
    version: Arc<DatabaseVersion>,
}

impl Pin {
    fn new(snapshot: &Snapshot) -> Self {
        let (engine, at) = (snapshot.engine.clone(), snapshot.at);
        engine.snapshots.register_again(at);
        Self { engine, at, version: snapshot.version.clone() }
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.engine.snapshots.release(self.at, &self.engine.pipeline.publisher);
    }
}

/// A cursor over the rows of a table in key order, both ways. It borrows from nothing and stays at its
/// moment.
pub struct Cursor {
    merged: MergedCursor,
    table: TableId,
    /// So many bytes behind values are not the user's.
    hidden: usize,
    pin: Pin,
    /// The current row's value, when it was loaded from a blob.
    blob: Option<Vec<u8>>,
}

impl Cursor {
    /// The table that it moves in.
    pub fn table(&self) -> TableId {
        self.table
    }

    /// The moment that it shows.
    pub fn timestamp(&self) -> Timestamp {
        self.pin.at
    }

    /// Moves to a row; false (and nowhere) when there is none.
    pub fn seek(&mut self, to: super::Seek<'_>) -> Result<bool> {
        self.blob = None;
        self.merged.seek(to)
    }

    /// Moves to the row with exactly this key.
    pub fn seek_exact(&mut self, key: &[u8]) -> Result<bool> {
        self.blob = None;
        self.merged.seek_exact(key)
    }

    /// Moves to the next row; false (and nowhere) behind the last.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "a lending cursor cannot be an Iterator")]
    pub fn next(&mut self) -> Result<bool> {
        self.blob = None;
        self.merged.next()
    }

    /// Moves to the previous row; false (and nowhere) before the first.
    #[inline]
    pub fn prev(&mut self) -> Result<bool> {
        self.blob = None;
        self.merged.prev()
    }

    /// Whether it stands on a row.
    pub fn is_valid(&self) -> bool {
        self.merged.is_valid()
    }

    /// The key of the row.
    ///
    /// # Panics
    /// If the cursor stands nowhere.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.merged.key()
    }

    /// The value of the row.
    ///
    /// # Panics
    /// If the cursor stands nowhere.
    #[inline]
    pub fn value(&mut self) -> Result<&[u8]> {
        if self.merged.is_blob() {
            return self.blob_value();
        }
        Ok(shown(self.merged.record().bytes, self.hidden))
    }

    /// Key and value of the row.
    ///
    /// # Panics
    /// If the cursor stands nowhere.
    #[inline]
    pub fn row(&mut self) -> Result<(&[u8], &[u8])> {
        if self.merged.is_blob() {
            self.blob_value()?;
        }
        let value = self.blob.as_deref().unwrap_or_else(|| self.merged.record().bytes);
        Ok((self.merged.key(), shown(value, self.hidden)))
    }

    #[cold]
    fn blob_value(&mut self) -> Result<&[u8]> {
        if self.blob.is_none() {
            let store = &self.pin.version.table(self.table)?.shared.store;
            let blob = Engine::decode_blob(self.merged.record().bytes, self.table)?;
            self.blob = Some(super::blobs::read_whole(store, &blob)?);
        }
        Ok(shown(self.blob.as_deref().expect("just loaded"), self.hidden))
    }
}

/// A value without what is not the user's.
#[inline]
fn shown(value: &[u8], hidden: usize) -> &[u8] {
    &value[..value.len().saturating_sub(hidden)]
}
