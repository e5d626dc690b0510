//! Tables of storage append: what only they do.

use std::sync::Arc;

use ambo_codec::{Type, Value};
use ambo_engine::{
    Result,
    base::BaseOps,
    catalog::{IndexDefinition, Object, ObjectKind, Records, Retention, Storage, TableDefinition},
    database::{Engine, LoadOptions, Loaded, RowFormat, Seek},
    id::TableId,
    io::sim::{Fault, FaultKind, Op, SimDisk},
    scan::ColumnBuffer,
};

use crate::support::{assert_sound, open, small_options};

const HOUR: i64 = 3_600_000_000;

fn rows(engine: &Arc<Engine>, table: TableId) -> u64 {
    engine.snapshot().count(table, None, None).unwrap()
}

/// Loads rows as an extent.
fn load(
    engine: &Arc<Engine>,
    table: TableId,
    columns: Vec<ColumnBuffer>,
    told: Option<Object>,
) -> Result<Loaded> {
    let load = engine.column_load(table, LoadOptions::default())?;
    let mut writer = load.writer();
    writer.push(columns)?;
    writer.finish()?;
    load.finish_telling(told)
}

/// Events with a time, kept for a day, with an index over what they are: an extent for each of three days, a row each hour.
fn events(engine: &Arc<Engine>) -> TableId {
    let records =
        Records { time: Some(0), retention: Some(Retention::parse("1 day").unwrap()), ..Records::default() };
    let table = TableDefinition::new("events").column("at", Type::Timestamp).column("what", Type::I64);
    let table = engine.create_table(table.storage(Storage::Append).records(records)).unwrap();
    engine.create_index(&IndexDefinition::new("by_what", "events", &["what"])).unwrap();
    for day in 0..3 {
        let (mut at, mut what) = (ColumnBuffer::new(Type::Timestamp), ColumnBuffer::new(Type::I64));
        for hour in day * 24..(day + 1) * 24 {
            at.push((&Value::Timestamp(hour * HOUR)).into()).unwrap();
            what.push((hour % 7).into()).unwrap();
        }
        load(engine, table, vec![at, what], None).unwrap();
    }
    table
}

// Keeps away: rows that go too early, or never, entries of indexes that stay behind, and a snapshot that loses what it sees.
#[test]
fn rows_go_when_their_time_is_over() {
    let disk = SimDisk::new(3);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    let table = events(&engine);
    let before = engine.snapshot();
    let extents = || engine.current().table(table).unwrap().base.segments().len();
    // The first day ends with a row of 23 o'clock, which is a day old 47 hours after the beginning.
    assert_eq!(engine.drop_expired_at(47 * HOUR).unwrap(), 0);
    assert_eq!((rows(&engine, table), extents()), (72, 3));
    assert_eq!(engine.drop_expired_at(47 * HOUR + 1).unwrap(), 24);
    assert_eq!((rows(&engine, table), extents()), (48, 2));
    assert_sound(&engine);
    assert_eq!(before.count(table, None, None).unwrap(), 72);
    assert_eq!(engine.drop_expired_at(47 * HOUR + 1).unwrap(), 0);
    drop(before);
    // A row of the second day becomes one of the fifth, with the same entry of the index: it stays when the second day goes.
    let format = RowFormat::new(engine.current().catalog.table(table).unwrap().clone()).unwrap();
    let mut cursor = engine.snapshot().cursor(table).unwrap();
    assert!(cursor.seek(Seek::First).unwrap());
    let (key, row) = cursor.row().unwrap();
    let (key, mut row) = (key.to_vec(), format.decode(key, row).unwrap());
    drop(cursor);
    row[0] = Value::Timestamp(100 * HOUR);
    engine.put(table, &key, &format.encode_row(&row).unwrap()).unwrap();
    assert_eq!(engine.drop_expired_at(71 * HOUR + 1).unwrap(), 23);
    assert_eq!(rows(&engine, table), 25);
    assert_sound(&engine);
    assert_eq!(engine.drop_expired_at(1000 * HOUR).unwrap(), 25);
    assert_sound(&engine);
    drop(engine);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    assert_eq!(rows(&engine, table), 0);
    assert_sound(&engine);
}

// Keeps away: half of what goes, and an index that has another half of it, whenever the disk fails.
#[test]
fn rows_go_as_a_whole_or_not_at_all() {
    let mut seen = [0, 0];
    for op in [Op::Write, Op::Sync] {
        for after in 0..6 {
            let disk = SimDisk::new(after);
            let (engine, _) = open(&disk.env(), &small_options()).unwrap();
            let table = events(&engine);
            disk.inject(Fault { op, file_prefix: None, after, kind: FaultKind::Io, once: true });
            let dropped = engine.drop_expired_at(48 * HOUR);
            let engine = after_crash(engine, &disk);
            let left = rows(&engine, table);
            assert!(left == 48 || left == 72, "{left} rows are left");
            assert!(dropped.is_err() || left == 48, "rows came back: {op:?} {after}");
            seen[usize::from(left == 48)] += 1;
            assert_sound(&engine);
        }
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

// Keeps away: rows without what was told with them, and what was told without its rows, whenever the disk fails.
#[test]
fn what_is_told_comes_with_its_rows_or_not_at_all() {
    let mut seen = [0, 0];
    for op in [Op::Create, Op::Write, Op::Sync] {
        for after in 0..8 {
            let disk = SimDisk::new(after);
            let (engine, _) = open(&disk.env(), &small_options()).unwrap();
            let table = TableDefinition::new("t").column("x", Type::I64).storage(Storage::Append);
            let table = engine.create_table(table).unwrap();
            let feed = |rows: i64, token: &str| {
                let mut column = ColumnBuffer::new(Type::I64);
                (0..rows).for_each(|n| column.push(n.into()).unwrap());
                let (kind, text) = (ObjectKind::Feed, token.to_owned());
                let told = Object { kind, name: "feed".into(), text, comment: None };
                load(&engine, table, vec![column], Some(told))
            };
            feed(100, "00").unwrap();
            disk.inject(Fault { op, file_prefix: None, after, kind: FaultKind::Io, once: true });
            let done = feed(50, "01").is_ok();
            let engine = after_crash(engine.clone(), &disk);
            let text = engine.current().catalog.find_object(ObjectKind::Feed, "feed").unwrap().text.clone();
            let expected = if text == "01" { 150 } else { 100 };
            assert_eq!(rows(&engine, table), expected, "{op:?} {after}");
            assert!(!done || text == "01", "what was told was lost: {op:?} {after}");
            seen[usize::from(text == "01")] += 1;
            assert_sound(&engine);
        }
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

/// The power goes, and the database is opened again.
fn after_crash(engine: Arc<Engine>, disk: &SimDisk) -> Arc<Engine> {
    let crashed = disk.crash();
    drop(engine);
    crashed.clear_faults();
    open(&crashed.env(), &small_options()).unwrap().0
}
