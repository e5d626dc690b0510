//! Column tables of a whole engine.

use ambo_storage::{
    Error,
    catalog::{Storage, TableDefinition},
    database::{Engine, Options, Running},
    io::{
        Disk,
        sim::{Fault, FaultKind, Op, SimDisk},
    },
};

use crate::support::{assert_sound, bytes, open, rows, small_options};

fn segments(disk: &SimDisk) -> usize {
    disk.list().unwrap().iter().filter(|name| name.starts_with("segment-")).count()
}

/// Keeps away: a full disk in the middle of settling that loses rows, leaves files, or costs more than the request that met it.
#[test]
fn a_full_disk_while_settling() {
    for op in [Op::Create, Op::Write, Op::Sync] {
        let disk = SimDisk::new(9);
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        let table = engine.create_table(TableDefinition::key_value("t").storage(Storage::Column)).unwrap();
        let put = |from: u32, to: u32, seed: u64| {
            (from..to).for_each(|n| engine.put(table, &n.to_be_bytes(), &bytes(seed, 50)).unwrap());
        };
        put(0, 500, 1);
        engine.settle().unwrap();
        assert_eq!(segments(&disk), 1);
        put(400, 900, 2);
        let file_prefix = Some("segment-".into());
        disk.inject(Fault { op, file_prefix, after: 0, kind: FaultKind::NoSpace, once: false });
        let error = engine.settle().unwrap_err();
        assert!(matches!(&error, Error::DiskFull(what) if what.contains("segment-")), "{op:?}: {error}");
        assert_eq!(segments(&disk), 1, "{op:?}: what was not finished is gone");
        let look = || {
            let found = rows(&engine.snapshot(), table).unwrap();
            assert_eq!(found.len(), 900, "{op:?}");
            for (number, (key, value)) in (0u32..).zip(found) {
                assert_eq!(key, number.to_be_bytes());
                assert_eq!(value, bytes(if number < 400 { 1 } else { 2 }, 50), "{op:?}: {number}");
            }
        };
        look();
        put(899, 900, 2);
        disk.clear_faults();
        engine.settle().unwrap();
        look();
        assert_eq!(engine.info().unwrap().tables[0].runs, 0);
        assert_sound(&engine);
        drop(engine);
        let (engine, _) = open(&disk.crash().env(), &small_options()).unwrap();
        assert_eq!(rows(&engine.snapshot(), table).unwrap().len(), 900);
        assert_sound(&engine);
    }
}

/// Keeps away: rows of a load that stay rows until the next spill, and merges of what is not due.
#[test]
fn what_is_due_settles_when_asked() {
    let disk = SimDisk::new(10);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    let table = engine.create_table(TableDefinition::key_value("t").storage(Storage::Column)).unwrap();
    let few = 100u32;
    (0..few).for_each(|n| engine.put(table, &n.to_be_bytes(), b"few").unwrap());
    engine.settle_due().unwrap();
    let info = || engine.info().unwrap().tables.remove(0);
    assert_eq!((segments(&disk), info().runs), (0, 1), "so few are not worth a segment");
    (few..9000).for_each(|n| engine.put(table, &n.to_be_bytes(), b"more").unwrap());
    engine.settle_due().unwrap();
    let settled = info();
    let space = settled.segments.as_ref().unwrap();
    assert_eq!((space.rows, settled.runs), (9000, 0));
    assert_eq!(space.file_bytes, settled.stored_bytes(4096));
    assert_eq!(settled.raw_bytes(), 9000 * 8 - u64::from(few));
    assert_sound(&engine);
}

/// Keeps away: one more run for every time that a database is opened, written to and closed, until there are more than a
/// checkpoint can hold.
#[test]
fn runs_stay_few_when_a_database_is_closed_again_and_again() {
    for background in [false, true] {
        let disk = SimDisk::new(11);
        let options =
            Options { background_threads: background, background_merge: background, ..small_options() };
        for round in 0..100u32 {
            let (engine, _) = Engine::open(disk.env(), options.clone()).unwrap();
            let running = Running::start(engine).unwrap();
            let engine = running.engine();
            for (name, storage) in [("rows", Storage::BTree), ("columns", Storage::Column)] {
                let table = match engine.current().catalog.find(name) {
                    Ok((table, _)) => table,
                    Err(_) => engine.create_table(TableDefinition::key_value(name).storage(storage)).unwrap(),
                };
                engine.put(table, &round.to_be_bytes(), b"row").unwrap();
                if let Some(old) = round.checked_sub(50) {
                    engine.delete(table, &old.to_be_bytes()).unwrap();
                }
                let found = rows(&engine.snapshot(), table).unwrap().len();
                assert_eq!(found, (round as usize + 1).min(50), "round {round} of {name}");
            }
            assert!(engine.info().unwrap().tables.iter().all(|table| table.runs <= 24));
            running.close().unwrap();
        }
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        assert_sound(&engine);
    }
}
