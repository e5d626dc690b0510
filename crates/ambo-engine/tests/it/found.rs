//! What the model test has found, each made small.

use std::{io::Write as _, sync::Arc};

use ambo_engine::{
    Error,
    catalog::TableDefinition,
    database::{Engine, Isolation, Options, Sync},
    id::TableId,
    io::sim::{Fault, FaultKind, Op, SimDisk},
};

use crate::support::{assert_sound, bytes, open, rows, small_options};

fn start(disk: &SimDisk, options: &Options) -> (Arc<Engine>, TableId) {
    let (engine, _) = open(&disk.env(), options).unwrap();
    let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
    (engine, table)
}

fn put_long(engine: &Arc<Engine>, table: TableId, key: &[u8], value: &[u8]) {
    let mut stream = engine.put_stream(table, key).unwrap();
    stream.write_all(value).unwrap();
    stream.finish().unwrap();
}

/// Keeps away: a checkpoint that is only in the page cache after a failed sync, built upon after a restart, and gone after a crash.
#[test]
fn a_checkpoint_whose_sync_failed() {
    for kind in [FaultKind::Io, FaultKind::NoSpace] {
        for (seed, after) in (0..40).flat_map(|seed| (0..3).map(move |after| (seed, after))) {
            let disk = SimDisk::new(seed);
            let (engine, table) = start(&disk, &small_options());
            engine.put(table, b"1", b"one").unwrap();
            engine.flush().unwrap();
            engine.put(table, b"2", b"two").unwrap();
            disk.inject(Fault { op: Op::Sync, file_prefix: Some("pages".into()), after, kind, once: true });
            if let Err(error) = engine.flush() {
                // Not "disk full", which says that nothing has happened.
                assert!(matches!(error, Error::Io { .. } | Error::Poisoned(_)), "{error}");
                assert!(matches!(engine.put(table, b"3", b""), Err(Error::Poisoned(_))));
            }
            drop(engine);
            disk.clear_faults();
            let (engine, _) = open(&disk.env(), &small_options()).unwrap();
            engine.put(table, b"3", b"three").unwrap();
            engine.flush().unwrap();
            let disk = disk.crash();
            let (engine, _) = open(&disk.env(), &small_options()).unwrap();
            assert_eq!(rows(&engine.snapshot(), table).unwrap().len(), 3, "seed {seed} {after}");
            assert_sound(&engine);
        }
    }
}

/// Keeps away: pages of a dropped or truncated table that nobody owns when only the log knows that it is gone.
#[test]
fn a_table_that_only_the_log_drops() {
    for truncated in [false, true] {
        let disk = SimDisk::new(1);
        let (engine, table) = start(&disk, &small_options());
        for n in 0..100u32 {
            engine.put(table, &n.to_be_bytes(), &bytes(1, 500)).unwrap();
        }
        put_long(&engine, table, b"long", &bytes(2, 50_000));
        engine.compact().unwrap();
        match truncated {
            true => drop(engine.truncate_table("t").unwrap()),
            false => engine.drop_table("t").unwrap(),
        }
        drop(engine);
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        assert_sound(&engine);
        engine.flush().unwrap();
        assert_sound(&engine);
        drop(engine);
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        assert_sound(&engine);
        assert!(engine.info().unwrap().pages.used_pages < 10);
    }
}

/// Keeps away: a blob that is freed, or cannot be found, while an old snapshot reads it through a memtable or a tree that handed it on.
#[test]
fn a_snapshot_keeps_its_long_values() {
    let long = bytes(3, 40_000);
    for flushed in [false, true] {
        for gone in ["overwritten", "deleted", "dropped", "truncated"] {
            let disk = SimDisk::new(2);
            let (engine, table) = start(&disk, &small_options());
            put_long(&engine, table, b"long", &long);
            if flushed {
                engine.compact().unwrap();
            }
            let (snapshot, transaction) = (engine.snapshot(), engine.begin(Isolation::Snapshot).unwrap());
            engine.put(table, b"other", b"1").unwrap();
            engine.compact().unwrap();
            match gone {
                "overwritten" => put_long(&engine, table, b"long", b"short"),
                "deleted" => engine.delete(table, b"long").unwrap(),
                "dropped" => engine.drop_table("t").unwrap(),
                _ => drop(engine.truncate_table("t").unwrap()),
            }
            let second = engine.create_table(TableDefinition::key_value("second")).unwrap();
            for round in 0..6 {
                put_long(&engine, second, b"long", &bytes(round, 60_000));
                engine.compact().unwrap();
            }
            assert!(snapshot.get(table, b"long").unwrap().unwrap() == long, "{gone} {flushed}");
            assert!(transaction.get(table, b"long").unwrap().unwrap() == long, "{gone} {flushed}");
            assert_eq!(rows(&snapshot, table).unwrap(), [(b"long".to_vec(), long.clone())]);
            assert_sound(&engine);
        }
    }
}

/// Keeps away: "disk full" for a commit whose long value could not be synced: what that lost, no later sync brings back.
#[test]
fn a_long_value_whose_sync_failed() {
    for kind in [FaultKind::Io, FaultKind::NoSpace] {
        for seed in 0..20 {
            let disk = SimDisk::new(seed);
            let (engine, table) = start(&disk, &Options { sync: Sync::Off, ..small_options() });
            engine.flush().unwrap();
            put_long(&engine, table, b"1", &bytes(1, 20_000));
            disk.inject(Fault {
                op: Op::Sync,
                file_prefix: Some("pages".into()),
                after: 0,
                kind,
                once: true,
            });
            let mut stream = engine.put_stream(table, b"2").unwrap();
            stream.write_all(&bytes(2, 20_000)).unwrap();
            let error = stream.finish().unwrap_err();
            assert!(matches!(error, Error::Poisoned(_)), "{error}");
            assert!(engine.flush().is_err());
            let disk = disk.crash();
            let (engine, _) = open(&disk.env(), &small_options()).unwrap();
            for (_, value) in rows(&engine.snapshot(), table).unwrap() {
                assert!(value == bytes(1, 20_000) || value == bytes(2, 20_000));
            }
            assert_sound(&engine);
        }
    }
}

/// Keeps away: ever more runs, until no reader can look into all of them, when flushes come faster than merges or nothing
/// is merged in the background.
#[test]
fn runs_stay_few_without_background_merges() {
    let disk = SimDisk::new(7);
    let options = Options { background_merge: false, ..small_options() };
    let (engine, table) = start(&disk, &options);
    for number in 0..200u32 {
        engine.put(table, &number.to_be_bytes(), b"row").unwrap();
        engine.delete(table, &(number / 2).to_be_bytes()).unwrap();
        engine.flush().unwrap();
        assert!(engine.info().unwrap().tables[0].runs <= 24);
    }
    assert_eq!(rows(&engine.snapshot(), table).unwrap().len(), 100);
    assert_sound(&engine);
}

/// Keeps away: a frozen memtable more for every flush that fails, until no reader can look into all of them.
#[test]
fn frozen_memtables_stay_few_while_the_disk_is_full() {
    let disk = SimDisk::new(8);
    let (engine, table) = start(&disk, &small_options());
    engine.flush().unwrap();
    let full =
        |op| Fault { op, file_prefix: Some("pages".into()), after: 0, kind: FaultKind::NoSpace, once: false };
    disk.inject(full(Op::Write));
    disk.inject(full(Op::Allocate));
    for number in 0..150u32 {
        engine.put(table, &number.to_be_bytes(), b"row").unwrap();
        if let Err(error) = engine.flush() {
            assert!(matches!(error, Error::DiskFull(_)), "{error}");
        }
        if number % 50 == 49 {
            assert_eq!(rows(&engine.snapshot(), table).unwrap().len(), number as usize + 1);
        }
    }
    disk.clear_faults();
    engine.flush().unwrap();
    assert_eq!(rows(&engine.snapshot(), table).unwrap().len(), 150);
    assert_sound(&engine);
}
