//! Each invariant is broken once, and the breach is named.

use std::sync::Arc;

use ambo_base::{
    Base, BaseOps,
    btree::{Tree, TreeBase, TreeMeta},
    column::{ColumnRun, ColumnSchema, ColumnSet},
};
use ambo_codec::{Type, Value};
use ambo_pages::{
    io::sim::SimDisk,
    page::{PageRange, PageStore},
};
use ambo_types::{
    Error, IndexDefinition, IndexOf, Storage, TableDefinition,
    id::{PageNo, PagePtr, TableId, Timestamp},
    record::Record,
};

use super::{TableVersion, verify};
use crate::{
    database::{
        Engine, Options, RowFormat, TableIndex,
        damage::Damage,
        version::{DatabaseVersion, TableShared},
    },
    index::EntryFormat,
    memtable::Memtable,
};

/// A database with a compacted table of each storage in files, an index, a run, and rows that are in memtables alone.
struct Fixture {
    disk: SimDisk,
    engine: Arc<Engine>,
    version: DatabaseVersion,
    rows: TableId,
    index: TableId,
    columns: TableId,
}

fn tree(tree: Arc<Tree>) -> Base {
    Base::BTree(TreeBase::new(Some(tree)))
}

fn options() -> Options {
    Options { background_threads: false, background_merge: false, page_size: 4096, ..Options::default() }
}

fn fixture() -> Fixture {
    let disk = SimDisk::new(1);
    let engine = Arc::new(Engine::open(disk.env(), options()).unwrap().0);
    let definition = |name: &str| {
        TableDefinition::new(name).column("id", Type::I32).column("n", Type::I32).primary_key(&["id"])
    };
    let rows = engine.create_table(definition("rows")).unwrap();
    let columns = engine.create_table(definition("columns").storage(Storage::Column)).unwrap();
    let index = engine.create_index(&IndexDefinition::new("by_n", "rows", &["n"])).unwrap();
    let put = |id: i32| {
        for table in [rows, columns] {
            let format = RowFormat::new(engine.current().catalog.table(table).unwrap().clone()).unwrap();
            let row = [Value::I32(id), Value::I32(-id)];
            let (key, row) = (format.encode_key(&row, 0).unwrap(), format.encode_row(&row).unwrap());
            engine.put(table, &key, &row).unwrap();
        }
    };
    (0..100).for_each(put);
    engine.compact().unwrap();
    put(1);
    engine.flush().unwrap();
    put(2);
    let version = (*engine.current()).clone();
    assert_eq!(verify(&version, None), Ok(()));
    assert_eq!(verify(&version, Some(&version)), Ok(()));
    Fixture { disk, engine, version, rows, index, columns }
}

impl Fixture {
    fn table(&mut self, id: TableId) -> &mut TableVersion {
        Arc::make_mut(self.version.tables.get_mut(&id).unwrap())
    }

    fn shared(&mut self, id: TableId, change: impl FnOnce(&mut TableShared)) {
        let shared = &self.version.tables[&id].shared;
        let mut shared = shared.with_base(&shared.store, shared.storage, shared.schema.clone());
        change(&mut shared);
        self.table(id).shared = Arc::new(shared);
    }
}

/// What is found wrong with the fixture's version after a change, as the version that follows what it was.
#[track_caller]
fn breach(what: &str, change: impl FnOnce(&mut Fixture)) {
    let mut fixture = fixture();
    let before = fixture.version.clone();
    change(&mut fixture);
    let error = verify(&fixture.version, Some(&before)).unwrap_err();
    assert!(error.starts_with(what), "{error}");
    assert!(fixture.engine.check().unwrap().is_sound());
}

// Keeps away: a table without a definition, or a definition without a table, after an edit that forgot one of them.
#[test]
fn tables_and_catalog_are_the_same() {
    breach("1: the catalog has table", |fixture| drop(fixture.version.tables.remove(&fixture.rows)));
    breach("1: table 77 is not in the catalog", |fixture| {
        let table = fixture.version.tables[&fixture.rows].clone();
        fixture.version.tables.insert(TableId(77), table);
    });
    breach("1: table 77 is there as", |fixture| {
        fixture.shared(fixture.rows, |shared| shared.id = TableId(77))
    });
}

// Keeps away: a table that is read as if it had another shape, or whose pages are looked for in another place.
#[test]
fn storage_is_what_the_definition_says() {
    breach("2: said to be btree, and is column", |fixture| {
        fixture.shared(fixture.rows, |shared| shared.storage = Storage::Column);
    });
    breach("2: storage btree, and its pages are in memory", |fixture| {
        fixture.shared(fixture.rows, |shared| shared.store = PageStore::memory(4096));
    });
}

// Keeps away: a base that is not what definition, checkpoints and scans take it for.
#[test]
fn bases_are_those_of_their_storage() {
    breach("3: storage btree, and the base of another", |fixture| {
        let base = fixture.version.tables[&fixture.columns].base.clone();
        fixture.table(fixture.rows).base = base;
    });
    breach("3: storage column, and the base of another", |fixture| {
        let base = fixture.version.tables[&fixture.rows].base.clone();
        fixture.table(fixture.columns).base = base;
    });
}

// Keeps away: rows that are put together from other columns than they were taken apart into.
#[test]
fn columns_are_those_of_the_definition() {
    let other = || {
        let definition = TableDefinition::new("other").column("id", Type::I64).primary_key(&["id"]);
        Arc::new(ColumnSchema::new(&definition).unwrap())
    };
    breach("4: the set has other columns", |fixture| {
        fixture.shared(fixture.columns, |shared| shared.schema = Some(other()));
    });
    breach("4: columns that no set has", |fixture| {
        fixture.shared(fixture.rows, |shared| shared.schema = Some(other()));
    });
    breach("4: the columns are not those of the definition", |fixture| {
        let schema = other();
        fixture.shared(fixture.columns, |shared| shared.schema = Some(schema.clone()));
        let table = fixture.table(fixture.columns);
        let columns = table.base.columns().unwrap();
        table.base = ColumnSet::new(columns.store().clone(), schema, Vec::new()).into();
    });
}

// Keeps away: an index that nobody writes entries to, or whose entries are made in another way than they are looked for.
#[test]
fn indexes_are_those_of_the_catalog() {
    breach("5: it has 0 indexes, and the catalog says 1", |fixture| {
        fixture.table(fixture.rows).indexes = Arc::new([]);
    });
    breach("1: index \"main.by_n\" is of no table", |fixture| {
        let mut catalog = (*fixture.version.catalog).clone();
        let index = catalog.index_ready(fixture.index).unwrap();
        catalog.drop_table("rows").unwrap();
        catalog.apply(&index.key, index.record()).unwrap();
        fixture.version.tables.remove(&fixture.rows);
        fixture.version.catalog = Arc::new(catalog);
    });
    breach("5: entries of", |fixture| {
        let catalog = &fixture.version.catalog;
        let definition = catalog.table(fixture.index).unwrap();
        let of = IndexOf { unique: true, ..definition.index.clone().unwrap() };
        let format = EntryFormat::new(&definition.name, &of, catalog.table(fixture.rows).unwrap()).unwrap();
        fixture.table(fixture.rows).indexes = Arc::new([Arc::new(TableIndex { id: fixture.index, format })]);
    });
}

// Keeps away: trees whose pages are read from another file, and more of them than a checkpoint can name.
#[test]
fn trees_fit_their_table() {
    breach("6: 64 runs", |fixture| {
        let table = fixture.table(fixture.rows);
        let store = table.shared.store.clone();
        let run = |at: u64| {
            let root = PagePtr::new(PageNo(1 << 30 | at), 1);
            Tree::open(store.clone(), TreeMeta { root, height: 1, rows: 1, ..TreeMeta::default() })
        };
        table.runs = (0..64).map(run).collect();
    });
    breach("6: a tree is in another store", |fixture| {
        let table = fixture.table(fixture.rows);
        let meta = *table.base.trees()[0].meta();
        table.base = tree(Tree::open(PageStore::memory(4096), meta));
    });
    breach("6: an empty tree", |fixture| {
        let table = fixture.table(fixture.rows);
        table.base = tree(Tree::open(table.shared.store.clone(), TreeMeta::default()));
    });
}

// Keeps away: pages that are freed with one tree while another has them.
#[test]
fn trees_and_segments_are_apart() {
    breach("7: page", |fixture| {
        let base = fixture.version.tables[&fixture.rows].base.clone();
        fixture.table(fixture.index).base = base;
    });
    breach("7: segment", |fixture| {
        let table = fixture.table(fixture.columns);
        let columns = table.base.columns().unwrap();
        let runs: Vec<ColumnRun> = [columns.runs(), columns.runs()].concat();
        let twice = ColumnSet::new(columns.store().clone(), columns.schema().clone(), runs);
        table.base = twice.into();
    });
}

// Keeps away: a version that reaches pages which the next writer is given.
#[test]
fn what_is_reached_is_not_free() {
    breach("8: page", |fixture| {
        let table = fixture.table(fixture.rows);
        let is_free = |page: &u64| table.shared.store.is_free(PageRange::new(PageNo(*page), 1));
        let root = PagePtr::new(PageNo((0..1000).find(is_free).unwrap()), 1);
        let meta = TreeMeta { root, ..*table.base.trees()[0].meta() };
        table.base = tree(Tree::open(table.shared.store.clone(), meta));
    });
}

/// A memtable with one commit, or none.
fn memtable(at: Option<u64>) -> Arc<Memtable> {
    let memtable = Memtable::new(1 << 20).unwrap();
    if let Some(at) = at {
        memtable.insert(b"key", Timestamp(at), Record::TOMBSTONE, Timestamp(0)).unwrap();
    }
    Arc::new(memtable)
}

// Keeps away: an older row that is found before a newer one, and a memtable that is flushed twice.
#[test]
fn memtables_are_in_order() {
    breach("9: 9 frozen memtables", |fixture| fixture.table(fixture.rows).frozen = vec![memtable(None); 9]);
    breach("9: a memtable is there twice", |fixture| {
        let table = fixture.table(fixture.rows);
        table.frozen = vec![table.active.clone()];
    });
    breach("9: a memtable from 1 on is before", |fixture| {
        let table = fixture.table(fixture.rows);
        let newer = std::mem::replace(&mut table.active, memtable(Some(1)));
        table.frozen = vec![newer];
    });
    breach("9: a frozen memtable has commits up to", |fixture| {
        let table = fixture.table(fixture.rows);
        table.frozen = vec![memtable(Some(1))];
    });
}

// Keeps away: a merge into what could not be read, which would then be all there is.
#[test]
fn what_cannot_be_read_is_held() {
    breach("10: damaged", |fixture| {
        let error = Error::damaged("segment", 0, "gone");
        let damage = Damage::of(error, Vec::new(), Vec::new()).unwrap();
        fixture.table(fixture.rows).damage = Some(Arc::new(damage));
    });
}

// Keeps away: a checkpoint of an older moment, a snapshot with a version that is too new, transactions that miss a new index.
#[test]
fn nothing_goes_back() {
    fn before(time: Timestamp) -> Timestamp {
        Timestamp(time.0 - 1)
    }
    breach("11: compacted goes back", |fixture| {
        fixture.version.compacted = before(fixture.version.compacted)
    });
    breach("11: since goes back", |fixture| fixture.version.since = before(fixture.version.since));
    breach("11: beyond goes back", |fixture| fixture.version.beyond = before(fixture.version.beyond));
    breach("11: the epoch of indexes goes back", |fixture| fixture.version.index_epoch -= 1);
    breach("11: its history goes back", |fixture| {
        let table = fixture.table(fixture.rows);
        table.history_floor = before(table.history_floor);
    });
}

// Keeps away: commits that are nowhere, and conflicts that are not seen.
#[test]
fn no_memtable_is_lost() {
    breach("12: a memtable goes with commits after", |fixture| {
        fixture.table(fixture.rows).active = memtable(None);
    });
    breach("12: a memtable is forgotten", |fixture| {
        fixture.version.compacted = Timestamp(u64::MAX);
        fixture.table(fixture.rows).active = memtable(None);
    });
}

// Keeps away: a version that nobody looks at before it is published.
#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "breaks an invariant: 6: an empty tree")]
fn edits_are_verified() {
    use ambo_base::Made;

    use crate::database::version_edit::{TableEdit, VersionEdit};
    let Fixture { engine, version, rows, .. } = fixture();
    let mut edit = VersionEdit::default();
    let store = version.tables[&rows].shared.store.clone();
    let made = Made::Run(Some(Tree::open(store, TreeMeta::default())));
    edit.table(rows, TableEdit::Compact { inputs: Vec::new(), made });
    let _ = engine.apply(engine.lock_versions(), edit);
}

// Keeps away: files that break an invariant, and a database that goes on with them.
#[test]
#[cfg(debug_assertions)]
fn what_is_opened_is_verified() {
    let mut fixture = fixture();
    let base = fixture.version.tables[&fixture.rows].base.clone();
    fixture.table(fixture.index).base = base;
    let Fixture { disk, engine, version, .. } = fixture;
    let mut checkpoint = engine.checkpoint.lock();
    let versions = engine.version_lock.lock();
    let moment = checkpoint.moment();
    engine.publish(&mut checkpoint, moment, version, Default::default()).unwrap();
    drop((versions, checkpoint));
    drop(engine);
    let error = Engine::open(disk.env(), options()).map(drop).unwrap_err();
    assert!(matches!(&error, Error::Damaged { what, .. } if what.starts_with("7: page")), "{error}");
}
