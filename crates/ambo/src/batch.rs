//! Batches: several writes, one commit, no reads.

use ambo_engine::{id::TableId, log::Operation, record::Record};

use crate::{Database, Error, Result, Sync, Table};

enum Kind {
    Put,
    Delete,
}

/// Writes to be committed together. The cheapest way to write many rows.
///
/// ```
/// let db = ambo::Database::in_memory()?;
/// let t = db.key_value("t")?;
/// let mut batch = db.batch();
/// batch.put(&t, b"a", b"1");
/// batch.delete(&t, b"b");
/// batch.commit()?;
/// # Ok::<(), ambo::Error>(())
/// ```
pub struct Batch {
    db: Database,
    bytes: Vec<u8>,
    /// Table, kind, end of the key and end of the value in `bytes`.
    entries: Vec<(TableId, Kind, usize, usize)>,
    sync: Option<Sync>,
    /// What is wrong with the first row that a table does not allow.
    refused: Option<Error>,
}

impl Batch {
    pub(crate) fn new(db: Database) -> Self {
        Self { db, bytes: Vec::new(), entries: Vec::new(), sync: None, refused: None }
    }

    /// Maps `key` to `value`. That a table does not allow the row is said by [`Batch::commit`].
    pub fn put(&mut self, table: &Table, key: &[u8], value: &[u8]) {
        if let Err(error) = table.check_stored(key, value) {
            self.refused.get_or_insert(error);
        }
        self.add(table, Kind::Put, key, value);
    }

    /// Deletes `key`, whether or not it is there.
    pub fn delete(&mut self, table: &Table, key: &[u8]) {
        if let Err(error) = table.check_delete() {
            self.refused.get_or_insert(error);
        }
        self.add(table, Kind::Delete, key, &[]);
    }

    fn add(&mut self, table: &Table, kind: Kind, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.entries.push((table.id(), kind, key_end, self.bytes.len()));
    }

    /// How many writes it holds.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Chooses how durable the commit is.
    pub fn set_sync(&mut self, sync: Sync) {
        self.sync = Some(sync);
    }

    /// Commits all writes, or none; of two to the same key the later counts. The batch is empty afterwards, its memory kept.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a table does not allow one of the rows: nothing is written then, and the batch is empty.
    pub fn commit(&mut self) -> Result<()> {
        if let Some(error) = self.refused.take() {
            self.bytes.clear();
            self.entries.clear();
            return Err(error);
        }
        let mut start = 0;
        let operations: Vec<_> = self
            .entries
            .iter()
            .map(|(table, kind, key_end, end)| {
                let key = &self.bytes[start..*key_end];
                let record = match kind {
                    Kind::Put => Record::inline(&self.bytes[*key_end..*end]),
                    Kind::Delete => Record::TOMBSTONE,
                };
                start = *end;
                Operation { table: *table, key, record }
            })
            .collect();
        self.db.engine().write_batch(&operations, self.sync)?;
        self.bytes.clear();
        self.entries.clear();
        Ok(())
    }
}
