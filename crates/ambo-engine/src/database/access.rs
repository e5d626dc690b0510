//! Single operations and batches: each is a transaction of its own.

use std::sync::Arc;

use ambo_pages::log::Operation;
use ambo_types::{
    Error, Result,
    id::{TableId, Timestamp},
    record::{Record, RecordKind, VALUE_BYTES_MAX},
};

use super::{
    blobs::{INLINE_BYTES_MAX, ValueReader},
    commit::{Terms, check_size},
    engine::Engine,
    options::Sync,
    snapshot::Snapshot,
    transaction::{Isolation, Transaction},
    value::{Keeper, Value},
    version::Found,
};

impl Engine {
    /// Maps `key` to `value`.
    #[inline]
    pub fn put(self: &Arc<Self>, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        Self::check_key(key)?;
        if value.len() > INLINE_BYTES_MAX {
            return self.put_long(table, key, value);
        }
        self.commit(&[Operation { table, key, record: Record::inline(value) }], Terms::default()).map(drop)
    }

    #[cold]
    fn put_long(self: &Arc<Self>, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        self.check_writable()?;
        check_value(value)?;
        let version = self.versions.load_full();
        let value = self.stamped(version.table(table)?, value);
        let written = Self::write_blob(&version, table, &value)?;
        self.commit_blob(table, key, written)
    }

    /// Deletes `key`, whether or not it is there.
    #[inline]
    pub fn delete(self: &Arc<Self>, table: TableId, key: &[u8]) -> Result<()> {
        Self::check_key(key)?;
        self.commit(&[Operation { table, key, record: Record::TOMBSTONE }], Terms::default()).map(drop)
    }

    /// Commits several writes at once, all or none; of two to the same key the later counts. Values are short: long ones
    /// go through a transaction or a stream.
    pub fn write_batch(
        self: &Arc<Self>,
        operations: &[Operation<'_>],
        sync: Option<Sync>,
    ) -> Result<Timestamp> {
        if operations.is_empty() {
            self.check_writable()?;
            return Ok(self.pipeline.publisher.published());
        }
        let mut bytes = 0;
        for operation in operations {
            Self::check_key(operation.key)?;
            if operation.record.bytes.len() > INLINE_BYTES_MAX {
                return Err(Error::Invalid(format!(
                    "a value of {} bytes in a batch; above {INLINE_BYTES_MAX} use a transaction or put_stream",
                    operation.record.bytes.len()
                )));
            }
            bytes += operation.key.len() + operation.record.bytes.len();
        }
        check_size(bytes, self.options.transaction_bytes_max)?;
        self.commit(operations, Terms { sync, ..Terms::default() })
    }

    /// Runs `read` on the newest committed value of a key, where it lies.
    #[inline]
    pub fn get_with<R>(
        &self,
        table: TableId,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>> {
        self.look();
        {
            let version = self.versions.load();
            let of = version.table(table)?;
            let Some(found) = of.find(key, self.newest(of))? else { return Ok(None) };
            if let Found::Memtable(version) = &found {
                self.pipeline.wait(version.timestamp)?;
            }
            let record = found.record();
            match record.kind {
                RecordKind::Inline => return Ok(Some(read(of.shown(record.bytes)))),
                RecordKind::Tombstone => return Ok(None),
                RecordKind::Blob => {}
            }
        }
        Ok(self.get(table, key)?.map(|value| read(&value)))
    }

    /// Opens the newest committed value of a key for reading in parts.
    pub fn get_stream(&self, table: TableId, key: &[u8]) -> Result<Option<ValueReader>> {
        self.look();
        let keeper = Keeper::Arc(self.versions.load_full());
        let mut hidden = 0;
        let found = Value::find(keeper, |version| {
            let table = version.table(table)?;
            hidden = table.hidden_bytes();
            table.find(key, self.newest(table))
        });
        let Some(value) = found? else {
            return Ok(None);
        };
        if value.found().is_some_and(|found| found.record().is_tombstone()) {
            return Ok(None);
        }
        ValueReader::new(table, value, hidden).map(Some)
    }

    /// A consistent view of all tables.
    pub fn snapshot(self: &Arc<Self>) -> Snapshot {
        self.look();
        Snapshot::new(self)
    }

    /// Begins a transaction.
    pub fn begin(self: &Arc<Self>, isolation: Isolation) -> Result<Transaction> {
        self.look();
        Transaction::new(self, isolation)
    }
}

/// Refuses values that no table can hold.
pub(super) fn check_value(value: &[u8]) -> Result<()> {
    match value.len() as u64 <= VALUE_BYTES_MAX {
        true => Ok(()),
        false => Err(Error::Invalid(format!(
            "a value of {} bytes; at most {VALUE_BYTES_MAX} are possible",
            value.len()
        ))),
    }
}
