//! Tables whose storage is changed, while they are written to and not.

use std::{collections::BTreeMap, thread, time::Duration};

use ambo_codec::{Type, Value as Datum};
use ambo_engine::{
    Error,
    catalog::{IndexDefinition, Storage, TableDefinition},
    database::{Engine, Options, RowFormat, Running},
    io::sim::{Fault, FaultKind, Op, SimDisk},
};

use crate::{
    stop::Stop,
    support::{Random, assert_sound, bytes, open, rows, small_options},
};

/// Keeps away: a write that is lost or comes back when the storage changes under it, indexes that do not follow, and a table that is
/// neither the one nor the other after a crash.
#[test]
fn storage_changes_while_a_table_is_written_to() {
    for storages in [
        &[Storage::Column, Storage::BTree][..],
        &[
            Storage::Append,
            Storage::Column,
            Storage::Append,
            Storage::Memory,
            Storage::Append,
            Storage::BTree,
        ],
        &[Storage::Memory, Storage::BTree, Storage::Memory, Storage::Column],
        &[
            Storage::Lsm,
            Storage::BTree,
            Storage::Lsm,
            Storage::Column,
            Storage::Lsm,
            Storage::Memory,
            Storage::Lsm,
        ],
        &[Storage::Stub, Storage::BTree, Storage::Stub, Storage::Column, Storage::Stub],
    ] {
        change_while_written_to(storages);
    }
}

fn change_while_written_to(storages: &[Storage]) {
    const WRITERS: u64 = 2;
    let options = Options {
        background_threads: true,
        background_merge: true,
        lock_timeout: Duration::from_secs(5),
        ..small_options()
    };
    let disk = SimDisk::new(31);
    let (engine, _) = Engine::open(disk.env(), options).unwrap();
    let running = Running::start(engine).unwrap();
    let engine = running.engine();
    let definition =
        TableDefinition::new("t").column("k", Type::I64).column("v", Type::I64).primary_key(&["k"]);
    let table = engine.create_table(definition).unwrap();
    engine.create_index(&IndexDefinition::new("i", "t", &["v"])).unwrap();
    let format = &RowFormat::new(engine.current().catalog.table(table).unwrap().clone()).unwrap();
    let stop = Stop::new();
    let mut expected = BTreeMap::new();
    let changes = stop.scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|me| {
                let stop = &stop;
                scope.spawn(move || {
                    let mut random = Random::new(me);
                    let mut mine = BTreeMap::new();
                    while stop.goes_on() {
                        let k = (random.below(400) * WRITERS + me) as i64;
                        let v = random.below(50) as i64;
                        let row = [Datum::I64(k), Datum::I64(v)];
                        let key = format.encode_key(&row, 0).unwrap();
                        if random.one_in(4) {
                            engine.delete(table, &key).unwrap();
                            mine.remove(&k);
                        } else {
                            engine.put(table, &key, &format.encode_row(&row).unwrap()).unwrap();
                            mine.insert(k, v);
                        }
                    }
                    mine
                })
            })
            .collect();
        let mut changes = 0;
        let mut last = Ok(());
        for round in 0..16 {
            last = engine.set_storage("t", storages[round % storages.len()]);
            if last.is_err() {
                break;
            }
            changes += 1;
        }
        stop.now();
        last.unwrap();
        writers.into_iter().for_each(|writer| expected.extend(writer.join().unwrap()));
        changes
    });
    assert_eq!(changes, 16);
    let found = |engine: &std::sync::Arc<Engine>| -> BTreeMap<i64, i64> {
        let rows = rows(&engine.snapshot(), table).unwrap();
        let values = rows.iter().map(|(key, row)| format.decode(key, row).unwrap());
        values
            .map(|row| match row[..] {
                [Datum::I64(k), Datum::I64(v)] => (k, v),
                ref other => panic!("{other:?}"),
            })
            .collect()
    };
    assert_eq!(found(engine), expected);
    assert_sound(engine);
    engine.set_storage("t", storages[0]).unwrap();
    engine.set_storage("t", Storage::Column).unwrap();
    let (crashed, _) = open(&disk.crash().env(), &small_options()).unwrap();
    assert_eq!(found(&crashed), expected);
    assert_eq!(crashed.current().catalog.find("t").unwrap().1.storage, Storage::Column);
    assert_sound(&crashed);
    // A merge may have met the crash.
    let _ = running.close();
}

/// Keeps away: rows that columns cannot hold, found when it is too late; a storage that cannot be, accepted.
#[test]
fn what_does_not_fit_stays_as_it_is() {
    let disk = SimDisk::new(32);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    let typed = TableDefinition::new("t").column("k", Type::U32).column("v", Type::I64).primary_key(&["k"]);
    let table = engine.create_table(typed).unwrap();
    engine.put(table, &1u32.to_be_bytes(), b"no row of columns").unwrap();
    let error = engine.set_storage("t", Storage::Column).unwrap_err();
    assert!(
        error.to_string().contains("columns cannot hold") || error.to_string().contains("cannot be read"),
        "{error}"
    );
    assert_eq!(engine.get(table, &1u32.to_be_bytes()).unwrap().unwrap(), b"no row of columns"[..]);
    engine.delete(table, &1u32.to_be_bytes()).unwrap();
    engine.set_storage("t", Storage::Column).unwrap();
    let refused = engine.put(table, &1u32.to_be_bytes(), b"no row of columns");
    assert!(matches!(refused, Err(Error::Invalid(_))));
    assert_sound(&engine);
}

/// Keeps away: a full disk or an error in the middle that leaves files or pages behind, or a table that compacts no more.
#[test]
fn a_change_that_fails_leaves_nothing_behind() {
    for (to, op) in [(Storage::Column, Op::Create), (Storage::Column, Op::Sync), (Storage::BTree, Op::Write)]
    {
        let disk = SimDisk::new(33);
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
        let put = |from: u32, to: u32| {
            (from..to).for_each(|n| engine.put(table, &n.to_be_bytes(), &bytes(u64::from(n), 60)).unwrap());
        };
        put(0, 3000);
        if to == Storage::BTree {
            engine.set_storage("t", Storage::Column).unwrap();
        }
        engine.compact().unwrap();
        let (file, after) = if to == Storage::Column { ("segment-", 0) } else { ("pages", 0) };
        disk.inject(Fault {
            op,
            file_prefix: Some(file.into()),
            after,
            kind: FaultKind::NoSpace,
            once: false,
        });
        let error = engine.set_storage("t", to).unwrap_err();
        assert!(matches!(error, Error::DiskFull(_)), "{op:?}: {error}");
        disk.clear_faults();
        put(3000, 3500);
        engine.compact().unwrap();
        assert_eq!(rows(&engine.snapshot(), table).unwrap().len(), 3500);
        assert_eq!(engine.info().unwrap().tables[0].runs, 0, "it compacts as before");
        assert_sound(&engine);
        engine.set_storage("t", to).unwrap();
        let segments = ambo_engine::io::Disk::list(&disk).unwrap();
        let segments = segments.iter().filter(|name| name.starts_with("segment-")).count();
        assert_eq!(segments > 0, to == Storage::Column);
        assert_eq!(rows(&engine.snapshot(), table).unwrap().len(), 3500);
        assert_sound(&engine);
    }
}

/// Keeps away: a row that no column can hold, written at the moment at which its table becomes a column table. While there is such a row
/// the table is none.
#[test]
fn no_table_of_columns_has_a_row_that_does_not_fit() {
    let options = Options {
        background_threads: true,
        background_merge: true,
        lock_timeout: Duration::from_secs(5),
        ..small_options()
    };
    let (engine, _) = Engine::open(SimDisk::new(34).env(), options).unwrap();
    let running = Running::start(engine).unwrap();
    let engine = running.engine();
    let typed = TableDefinition::new("t").column("k", Type::U32).column("v", Type::I64).primary_key(&["k"]);
    let table = engine.create_table(typed).unwrap();
    let stop = Stop::new();
    let (mut columns, mut refused) = (0, 0);
    let (put, not_put) = stop.scope(|scope| {
        let writers: Vec<_> = (0..2u32)
            .map(|key| {
                let stop = &stop;
                scope.spawn(move || {
                    let (mut put, mut not_put) = (0, 0);
                    let mut random = Random::new(key.into());
                    let is_column = || {
                        let current = engine.current();
                        current.catalog.table(table).unwrap().storage == Storage::Column
                    };
                    while stop.goes_on() {
                        match engine.put(table, &key.to_be_bytes(), b"no row of columns") {
                            Ok(()) => {
                                put += 1;
                                assert!(!is_column(), "it was accepted");
                                thread::sleep(Duration::from_micros(random.below(50)));
                                assert!(!is_column(), "it was overlooked");
                                engine.delete(table, &key.to_be_bytes()).unwrap();
                            }
                            Err(Error::Invalid(_)) => not_put += 1,
                            Err(error) => panic!("{error}"),
                        }
                        thread::sleep(Duration::from_micros(random.below(1500)));
                    }
                    (put, not_put)
                })
            })
            .collect();
        for _ in 0..400 {
            match engine.set_storage("t", Storage::Column) {
                Ok(()) => {
                    columns += 1;
                    engine.set_storage("t", Storage::BTree).unwrap();
                }
                Err(Error::Invalid(_)) => refused += 1,
                Err(error) => panic!("{error}"),
            }
        }
        stop.now();
        let counts = writers.into_iter().map(|writer| writer.join().unwrap());
        counts.fold((0, 0), |(a, b), (c, d)| (a + c, b + d))
    });
    assert!(columns > 10 && refused > 3 && put > 10 && not_put > 3, "{columns} {refused} {put} {not_put}");
    assert_sound(engine);
    running.close().unwrap();
}
