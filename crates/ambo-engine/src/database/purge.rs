//! How rows that have expired go: what the merges of a table cannot leave out is deleted.
//!
//! 1. A table of rows that has no indexes leaves them out as it is merged ([`super::expiry::Expired`] in the workshop of its base). Where
//!    its rows are in the order of time, leaves of such rows are not read, and the table is merged for them alone once they are many.
//! 2. Parts of column tables, all of whose rows have expired, go as a whole (`retention`).
//! 3. All others are deleted, by commits as any other, a thousand rows each. So entries of indexes go with them, and snapshots from before
//!    see what they saw.

use std::sync::Arc;

use ambo_base::BaseOps;
use ambo_scan::Filter;
use ambo_types::{Error, Result, id::TableId, record::Record};

use super::{
    engine::Engine,
    expiry::{Expiry, Moment},
    index_writes::Replaced,
    transaction::{Isolation, Transaction},
    version::{DatabaseVersion, TableVersion},
};

/// Rows that go with one commit.
const BATCH_ROWS: usize = 1024;
/// How often others may write to one of them first.
const TRIES: usize = 3;
/// This part of a table has expired when it is merged for that alone.
const TRIM_SHARE: u64 = 8;
/// How often rows are looked for in the time that a row is there.
const PURGES_IN_TTL: i64 = 8;

impl Engine {
    /// Deletes the rows of a table that have expired. Returns how many.
    pub(super) fn purge_expired(self: &Arc<Self>, id: TableId) -> Result<u64> {
        self.purge_expired_at(id, self.now())
    }

    /// Those that had expired at an earlier time.
    pub(super) fn purge_expired_at(self: &Arc<Self>, id: TableId, now: i64) -> Result<u64> {
        self.check_writable()?;
        let snapshot = self.snapshot();
        debug_assert!(snapshot.now().is_some_and(|later| now <= later), "rows expire as time goes on");
        let Ok(table) = snapshot.version().table(id) else { return Ok(0) };
        let Some(expiry) = table.shared.expiry.clone() else { return Ok(0) };
        let definition = snapshot.catalog().table(id).expect("the table is there");
        // Values of key-value tables go as they are merged.
        let Some(column) = definition.expiry.column else { return Ok(0) };
        let filter = Filter { column, ..expiry.expired_filter(now) };
        let mut found = snapshot.with_expired().into_rows(id, &[filter])?;
        let mut purged = 0;
        loop {
            let mut keys = Vec::new();
            while keys.len() < BATCH_ROWS
                && let Some((key, _)) = found.next_row()?
            {
                keys.push(key);
            }
            if keys.is_empty() || self.signals.is_stopped() {
                return Ok(purged);
            }
            purged += self.purge_keys(id, &expiry, &keys, now)?;
        }
    }

    /// Deletes those of the rows that have expired still. Rows that others write to stay for the next time.
    fn purge_keys(
        self: &Arc<Self>,
        id: TableId,
        expiry: &Arc<Expiry>,
        keys: &[Vec<u8>],
        now: i64,
    ) -> Result<u64> {
        for _ in 0..TRIES {
            let mut tx = Transaction::new(self, Isolation::Snapshot)?;
            tx.purge(id, expiry);
            let purged = tx.delete_expired(id, expiry, keys, now);
            match purged.and_then(|purged| tx.commit().map(|_| purged)) {
                Err(Error::Conflict(_)) => {}
                // Dropped or truncated meanwhile.
                Err(Error::NotFound(_)) => return Ok(0),
                result => return result,
            }
        }
        Ok(0)
    }

    /// The same of all tables of which nothing else takes them.
    pub(super) fn purge_all_expired(self: &Arc<Self>) -> Result<u64> {
        let version = self.current();
        let expires = version.tables.iter().filter(|(_, table)| {
            let is_merged = table.indexes.is_empty() && table.shared.schema.is_none();
            table.shared.expiry.is_some() && !is_merged && table.damage.is_none()
        });
        let ids: Vec<_> = expires.map(|(id, _)| *id).collect();
        ids.into_iter().try_fold(0, |rows, id| Ok(rows + self.purge_expired(id)?))
    }
}

impl TableVersion {
    /// Whether so many of the compacted rows have expired that they are worth a merge, which does not read them: they are in the order of
    /// time.
    fn is_to_be_trimmed(&self, expiry: &Expiry, now: i64) -> Result<bool> {
        match expiry.live_from(now) {
            Some(live) if self.indexes.is_empty() && self.base.columns().is_none() => {
                Ok(self.base.rank(&live)?.saturating_mul(TRIM_SHARE) > self.base.rows())
            }
            _ => Ok(false),
        }
    }
}

impl Engine {
    /// Lets rows that have expired go, of each table once in a while, in the background: deletes those of tables of rows with indexes, and
    /// merges tables that begin with many of them.
    pub(super) fn purge_and_report(self: &Arc<Self>) {
        for id in self.tables_to_purge() {
            self.work_and_report(|_| self.trim_or_purge(id).map(|()| false));
        }
    }

    fn trim_or_purge(self: &Arc<Self>, id: TableId) -> Result<()> {
        let version = self.current();
        let Some(table) = version.tables.get(&id) else { return Ok(()) };
        let Some(expiry) = &table.shared.expiry else { return Ok(()) };
        if !table.indexes.is_empty() {
            return self.purge_expired(id).map(drop);
        }
        if table.is_to_be_trimmed(expiry, self.now())? {
            let _merging_segments = self.merging_segments.lock();
            let _merging = self.merging.lock();
            self.merge_all(id, None)?;
        }
        Ok(())
    }

    fn tables_to_purge(&self) -> Vec<TableId> {
        let version = self.versions.load();
        let now = self.now();
        let mut purged = self.purged.lock();
        purged.retain(|id, _| version.tables.contains_key(id));
        let mut due = Vec::new();
        for (id, table) in &version.tables {
            let Some(expiry) = &table.shared.expiry else { continue };
            let is_in_order = table.base.columns().is_none() && expiry.live_from(now).is_some();
            let is_left_alone = table.indexes.is_empty() && !is_in_order;
            if is_left_alone || table.shared.schema.is_some() || table.damage.is_some() {
                continue;
            }
            let last = purged.entry(*id).or_insert(i64::MIN);
            if now.saturating_sub(*last) >= expiry.micros() / PURGES_IN_TTL {
                *last = now;
                due.push(*id);
            }
        }
        due
    }
}

impl Transaction {
    fn delete_expired(&mut self, id: TableId, expiry: &Expiry, keys: &[Vec<u8>], now: i64) -> Result<u64> {
        let mut deleted = 0;
        for key in keys {
            let Some(row) = self.stored(id, key)? else { continue };
            if expiry.has_expired(key, &row, now)? {
                self.delete_stored(id, key, &row)?;
                deleted += 1;
            }
        }
        Ok(deleted)
    }

    /// Deletes a row as it is stored, expired or not.
    pub(super) fn delete_stored(&mut self, id: TableId, key: &[u8], row: &[u8]) -> Result<()> {
        let entries = self.entries_for(id, key, None, Replaced::Row(row))?;
        self.write(id, key, Record::TOMBSTONE, entries)
    }

    /// Deletes rows that have expired and whose values in unique indexes the row of `key` is to have: they are free.
    pub(super) fn free_expired(&mut self, id: TableId, key: &[u8], row: &[u8]) -> Result<()> {
        let table = self.snapshot().version().table(id)?;
        if table.shared.expiry.is_none() || table.indexes.is_empty() {
            return Ok(());
        }
        let indexes = table.indexes.clone();
        for index in indexes.iter().filter(|index| index.format.of().unique) {
            let entry = index.format.entry(key, row)?;
            let Some(there) = self.peek(index.id, &entry.key)?.filter(|_| entry.is_exclusive) else {
                continue;
            };
            let other = index.format.row_key(&entry.key, &there)?.to_vec();
            if other == key || self.peek(id, &other)?.is_some() {
                continue;
            }
            if let Some(row) = self.stored(id, &other)? {
                self.delete_stored(id, &other, &row)?;
            }
        }
        Ok(())
    }
}

/// Fails if rows of a table expire otherwise than they did when it was seen which of them have.
pub(super) fn check_expiry(now: &DatabaseVersion, id: TableId, expiry: &Expiry) -> Result<()> {
    match &now.table(id)?.shared.expiry {
        Some(there) if there.is_same(expiry) => Ok(()),
        _ => Err(Error::Conflict("the ttl of a table was changed while rows that had expired went".into())),
    }
}

impl super::snapshot::Snapshot {
    /// The moment with all that is stored.
    pub(super) fn moment_of_all(&self) -> Moment {
        Moment::all(self.timestamp())
    }
}
