//! What a transaction has written and not yet committed.

use std::{collections::BTreeMap, ops::Bound, sync::Arc};

use ambo_pages::log::Operation;
use ambo_types::{
    id::TableId,
    record::{Record, RecordKind},
};
use smallvec::SmallVec;

use super::write_list::{Write, WriteList};

/// A record that the transaction owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedRecord {
    /// What the bytes are.
    pub kind: RecordKind,
    /// The value, or an encoded blob reference. As [`WrittenKey`]: what is short lies where the map has it, and a commit goes over all
    /// records several times.
    pub bytes: SmallVec<[u8; 24]>,
}

impl OwnedRecord {
    pub(super) fn new(record: Record<'_>) -> Self {
        Self { kind: record.kind, bytes: SmallVec::from_slice(record.bytes) }
    }

    /// A borrowed view.
    pub fn borrow(&self) -> Record<'_> {
        Record { kind: self.kind, bytes: &self.bytes }
    }
}

/// A key that was written. Short ones lie where the map has them: to find the place of another takes no look elsewhere.
pub type WrittenKey = SmallVec<[u8; 24]>;

/// The writes to one table, in key order. Cursors share it; a later write copies it if one still looks.
pub type TableWrites = Arc<BTreeMap<WrittenKey, OwnedRecord>>;

/// From so many writes to a table on they are kept as a list until somebody asks for their order.
const LIST_MIN: usize = 64;

/// The writes to one table. Views share them; a later write copies them if a view is still there.
#[derive(Clone)]
pub enum Writes {
    /// Few, or somebody has asked for their order.
    Ordered(TableWrites),
    /// Many, and nobody has.
    Listed(Arc<WriteList>),
}

impl Default for Writes {
    fn default() -> Self {
        Self::Ordered(TableWrites::default())
    }
}

impl Writes {
    /// The write to `key`, if there is one.
    pub fn get(&self, key: &[u8]) -> Option<&OwnedRecord> {
        match self {
            Self::Ordered(writes) => writes.get(key),
            Self::Listed(list) => list.get(key),
        }
    }

    /// All in key order.
    pub fn ordered(&self) -> &TableWrites {
        match self {
            Self::Ordered(writes) => writes,
            Self::Listed(list) => list.ordered(),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Ordered(writes) => writes.len(),
            Self::Listed(list) => list.len(),
        }
    }

    /// Writes, or takes the write back; returns what was written to the key before.
    fn replace(&mut self, key: WrittenKey, record: Option<OwnedRecord>) -> Option<OwnedRecord> {
        if let Self::Listed(list) = self
            && let Some(ordered) = list.if_ordered()
        {
            *self = Self::Ordered(ordered.clone());
        }
        let is_write = record.is_some();
        let before = match (&mut *self, record) {
            (Self::Listed(list), Some(record)) => Arc::make_mut(list).insert(key, record),
            (Self::Listed(list), None) => Arc::make_mut(list).remove(&key),
            (Self::Ordered(tree), Some(record)) => Arc::make_mut(tree).insert(key, record),
            (Self::Ordered(tree), None) => Arc::make_mut(tree).remove(&key),
        };
        if let Self::Ordered(tree) = self
            && is_write
            && before.is_none()
            && tree.len() == LIST_MIN
        {
            *self = Self::Listed(Arc::new(WriteList::new(std::mem::take(Arc::make_mut(tree)))));
            assert_eq!(self.len(), LIST_MIN, "a list has the writes of the tree");
        }
        before
    }
}

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
    tables: BTreeMap<TableId, Writes>,
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

    /// The writes to `table`, in key order, shared.
    pub fn table(&self, table: TableId) -> Option<TableWrites> {
        self.tables.get(&table).map(|writes| writes.ordered().clone())
    }

    /// The writes to all tables, shared.
    pub fn tables(&self) -> &BTreeMap<TableId, Writes> {
        &self.tables
    }

    /// Buffers a write.
    pub fn insert(&mut self, table: TableId, key: &[u8], record: Record<'_>) {
        self.replace(table, WrittenKey::from_slice(key), Some(OwnedRecord::new(record)), true);
    }

    fn replace(&mut self, table: TableId, key: WrittenKey, record: Option<OwnedRecord>, log: bool) {
        let key_len = key.len();
        let size = |record: &OwnedRecord| key_len + record.bytes.len() + OVERHEAD;
        let added = record.as_ref().map_or(0, size);
        let remembered = (log && self.savepoints).then(|| key.clone());
        let before = self.tables.entry(table).or_default().replace(key, record);
        let removed = before.as_ref().map_or(0, size);
        assert!(removed <= self.bytes + added, "what is replaced was counted when it was written");
        self.bytes = self.bytes + added - removed;
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

    /// What was written after `savepoint`, from the first write on: each key with what the transaction had written to it before.
    pub fn since(
        &self,
        savepoint: Savepoint,
    ) -> impl Iterator<Item = (TableId, &WrittenKey, Option<&OwnedRecord>)> {
        let undo = self.undo.get(savepoint.undo_len..).unwrap_or_default();
        undo.iter().map(|of| (of.table, &of.key, of.before.as_ref()))
    }

    /// Takes back all writes after `savepoint`.
    pub fn rollback_to(&mut self, savepoint: Savepoint) {
        assert!(self.knows(savepoint), "the savepoint was rolled back itself");
        while self.undo.len() > savepoint.undo_len {
            let Undo { table, key, before } = self.undo.pop().expect("longer than the savepoint");
            self.replace(table, key, before, false);
        }
        debug_assert_eq!(self.bytes == 0, self.is_empty(), "bytes are those of writes");
    }

    /// All writes, put in order.
    pub fn into_order(self) -> WritesInOrder {
        let in_order = |writes| match writes {
            Writes::Ordered(writes) => InOrder::Tree(writes),
            Writes::Listed(list) => InOrder::List(Arc::unwrap_or_clone(list).into_order()),
        };
        WritesInOrder(self.tables.into_iter().map(|(table, writes)| (table, in_order(writes))).collect())
    }

    /// How many keys are written.
    pub fn len(&self) -> usize {
        self.tables.values().map(Writes::len).sum()
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that the writes take, keys and bookkeeping included.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// The writes of one transaction: tables and keys ascending.
pub struct WritesInOrder(Vec<(TableId, InOrder)>);

enum InOrder {
    Tree(TableWrites),
    List(Vec<Write>),
}

impl WritesInOrder {
    /// What is to be committed.
    pub fn operations(&self) -> Vec<Operation<'_>> {
        let mut all = Vec::new();
        for (table, writes) in &self.0 {
            match writes {
                InOrder::Tree(writes) => {
                    all.extend(writes.iter().map(|(key, record)| operation(*table, key, record)))
                }
                InOrder::List(writes) => {
                    all.extend(writes.iter().map(|(key, record)| operation(*table, key, record)))
                }
            }
        }
        debug_assert!(all.is_sorted_by(|one, next| (one.table, one.key) < (next.table, next.key)));
        all
    }
}

fn operation<'a>(table: TableId, key: &'a WrittenKey, record: &'a OwnedRecord) -> Operation<'a> {
    Operation { table, key, record: record.borrow() }
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

    /// Keeps away: writes that are lost, found twice or not taken back where many are kept as a list, and cursors that change with them.
    #[test]
    fn many_writes_are_as_few() {
        let mut random = 11_u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (random >> 33) % below
        };
        for looks in [0, 1000, 20] {
            let (mut writes, mut model) = (WriteSet::default(), BTreeMap::new());
            let mut saved = Vec::new();
            let mut looked: Option<(TableWrites, BTreeMap<Vec<u8>, u64>)> = None;
            for round in 0..6000 {
                let key = next(40 + round / 10).to_be_bytes().to_vec();
                match next(100) {
                    0 => saved.push((writes.savepoint(), model.clone())),
                    1 => {
                        if let Some((savepoint, before)) = saved.pop() {
                            writes.rollback_to(savepoint);
                            model = before;
                        }
                    }
                    _ => {
                        writes.insert(TABLE, &key, Record::inline(&round.to_be_bytes()));
                        model.insert(key.clone(), round);
                    }
                }
                let value = |record: &OwnedRecord| u64::from_be_bytes(record.bytes[..].try_into().unwrap());
                assert_eq!(writes.get(TABLE, &key).map(value), model.get(&key).copied());
                assert_eq!(writes.len(), model.len());
                let is_as = |tree: &TableWrites, model: &BTreeMap<Vec<u8>, u64>| {
                    let pairs = tree.iter().map(|(key, record)| (key.to_vec(), value(record)));
                    assert!(pairs.eq(model.iter().map(|(key, value)| (key.clone(), *value))));
                };
                if looks > 0 && next(looks) == 0 {
                    let view = writes.tables().clone();
                    let tree = writes.table(TABLE).unwrap_or_default();
                    is_as(&tree, &model);
                    let of_view = view.get(&TABLE).map(Writes::ordered);
                    assert!(of_view.is_none_or(|of_view| Arc::ptr_eq(of_view, &tree)), "put in order twice");
                    if let Some((tree, then)) = looked.replace((tree, model.clone())) {
                        is_as(&tree, &then);
                    }
                }
            }
            assert!(model.len() > 4 * LIST_MIN);
            // Who has looked once is not copied for again and again.
            assert_eq!(matches!(writes.tables[&TABLE], Writes::Listed(_)), looks == 0);
            let bytes: usize = model.keys().map(|key| key.len() + 8 + OVERHEAD).sum();
            assert_eq!(writes.bytes(), bytes);
            let in_order = writes.into_order();
            let operations = in_order.operations().into_iter();
            assert!(operations.map(|op| (op.table, op.key)).eq(model.keys().map(|key| (TABLE, &key[..]))));
        }
    }
}
