//! What a write to a row writes to the indexes of its table.

use std::sync::Arc;

use ambo_pages::log::Operation;
use ambo_types::{
    Error, Result,
    id::{TableId, Timestamp},
    record::{Record, RecordKind},
};

use super::{
    blobs::read_whole,
    commit::{Terms, check_store},
    engine::Engine,
    indexes::TableIndex,
    transaction::{Isolation, Transaction},
};
use crate::index::Entry;

/// What a write of a row replaces, as far as the writer knows.
#[derive(Clone, Copy, Debug)]
pub enum Replaced<'a> {
    /// It has not looked.
    Unknown,
    /// There is no row.
    Nothing,
    /// The row that the transaction sees.
    Row(&'a [u8]),
}

/// An entry that a transaction writes to an index.
pub(super) struct EntryWrite {
    pub index: TableId,
    pub key: Vec<u8>,
    /// `None` deletes it.
    value: Option<Vec<u8>>,
}

impl EntryWrite {
    pub fn record(&self) -> Record<'_> {
        self.value.as_deref().map_or(Record::TOMBSTONE, Record::inline)
    }

    pub fn bytes(&self) -> usize {
        self.key.len() + self.value.as_ref().map_or(0, Vec::len)
    }
}

impl Transaction {
    /// The entries that differ when the row of `key` becomes `row`. What is stored counts, expired or not.
    ///
    /// # Errors
    /// [`Error::Exists`] if a unique index has another row with its values.
    pub(super) fn entries_for(
        &self,
        table: TableId,
        key: &[u8],
        row: Option<&[u8]>,
        replaced: Replaced<'_>,
    ) -> Result<Vec<EntryWrite>> {
        let of = self.snapshot().version().table(table)?;
        let expires = of.shared.expiry.is_some();
        let indexes = match &of.indexes {
            none if none.is_empty() => return Ok(Vec::new()),
            some => some.clone(),
        };
        let mut writes = Vec::new();
        let found;
        let before = match replaced {
            Replaced::Row(row) => Some(row),
            Replaced::Nothing if !expires => None,
            // One that has expired has entries.
            Replaced::Nothing | Replaced::Unknown => {
                found = self.stored(table, key)?;
                found.as_deref()
            }
        };
        for index in &*indexes {
            let entry = |row| index.format.entry(key, row);
            let (before, after) = (before.map(entry).transpose()?, row.map(entry).transpose()?);
            if before == after {
                continue;
            }
            if let Some(after) = &after
                && after.is_exclusive
                && before.as_ref().is_none_or(|before| before.key != after.key)
                && let Some(other) = self.peek(index.id, &after.key)?
                && index.format.row_key(&after.key, &other)? != key
            {
                // That it is refused depends on this.
                self.get(index.id, &after.key)?;
                return Err(index.format.taken(key, row.expect("the row of the entry")));
            }
            if let Some(before) = before
                && after.as_ref().is_none_or(|after| after.key != before.key)
                && self.may_delete(index, key, &before)?
            {
                writes.push(EntryWrite { index: index.id, key: before.key, value: None });
            }
            if let Some(after) = after {
                writes.push(EntryWrite { index: index.id, key: after.key, value: Some(after.value) });
            }
        }
        debug_assert!(
            writes.is_sorted_by(
                |one, next| one.index < next.index || (one.index == next.index && one.key != next.key)
            ),
            "no entry is taken away and put"
        );
        Ok(writes)
    }

    /// While a unique index is built a row that it does not know yet may have the values of one that it knows.
    fn may_delete(&self, index: &TableIndex, key: &[u8], entry: &Entry) -> Result<bool> {
        if index.is_ready() || !entry.is_exclusive {
            return Ok(true);
        }
        match self.peek(index.id, &entry.key)? {
            Some(there) => Ok(index.format.row_key(&entry.key, &there)? == key),
            None => Ok(true),
        }
    }
}

impl Engine {
    /// Commits operations on rows with the entries that they need: as a transaction, again and again until there is no conflict.
    pub(super) fn commit_indexed(
        self: &Arc<Self>,
        operations: &[Operation<'_>],
        terms: Terms<'_>,
    ) -> Result<Timestamp> {
        loop {
            let mut tx = Transaction::new(self, Isolation::Snapshot)?;
            if let Some(sync) = terms.sync {
                tx.set_sync(sync);
            }
            for op in operations {
                check_store(tx.snapshot().version().table(op.table)?, op, terms.blobs_in)?;
                let row = match op.record.kind {
                    RecordKind::Tombstone => None,
                    RecordKind::Inline => Some(std::borrow::Cow::Borrowed(op.record.bytes)),
                    RecordKind::Blob => {
                        let store = &tx.snapshot().version().table(op.table)?.shared.store;
                        Some(read_whole(store, &Self::decode_blob(op.record.bytes, op.table)?)?.into())
                    }
                };
                if let Some(row) = row.as_deref() {
                    tx.free_expired(op.table, op.key, row)?;
                }
                let entries = tx.entries_for(op.table, op.key, row.as_deref(), Replaced::Unknown)?;
                tx.write(op.table, op.key, op.record, entries)?;
            }
            match tx.commit() {
                Err(Error::Conflict(_)) => {}
                result => return result,
            }
        }
    }
}
