//! Loads and transactions that go on while segments are merged in the background.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicBool, atomic::Ordering},
    thread,
};

use ambo_codec::{Type, Value as Datum};
use ambo_engine::{
    Error,
    catalog::{Storage, TableDefinition},
    database::{Duplicates, Engine, Isolation, LoadOptions, Options, RowFormat, Running, Sync},
    id::TableId,
    io::sim::SimDisk,
};

use crate::{
    loads::columns,
    support::{Random, assert_sound, rows, small_options},
};

const KEYS: u64 = 60_000;
type Model = BTreeMap<i64, i64>;

fn options() -> Options {
    Options {
        cache_bytes: 16 << 20,
        memtable_bytes: 1 << 20,
        log_segment_bytes: 1 << 20,
        background_threads: true,
        background_merge: true,
        sync: Sync::Off,
        ..small_options()
    }
}

fn row(key: i64, value: i64) -> Vec<Datum> {
    vec![Datum::I64(key), Datum::I64(value)]
}

/// Replaces rows of even keys, thousands at once.
fn load(engine: &Arc<Engine>, table: TableId, loads: u64) -> Model {
    let mut random = Random::new(1);
    let mut model = Model::new();
    let definition = engine.current().catalog.table(table).unwrap().clone();
    for _ in 0..loads {
        let from = random.below(KEYS);
        let some: Model = (0..random.below(6000))
            .map(|_| ((2 * ((from + random.below(KEYS / 4)) % KEYS)) as i64, random.next() as i64))
            .collect();
        let options = LoadOptions { duplicates: Duplicates::KeepLast, threads: 2, ..LoadOptions::default() };
        let load = engine.column_load(table, options).unwrap();
        let mut writer = load.writer();
        let rows: Vec<_> = some.iter().map(|(key, value)| row(*key, *value)).collect();
        writer.push(columns(&definition, &rows)).unwrap();
        writer.finish().unwrap();
        load.finish().unwrap();
        model.extend(some);
    }
    model
}

/// Changes and deletes rows of odd keys, some at once.
fn write(engine: &Arc<Engine>, table: TableId, format: &RowFormat, is_over: &AtomicBool) -> Model {
    let mut random = Random::new(2);
    let mut model = Model::new();
    while !is_over.load(Ordering::Relaxed) {
        let change = |random: &mut Random| {
            let value = (!random.one_in(4)).then(|| random.next() as i64);
            ((2 * random.below(KEYS) + 1) as i64, value)
        };
        let changes: BTreeMap<_, _> = (0..random.below(200)).map(|_| change(&mut random)).collect();
        let commit = || -> Result<(), Error> {
            let mut tx = engine.begin(Isolation::Snapshot)?;
            for (key, value) in &changes {
                let row = row(*key, value.unwrap_or_default());
                let stored = format.encode_key(&row, 0)?;
                match value {
                    Some(_) => tx.put(table, &stored, &format.encode_row(&row)?)?,
                    None => drop(tx.delete(table, &stored)?),
                }
            }
            tx.commit().map(drop)
        };
        // A load that comes in between is a conflict.
        while let Err(error) = commit() {
            assert!(matches!(error, Error::Conflict(_)), "{error}");
        }
        for (key, value) in changes {
            match value {
                Some(value) => drop(model.insert(key, value)),
                None => drop(model.remove(&key)),
            }
        }
    }
    model
}

fn compare(engine: &Arc<Engine>, table: TableId, format: &RowFormat, model: &Model) {
    let found = rows(&engine.snapshot(), table).unwrap();
    let expected = model.iter().map(|(key, value)| {
        let row = row(*key, *value);
        (format.encode_key(&row, 0).unwrap(), format.encode_row(&row).unwrap())
    });
    assert!(found.into_iter().eq(expected), "other rows than were written");
    assert_sound(engine);
}

/// Keeps away: rows that come back, are lost or doubled where a load or compacting replaced them while their segments were merged; a load
/// that waits for ever, or leaves ever more runs.
#[test]
fn nothing_is_lost_where_segments_are_merged_meanwhile() {
    let disk = SimDisk::new(1);
    let (engine, _) = Engine::open(disk.env(), options()).unwrap();
    let running = Running::start(engine).unwrap();
    let engine = running.engine();
    let definition = TableDefinition::new("t")
        .column("k", Type::I64)
        .column("v", Type::I64)
        .primary_key(&["k"])
        .storage(Storage::Column);
    let table = engine.create_table(definition).unwrap();
    let format = RowFormat::new(engine.current().catalog.table(table).unwrap().clone()).unwrap();
    let is_over = AtomicBool::new(false);
    let model = thread::scope(|scope| {
        let writer = scope.spawn(|| write(engine, table, &format, &is_over));
        let loaded = thread::Builder::new().spawn_scoped(scope, || load(engine, table, 150)).unwrap().join();
        is_over.store(true, Ordering::Relaxed);
        let mut model = writer.join().unwrap();
        model.extend(loaded.unwrap());
        model
    });
    compare(engine, table, &format, &model);
    engine.compact().unwrap();
    compare(engine, table, &format, &model);
    running.close().unwrap();
    drop(running);
    let (engine, _) = Engine::open(disk.env(), options()).unwrap();
    compare(&Arc::new(engine), table, &format, &model);
}
