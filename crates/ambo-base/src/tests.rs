//! Every base does what the conformance suite says, through the enum that the engine uses.

use std::sync::{Arc, atomic::AtomicBool};

use ambo_pages::{
    budget::MemoryBudget,
    io::sim::SimDisk,
    page::{BlobReader, BlobRef, PageStore},
};
use ambo_types::{
    Result, Storage, TableDefinition,
    record::{Record, RecordKind},
};

use super::{
    Base, BaseCursor, BaseOps, Prober, Stores, Workshop,
    btree::{BuildOptions, RowStream},
    column::{ColumnSchema, CursorRows, SegmentStore},
    conformance::{self, Model, Subject, SubjectCursor, Value},
};

/// The live rows of a model as a stream.
struct Rows<'m>(std::collections::btree_map::Iter<'m, Vec<u8>, Value>);

impl RowStream for Rows<'_> {
    fn next_row(&mut self) -> Result<Option<(&[u8], Record<'_>)>> {
        let live = self.0.find_map(|(key, value)| Some((key, value.as_ref()?)));
        Ok(live.map(|(key, value)| (&key[..], Record::inline(value))))
    }
}

/// Where bases of a test are.
struct World {
    store: Arc<PageStore>,
    segments: Arc<SegmentStore>,
    _disk: SimDisk,
}

impl World {
    fn new() -> Self {
        let disk = SimDisk::new(0);
        let segments = SegmentStore::new(disk.env().disk.clone(), 77, &MemoryBudget::new(1 << 20));
        Self { store: PageStore::memory(4096), segments, _disk: disk }
    }

    /// A base of the live rows of a model.
    fn build(&self, storage: Storage, model: &Model) -> Base {
        let schema = Arc::new(ColumnSchema::new(&TableDefinition::key_value("t").storage(storage)).unwrap());
        let place = Stores { pages: &self.store, segments: &self.segments, part_bytes: 4 * 4096 };
        let workshop = Workshop {
            store: &self.store,
            build: BuildOptions::default(),
            train: &|_| Ok(None),
            read_blob: &|_| unreachable!("no row is a blob"),
            copy_blob: None,
            relocate_from: None,
            rewrite: false,
            cancel: &AtomicBool::new(false),
            leave_out: None,
            all_below: None,
        };
        let empty = Base::empty(storage, place, Some(&schema));
        assert!(empty.is_of(storage) && empty.is_empty());
        empty.build(&mut Rows(model.iter()), &workshop).unwrap().base
    }
}

struct OfEnum {
    base: Base,
    world: World,
}

/// The cursor of a base; none if that is empty.
struct Cursor<'s> {
    of: &'s OfEnum,
    cursor: Option<BaseCursor>,
}

impl OfEnum {
    fn whole(&self, record: Record<'_>) -> Result<Vec<u8>> {
        match record.kind {
            RecordKind::Tombstone => panic!("a base has no tombstones"),
            RecordKind::Inline => Ok(record.bytes.to_vec()),
            RecordKind::Blob => {
                BlobReader::new(&self.world.store, BlobRef::decode(record.bytes).unwrap())?.read_all()
            }
        }
    }

    fn cursor(&self) -> Cursor<'_> {
        let mut all = Vec::new();
        self.base.cursors(CursorRows::Rows, &mut |cursor| all.push(cursor));
        assert!(all.len() <= 1, "it was built of one stream");
        Cursor { of: self, cursor: all.pop() }
    }
}

macro_rules! moves {
    ($($name:ident($($key:ident)?)),*) => {
        $(fn $name(&mut self $(, $key: &[u8])?) -> bool {
            match &mut self.cursor {
                None => false,
                Some(BaseCursor::Tree(cursor)) => cursor.$name($($key)?).unwrap(),
                Some(BaseCursor::Parts(cursor)) => cursor.$name($($key)?).unwrap(),
                Some(BaseCursor::Columns(cursor)) => cursor.$name($($key)?).unwrap(),
            }
        })*
    };
}

impl SubjectCursor for Cursor<'_> {
    moves!(seek_first(), seek_last(), seek_ge(key), seek_gt(key), seek_le(key), seek_lt(key), next(), prev());

    fn key(&self) -> Vec<u8> {
        match self.cursor.as_ref().expect("it stands on a row") {
            BaseCursor::Tree(cursor) => cursor.key().to_vec(),
            BaseCursor::Parts(cursor) => cursor.key().to_vec(),
            BaseCursor::Columns(cursor) => cursor.key().to_vec(),
        }
    }

    fn value(&self) -> Value {
        let record = match self.cursor.as_ref().expect("it stands on a row") {
            BaseCursor::Tree(cursor) => cursor.record(),
            BaseCursor::Parts(cursor) => cursor.record(),
            BaseCursor::Columns(cursor) => cursor.record(),
        };
        Some(self.of.whole(record).unwrap())
    }
}

impl Subject for OfEnum {
    fn get(&self, key: &[u8]) -> Option<Value> {
        let found = self.base.get(key, None).unwrap();
        assert_eq!(found.is_some(), self.base.prober().has(key).unwrap());
        let value = found.map(|record| record.into_value(|record| self.whole(record)).unwrap());
        let mut many = None;
        self.base
            .get_many(&[key], None, &mut |place, record| {
                assert_eq!((place, &many), (0, &None));
                many = Some(record.into_value(|record| self.whole(record))?);
                Ok(())
            })
            .unwrap();
        assert_eq!(many, value);
        value.map(Some)
    }

    fn cursor(&self) -> Box<dyn SubjectCursor + '_> {
        Box::new(self.cursor())
    }

    fn rank(&self, key: &[u8]) -> u64 {
        self.base.rank(key).unwrap()
    }

    fn nth(&self, position: u64) -> Option<Vec<u8>> {
        let mut cursor = self.cursor();
        let there = (0..=position).all(|_| cursor.next());
        assert_eq!(there, position < self.base.rows());
        there.then(|| cursor.key())
    }

    fn check(&self) {
        let report = self.base.check(10).unwrap();
        assert_eq!(report.problems, Vec::<String>::new());
        assert_eq!(report.rows, self.base.rows());
        let checked: u64 = report.pages.iter().flat_map(|(_, pages)| pages).map(|range| range.pages).sum();
        assert_eq!(checked, self.base.pages().unwrap().iter().map(|range| range.pages).sum::<u64>());
        assert_eq!(report.segments, self.base.segments().len() as u64);
    }

    fn has_tombstones(&self) -> bool {
        false
    }
}

// Keeps away: a storage that does not do what the engine asks of all.
#[test]
fn every_storage_conforms() {
    for storage in Storage::KNOWN {
        conformance::run(&|model| {
            let world = World::new();
            let base = world.build(*storage, model);
            Box::new(OfEnum { base, world })
        });
    }
}

// Keeps away: a base that is taken for another one, or for one of another storage.
#[test]
fn bases_are_told_apart() {
    let world = World::new();
    let rows = Model::from([(b"key".to_vec(), Some(b"value".to_vec()))]);
    let bases: Vec<_> = Storage::KNOWN.iter().map(|storage| world.build(*storage, &rows)).collect();
    for (place, base) in bases.iter().enumerate() {
        for (other, of) in bases.iter().enumerate() {
            assert_eq!(base.is_same(of), place == other);
        }
        assert!(!matches!(base.prober(), Prober::Nothing));
        assert!(base.is_same(&base.clone()));
    }
}
