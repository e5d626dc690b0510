//! Rows of column tables by conditions: scans that find them, beside a model, and when there is a scan.

use std::{collections::BTreeMap, sync::Arc};

use ambo_codec::{Type, Value as Datum, column::Compare};
use ambo_engine::{
    Error,
    catalog::{Column, IndexDefinition, Storage, TableChange, TableDefinition},
    database::{Engine, FoundRows, Isolation, LoadOptions, Options, RowFormat, Transaction},
    id::TableId,
    io::sim::SimDisk,
    scan::{ColumnBuffer, Filter, Test},
};

use crate::support::{Random, assert_sound, open, small_options};

type Rows = BTreeMap<i64, Vec<Datum>>;

/// `(id i64 key, kind i16, name text or NULL, person i32)`.
fn definition() -> TableDefinition {
    TableDefinition::new("t")
        .column("id", Type::I64)
        .column("kind", Type::I16)
        .column_nullable("name", Type::Utf8)
        .column("person", Type::I32)
        .primary_key(&["id"])
        .storage(Storage::Column)
}

fn create(engine: &Arc<Engine>) -> (TableId, RowFormat) {
    let table = engine.create_table(definition()).unwrap();
    (table, format(engine, table))
}

fn format(engine: &Arc<Engine>, table: TableId) -> RowFormat {
    RowFormat::new(engine.current().catalog.table(table).unwrap().clone()).unwrap()
}

fn row(random: &mut Random, id: i64) -> Vec<Datum> {
    let name = match random.below(50) {
        0 => Datum::Null,
        // Longer than a row may be that stays where it is.
        1 if random.one_in(20) => Datum::from("long ".repeat(1000)),
        _ => Datum::from(format!("name {}", random.below(1000))),
    };
    vec![id.into(), Datum::I16(random.below(20) as i16), name, Datum::I32(random.below(5000) as i32)]
}

fn equal(column: usize, value: impl Into<Datum>) -> Filter {
    Filter { column, test: Test::Compare(Compare::Equal, value.into()) }
}

fn take(mut found: FoundRows<'_>, format: &RowFormat) -> Rows {
    let mut rows = Rows::new();
    while let Some((key, row)) = found.next_row().unwrap() {
        let row = format.decode(&key, &row).unwrap();
        let Datum::I64(id) = row[0] else { panic!("{row:?}") };
        assert!(rows.insert(id, row).is_none(), "{id} is found twice");
    }
    rows
}

fn put(tx: &mut Transaction, table: TableId, format: &RowFormat, row: &[Datum]) {
    tx.put(table, &format.encode_key(row, 0).unwrap(), &format.encode_row(row).unwrap()).unwrap();
}

/// Keeps away: rows that are lost, found twice, or put together from the wrong columns, where a scan finds them: in many groups and
/// windows, among deleted and replaced ones, not compacted, long, written by the transaction itself, with columns that came and went.
#[test]
fn scans_find_what_is_there() {
    let disk = SimDisk::new(20);
    let mut random = Random::new(20);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    let (table, mut format) = create(&engine);
    let mut model = Rows::new();
    for round in 0..4 {
        for _ in 0..10 {
            let mut tx = engine.begin(Isolation::Snapshot).unwrap();
            for _ in 0..1500 {
                let id = random.below(30_000) as i64;
                let mut row = row(&mut random, id);
                if round > 1 {
                    // `kind` went, `more` came.
                    let kind = row.remove(1);
                    row.push(kind);
                }
                if random.one_in(10) {
                    tx.delete(table, &format.encode_key(&row, 0).unwrap()).unwrap();
                    model.remove(&id);
                } else {
                    put(&mut tx, table, &format, &row);
                    model.insert(id, row);
                }
            }
            tx.commit().unwrap();
        }
        match round {
            0 => engine.compact().unwrap(),
            1 => {
                engine.compact_due().unwrap();
                let more = Column::new("more", Type::I16).default_value(Datum::I16(7));
                let changes = [TableChange::DropColumn("kind".into()), TableChange::AddColumn(more)];
                engine.change_table("t", &changes).unwrap();
                format = self::format(&engine, table);
                for row in model.values_mut() {
                    row.remove(1);
                    row.push(Datum::I16(7));
                }
            }
            2 => engine.flush().unwrap(),
            _ => {}
        }
        let (kind, name, person) = if round == 0 { (1, 2, 3) } else { (3, 1, 2) };
        let mut tx = engine.begin(Isolation::Snapshot).unwrap();
        let mut seen = model.clone();
        for _ in 0..100 {
            let id = random.below(30_000) as i64;
            let Some(mut row) = seen.remove(&id) else { continue };
            if random.one_in(3) {
                tx.delete(table, &format.encode_key(&row, 0).unwrap()).unwrap();
                continue;
            }
            row[person] = Datum::I32(-1);
            put(&mut tx, table, &format, &row);
            seen.insert(id, row);
        }
        let snapshot = engine.snapshot();
        let less = Filter { column: person, test: Test::Compare(Compare::Less, 2500i32.into()) };
        let long = Filter { column: name, test: Test::Prefix(b"long".to_vec()) };
        let null = Filter { column: name, test: Test::IsNull };
        for filters in [
            vec![equal(kind, Datum::I16(7))],
            vec![less.clone(), equal(kind, Datum::I16(7))],
            vec![equal(person, -1i32)],
            vec![less],
            vec![long],
            vec![null],
            vec![equal(person, -2i32)],
        ] {
            let is_meant = |row: &Vec<Datum>| {
                filters.iter().all(|Filter { column, test }| match (test, &row[*column]) {
                    (Test::Compare(Compare::Equal, constant), value) => value == constant,
                    (Test::Compare(..), Datum::I32(value)) => *value < 2500,
                    (Test::Prefix(_), Datum::Utf8(text)) => text.starts_with("long"),
                    (Test::IsNull, value) => value.is_null(),
                    (_, _) => false,
                })
            };
            let of = |rows: &Rows| -> Rows {
                rows.iter().filter(|(_, row)| is_meant(row)).map(|(id, row)| (*id, row.clone())).collect()
            };
            let found = snapshot.find_rows(table, &filters).unwrap();
            assert_eq!(found.path(), "a scan of columns");
            assert!(take(found, &format) == of(&model), "round {round}: {filters:?}");
            let found = tx.find_rows(table, &filters).unwrap();
            assert!(take(found, &format) == of(&seen), "round {round}: {filters:?}");
        }
        drop(tx);
    }
    assert_sound(&engine);
}

/// 300,000 compacted rows. There are 70 of each person, all over the table, and 400 of each kind, one behind the other; the name follows
/// from the person.
fn load(engine: &Arc<Engine>) -> TableId {
    let (table, _) = create(engine);
    let load = engine.column_load(table, LoadOptions::default()).unwrap();
    let mut writer = load.writer();
    for first in (0..300_000i64).step_by(10_000) {
        let mut columns = [Type::I64, Type::I16, Type::Utf8, Type::I32].map(ColumnBuffer::new);
        for id in first..first + 10_000 {
            let person = (id % 4286) as i32;
            let row = [
                Datum::I64(id),
                Datum::I16((id / 400) as i16),
                Datum::from(format!("name {}", person % 500)),
                Datum::I32(person),
            ];
            columns.iter_mut().zip(&row).for_each(|(column, value)| column.push(value.into()).unwrap());
        }
        writer.push(columns.into()).unwrap();
    }
    writer.finish().unwrap();
    load.finish().unwrap();
    table
}

/// Keeps away: a scan of a large table for rows that an index finds at once, look-ups where a scan is far quicker, bitmap indexes that are
/// not asked or are made for a few rows.
#[test]
fn what_costs_least_is_done() {
    let options = Options { cache_bytes: 64 << 20, memtable_bytes: 64 << 20, ..small_options() };
    let (engine, _) = open(&SimDisk::new(21).env(), &options).unwrap();
    let table = load(&engine);
    engine.create_index(&IndexDefinition::new("person", "t", &["person"])).unwrap();
    engine.compact().unwrap();
    let format = format(&engine, table);
    let path_and_rows = |filters: &[Filter]| {
        let snapshot = engine.snapshot();
        let found = snapshot.find_rows(table, filters).unwrap();
        (found.path(), take(found, &format).len())
    };
    let people = |most: i32| Filter { column: 3, test: Test::Between(0i32.into(), most.into()) };
    let scan = "a scan of columns";
    let index = "index \"main.person\"";
    assert_eq!(path_and_rows(&[people(0)]), (index.into(), 70));
    assert_eq!(path_and_rows(&[people(99)]), (scan.into(), 7000));
    // Bounds leave one group of rows to be asked.
    assert_eq!(path_and_rows(&[people(0), equal(1, Datum::I16(10))]), (scan.into(), 1));
    let keys = |most: i64| Filter { column: 0, test: Test::Between(0i64.into(), most.into()) };
    assert_eq!(path_and_rows(&[keys(50)]), ("a range of keys".into(), 51));
    assert_eq!(path_and_rows(&[keys(99_999), people(9)]).0, scan);
    assert_eq!(path_and_rows(&[keys(50), people(99)]).0, "a range of keys");
    // With bitmap indexes, once their postings are there.
    let bitmap = |name: &str| IndexDefinition::new(format!("bitmap_{name}"), "t", &[name]).bitmap();
    engine.create_index(&bitmap("name")).unwrap();
    let (of_name, nowhere) = (equal(2, "name 0"), equal(2, "name 25 or so"));
    assert_eq!(path_and_rows(&[people(0), nowhere.clone()]), (index.into(), 0));
    assert_eq!(path_and_rows(std::slice::from_ref(&of_name)).0, "a scan of columns with bitmap indexes");
    assert_eq!(path_and_rows(&[people(0), of_name]), (index.into(), 70), "the name is in every group");
    assert_eq!(path_and_rows(&[people(0), nowhere]), ("a scan of columns with bitmap indexes".into(), 0));
    // Rows that are not compacted would have to become columns first.
    let mut tx = engine.begin(Isolation::Snapshot).unwrap();
    for id in 0..20_000 {
        put(&mut tx, table, &format, &row(&mut Random::new(id as u64), id));
    }
    tx.commit().unwrap();
    assert_eq!(path_and_rows(&[people(0), equal(1, Datum::I16(60))]).0, index);
    assert_sound(&engine);
}

/// Keeps away: a serializable transaction that does not know of rows that its scan would find now, or of any but those that it may mean.
#[test]
fn scans_are_reads_of_serializable_transactions() {
    let disk = SimDisk::new(22);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    let (table, format) = create(&engine);
    let mut tx = engine.begin(Isolation::Snapshot).unwrap();
    for id in 0..20_000 {
        put(&mut tx, table, &format, &row(&mut Random::new(id as u64), id));
    }
    tx.commit().unwrap();
    engine.compact().unwrap();
    let from = Filter { column: 0, test: Test::Compare(Compare::GreaterEqual, 10_000i64.into()) };
    for (filters, new, conflicts) in [
        (vec![equal(1, Datum::I16(3))], 30_000i64, true),
        (vec![equal(1, Datum::I16(3)), from.clone()], 30_001, true),
        (vec![equal(1, Datum::I16(3)), from], 9_000, false),
    ] {
        let mut tx = engine.begin(Isolation::Serializable).unwrap();
        let found = tx.find_rows(table, &filters).unwrap();
        assert_eq!(found.path(), "a scan of columns");
        let count = take(found, &format).len();
        put(&mut tx, table, &format, &row(&mut Random::new(1), 40_000 + count as i64));
        let mut other = engine.begin(Isolation::Snapshot).unwrap();
        put(&mut other, table, &format, &[new.into(), Datum::I16(3), Datum::Null, Datum::I32(0)]);
        other.commit().unwrap();
        let result = tx.commit();
        assert_eq!(matches!(result, Err(Error::Conflict(_))), conflicts, "{filters:?}: {result:?}");
    }
    assert_sound(&engine);
}
