//! Arrow batches in the order of sort keys, beside a map in that order.
#![cfg(feature = "arrow")]

use std::collections::BTreeMap;

use ambo::{
    ColumnBuffer, Compare, Database, Datum, LoadOptions, Options, Row, Select, Storage, Sync, Table,
    TableDefinition, Test, Type,
    arrow::{Batches, Lane},
};
use arrow_array::{RecordBatch, cast::AsArray, types::Int64Type};

fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 20
}

/// Name and day: the sort key, and the primary key behind it.
type Key = (String, i64, i64);

struct World {
    table: Table,
    rows: BTreeMap<Key, i64>,
    ids: BTreeMap<i64, Key>,
    seed: u64,
}

impl World {
    fn new(db: &Database) -> Self {
        let definition = TableDefinition::new("t")
            .column("id", Type::I64)
            .column("value", Type::I64)
            .column("name", Type::Utf8)
            .column("day", Type::I64)
            .primary_key(&["id"])
            .sort_key(&["name", "day"])
            .storage(Storage::Column);
        let table = db.create_table(definition).unwrap();
        Self { table, rows: BTreeMap::new(), ids: BTreeMap::new(), seed: 7 }
    }

    fn row(&mut self, id: i64) -> Row {
        let seed = &mut self.seed;
        let name = ["", "a", "ab", "b", "é"][next(seed) as usize % 5];
        vec![id.into(), (next(seed) as i64 % 1000).into(), name.into(), (next(seed) as i64 % 300).into()]
    }

    fn note(&mut self, row: &Row) {
        let number = |column: usize| row[column].as_ref().as_i64().unwrap();
        let Datum::Utf8(name) = &row[2] else { panic!("a name") };
        let key = (name.clone(), number(3), number(0));
        if let Some(old) = self.ids.insert(number(0), key.clone()) {
            self.rows.remove(&old);
        }
        self.rows.insert(key, number(1));
    }

    fn load(&mut self, ids: std::ops::Range<i64>) {
        let load = self.table.load(LoadOptions::default()).unwrap();
        let mut columns: Vec<_> =
            [Type::I64, Type::I64, Type::Utf8, Type::I64].into_iter().map(ColumnBuffer::new).collect();
        for id in ids {
            let row = self.row(id);
            columns.iter_mut().zip(&row).for_each(|(column, value)| column.push(value.into()).unwrap());
            self.note(&row);
        }
        let mut writer = load.writer();
        writer.push(columns).unwrap();
        writer.finish().unwrap();
        load.finish().unwrap();
    }

    fn expected(&self, below: i64, backward: bool) -> Vec<(i64, i64)> {
        let rows = self.rows.iter().filter(|(_, value)| **value < below);
        let mut rows: Vec<_> = rows.map(|((_, _, id), value)| (*id, *value)).collect();
        if backward {
            rows.reverse();
        }
        rows
    }
}

/// Ids and values of batches.
fn pairs(batches: impl Iterator<Item = ambo::Result<RecordBatch>>) -> Vec<(i64, i64)> {
    let mut out = Vec::new();
    for batch in batches {
        let batch = batch.unwrap();
        assert!(batch.num_rows() > 0);
        let column = |place: usize| batch.column(place).as_primitive::<Int64Type>().values().clone();
        out.extend(column(1).iter().copied().zip(column(0).iter().copied()));
    }
    out
}

fn check(world: &World, batches: impl Fn(&Select) -> Batches) {
    for below in [1, 500, 2000] {
        // The sort key is not among the columns that are asked for.
        let select = world.table.select(&["value", "id"]).unwrap();
        let select = select.filter("value", Test::Compare(Compare::Less, below.into())).unwrap();
        for backward in [false, true] {
            let expected = world.expected(below, backward);
            let ordered = |batches: Batches| match backward {
                true => batches.ordered().rev(),
                false => batches.ordered(),
            };
            assert_eq!(pairs(ordered(batches(&select))), expected, "{below} {backward}");
            for limit in [0, 1, 100, 9000] {
                let some = pairs(ordered(batches(&select).limit(limit)));
                assert_eq!(
                    some,
                    expected[..expected.len().min(limit as usize)],
                    "{below} {backward} {limit}"
                );
            }
            let place: BTreeMap<i64, usize> =
                expected.iter().enumerate().map(|(place, (id, _))| (*id, place)).collect();
            for wanted in [1, 5] {
                let lanes = batches(&select).lanes(wanted);
                assert!(lanes.len() >= wanted);
                let lane = |lane: Lane| pairs(if backward { lane.rev() } else { lane });
                let lanes: Vec<_> = lanes.into_iter().map(lane).collect();
                assert!(lanes.iter().all(|lane| lane.is_sorted_by_key(|(id, _)| place[id])));
                let mut all = lanes.concat();
                all.sort_by_key(|(id, _)| place[id]);
                assert_eq!(all, expected);
            }
        }
    }
    // Without columns the rows are counted all the same.
    let none = world.table.select(&[]).unwrap();
    let rows = |batch: ambo::Result<RecordBatch>| batch.unwrap().num_rows();
    assert_eq!(batches(&none).ordered().map(rows).sum::<usize>(), world.rows.len());
    assert_eq!(batches(&none).ordered().rev().map(rows).sum::<usize>(), world.rows.len());
}

/// Keeps away: rows out of order, lost or doubled where lanes are merged; among them those that are not compacted, and a transaction's own;
/// forwards, backwards, with filters and limits.
#[test]
fn batches_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let db = Options::new().sync(Sync::Off).background_merge(false).open(dir.path()).unwrap();
    let mut world = World::new(&db);
    let now = |select: &Select| select.batches().unwrap();
    assert_eq!(pairs(now(&world.table.select(&["value", "id"]).unwrap()).ordered()), []);
    // Runs of segments that overlap.
    world.load(0..30_000);
    world.load(30_000..50_000);
    assert_eq!(db.info().unwrap().tables[0].segments.as_ref().unwrap().runs, 2);
    check(&world, now);
    // Fresh rows in a run and in the memtable, some in the place of compacted ones.
    for step in 0..6000 {
        let id = next(&mut world.seed) as i64 % 60_000;
        let row = world.row(id);
        world.table.upsert_row(&row).unwrap();
        world.note(&row);
        if step == 3000 {
            db.flush().unwrap();
        }
    }
    check(&world, now);
    let mut tx = db.begin().unwrap();
    for _ in 0..100 {
        let id = next(&mut world.seed) as i64 % 60_000;
        let row = world.row(id);
        tx.upsert_row(&world.table, &row).unwrap();
        world.note(&row);
    }
    check(&world, |select| tx.batches(select).unwrap());
    tx.commit().unwrap();
    db.compact().unwrap();
    check(&world, now);
    assert_eq!(db.check().unwrap().problems, Vec::<String>::new());
}

/// Keeps away: batches that are copied, or read row by row, where one lane has all rows of a stretch.
#[test]
fn what_is_not_merged_is_handed_out_whole() {
    let db = Options::new().sync(Sync::Off).open_in_memory().unwrap();
    let mut world = World::new(&db);
    world.load(0..50_000);
    db.compact().unwrap();
    // One fresh row, behind all others.
    let last = vec![50_000.into(), 1.into(), "\u{10ffff}".into(), 0.into()];
    world.table.upsert_row(&last).unwrap();
    let select = world.table.select(&["value", "id"]).unwrap();
    let sizes: Vec<usize> =
        select.batches().unwrap().ordered().map(|batch| batch.unwrap().num_rows()).collect();
    assert_eq!(sizes, [8192, 8192, 8192, 8192, 8192, 8192, 849]);
    assert_eq!(db.check().unwrap().problems, Vec::<String>::new());
}
