//! Statistics beside what a walk finds.

use std::{cmp::Ordering, collections::BTreeSet, sync::Arc};

use ambo_codec::{Type, Value as Datum};
use ambo_engine::{
    catalog::{IndexDefinition, Storage, TableDefinition},
    database::{ColumnStatistics, Engine, Figure, Isolation, RowFormat, TableStatistics},
    id::TableId,
    io::sim::SimDisk,
};

use crate::support::{Random, assert_sound, open, rows, small_options};

const NAME: usize = 1;
const PRICE: usize = 3;

fn create(engine: &Arc<Engine>, storage: Storage) -> (TableId, RowFormat) {
    let definition = TableDefinition::new("t")
        .column("id", Type::I64)
        .column_nullable("name", Type::Utf8)
        .column_nullable("day", Type::Date32)
        .column("price", Type::decimal(9, 2).unwrap())
        .column_nullable("code", Type::U16)
        .primary_key(&["id"])
        .storage(storage);
    let id = engine.create_table(definition).unwrap();
    engine.create_index(&IndexDefinition::new("code", "t", &["code"]).unique()).unwrap();
    let definition = engine.current().catalog.table(id).unwrap().clone();
    (id, RowFormat::new(definition).unwrap())
}

fn row(random: &mut Random, id: i64) -> Vec<Datum> {
    let name = match random.below(5) {
        0 => Datum::Null,
        1 => Datum::from("é".repeat(random.below(30) as usize)),
        _ => Datum::from(format!("{:x}{}", random.below(1 << 20), "-".repeat(random.below(40) as usize))),
    };
    let day = if random.one_in(3) { Datum::Null } else { Datum::Date32(random.below(4000) as i32 - 2000) };
    let code = if id % 3 == 0 { Datum::Null } else { Datum::U16(id as u16) };
    let price = Datum::Decimal128 { unscaled: i128::from(random.below(100_000)) - 50_000, scale: 2 };
    vec![id.into(), name, day, price, code]
}

/// That statistics say nothing that is not so. Counts what is exact.
fn compare(found: &TableStatistics, rows: &[Vec<Datum>], exact: &mut u64) {
    let mut bounds = 0;
    let mut at_most = |figure: Figure<u64>, truth: u64| match figure.is_exact {
        true => {
            *exact += 1;
            assert_eq!(figure.value, truth);
        }
        false => assert!(figure.value >= truth, "{} {truth}", figure.value),
    };
    at_most(found.rows, rows.len() as u64);
    for (column, figures) in found.columns.iter().enumerate() {
        let ColumnStatistics { nulls, min, max, distinct, .. } = figures;
        let values: BTreeSet<String> =
            rows.iter().map(|row| format!("{:?}", row[column])).filter(|value| value != "Null").collect();
        at_most(*nulls, rows.iter().filter(|row| row[column].is_null()).count() as u64);
        if let Some(distinct) = distinct.filter(|distinct| distinct.is_exact) {
            assert_eq!(distinct.value, values.len() as u64);
        }
        for (bound, further) in [(min, Ordering::Less), (max, Ordering::Greater)] {
            let Some(bound) = bound else { continue };
            let mut is_there = false;
            for value in rows.iter().map(|row| &row[column]).filter(|value| !value.is_null()) {
                let order = value.as_ref().compare(bound.value.as_ref());
                assert_ne!(order, further, "column {column}: {value:?} beyond {bound:?}");
                is_there |= order == Ordering::Equal;
            }
            assert!(is_there || !bound.is_exact, "column {column}: nobody has {bound:?}");
            bounds += u64::from(bound.is_exact);
        }
    }
    *exact += bounds;
}

/// Keeps away: bounds that leave values out, and figures called exact that are not, for tables compacted, not compacted, with deleted rows,
/// with many newer rows and with a transaction's own; in the past, too. And statistics that know nothing.
#[test]
fn statistics_are_what_a_walk_finds() {
    for (seed, storage) in
        [Storage::BTree, Storage::Memory, Storage::Column, Storage::Append].into_iter().enumerate()
    {
        let mut random = Random::new(seed as u64);
        let (engine, _) = open(&SimDisk::new(seed as u64).env(), &small_options()).unwrap();
        let (table, format) = create(&engine, storage);
        let all = |snapshot: &ambo_engine::database::Snapshot| -> Vec<Vec<Datum>> {
            rows(snapshot, table).unwrap().iter().map(|(key, row)| format.decode(key, row).unwrap()).collect()
        };
        let mut exact = 0;
        let mut past = Vec::new();
        compare(&engine.snapshot().statistics(table).unwrap(), &[], &mut exact);
        for (round, writes) in [30, 300, 2000, 0, 50, 700, 1, 3000, 0, 5].into_iter().enumerate() {
            for _ in 0..writes {
                let id = random.below(2000) as i64 - 1000;
                let row = row(&mut random, id);
                let key = format.encode_key(&row, 0).unwrap();
                match random.one_in(4) {
                    true => engine.delete(table, &key).unwrap(),
                    false => engine.put(table, &key, &format.encode_row(&row).unwrap()).unwrap(),
                }
            }
            if round == 9 {
                // Who has the least price goes, four times, and stays as a deleted row of a segment.
                for _ in 0..4 {
                    let there = all(&engine.snapshot());
                    let price = |row: &Vec<Datum>| row[PRICE].clone();
                    let least =
                        there.iter().min_by(|a, b| price(a).as_ref().compare(price(b).as_ref())).unwrap();
                    engine.delete(table, &format.encode_key(least, 0).unwrap()).unwrap();
                    engine.flush().unwrap();
                }
                engine.compact_due().unwrap();
                if storage.traits().by_column {
                    let info = engine.info().unwrap().tables.remove(0);
                    assert!(info.runs == 0 && info.segments.unwrap().deleted_rows >= 4);
                }
            } else if round % 2 == 1 {
                engine.compact().unwrap();
            }
            let snapshot = engine.snapshot();
            compare(&snapshot.statistics(table).unwrap(), &all(&snapshot), &mut exact);
            past.push((all(&snapshot), snapshot));

            let mut tx = engine.begin(Isolation::Snapshot).unwrap();
            for id in [-5000, 1, 2, 5000] {
                let mut row = row(&mut random, id);
                row[4] = Datum::Null;
                tx.put(table, &format.encode_key(&row, 0).unwrap(), &format.encode_row(&row).unwrap())
                    .unwrap();
            }
            let mut seen = Vec::new();
            let mut cursor = tx.cursor(table).unwrap();
            let mut there = cursor.seek(ambo_engine::database::Seek::First).unwrap();
            while there {
                let (key, row) = cursor.row().unwrap();
                seen.push(format.decode(key, row).unwrap());
                there = cursor.next().unwrap();
            }
            compare(&tx.statistics(table).unwrap(), &seen, &mut exact);
            let serializable = engine.begin(Isolation::Serializable).unwrap();
            let mut none = 0;
            compare(
                &serializable.statistics(table).unwrap(),
                past.last().map(|(rows, _)| rows).unwrap(),
                &mut none,
            );
            assert_eq!(none, 0, "a serializable transaction has not read what it is told");
        }
        for (rows, snapshot) in &past {
            compare(&snapshot.statistics(table).unwrap(), rows, &mut exact);
        }
        let least = if storage.traits().by_column { 200 } else { 150 };
        assert!(exact > least, "{storage:?}: only {exact} figures were exact");
        assert_sound(&engine);
    }
}

/// Keeps away: estimates of how many different values there are that are far off, for values in order, values everywhere, and values of a
/// dictionary.
#[test]
fn how_many_different_values() {
    let (engine, _) = open(&SimDisk::new(5).env(), &small_options()).unwrap();
    let definition = TableDefinition::new("t")
        .column("id", Type::I64)
        .column("sorted", Type::I64)
        .column("few", Type::I32)
        .column("town", Type::Utf8)
        .column("hash", Type::I64)
        .primary_key(&["id"])
        .storage(Storage::Column);
    let table = engine.create_table(definition.clone()).unwrap();
    let format = RowFormat::new(Arc::new(definition)).unwrap();
    let mut random = Random::new(5);
    let sample = |column| engine.snapshot().sample_distinct(table, column).unwrap();
    assert_eq!(sample(1), None, "nothing is compacted");
    let rows = 150_000i64;
    for id in 0..rows {
        let hash = random.below(1 << 40) as i64;
        let town = format!("town {}", random.below(300));
        let row = [id.into(), (id / 4).into(), Datum::I32(random.below(9) as i32), town.into(), hash.into()];
        let key = format.encode_key(&row, 0).unwrap();
        engine.put(table, &key, &format.encode_row(&row).unwrap()).unwrap();
    }
    engine.compact().unwrap();
    for (column, truth) in [(0, rows), (1, rows / 4), (2, 9), (3, 300), (4, rows)] {
        let found = sample(column).unwrap() as f64;
        assert!(found > 0.9 * truth as f64 && found < 1.1 * truth as f64, "{column}: {found} {truth}");
    }
    let statistics = engine.snapshot().statistics(table).unwrap();
    assert_eq!(statistics.columns[2].distinct, Some(Figure { value: 9, is_exact: false }));
    assert!(statistics.columns[NAME].bytes.unwrap() > 1000 && statistics.columns[PRICE].bytes.is_some());
    assert!(matches!(
        engine.snapshot().sample_distinct(table, 5),
        Err(ambo_engine::Error::Invalid(what)) if what.contains("no column 5")
    ));
    assert_sound(&engine);
}
