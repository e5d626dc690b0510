//! The shortest way through everything, on both disks.

use std::io::{Read, Write};

use ambo_engine::{
    catalog::TableDefinition,
    database::{Isolation, Options, Running, Seek},
    io::{Env, sim::SimDisk},
    log::Operation,
    record::Record,
};

use crate::support::{assert_sound, bytes, open, rows, small_options};

fn key(n: u32) -> Vec<u8> {
    format!("key{n:06}").into_bytes()
}

fn value(n: u32) -> Vec<u8> {
    bytes(u64::from(n), 20 + n as usize % 300)
}

fn walk_through(env: &Env, options: &Options) {
    let (engine, report) = open(env, options).unwrap();
    assert!(report.created && report.is_clean());
    let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
    for n in 0..2000 {
        engine.put(table, &key(n), &value(n)).unwrap();
    }
    for n in (0..2000).step_by(3) {
        engine.delete(table, &key(n)).unwrap();
    }
    let expected: Vec<_> = (0..2000).filter(|n| n % 3 != 0).map(|n| (key(n), value(n))).collect();
    let verify = |engine: &std::sync::Arc<ambo_engine::database::Engine>, when: &str| {
        let snapshot = engine.snapshot();
        assert!(rows(&snapshot, table).unwrap() == expected, "rows {when}");
        assert_eq!(snapshot.count(table, None, None).unwrap(), expected.len() as u64, "{when}");
        let (lower, upper) = (key(100), key(400));
        assert_eq!(snapshot.count(table, Some(&lower), Some(&upper)).unwrap(), 200, "{when}");
        assert_eq!(engine.get(table, &key(1)).unwrap().unwrap(), value(1), "{when}");
        assert!(engine.get(table, &key(3)).unwrap().is_none(), "{when}");
        let mut cursor = snapshot.cursor(table).unwrap();
        assert!(cursor.seek(Seek::Lt(&key(3))).unwrap(), "{when}");
        assert_eq!(cursor.key(), key(2), "{when}");
        drop((cursor, snapshot));
        assert_sound(engine);
    };
    verify(&engine, "in memtables");
    engine.flush().unwrap();
    verify(&engine, "in runs");
    engine.compact().unwrap();
    verify(&engine, "compacted");
    engine.vacuum().unwrap();
    verify(&engine, "compacted");
    drop(engine);

    let (engine, report) = open(env, options).unwrap();
    assert!(report.is_clean(), "{report:?}");
    verify(&engine, "reopened");
    drop(engine);
}

/// Keeps away: an engine that does not do the simplest things.
#[test]
fn everything_once_on_the_simulated_disk() {
    walk_through(&SimDisk::new(1).env(), &small_options());
}

/// Keeps away: an engine that works only in the simulation.
#[test]
fn everything_once_on_a_real_disk() {
    let directory = tempfile::tempdir().unwrap();
    walk_through(&Env::os(directory.path(), true).unwrap(), &small_options());
}

/// Keeps away: long values, batches, bulk loads and transactions that lose something on the way.
#[test]
fn the_other_ways_in_and_out() {
    let env = SimDisk::new(2).env();
    let (engine, _) = open(&env, &small_options()).unwrap();
    let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
    let long = bytes(1, 3 << 20);
    engine.put(table, b"long", &long).unwrap();
    let mut stream = engine.put_stream(table, b"stream").unwrap();
    stream.write_all(&long).unwrap();
    stream.finish().unwrap();
    let batch = [
        Operation { table, key: b"a", record: Record::inline(b"1") },
        Operation { table, key: b"b", record: Record::inline(b"2") },
        Operation { table, key: b"a", record: Record::TOMBSTONE },
    ];
    engine.write_batch(&batch, None).unwrap();
    let mut load = engine.bulk_load(table).unwrap();
    for n in 0..500 {
        load.push(&key(n), &value(n)).unwrap();
    }
    assert_eq!(load.finish().unwrap(), 500);
    let mut transaction = engine.begin(Isolation::Snapshot).unwrap();
    transaction.put(table, b"c", b"3").unwrap();
    let savepoint = transaction.savepoint();
    transaction.put(table, b"c", b"4").unwrap();
    transaction.put(table, b"d", &long).unwrap();
    transaction.rollback_to(savepoint).unwrap();
    assert_eq!(transaction.get(table, b"c").unwrap().unwrap(), b"3");
    transaction.commit().unwrap();
    for reopened in [false, true] {
        let engine = match reopened {
            false => engine.clone(),
            true => continue,
        };
        assert!(engine.get(table, b"long").unwrap().unwrap() == long);
    }
    engine.compact().unwrap();
    drop(engine);
    let (engine, _) = open(&env, &small_options()).unwrap();
    for name in [&b"long"[..], b"stream"] {
        let mut read = Vec::new();
        engine.get_stream(table, name).unwrap().unwrap().read_to_end(&mut read).unwrap();
        assert!(read == long);
    }
    assert!(engine.get(table, b"a").unwrap().is_none());
    assert_eq!(engine.get(table, b"b").unwrap().unwrap(), b"2");
    assert_eq!(engine.get(table, b"c").unwrap().unwrap(), b"3");
    assert!(engine.get(table, b"d").unwrap().is_none());
    assert_eq!(engine.get(table, &key(7)).unwrap().unwrap(), value(7));
    assert_sound(&engine);
}

/// Keeps away: background threads that do not start, work or stop.
#[test]
fn with_background_threads() {
    let directory = tempfile::tempdir().unwrap();
    let env = Env::os(directory.path(), true).unwrap();
    let options = Options { background_threads: true, background_merge: true, ..small_options() };
    let (engine, _) = ambo_engine::database::Engine::open(env.clone(), options.clone()).unwrap();
    let running = Running::start(engine).unwrap();
    let table = running.engine().create_table(TableDefinition::key_value("t")).unwrap();
    for n in 0..3000 {
        running.engine().put(table, &key(n), &value(n)).unwrap();
    }
    running.close().unwrap();
    drop(running);
    let (engine, report) = open(&env, &small_options()).unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(rows(&engine.snapshot(), table).unwrap().len(), 3000);
    assert_sound(&engine);
}
