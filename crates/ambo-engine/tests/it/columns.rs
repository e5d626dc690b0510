//! Column tables of a whole engine.

use ambo_engine::{
    Error,
    catalog::{IndexDefinition, Storage, TableDefinition},
    database::{Engine, Options, Running},
    io::{
        Disk, OpenMode,
        sim::{Fault, FaultKind, Op, SimDisk},
    },
};

use crate::support::{Random, assert_sound, bytes, open, rows, small_options};

fn segments(disk: &SimDisk) -> usize {
    disk.list().unwrap().iter().filter(|name| name.starts_with("segment-")).count()
}

/// Keeps away: a full disk in the middle of compacting that loses rows, leaves files, or costs more than the request that met it.
#[test]
fn a_full_disk_while_compacting() {
    for op in [Op::Create, Op::Write, Op::Sync] {
        let disk = SimDisk::new(9);
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        let table = engine.create_table(TableDefinition::key_value("t").storage(Storage::Column)).unwrap();
        let put = |from: u32, to: u32, seed: u64| {
            (from..to).for_each(|n| engine.put(table, &n.to_be_bytes(), &bytes(seed, 50)).unwrap());
        };
        put(0, 500, 1);
        engine.compact().unwrap();
        assert_eq!(segments(&disk), 1);
        put(400, 900, 2);
        let file_prefix = Some("segment-".into());
        disk.inject(Fault { op, file_prefix, after: 0, kind: FaultKind::NoSpace, once: false });
        let error = engine.compact().unwrap_err();
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
        engine.compact().unwrap();
        look();
        assert_eq!(engine.info().unwrap().tables[0].runs, 0);
        assert_sound(&engine);
        drop(engine);
        let (engine, _) = open(&disk.crash().env(), &small_options()).unwrap();
        assert_eq!(rows(&engine.snapshot(), table).unwrap().len(), 900);
        assert_sound(&engine);
    }
}

/// Keeps away: deleted rows that keep their space although all is compacted.
#[test]
fn deleted_rows_give_their_space_back() {
    let disk = SimDisk::new(13);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    let table = engine.create_table(TableDefinition::key_value("t").storage(Storage::Column)).unwrap();
    (0..20_000u32).for_each(|n| engine.put(table, &n.to_be_bytes(), &bytes(n.into(), 40)).unwrap());
    engine.compact().unwrap();
    let space = || engine.info().unwrap().tables[0].segments.clone().unwrap();
    let before = space();
    let mut random = Random::new(13);
    // A little less than half, spread evenly.
    for n in (0..20_000u32).filter(|_| random.below(100) < 47) {
        engine.delete(table, &n.to_be_bytes()).unwrap();
    }
    engine.compact_due().unwrap();
    let after = space();
    assert_eq!(after.deleted_rows, 0);
    assert!(after.file_bytes * 10 < before.file_bytes * 6, "{} {}", after.file_bytes, before.file_bytes);
    // A fifth is not worth it by itself.
    for n in (0..20_000u32).filter(|_| random.below(100) < 20) {
        engine.delete(table, &n.to_be_bytes()).unwrap();
    }
    engine.compact_due().unwrap();
    assert!(space().deleted_rows > 1000);
    engine.compact().unwrap();
    assert_eq!(space().deleted_rows, 0);
    assert_sound(&engine);
}

fn contents(disk: &SimDisk, name: &str) -> Vec<u8> {
    let file = disk.open(name, OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

/// Keeps away: a database that is of no use because one table of it cannot be read; rows of that table that are gone although its files
/// come back; and files or pages of it that stay when it is dropped.
#[test]
fn a_table_that_cannot_be_read_leaves_the_others_in_use() {
    for comes_back in [true, false] {
        let disk = SimDisk::new(12);
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        let table = |name: &str, storage| {
            engine.create_table(TableDefinition::key_value(name).storage(storage)).unwrap()
        };
        let (a, b) = (table("a", Storage::Column), table("b", Storage::Column));
        engine.create_index(&IndexDefinition::new("i", "a", &["value"]).hash()).unwrap();
        for n in 0..500u32 {
            engine.put(a, &n.to_be_bytes(), &bytes(n.into(), 30)).unwrap();
        }
        engine.compact().unwrap();
        let before = disk.list().unwrap();
        for n in 0..500u32 {
            engine.put(b, &n.to_be_bytes(), &bytes(n.into(), 30)).unwrap();
        }
        engine.compact().unwrap();
        // Some rows of the segments are deleted, some are newer and not compacted, some are in the log alone.
        (0..50u32).for_each(|n| engine.delete(a, &n.to_be_bytes()).unwrap());
        engine.compact().unwrap();
        (500..600u32).for_each(|n| engine.put(a, &n.to_be_bytes(), b"in a run").unwrap());
        engine.flush().unwrap();
        (600..700u32).for_each(|n| engine.put(a, &n.to_be_bytes(), b"in the log").unwrap());
        (0..20u32).for_each(|n| engine.put(a, &(n + 100).to_be_bytes(), b"changed").unwrap());
        let expected = rows(&engine.snapshot(), a).unwrap();
        assert_eq!(expected.len(), 650);
        drop(engine);
        let name = before.iter().find(|name| name.starts_with("segment-")).unwrap();
        let kept = contents(&disk, name);
        disk.remove(name).unwrap();
        disk.sync_directory().unwrap();
        for _ in 0..2 {
            let (engine, _) = open(&disk.env(), &small_options()).unwrap();
            let error = engine.get(a, &7u32.to_be_bytes()).unwrap_err();
            assert!(matches!(&error, Error::Damaged { file, .. } if file == name), "{error}");
            assert!(engine.put(a, b"k", b"v").is_err());
            assert!(engine.snapshot().cursor(a).is_err());
            assert!(engine.set_storage("a", Storage::BTree).is_err());
            assert!(engine.create_index(&IndexDefinition::new("j", "a", &["key"])).is_err());
            engine.put(b, b"k", b"v").unwrap();
            engine.compact().unwrap();
            engine.vacuum().unwrap();
            assert_eq!(rows(&engine.snapshot(), b).unwrap().len(), 501);
            let report = engine.check().unwrap();
            assert!(
                !report.is_sound() && report.problems.iter().all(|problem| problem.contains(&name[..])),
                "{report:?}"
            );
            assert_eq!(engine.info().unwrap().damaged.len(), 1);
        }
        if comes_back {
            let file = disk.open(name, OpenMode::Create).unwrap();
            file.write_at(&kept, 0).unwrap();
            file.sync().unwrap();
            disk.sync_directory().unwrap();
            let (engine, _) = open(&disk.crash().env(), &small_options()).unwrap();
            assert_eq!(rows(&engine.snapshot(), a).unwrap(), expected);
            engine.compact().unwrap();
            assert_eq!(rows(&engine.snapshot(), a).unwrap(), expected);
            assert_sound(&engine);
        } else {
            let (engine, _) = open(&disk.env(), &small_options()).unwrap();
            engine.drop_table("a").unwrap();
            engine.compact().unwrap();
            assert_sound(&engine);
            drop(engine);
            let disk = disk.crash();
            let (engine, _) = open(&disk.env(), &small_options()).unwrap();
            assert_eq!(engine.info().unwrap().tables.len(), 1);
            assert_eq!(segments(&disk), 1, "that of b");
            assert_sound(&engine);
        }
    }
}

/// Keeps away: rows of a load that stay rows until the next flush, and merges of what is not due.
#[test]
fn what_is_due_compacts_when_asked() {
    let disk = SimDisk::new(10);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    let table = engine.create_table(TableDefinition::key_value("t").storage(Storage::Column)).unwrap();
    let few = 100u32;
    (0..few).for_each(|n| engine.put(table, &n.to_be_bytes(), b"few").unwrap());
    engine.compact_due().unwrap();
    let info = || engine.info().unwrap().tables.remove(0);
    assert_eq!((segments(&disk), info().runs), (0, 1), "so few are not worth a segment");
    (few..9000).for_each(|n| engine.put(table, &n.to_be_bytes(), b"more").unwrap());
    engine.compact_due().unwrap();
    let compacted = info();
    let space = compacted.segments.as_ref().unwrap();
    assert_eq!((space.rows, compacted.runs), (9000, 0));
    assert_eq!(space.file_bytes, compacted.stored_bytes(4096));
    assert_eq!(compacted.raw_bytes(), 9000 * 8 - u64::from(few));
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
