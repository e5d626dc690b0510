//! What a transaction has written and not yet committed.

use std::{collections::BTreeMap, ops::Bound, sync::Arc};

use smallvec::SmallVec;

use crate::{
    id::TableId,
    record::{Record, RecordKind},
};

/// A record that the transaction owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedRecord {
    /// What the bytes are.
    pub kind: RecordKind,
    /// The value, or an encoded blob reference. As [`WrittenKey`]: what is short lies where the map has it, and a commit goes over all records several times.
    pub bytes: SmallVec<[u8; 24]>,
}

impl OwnedRecord {
    /// A borrowed view.
    pub fn borrow(&self) -> Record<'_> {
        Record { kind: self.kind, bytes: &self.bytes }
    }
}

/// A key that was written. Short ones lie where the map has them: to find the place of another takes no look elsewhere.
pub type WrittenKey = SmallVec<[u8; 24]>;

/// The writes to one table, in key order. Cursors share it; a later write copies it if one still looks.
pub type TableWrites = Arc<BTreeMap<WrittenKey, OwnedRecord>>;

/// How to take one write back.
struct Undo {
    table: TableId,
    key: WrittenKey,
    before: Option<OwnedRecord>,
}

/// Bookkeeping bytes of one write, for the transaction's limit.
const OVERHEAD: usize = 64;

/// The writes of one transaction, with what is needed to roll back to a savepoint.
#[derive(Default)]
pub struct WriteSet {
    /// In an order, so that the same transaction gives the same log.
    tables: BTreeMap<TableId, TableWrites>,
    undo: Vec<Undo>,
    /// Whether undo information is wanted: from the first savepoint on.
    savepoints: bool,
    bytes: usize,
}

/// A moment inside a transaction: what was written after it can be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint {
    undo_len: usize,
}

impl WriteSet {
    /// The write to `key`, if there is one.
    pub fn get(&self, table: TableId, key: &[u8]) -> Option<&OwnedRecord> {
        self.tables.get(&table)?.get(key)
    }

    /// The writes to `table`, shared.
    pub fn table(&self, table: TableId) -> Option<TableWrites> {
        self.tables.get(&table).cloned()
    }

    /// The writes to all tables, shared.
    pub fn tables(&self) -> &BTreeMap<TableId, TableWrites> {
        &self.tables
    }

    /// Buffers a write.
    pub fn insert(&mut self, table: TableId, key: &[u8], record: Record<'_>) {
        let owned = OwnedRecord { kind: record.kind, bytes: SmallVec::from_slice(record.bytes) };
        self.replace(table, WrittenKey::from_slice(key), Some(owned), true);
    }

    fn replace(&mut self, table: TableId, key: WrittenKey, record: Option<OwnedRecord>, log: bool) {
        let writes = Arc::make_mut(self.tables.entry(table).or_default());
        let key_len = key.len();
        let size = |record: &OwnedRecord| key_len + record.bytes.len() + OVERHEAD;
        let added = record.as_ref().map_or(0, size);
        let remembered = (log && self.savepoints).then(|| key.clone());
        let before = match record {
            Some(record) => writes.insert(key, record),
            None => writes.remove(&key),
        };
        self.bytes = self.bytes + added - before.as_ref().map_or(0, size);
        if let Some(key) = remembered {
            self.undo.push(Undo { table, key, before });
        }
    }

    /// Marks this moment.
    pub fn savepoint(&mut self) -> Savepoint {
        self.savepoints = true;
        Savepoint { undo_len: self.undo.len() }
    }

    /// Whether `savepoint` is still ahead of what was rolled back.
    pub fn knows(&self, savepoint: Savepoint) -> bool {
        savepoint.undo_len <= self.undo.len()
    }

    /// Takes back all writes after `savepoint`.
    pub fn rollback_to(&mut self, savepoint: Savepoint) {
        while self.undo.len() > savepoint.undo_len {
            let Undo { table, key, before } = self.undo.pop().expect("longer than the savepoint");
            self.replace(table, key, before, false);
        }
    }

    /// All writes: tables and keys ascending.
    pub fn iter(&self) -> impl Iterator<Item = (TableId, &[u8], Record<'_>)> {
        self.tables
            .iter()
            .flat_map(|(table, writes)| writes.iter().map(|(key, record)| (*table, &**key, record.borrow())))
    }

    /// How many keys are written.
    pub fn len(&self) -> usize {
        self.tables.values().map(|writes| writes.len()).sum()
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.tables.values().all(|writes| writes.is_empty())
    }

    /// Bytes that the writes take, keys and bookkeeping included.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// A cursor over the writes to one table, as they were when it was opened.
pub struct WriteCursor {
    writes: TableWrites,
    /// The key that the cursor stands on.
    at: Option<WrittenKey>,
}

impl WriteCursor {
    /// A cursor that stands nowhere.
    pub fn new(writes: TableWrites) -> Self {
        Self { writes, at: None }
    }

    /// The key and record under the cursor.
    pub fn current(&self) -> Option<(&[u8], Record<'_>)> {
        let key = self.at.as_ref()?;
        self.writes.get_key_value(key).map(|(key, record)| (&**key, record.borrow()))
    }

    /// Moves to the first key within `lower`.
    pub fn seek_forward(&mut self, lower: Bound<&[u8]>) {
        let first = self.writes.range::<[u8], _>((lower, Bound::Unbounded)).next();
        self.at = first.map(|(key, _)| key.clone());
    }

    /// Moves to the last key within `upper`.
    pub fn seek_backward(&mut self, upper: Bound<&[u8]>) {
        let last = self.writes.range::<[u8], _>((Bound::Unbounded, upper)).next_back();
        self.at = last.map(|(key, _)| key.clone());
    }

    /// Moves to the next key.
    pub fn next(&mut self) {
        if let Some(key) = self.at.take() {
            self.seek_forward(Bound::Excluded(&key));
        }
    }

    /// Moves to the previous key.
    pub fn prev(&mut self) {
        if let Some(key) = self.at.take() {
            self.seek_backward(Bound::Excluded(&key));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: TableId = TableId(1);

    /// Keeps away: a rollback that forgets an overwritten value, or keeps a new one.
    #[test]
    fn rollback_restores_what_was_there() {
        let mut writes = WriteSet::default();
        writes.insert(TABLE, b"a", Record::inline(b"1"));
        let before = writes.bytes();
        let outer = writes.savepoint();
        writes.insert(TABLE, b"a", Record::inline(b"22"));
        let inner = writes.savepoint();
        writes.insert(TABLE, b"b", Record::inline(b"3"));
        writes.insert(TABLE, b"a", Record::TOMBSTONE);
        writes.rollback_to(inner);
        assert_eq!(writes.get(TABLE, b"a").unwrap().borrow(), Record::inline(b"22"));
        assert!(writes.get(TABLE, b"b").is_none());
        writes.rollback_to(outer);
        assert_eq!(writes.get(TABLE, b"a").unwrap().borrow(), Record::inline(b"1"));
        assert_eq!(writes.bytes(), before);
        assert!(!writes.knows(inner) || inner == outer);
    }

    /// Keeps away: a scan that is changed by the writes of its own loop.
    #[test]
    fn a_cursor_keeps_what_it_began_with() {
        let mut writes = WriteSet::default();
        for key in [b"a", b"b", b"c"] {
            writes.insert(TABLE, key, Record::inline(key));
        }
        let mut cursor = WriteCursor::new(writes.table(TABLE).unwrap());
        cursor.seek_forward(Bound::Unbounded);
        let mut seen = Vec::new();
        while let Some((key, _)) = cursor.current() {
            seen.push(key.to_vec());
            let doubled = [key, key].concat();
            writes.insert(TABLE, &doubled, Record::inline(b""));
            cursor.next();
        }
        assert_eq!(seen, [b"a", b"b", b"c"]);
        assert_eq!(writes.len(), 6);
    }
}
