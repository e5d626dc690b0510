//! Bitmap indexes: scans with them beside rows that are looked at one by one.

use std::{collections::BTreeMap, sync::Arc};

use ambo_codec::{Type, Value as Datum, column::Compare};
use ambo_engine::{
    Error,
    catalog::{IndexDefinition, Storage, TableDefinition},
    database::{Engine, Isolation, Options, RowFormat, ScanPlan},
    id::TableId,
    io::sim::SimDisk,
    scan::{Filter, Test},
};

use crate::support::{Random, assert_sound, ids, open, small_options};

const COLUMNS: [&str; 4] = ["id", "town", "kind", "size"];

/// `(id i64 key, town text or NULL, kind i16, size f64 or NULL)`, each but the key of few values; bitmap indexes on all of them.
fn create(engine: &Arc<Engine>) -> (TableId, RowFormat) {
    let definition = TableDefinition::new("t")
        .column("id", Type::I64)
        .column_nullable("town", Type::Utf8)
        .column("kind", Type::I16)
        .column_nullable("size", Type::F64)
        .primary_key(&["id"])
        .storage(Storage::Column);
    let table = engine.create_table(definition).unwrap();
    for column in COLUMNS {
        engine.create_index(&IndexDefinition::new(format!("by_{column}"), "t", &[column]).bitmap()).unwrap();
    }
    let definition = engine.current().catalog.table(table).unwrap().clone();
    (table, RowFormat::new(definition).unwrap())
}

fn row(random: &mut Random, id: i64) -> Vec<Datum> {
    let town = match random.below(6) {
        0 => Datum::Null,
        // Some segments have a dictionary, some values are nowhere else.
        1 => Datum::from(format!("town {}", random.below(200))),
        _ => Datum::from(["Bern", "", "Brest", "Ghent"][random.below(4) as usize]),
    };
    let size = [Datum::Null, 0.0.into(), (-0.0).into(), f64::NAN.into(), 2.5.into()]
        [random.below(5) as usize]
        .clone();
    vec![id.into(), town, Datum::I16(random.below(5) as i16), size]
}

fn filter(random: &mut Random) -> Filter {
    let column = random.below(4) as usize;
    let constant = |random: &mut Random| {
        let id = random.below(3000) as i64;
        match row(random, id)[column].clone() {
            // Another type of number, which may be no value of the column.
            Datum::I16(kind) if random.one_in(4) => {
                Datum::F64(f64::from(kind) + 0.5 * random.below(2) as f64)
            }
            Datum::I16(kind) if random.one_in(3) => Datum::I64(kind.into()),
            constant => constant,
        }
    };
    let test = match random.below(7) {
        0 => Test::IsNull,
        1 => Test::Compare(Compare::NotEqual, constant(random)),
        2 | 3 => Test::In((0..random.below(4)).map(|_| constant(random)).collect()),
        _ => Test::Compare(Compare::Equal, constant(random)),
    };
    Filter { column, test }
}

fn answers(value: &Datum, test: &Test) -> bool {
    let number = |value: &Datum| value.as_ref().as_f64();
    let equal = |constant: &Datum| match (value, constant) {
        (Datum::Null, _) | (_, Datum::Null) => None,
        (Datum::Utf8(a), Datum::Utf8(b)) => Some(a == b),
        (a, b) => {
            let (a, b) = (number(a).unwrap(), number(b).unwrap());
            Some(a == b || a.is_nan() && b.is_nan())
        }
    };
    match test {
        Test::IsNull => value.is_null(),
        Test::Compare(Compare::Equal, constant) => equal(constant) == Some(true),
        Test::Compare(Compare::NotEqual, constant) => equal(constant) == Some(false),
        Test::In(list) => list.iter().any(|constant| equal(constant) == Some(true)),
        other => unreachable!("{other:?} is not asked here"),
    }
}

/// Keeps away: rows that a bitmap index leaves out or adds, whatever they are compacted in, deleted from or replaced by, and whatever else
/// is asked.
#[test]
fn scans_select_what_rows_answer() {
    let disk = SimDisk::new(8);
    let mut random = Random::new(8);
    let (mut engine, _) = open(&disk.env(), &small_options()).unwrap();
    let (table, format) = create(&engine);
    let mut model: BTreeMap<i64, Vec<Datum>> = BTreeMap::new();
    for round in 0..8 {
        for _ in 0..1500 {
            let id = random.below(3000) as i64;
            let row = row(&mut random, id);
            let key = format.encode_key(&row, 0).unwrap();
            if random.one_in(4) {
                engine.delete(table, &key).unwrap();
                model.remove(&id);
            } else {
                engine.put(table, &key, &format.encode_row(&row).unwrap()).unwrap();
                model.insert(id, row);
            }
        }
        match round % 4 {
            0 => engine.compact_due().unwrap(),
            1 => engine.compact().unwrap(),
            2 => engine.flush().unwrap(),
            _ => {
                drop(engine);
                engine = open(&disk.env(), &small_options()).unwrap().0;
            }
        }
        let mut tx = engine.begin(Isolation::Snapshot).unwrap();
        let mut seen = model.clone();
        for _ in 0..50 {
            let id = random.below(3000) as i64;
            let row = row(&mut random, id);
            tx.put(table, &format.encode_key(&row, 0).unwrap(), &format.encode_row(&row).unwrap()).unwrap();
            seen.insert(id, row);
        }
        let snapshot = engine.snapshot();
        for _ in 0..120 {
            let filters: Vec<_> = (0..1 + random.below(3)).map(|_| filter(&mut random)).collect();
            let plan = ScanPlan { columns: vec![0], filters, ..ScanPlan::default() };
            for (rows, scan) in
                [(&model, snapshot.scan_columns(table, &plan)), (&seen, tx.scan_columns(table, &plan))]
            {
                let is_meant = |row: &Vec<Datum>| {
                    plan.filters.iter().all(|filter| answers(&row[filter.column], &filter.test))
                };
                let expected: Vec<_> =
                    rows.iter().filter(|(_, row)| is_meant(row)).map(|(id, _)| *id).collect();
                assert_eq!(ids(&scan.unwrap()), expected, "round {round}: {:?}", plan.filters);
            }
        }
    }
    assert_sound(&engine);
}

/// Keeps away: a bitmap index that reads the column, or rows that another leaves out.
#[test]
fn counting_reads_no_column() {
    let options = Options { cache_bytes: 64 << 20, ..small_options() };
    let (engine, _) = open(&SimDisk::new(9).env(), &options).unwrap();
    let (table, format) = create(&engine);
    let mut random = Random::new(9);
    for id in 0..30_000 {
        let row = row(&mut random, id);
        engine.put(table, &format.encode_key(&row, 0).unwrap(), &format.encode_row(&row).unwrap()).unwrap();
    }
    engine.compact().unwrap();
    let equal = |column, value: Datum| Filter { column, test: Test::Compare(Compare::Equal, value) };
    let plan = ScanPlan {
        columns: vec![],
        filters: vec![equal(1, "Bern".into()), equal(2, Datum::I16(3))],
        ..ScanPlan::default()
    };
    let snapshot = engine.snapshot();
    let count = || snapshot.scan_columns(table, &plan).unwrap().count(1).unwrap();
    let read = || {
        let info = engine.info().unwrap();
        info.block_hits + info.block_misses
    };
    let first = count();
    assert!(first > 500, "{first}");
    let before = read();
    assert_eq!(count(), first);
    assert_eq!(read() - before, 2, "the postings of two columns of one segment");
    // What no row has leaves no group to be looked at, nor does what no row has together.
    let nowhere = ScanPlan {
        columns: vec![0],
        filters: vec![equal(1, "Rome".into()), equal(0, 3.into())],
        ..ScanPlan::default()
    };
    let scan = snapshot.scan_columns(table, &nowhere).unwrap();
    assert_eq!((scan.units(), scan.count(1).unwrap()), (0, 0));
    assert_sound(&engine);
}

/// Keeps away: a bitmap index where there are no segments, one that is lost with the database, and answers that it cannot give.
#[test]
fn where_they_can_be() {
    let disk = SimDisk::new(10);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    let (table, _) = create(&engine);
    let definition = TableDefinition::new("b").column("id", Type::I64).primary_key(&["id"]);
    engine.create_table(definition).unwrap();
    let invalid = |result: Result<(), Error>, what: &str| {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Invalid(_)) && error.to_string().contains(what), "{error}");
    };
    let index = |table: &str, columns: &[&str]| IndexDefinition::new("i", table, columns).bitmap();
    invalid(engine.create_index(&index("b", &["id"])).map(drop), "storage column");
    invalid(engine.create_index(&index("t", &["id", "town"])).map(drop), "one column");
    invalid(engine.create_index(&index("t", &["id"]).unique()).map(drop), "not unique");
    invalid(engine.set_storage("t", Storage::BTree), "drop it first");
    engine.rename_table("t", "u").unwrap();
    let new = engine.truncate_table("u").unwrap();
    assert_ne!(new, table);
    drop(engine);
    let (engine, _) = open(&disk.crash().env(), &small_options()).unwrap();
    let names: Vec<_> =
        engine.current().catalog.indexes_of(new).map(|(_, index)| index.name.clone()).collect();
    assert_eq!(names.len(), 4);
    let (id, ..) = engine.current().catalog.find_index("by_town").unwrap();
    let values = ["Bern".into()];
    let range = ambo_engine::database::IndexRange::Equal(&values);
    invalid(engine.snapshot().index_scan(id, range).map(drop), "scans by conditions");
    for column in COLUMNS {
        engine.drop_index(&format!("by_{column}")).unwrap();
    }
    engine.set_storage("u", Storage::BTree).unwrap();
    assert_sound(&engine);
}
