//! Single loads: what they refuse, what they leave, who sees them.

use std::sync::Arc;

use ambo_codec::{Type, Value};
use ambo_engine::{
    Error,
    catalog::{Storage, TableDefinition},
    database::{Duplicates, Engine, Isolation, LoadOptions, Loaded, RowFormat},
    id::TableId,
    io::{
        Disk,
        sim::{Fault, FaultKind, Op, SimDisk},
    },
    scan::ColumnBuffer,
};

use super::rows::columns;
use crate::support::{Random, assert_sound, open, rows, small_options};

fn table() -> TableDefinition {
    let table = TableDefinition::new("t").column("id", Type::I64).column_nullable("v", Type::Utf8);
    table.primary_key(&["id"]).storage(Storage::Column)
}

fn world(definition: &TableDefinition) -> (SimDisk, Arc<Engine>, TableId) {
    let disk = SimDisk::new(3);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    let table = engine.create_table(definition.clone()).unwrap();
    (disk, engine, table)
}

fn batch(ids: impl IntoIterator<Item = i64>) -> Vec<ColumnBuffer> {
    let row = |id: i64| vec![Value::I64(id), Value::Utf8(format!("v{id}"))];
    let rows: Vec<_> = ids.into_iter().map(row).collect();
    columns(&table(), &rows)
}

fn load(
    engine: &Arc<Engine>,
    table: TableId,
    batches: Vec<Vec<ColumnBuffer>>,
    options: LoadOptions,
) -> Result<Loaded, Error> {
    let load = engine.column_load(table, options)?;
    let mut writer = load.writer();
    batches.into_iter().try_for_each(|batch| writer.push(batch))?;
    writer.finish()?;
    load.finish()
}

fn segments(disk: &SimDisk) -> usize {
    disk.list().unwrap().iter().filter(|name| name.starts_with("segment-")).count()
}

/// Keeps away: sorted input that is gathered and cut into small segments, and unsorted input that is never merged.
#[test]
fn sorted_input_makes_full_segments() {
    let (disk, engine, table) = world(&table());
    let few = LoadOptions { memory_bytes: 1 << 20, ..LoadOptions::default() };
    let batches = (0..50).map(|n| batch(n * 4000..(n + 1) * 4000)).collect();
    assert_eq!(load(&engine, table, batches, few.clone()).unwrap().rows, 200_000);
    let space = engine.info().unwrap().tables[0].segments.clone().unwrap();
    assert_eq!((space.runs, space.rows), (1, 200_000));
    assert!(space.segments <= 5, "{} segments", space.segments);
    // The other way round, and no two neighbours together.
    let mut random = Random::new(5);
    let mut ids: Vec<i64> = (200_000..300_000).collect();
    for index in 0..ids.len() {
        ids.swap(index, random.below(index as u64 + 1) as usize);
    }
    let batches = ids.chunks(5000).map(|ids| batch(ids.iter().copied())).collect();
    assert_eq!(load(&engine, table, batches, few).unwrap().rows, 100_000);
    let space = engine.info().unwrap().tables[0].segments.clone().unwrap();
    assert!(space.runs > 4, "{} runs", space.runs);
    assert_sound(&engine);
    engine.compact_due().unwrap();
    let space = engine.info().unwrap().tables[0].segments.clone().unwrap();
    assert!(space.runs <= 3, "{} runs", space.runs);
    assert_eq!(segments(&disk) as u64, space.segments);
    let found = rows(&engine.snapshot(), table).unwrap();
    let format = RowFormat::new(Arc::new(self::table())).unwrap();
    for (id, (key, record)) in (0..300_000i64).zip(&found) {
        assert_eq!(format.decode(key, record).unwrap(), [Value::I64(id), Value::Utf8(format!("v{id}"))]);
    }
    assert_eq!(found.len(), 300_000);
    assert_sound(&engine);
}

/// Keeps away: values that the table cannot have, and messages that do not say where they are.
#[test]
fn what_cannot_be_is_refused() {
    let decimal = Type::decimal(4, 2).unwrap();
    let definition = TableDefinition::new("t").column("id", Type::I64).column("d", decimal);
    let definition = definition.primary_key(&["id"]).storage(Storage::Column);
    let (disk, engine, table) = world(&definition);
    let row = |id, unscaled| vec![Value::I64(id), Value::Decimal128 { unscaled, scale: 2 }];
    let wide = |rows: &[Vec<Value>]| {
        let ids = rows.iter().map(|row| row[0].clone());
        let mut columns = vec![ColumnBuffer::new(Type::I64), ColumnBuffer::new(decimal)];
        ids.for_each(|id| columns[0].push(id.as_ref()).unwrap());
        rows.iter().for_each(|row| columns[1].push(row[1].as_ref()).unwrap());
        columns
    };
    let null = vec![Value::I64(3), Value::Null];
    let mut too_wide = ColumnBuffer::new(Type::decimal(9, 2).unwrap());
    too_wide.push(Value::Decimal128 { unscaled: 123_456, scale: 2 }.as_ref()).unwrap();
    let ids = |ids: &[i64]| {
        let mut buffer = ColumnBuffer::new(Type::I64);
        ids.iter().for_each(|id| buffer.push(Value::I64(*id).as_ref()).unwrap());
        buffer
    };
    let cases: [(Vec<Vec<ColumnBuffer>>, &[&str]); 4] = [
        (vec![wide(&[row(1, 5), row(2, 5)]), wide(&[null])], &["row 3", "\"d\"", "NULL"]),
        (vec![vec![ids(&[1]), too_wide]], &["\"d\"", "decimal(4,2)", "decimal(9,2)"]),
        (vec![vec![ids(&[1])]], &["2 columns", "1 were given"]),
        (vec![vec![ids(&[1, 2]), ColumnBuffer::new(decimal)]], &["\"d\"", "0 values", "2 rows"]),
    ];
    for (batches, words) in cases {
        let error = load(&engine, table, batches, LoadOptions::default()).unwrap_err();
        let Error::Invalid(what) = &error else { panic!("{error}") };
        assert!(words.iter().all(|word| what.contains(word)), "{what}");
    }
    let mut beyond = ColumnBuffer::new(decimal);
    let unscaled = [5i128, 10_000];
    beyond.extend(ambo_codec::column::ColumnSlice::I128(&unscaled), None).unwrap();
    let error = load(&engine, table, vec![vec![ids(&[1, 2]), beyond]], LoadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("row 2, column \"d\": 100.00 does not fit"), "{error}");

    // A writer that was given up, or is not done.
    let unfinished = engine.column_load(table, LoadOptions::default()).unwrap();
    drop(unfinished.writer());
    assert!(matches!(unfinished.finish(), Err(Error::Invalid(_))));
    let open = engine.column_load(table, LoadOptions::default()).unwrap();
    let _writer = open.writer();
    assert!(matches!(open.finish(), Err(Error::Invalid(_))));
    assert!(rows(&engine.snapshot(), table).unwrap().is_empty() && segments(&disk) == 0);

    let rows_table = engine.create_table(TableDefinition::key_value("r")).unwrap();
    let several = TableDefinition::new("s").column("k", Type::I64).primary_key(&["k"]).duplicates();
    let several = engine.create_table(several.storage(Storage::Column)).unwrap();
    for (table, word) in [(rows_table, "btree"), (several, "several rows")] {
        let error = engine.column_load(table, LoadOptions::default()).err().unwrap();
        assert!(matches!(&error, Error::Invalid(what) if what.contains(word)), "{error}");
    }
    assert_sound(&engine);
}

/// Keeps away: rows without a key in another order than they were given, and numbers that are given twice.
#[test]
fn rows_without_a_key_are_numbered() {
    let definition = TableDefinition::new("t").column("v", Type::I64).storage(Storage::Column);
    let (_disk, engine, table) = world(&definition);
    let shared = engine.current().table(table).unwrap().shared.clone();
    let first = shared.take_row_number();
    let format = RowFormat::new(Arc::new(definition.clone())).unwrap();
    let put = |number: u64, value: i64| {
        let row = [Value::I64(value)];
        let key = format.encode_key(&row, number).unwrap();
        engine.put(table, &key, &format.encode_row(&row).unwrap()).unwrap();
    };
    put(first, -1);
    let values = |from: i64, to: i64| {
        let rows: Vec<_> = (from..to).map(|value| vec![Value::I64(value)]).collect();
        columns(&definition, &rows)
    };
    let load = engine.column_load(table, LoadOptions::default()).unwrap();
    let (mut early, mut late) = (load.writer(), load.writer());
    late.push(values(500, 600)).unwrap();
    early.push(values(0, 400)).unwrap();
    early.push(values(400, 500)).unwrap();
    late.finish().unwrap();
    early.finish().unwrap();
    load.finish().unwrap();
    put(shared.take_row_number(), 600);
    let found: Vec<_> = rows(&engine.snapshot(), table)
        .unwrap()
        .iter()
        .map(|(key, record)| format.decode(key, record).unwrap()[0].clone())
        .collect();
    assert_eq!(found, (-1..=600).map(Value::I64).collect::<Vec<_>>());
    assert_sound(&engine);

    let numbered = TableDefinition::new("n").column("id", Type::I32).column("v", Type::I64);
    let numbered = numbered.primary_key(&["id"]).auto_increment().storage(Storage::Column);
    let table = engine.create_table(numbered.clone()).unwrap();
    let given = [Value::Null, Value::I32(50), Value::Null];
    let rows_given: Vec<_> = given.into_iter().map(|id| vec![id, Value::I64(7)]).collect();
    assert_eq!(
        self::load(&engine, table, vec![columns(&numbered, &rows_given)], LoadOptions::default())
            .unwrap()
            .rows,
        3
    );
    let format = RowFormat::new(Arc::new(numbered)).unwrap();
    let ids: Vec<_> = rows(&engine.snapshot(), table)
        .unwrap()
        .iter()
        .map(|(key, record)| format.decode(key, record).unwrap()[0].clone())
        .collect();
    assert_eq!(ids, [1, 50, 51].map(Value::I32));
    assert_sound(&engine);
}

/// Keeps away: a full disk in the middle of a load that leaves files, or costs more than the load.
#[test]
fn a_full_disk() {
    for op in [Op::Create, Op::Write, Op::Sync] {
        let (disk, engine, table) = world(&table());
        load(&engine, table, vec![batch(0..1000)], LoadOptions::default()).unwrap();
        let file_prefix = Some("segment-".into());
        disk.inject(Fault { op, file_prefix, after: 1, kind: FaultKind::NoSpace, once: false });
        let few = LoadOptions { memory_bytes: 0, ..LoadOptions::default() };
        let batches = || (1..20).map(|n| batch((n * 1000..(n + 1) * 1000).rev())).collect();
        let error = load(&engine, table, batches(), few.clone()).unwrap_err();
        assert!(matches!(&error, Error::DiskFull(what) if what.contains("segment-")), "{op:?}: {error}");
        assert_eq!(segments(&disk), 1, "{op:?}: what was not published is gone");
        engine.put(table, &[9; 8], &rows(&engine.snapshot(), table).unwrap()[0].1).unwrap();
        engine.delete(table, &[9; 8]).unwrap();
        disk.clear_faults();
        load(&engine, table, batches(), few).unwrap();
        assert_eq!(rows(&engine.snapshot(), table).unwrap().len(), 20_000);
        assert_sound(&engine);
    }
}

/// Keeps away: a load that older snapshots see, and transactions that overwrite what they did not see.
#[test]
fn a_load_is_one_commit() {
    let (disk, engine, table) = world(&table());
    let format = RowFormat::new(Arc::new(self::table())).unwrap();
    let stored = |id: i64, v: &str| {
        let row = [Value::I64(id), Value::from(v)];
        (format.encode_key(&row, 0).unwrap(), format.encode_row(&row).unwrap())
    };
    let (key, mine) = stored(7, "mine");
    engine.put(table, &key, &mine).unwrap();
    let other = engine.create_table(TableDefinition::key_value("other")).unwrap();
    let before = engine.snapshot();
    let mut writing = engine.begin(Isolation::Snapshot).unwrap();
    writing.put(table, &stored(8, "x").0, &stored(8, "x").1).unwrap();
    let mut reading = engine.begin(Isolation::Serializable).unwrap();
    assert!(reading.get(table, &stored(9, "").0).unwrap().is_none());
    let mut elsewhere = engine.begin(Isolation::Snapshot).unwrap();
    elsewhere.put(other, b"k", b"v").unwrap();

    let replace = LoadOptions { duplicates: Duplicates::KeepLast, ..LoadOptions::default() };
    let loaded = load(&engine, table, vec![batch(0..100)], replace).unwrap();
    assert_eq!(loaded, Loaded { rows: 100, left_out: 0, replaced: 1 });
    assert_eq!(rows(&before, table).unwrap(), [(key.clone(), mine)]);
    assert_eq!(engine.get(table, &key).unwrap().unwrap(), stored(7, "v7").1[..]);
    assert!(matches!(writing.commit(), Err(Error::Conflict(_))));
    reading.put(other, b"r", b"v").unwrap();
    assert!(matches!(reading.commit(), Err(Error::Conflict(_))));
    elsewhere.commit().unwrap();
    drop(before);

    // What comes later is newer, also after a crash.
    engine.put(table, &key, &stored(7, "later").1).unwrap();
    engine.delete(table, &stored(3, "").0).unwrap();
    drop(engine);
    let (engine, _) = open(&disk.crash().env(), &small_options()).unwrap();
    assert_eq!(engine.get(table, &key).unwrap().unwrap(), stored(7, "later").1[..]);
    assert_eq!(rows(&engine.snapshot(), table).unwrap().len(), 99);
    assert_sound(&engine);
}
