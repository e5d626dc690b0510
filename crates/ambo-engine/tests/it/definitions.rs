//! Transactions that change definitions, beside others.

use std::{sync::Arc, time::Duration};

use ambo_codec::{Type, Value as Datum};
use ambo_engine::{
    Error,
    catalog::{Column, IndexDefinition, Storage, TableChange, TableDefinition},
    database::{CatalogEdit, Engine, Isolation, Options, RowFormat, Snapshot, Transaction},
    id::TableId,
    io::sim::SimDisk,
};

use crate::{
    stop::Stop,
    support::{assert_sound, open, rows, small_options},
};

fn engine() -> Arc<Engine> {
    open(&SimDisk::new(1).env(), &small_options()).unwrap().0
}

fn create(name: &str) -> CatalogEdit {
    CatalogEdit::CreateTable(TableDefinition::key_value(name))
}

fn id_of(transaction: &Transaction, name: &str) -> TableId {
    transaction.catalog().find(name).unwrap().0
}

fn names(snapshot: &Snapshot) -> Vec<String> {
    snapshot.catalog().tables().map(|(_, table)| table.name.replace("main.", "")).collect()
}

fn conflicts<T: std::fmt::Debug>(result: Result<T, Error>) -> bool {
    matches!(&result, Err(error @ Error::Conflict(_)) if error.is_retryable())
}

/// Keeps away: definitions that others see before the commit, that are not taken back, or that are lost with a new start.
#[test]
fn what_a_transaction_defines_is_its_own_until_it_commits() {
    let disk = SimDisk::new(3);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    let old = engine.create_table(TableDefinition::key_value("old")).unwrap();
    engine.put(old, b"a", b"1").unwrap();
    for commit in [false, true] {
        let mut tx = engine.begin(Isolation::Snapshot).unwrap();
        tx.put(old, b"b", b"written before it goes").unwrap();
        tx.define(&CatalogEdit::RenameTable { from: "old".into(), to: "older".into() }).unwrap();
        tx.define(&create("old")).unwrap();
        let new = id_of(&tx, "old");
        assert_eq!((id_of(&tx, "older"), tx.get(new, b"a").unwrap().is_none()), (old, true));
        tx.put(new, b"c", b"3").unwrap();
        let before = tx.savepoint();
        tx.define(&CatalogEdit::DropTable("older".into())).unwrap();
        tx.define(&CatalogEdit::TruncateTable("old".into())).unwrap();
        assert_ne!(id_of(&tx, "old"), new);
        tx.rollback_to(before).unwrap();
        assert_eq!(names(&tx.view()), ["older", "old"]);
        assert_eq!(rows(&tx.view(), new).unwrap(), [(b"c".to_vec(), b"3".to_vec())]);
        assert_eq!(rows(&tx.view(), old).unwrap().len(), 2);
        assert_eq!(names(&engine.snapshot()), ["old"]);
        if commit {
            tx.commit().unwrap();
            assert_eq!(names(&engine.snapshot()), ["older", "old"]);
            assert_eq!(rows(&engine.snapshot(), new).unwrap().len(), 1);
        } else {
            tx.rollback();
            assert_eq!(names(&engine.snapshot()), ["old"]);
        }
        assert_sound(&engine);
    }
    drop(engine);
    let (engine, report) = open(&disk.crash().env(), &small_options()).unwrap();
    assert!(report.transactions > 0);
    assert_eq!(names(&engine.snapshot()), ["older", "old"]);
    assert_eq!(rows(&engine.snapshot(), old).unwrap().len(), 2);
    assert_sound(&engine);
}

/// Keeps away: two transactions that change the same definitions and both commit, and such that disturb each other for no reason.
#[test]
fn of_two_that_change_the_same_one_commits() {
    let engine = engine();
    engine.create_table(TableDefinition::key_value("t")).unwrap();
    engine.create_table(TableDefinition::key_value("u")).unwrap();
    let drop_t = CatalogEdit::DropTable("t".into());
    let comment = |name: &str| CatalogEdit::ChangeTable {
        name: name.into(),
        changes: vec![TableChange::SetComment(Some("a comment".into()))],
    };
    let rename = |from: &str| CatalogEdit::RenameTable { from: from.into(), to: "w".into() };
    let schema = |edit: fn(String) -> CatalogEdit| edit("s".into());
    let both = |one: &CatalogEdit, other: &CatalogEdit| {
        let mut first = engine.begin(Isolation::Snapshot).unwrap();
        let mut second = engine.begin(Isolation::Snapshot).unwrap();
        second.define(other).unwrap();
        first.define(one).unwrap();
        first.commit().unwrap();
        second.commit()
    };
    assert!(both(&create("a"), &create("b")).is_ok());
    assert!(conflicts(both(&create("c"), &create("c"))));
    assert!(conflicts(both(&comment("t"), &comment("t"))));
    assert!(both(&comment("t"), &comment("u")).is_ok());
    assert!(conflicts(both(&rename("u"), &create("w"))));
    engine.define(&schema(CatalogEdit::CreateSchema)).unwrap();
    assert!(conflicts(both(&schema(CatalogEdit::DropSchema), &create("s.x"))));
    // One that is done at once counts as well.
    let mut tx = engine.begin(Isolation::Snapshot).unwrap();
    tx.define(&CatalogEdit::RenameTable { from: "t".into(), to: "x".into() }).unwrap();
    engine.define(&drop_t).unwrap();
    assert!(conflicts(tx.commit()));
    // Rows that go to a table which is dropped meanwhile.
    let t = engine.create_table(TableDefinition::key_value("t")).unwrap();
    let (mut writes, mut drops) =
        (engine.begin(Isolation::Snapshot).unwrap(), engine.begin(Isolation::Snapshot).unwrap());
    writes.put(t, b"a", b"1").unwrap();
    drops.define(&drop_t).unwrap();
    drops.commit().unwrap();
    assert!(matches!(writes.commit(), Err(Error::Conflict(_) | Error::NotFound(_))));
    assert_sound(&engine);
}

/// Keeps away: readers that find a part of what a commit has made: a table without its rows, both or neither of two.
#[test]
fn readers_find_all_of_a_commit_or_nothing() {
    let engine =
        Engine::open(SimDisk::new(5).env(), Options { memtable_bytes: 1 << 20, ..Options::default() });
    let engine = Arc::new(engine.unwrap().0);
    let define = |round: u32| {
        let mut tx = engine.begin(Isolation::Snapshot).unwrap();
        if round > 0 {
            tx.define(&CatalogEdit::DropTable(format!("t{}", round - 1))).unwrap();
        }
        let table = TableDefinition::new(format!("t{round}")).column("id", Type::U32).column("x", Type::I64);
        let storage = if round.is_multiple_of(2) { Storage::BTree } else { Storage::Column };
        tx.define(&CatalogEdit::CreateTable(table.primary_key(&["id"]).storage(storage))).unwrap();
        tx.create_index(&IndexDefinition::new("by_x", format!("t{round}"), &["x"])).unwrap();
        let (id, definition) = tx.catalog().find(&format!("t{round}")).unwrap();
        let format = RowFormat::new(definition.clone()).unwrap();
        for number in 0..20_u32 {
            let row = [Datum::U32(number), Datum::I64(7)];
            let (key, row) = (format.encode_key(&row, 0).unwrap(), format.encode_row(&row).unwrap());
            tx.put(id, &key, &row).unwrap();
        }
        tx.commit().unwrap();
    };
    define(0);
    let stop = Stop::new();
    stop.scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while stop.goes_on() {
                    let snapshot = engine.snapshot();
                    let tables: Vec<_> = snapshot.catalog().tables().map(|(id, _)| id).collect();
                    assert_eq!(tables.len(), 1, "{:?}", names(&snapshot));
                    assert_eq!(snapshot.count(tables[0], None, None).unwrap(), 20);
                    let index = snapshot.catalog().find_index("by_x").unwrap().0;
                    assert_eq!(snapshot.count(index, None, None).unwrap(), 20);
                }
            });
        }
        (1..60).for_each(define);
    });
    assert_sound(&engine);
}

fn typed(engine: &Arc<Engine>, storage: Storage) -> (TableId, RowFormat) {
    let table = TableDefinition::new("t").column("id", Type::I64).column_nullable("x", Type::I64);
    let id = engine.create_table(table.primary_key(&["id"]).storage(storage)).unwrap();
    (id, RowFormat::new(engine.current().catalog.table(id).unwrap().clone()).unwrap())
}

fn encode(format: &RowFormat, id: i64, x: Datum) -> (Vec<u8>, Vec<u8>) {
    let row = [Datum::I64(id), x];
    (format.encode_key(&row, 0).unwrap(), format.encode_row(&row).unwrap())
}

/// Keeps away: rows without an entry of an index that a transaction makes, two with the same values of a unique one, and others that wait
/// for ever.
#[test]
fn an_index_is_made_over_rows_that_nobody_else_changes() {
    for storage in [Storage::BTree, Storage::Column, Storage::Memory, Storage::Append] {
        let engine = engine();
        let (t, format) = typed(&engine, storage);
        let put = |id: i64, x: i64| {
            let (key, row) = encode(&format, id, x.into());
            engine.put(t, &key, &row)
        };
        (0..3000).for_each(|id| put(id, id * 2).unwrap());
        engine.compact().unwrap();
        put(3000, 6000).unwrap();
        let by_x = IndexDefinition::new("by_x", "t", &["x"]).unique();

        // Somebody writes between the beginning and the index.
        let mut late = engine.begin(Isolation::Snapshot).unwrap();
        put(3001, 6002).unwrap();
        assert!(conflicts(late.create_index(&by_x)));
        drop(late);

        let mut tx = engine.begin(Isolation::Snapshot).unwrap();
        let (key, row) = encode(&format, 5000, Datum::I64(1));
        tx.put(t, &key, &row).unwrap();
        let before = engine.begin(Isolation::Snapshot).unwrap();
        tx.create_index(&by_x).unwrap();
        let index = tx.catalog().find_index("by_x").unwrap().0;
        assert_eq!(tx.count(index, None, None).unwrap(), 3003);
        assert!(matches!(put(7, 99), Err(Error::Lock(_))), "others wait, and not for ever");
        let (key, row) = encode(&format, 5001, Datum::I64(8));
        assert!(matches!(tx.put(t, &key, &row), Err(Error::Exists(_))), "4 has this value");
        tx.commit().unwrap();

        assert!(matches!(put(7, 1), Err(Error::Exists(_))));
        put(7, 99).unwrap();
        let mut before = before;
        let (key, row) = encode(&format, 8, Datum::I64(1));
        before.put(t, &key, &row).unwrap();
        assert!(conflicts(before.commit()), "it does not know the index");
        // Of rows with the same value there is no such index, and all is as before.
        engine.drop_index("by_x").unwrap();
        put(8, 99).unwrap();
        let mut tx = engine.begin(Isolation::Snapshot).unwrap();
        assert!(matches!(tx.create_index(&by_x), Err(Error::Exists(_))));
        tx.put(t, &key, &row).unwrap();
        tx.commit().unwrap();
        assert_eq!(engine.current().catalog.indexes_of(t).count(), 0);
        assert_sound(&engine);
    }
}

/// Keeps away: NULL where a transaction has made a column refuse it, by those who do not know that yet.
#[test]
fn not_null_and_new_columns_go_with_the_transaction() {
    for storage in [Storage::BTree, Storage::Column, Storage::Memory, Storage::Append] {
        let engine = engine();
        let (t, format) = typed(&engine, storage);
        let (key, null) = encode(&format, 1, Datum::Null);
        engine.put(t, &key, &null).unwrap();
        let mut tx = engine.begin(Isolation::Snapshot).unwrap();
        assert!(tx.set_not_null("t", "x").unwrap_err().to_string().contains("key (1)"));
        let (_, row) = encode(&format, 1, Datum::I64(5));
        tx.put(t, &key, &row).unwrap();
        tx.set_not_null("t", "x").unwrap();
        let changes = vec![
            TableChange::rename_column("x", "y"),
            TableChange::AddColumn(Column::new("z", Type::I32).default_value(3)),
        ];
        tx.define(&CatalogEdit::ChangeTable { name: "t".into(), changes }).unwrap();
        let own = RowFormat::new(tx.catalog().table(t).unwrap().clone()).unwrap();
        let value = tx.get(t, &key).unwrap().unwrap();
        assert_eq!(own.decode(&key, &value).unwrap(), [1i64.into(), 5i64.into(), 3i32.into()]);
        let mut older = engine.begin(Isolation::Snapshot).unwrap();
        let (other, null) = encode(&format, 2, Datum::Null);
        older.put(t, &other, &null).unwrap();
        tx.commit().unwrap();
        assert!(older.commit().is_err(), "NULL is refused");
        assert!(engine.put(t, &other, &null).is_err(), "by handles of before, too");
        let columns = engine.current().catalog.table(t).unwrap().columns.clone();
        assert!(!columns[1].nullable && columns[1].name == "y" && columns[2].name == "z");
        assert_sound(&engine);
    }
}

/// Keeps away: transactions that hold tables and wait for each other for ever.
#[test]
fn two_that_hold_tables_do_not_wait_for_ever() {
    let options = Options { lock_timeout: Duration::from_secs(20), ..small_options() };
    let (engine, _) = open(&SimDisk::new(9).env(), &options).unwrap();
    let tables = ["a", "b"].map(|name| engine.create_table(TableDefinition::key_value(name)).unwrap());
    let barrier = std::sync::Barrier::new(2);
    let go = |mine: usize| {
        let mut tx = engine.begin(Isolation::Snapshot).unwrap();
        tx.hold(tables[mine]).unwrap();
        barrier.wait();
        tx.hold(tables[1 - mine]).map(|()| tx.commit().unwrap())
    };
    let (one, other) = std::thread::scope(|scope| {
        let other = scope.spawn(|| go(1));
        (go(0), other.join().unwrap())
    });
    assert!(one.is_ok() != other.is_ok(), "{one:?} {other:?}");
}
