//! Backups of a database that others use meanwhile.

use std::sync::Arc;

use ambo_codec::Type;
use ambo_engine::{
    Error,
    catalog::{Storage, TableDefinition},
    database::{CatalogEdit, Engine, Isolation, Options, Running, Sync},
    io::{
        Disk, OpenMode,
        sim::{Fault, FaultKind, Op, SimDisk},
    },
};

use crate::{
    loads::load_numbers,
    stop::Stop,
    support::{assert_sound, bytes, open, rows, small_options},
};

fn as_disk(disk: &SimDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

fn read_only() -> Options {
    Options { read_only: true, ..small_options() }
}

fn start(seed: u64) -> (SimDisk, Arc<Engine>) {
    let disk = SimDisk::new(seed);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    (disk, engine)
}

/// A table of columns: `id`, `n`.
fn column_table(name: &str) -> TableDefinition {
    TableDefinition::new(name)
        .column("id", Type::I64)
        .column("n", Type::I64)
        .primary_key(&["id"])
        .storage(Storage::Column)
}

/// Keeps away: a backup with half a transaction, with a table and not its first rows, with a load that is older than a commit it lacks, or
/// one that does not check.
#[test]
fn a_backup_is_one_moment() {
    beside_writers(|engine| {
        let mut target = SimDisk::new(2);
        for round in 0..12 {
            engine.backup_to(&as_disk(&target)).unwrap_or_else(|error| panic!("{round}: {error}"));
            target = target.crash();
            verify_moment(&target);
        }
    });
}

/// Does something while others write, load and define.
pub fn beside_writers(work: impl FnOnce(&Arc<Engine>)) {
    let options = Options {
        memtable_bytes: 256 << 10,
        log_segment_bytes: 64 << 10,
        background_threads: true,
        background_merge: true,
        sync: Sync::Off,
        ..small_options()
    };
    let disk = SimDisk::new(1);
    let (engine, _) = Engine::open(disk.env(), options).unwrap();
    let running = Running::start(engine).unwrap();
    let engine = running.engine();
    let pairs = engine.create_table(TableDefinition::key_value("pairs")).unwrap();
    let loaded = engine.create_table(column_table("loaded")).unwrap();
    let stop = &Stop::new();
    stop.scope(|scope| {
        // Both halves of a pair say the same.
        for half in 0..2u64 {
            scope.spawn(move || {
                let mut n = 0u64;
                while stop.goes_on() {
                    n += 1;
                    let key = ((half << 32) | (n % 500)).to_be_bytes();
                    let value = bytes(n, 400);
                    let mut tx = engine.begin(Isolation::Snapshot).unwrap();
                    tx.put(pairs, &[&key[..], b"a"].concat(), &value).unwrap();
                    tx.put(pairs, &[&key[..], b"b"].concat(), &value).unwrap();
                    // Who began before the oldest change in memory begins again.
                    match tx.commit() {
                        Ok(_) | Err(Error::Conflict(_)) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
        // Tables that come with their rows, and go.
        scope.spawn(move || {
            let mut n = 0;
            while stop.goes_on() {
                n += 1;
                let mut tx = engine.begin(Isolation::Snapshot).unwrap();
                let definition = TableDefinition::key_value(format!("t{n}"));
                let table = tx.define(&CatalogEdit::CreateTable(definition)).unwrap().unwrap();
                (0..5u8).for_each(|key| tx.put(table, &[key], b"first").unwrap());
                match tx.commit() {
                    Ok(_) => {}
                    Err(Error::Conflict(_)) => continue,
                    Err(error) => panic!("{error}"),
                }
                if n > 20 && engine.current().catalog.find(&format!("t{}", n - 20)).is_ok() {
                    engine.drop_table(&format!("t{}", n - 20)).unwrap();
                }
            }
        });
        // Loads, each of which is told of in a commit before.
        scope.spawn(move || {
            let mut n = 0u64;
            while stop.goes_on() {
                engine.put(pairs, b"loads", &(n + 1).to_be_bytes()).unwrap();
                load_numbers(engine, loaded, n as i64 * 50..(n as i64 + 1) * 50);
                n += 1;
            }
        });
        work(engine);
    });
    running.close().unwrap();
}

/// Holds what was copied to a disk to what was written when.
pub fn verify_moment(target: &SimDisk) {
    let (engine, report) = open(&target.env(), &read_only()).unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_sound(&engine);
    let snapshot = engine.snapshot();
    let id = |name: &str| engine.current().catalog.find(name).unwrap().0;
    let mut pairs = rows(&snapshot, id("pairs")).unwrap();
    let told = match pairs.iter().position(|(key, _)| key == b"loads") {
        Some(at) => u64::from_be_bytes(pairs.remove(at).1[..8].try_into().unwrap()),
        None => 0,
    };
    assert!(pairs.len().is_multiple_of(2), "half a pair");
    for pair in pairs.chunks(2) {
        assert_eq!(pair[0].1, pair[1].1, "half a transaction: {:?}", pair[0].0);
    }
    let loaded = rows(&snapshot, id("loaded")).unwrap().len() as u64;
    assert!(loaded == told * 50 || loaded + 50 == told * 50, "{loaded} rows after {told} loads were begun");
    for (table, definition) in engine.current().catalog.tables() {
        if definition.name.starts_with("main.t") {
            assert_eq!(rows(&snapshot, table).unwrap().len(), 5, "{} without its rows", definition.name);
        }
    }
}

/// Keeps away: a backup into a directory of something else, into that of another database, over one that is in use, or over a later one.
#[test]
fn what_is_no_place_for_a_backup() {
    let refused =
        |engine: &Arc<Engine>, target: &SimDisk, what: &str| match engine.backup_to(&as_disk(target)) {
            Err(Error::Invalid(why) | Error::InUse(why)) => assert!(why.contains(what), "{why}"),
            other => panic!("{what}: {other:?}"),
        };
    let (_disk, engine) = start(1);
    let foreign = SimDisk::new(2);
    foreign.open("letters.txt", OpenMode::Create).unwrap();
    refused(&engine, &foreign, "a file \"letters.txt\" and is no backup");
    assert_eq!(foreign.list().unwrap(), ["letters.txt"], "it was touched");
    let (database, other) = start(3);
    refused(&engine, &database, "is no backup");
    drop(other);
    refused(&engine, &database, "is no backup");

    let target = SimDisk::new(4);
    engine.backup_to(&as_disk(&target)).unwrap();
    let (_disk, other) = start(5);
    refused(&other, &target, "another database");
    let (reader, _) = open(&target.env(), &read_only()).unwrap();
    refused(&engine, &target, "somebody has the directory");
    drop(reader);

    // The database is put back to an earlier state.
    let earlier = SimDisk::new(6);
    engine.restore_to(&as_disk(&earlier)).unwrap();
    let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
    engine.put(table, b"k", b"v").unwrap();
    engine.flush().unwrap();
    engine.backup_to(&as_disk(&target)).unwrap();
    let (earlier, _) = open(&earlier.env(), &small_options()).unwrap();
    refused(&earlier, &target, "of a later moment");
    let (whole, _) = open(&target.env(), &read_only()).unwrap();
    assert_eq!(whole.snapshot().get(table, b"k").unwrap().unwrap().to_vec(), b"v");
    assert_sound(&whole);
    assert_sound(&engine);
}

/// Keeps away: a segment that is taken for another, as both have one number: the database was put back twice, and went two ways.
#[test]
fn segments_of_another_history_are_told_apart() {
    let (_disk, engine) = start(1);
    let table = engine.create_table(column_table("c")).unwrap();
    load_numbers(&engine, table, 0..100);
    let ways = [2, 3].map(|seed| {
        let disk = SimDisk::new(seed);
        engine.restore_to(&as_disk(&disk)).unwrap();
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        load_numbers(&engine, table, seed as i64 * 1000..seed as i64 * 1000 + 100);
        engine
    });
    let target = SimDisk::new(4);
    ways[0].backup_to(&as_disk(&target)).unwrap();
    let before = target.list().unwrap();
    load_numbers(&ways[1], table, 9000..9100);
    match ways[1].backup_to(&as_disk(&target)) {
        Err(Error::Invalid(why)) => assert!(why.contains("is another one"), "{why}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(target.list().unwrap(), before);
    let (backup, _) = open(&target.env(), &read_only()).unwrap();
    assert_eq!(rows(&backup.snapshot(), table).unwrap().len(), 200);
    assert_sound(&backup);
}

/// Keeps away: a segment of the backup that is replaced by another of the same number after the database was opened again.
#[test]
fn numbers_of_segments_are_never_given_again() {
    let (disk, engine) = start(1);
    let table = engine.create_table(column_table("c")).unwrap();
    load_numbers(&engine, table, 0..100);
    let target = SimDisk::new(2);
    engine.backup_to(&as_disk(&target)).unwrap();
    engine.truncate_table("c").unwrap();
    engine.flush().unwrap();
    drop(engine);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    let table = engine.current().catalog.find("c").unwrap().0;
    load_numbers(&engine, table, 0..100);
    let report = engine.backup_to(&as_disk(&target)).unwrap();
    assert_eq!((report.copied, report.kept, report.removed), (1, 0, 1));
    let report = engine.backup_to(&as_disk(&target)).unwrap();
    assert_eq!((report.copied, report.kept, report.removed), (0, 1, 0));
    let (backup, _) = open(&target.env(), &read_only()).unwrap();
    assert_eq!(rows(&backup.snapshot(), table).unwrap().len(), 100);
    assert_sound(&backup);
    assert_sound(&engine);
}

/// Keeps away: a backup that is not whole and is taken for one, and an earlier one that is lost, whichever call fails.
#[test]
fn broken_off_at_every_call() {
    let ops =
        [Op::Write, Op::Sync, Op::SetLen, Op::Create, Op::Remove, Op::Rename, Op::SyncDirectory, Op::Open];
    let mut broken = 0;
    for op in ops {
        for (after, with_earlier) in (0..40).flat_map(|after| [(after, false), (after, true)]) {
            let (_disk, engine) = start(after);
            let table = engine.create_table(column_table("c")).unwrap();
            let blobs = engine.create_table(TableDefinition::key_value("kv")).unwrap();
            load_numbers(&engine, table, 0..100);
            engine.put(blobs, b"long", &bytes(1, 30_000)).unwrap();
            let target = SimDisk::new(after);
            if with_earlier {
                engine.backup_to(&as_disk(&target)).unwrap();
            }
            load_numbers(&engine, table, 100..200);
            engine.delete(blobs, b"long").unwrap();
            target.inject(Fault { op, file_prefix: None, after, kind: FaultKind::Io, once: false });
            let made = engine.backup_to(&as_disk(&target));
            target.clear_faults();
            let target = target.crash();
            let found = open(&target.env(), &read_only()).map(|(engine, _)| {
                assert_sound(&engine);
                rows(&engine.snapshot(), table).unwrap().len()
            });
            match (&made, &found) {
                (Ok(_), Ok(200)) => {}
                (Err(Error::Io { .. }), Ok(rows)) if *rows == 200 || with_earlier && *rows == 100 => {}
                (Err(Error::Io { .. }), Err(Error::Invalid(_) | Error::NotFound(_))) if !with_earlier => {}
                _ => panic!("{op:?} {after} {with_earlier}: {made:?}, {found:?}"),
            }
            broken += u64::from(made.is_err());
            assert_sound(&engine);
            // Once more, with nothing that fails.
            engine.backup_to(&as_disk(&target)).unwrap();
            let (backup, _) = open(&target.env(), &read_only()).unwrap();
            assert_eq!(rows(&backup.snapshot(), table).unwrap().len(), 200);
            assert!(backup.snapshot().get(blobs, b"long").unwrap().is_none());
            assert_sound(&backup);
            let files = target.list().unwrap();
            assert!(files.iter().all(|name| !name.ends_with(".new")), "{files:?}");
            if made.is_ok() && with_earlier {
                break;
            }
        }
    }
    assert!(broken > 30, "only {broken} backups were broken off");
}

/// Keeps away: a database that is made in the directory of a backup that was broken off, and one without a way back from a full disk.
#[test]
fn a_full_disk_breaks_a_backup_off() {
    let (_disk, engine) = start(1);
    let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
    for n in 0..200u64 {
        engine.put(table, &n.to_be_bytes(), &bytes(n, 1000)).unwrap();
    }
    let target = SimDisk::new(2);
    target.set_capacity(Some(64 << 10));
    assert!(matches!(engine.backup_to(&as_disk(&target)), Err(Error::DiskFull(_))));
    assert!(target.used() < 20 << 10, "{} bytes are left there", target.used());
    match open(&target.env(), &small_options()) {
        Err(Error::Invalid(why)) => assert!(why.contains("broken off"), "{why}"),
        other => panic!("{:?}", other.map(|(_, report)| report)),
    }
    target.set_capacity(None);
    engine.backup_to(&as_disk(&target)).unwrap();
    let (backup, _) = open(&target.env(), &small_options()).unwrap();
    assert_eq!(rows(&backup.snapshot(), table).unwrap().len(), 200);
    assert_sound(&backup);
    assert_sound(&engine);
}

/// Keeps away: a backup of a database that was not closed in order and is only read, without what its log has.
#[test]
fn a_reader_makes_backups_of_what_was_closed() {
    let (disk, engine) = start(1);
    let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
    engine.put(table, b"k", b"v").unwrap();
    drop(engine);
    let (reader, _) = open(&disk.env(), &read_only()).unwrap();
    let target = SimDisk::new(2);
    match reader.backup_to(&as_disk(&target)) {
        Err(Error::Invalid(why)) => assert!(why.contains("not closed in order"), "{why}"),
        other => panic!("{other:?}"),
    }
    assert!(target.list().unwrap().is_empty());
    drop(reader);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    engine.flush().unwrap();
    drop(engine);
    let (reader, _) = open(&disk.env(), &read_only()).unwrap();
    reader.backup_to(&as_disk(&target)).unwrap();
    let restored = SimDisk::new(3);
    let (backup, _) = open(&target.env(), &read_only()).unwrap();
    backup.restore_to(&as_disk(&restored)).unwrap();
    assert!(!restored.list().unwrap().contains(&"backup".to_owned()), "it is a database");
    let (engine, report) = open(&restored.env(), &small_options()).unwrap();
    assert!(report.is_clean());
    assert_eq!(engine.snapshot().get(table, b"k").unwrap().unwrap().to_vec(), b"v");
    assert_sound(&engine);
}
