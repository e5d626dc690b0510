//! Readers in other processes, as handles of their own on the simulated disk, beside one that writes.

mod model;
mod processes;

use std::{sync::Arc, time::Duration};

use ambo_codec::{Type, Value as Datum};
use ambo_engine::{
    Error,
    catalog::{Retention, Storage, TableDefinition},
    database::{Engine, Options, RowFormat, Running, Snapshot},
    id::TableId,
    io::{Disk, sim::SimDisk},
    seal::{Key, KeySource},
};

use crate::{
    loads::load_numbers,
    stop::Stop,
    support::{Random, assert_sound, bytes, open, rows, small_options},
};

fn beside() -> Options {
    Options { beside: true, ..small_options() }
}

fn start() -> (SimDisk, Arc<Engine>) {
    let disk = SimDisk::new(1);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    (disk, engine)
}

fn reader(disk: &SimDisk) -> Arc<Engine> {
    open(&disk.env(), &beside()).unwrap().0
}

/// A table of columns: `id`, `n`.
fn column_table(name: &str, storage: Storage) -> TableDefinition {
    let table = TableDefinition::new(name).column("id", Type::I64).column("n", Type::I64).storage(storage);
    if storage == Storage::Append { table } else { table.primary_key(&["id"]) }
}

/// Lets time pass for a process, so that it looks again.
fn pass(disk: &SimDisk) {
    disk.clock().advance(Duration::from_secs(1));
}

fn segments(disk: &SimDisk) -> usize {
    disk.list().unwrap().iter().filter(|name| name.starts_with("segment-")).count()
}

fn oldest(engine: &Engine) -> Option<u64> {
    engine.readers().1
}

/// Writes all of a table anew some times, so that every page that is free is used.
fn churn(engine: &Arc<Engine>, table: TableId, rounds: u64) {
    for round in 0..rounds {
        for key in 0..60u64 {
            engine.put(table, &key.to_be_bytes(), &bytes(round << 32 | key, 700)).unwrap();
        }
        engine.put(table, b"long", &bytes(round, 300_000)).unwrap();
        engine.compact().unwrap();
    }
}

fn all(snapshot: &Snapshot, table: TableId) -> Vec<(Vec<u8>, Vec<u8>)> {
    rows(snapshot, table).unwrap()
}

/// Keeps away: a reader that shows what it began with for ever, or half of something, and one that shows another thing than it began with.
#[test]
fn a_reader_follows_and_its_snapshots_stay() {
    let (disk, writer) = start();
    let pairs = writer.create_table(TableDefinition::key_value("pairs")).unwrap();
    churn(&writer, pairs, 1);
    let reader = reader(&disk);
    let first = reader.snapshot();
    let expected = all(&writer.snapshot(), pairs);
    assert_eq!(all(&first, pairs), expected);
    writer.put(pairs, b"new", b"1").unwrap();
    pass(&disk);
    assert_eq!(reader.get(pairs, b"new").unwrap().map(|value| value.to_vec()), None);
    writer.flush().unwrap();
    pass(&disk);
    assert_eq!(reader.get(pairs, b"new").unwrap().unwrap()[..], b"1"[..]);
    let other = writer.create_table(TableDefinition::key_value("other")).unwrap();
    writer.put(other, b"a", b"b").unwrap();
    for round in 0..5 {
        churn(&writer, pairs, 3);
        pass(&disk);
        let now = reader.snapshot();
        assert_eq!(all(&now, pairs), all(&writer.snapshot(), pairs), "round {round}");
        assert_eq!(all(&now, other).len(), 1);
        assert_eq!(all(&first, pairs), expected, "round {round}");
        assert_sound(&reader);
        assert_sound(&writer);
    }
    assert!(matches!(reader.put(pairs, b"a", b"b"), Err(Error::Invalid(what)) if what.contains("beside")));
    writer.drop_table("pairs").unwrap();
    writer.flush().unwrap();
    pass(&disk);
    assert!(
        matches!(reader.current().catalog.find("pairs"), Err(Error::NotFound(what)) if what.contains("main.pairs"))
    );
    assert_eq!(all(&first, pairs), expected);
    drop(first);
    pass(&disk);
    drop(reader.snapshot());
    assert_sound(&reader);
}

/// Keeps away: a page, a segment or the list of free pages that is reused while a reader holds a checkpoint that has it; and a file that
/// grows for ever after the reader is gone.
#[test]
fn what_a_reader_holds_is_not_reused() {
    let (disk, writer) = start();
    let pairs = writer.create_table(TableDefinition::key_value("pairs")).unwrap();
    let loaded = writer.create_table(column_table("loaded", Storage::Column)).unwrap();
    churn(&writer, pairs, 1);
    load_numbers(&writer, loaded, 0..300);
    writer.compact().unwrap();
    // It has read nothing of it yet but the catalog.
    let reader = reader(&disk);
    let snapshot = reader.snapshot();
    let (of_pairs, of_loaded) = (all(&writer.snapshot(), pairs), all(&writer.snapshot(), loaded));
    let held = oldest(&writer).unwrap();
    for round in 0..4 {
        churn(&writer, pairs, 2);
        load_numbers(&writer, loaded, 300 * (round + 1)..300 * (round + 2));
        writer.vacuum().unwrap();
        assert_sound(&writer);
    }
    writer.truncate_table("loaded").unwrap();
    writer.vacuum().unwrap();
    assert_eq!(oldest(&writer), Some(held));
    let info = writer.info().unwrap().readers;
    assert_eq!((info.readers, info.oldest_age.is_some()), (1, true));
    assert!(info.held_pages > 100 && info.held_segment_bytes > 0, "{info:?}");
    pass(&disk);
    assert!(writer.info().unwrap().readers.oldest_age >= Some(Duration::from_secs(1)));
    assert!(segments(&disk) > 0, "the segments that the reader has");
    assert_eq!(all(&snapshot, pairs), of_pairs);
    assert_eq!(all(&snapshot, loaded), of_loaded);
    assert_sound(&reader);
    let pages = || disk.contents("pages").unwrap().len();
    let (before, _) = (pages(), drop((snapshot, reader)));
    writer.serve_readers();
    assert_eq!((writer.readers(), segments(&disk)), ((0, None), 0));
    writer.vacuum().unwrap();
    writer.vacuum().unwrap();
    assert!(pages() < before, "{} {before}", pages());
    assert_sound(&writer);
}

/// Keeps away: a process that opens the database after another was killed, and writes over what readers of that one still read.
#[test]
fn who_opens_it_next_minds_the_readers_that_are_there() {
    let (disk, writer) = start();
    let pairs = writer.create_table(TableDefinition::key_value("pairs")).unwrap();
    let loaded = writer.create_table(column_table("loaded", Storage::Append)).unwrap();
    churn(&writer, pairs, 2);
    load_numbers(&writer, loaded, 0..500);
    writer.flush().unwrap();
    let reader = reader(&disk);
    let snapshot = reader.snapshot();
    let (of_pairs, of_loaded) = (all(&writer.snapshot(), pairs), all(&writer.snapshot(), loaded));
    churn(&writer, pairs, 3);
    writer.truncate_table("loaded").unwrap();
    writer.flush().unwrap();
    let loaded_now = writer.current().catalog.find("loaded").unwrap().0;
    load_numbers(&writer, loaded_now, 7..9);
    // What is only in the log, with long values in pages that no checkpoint has.
    writer.put(pairs, b"longer", &bytes(99, 400_000)).unwrap();
    let mut writer = writer;
    for _ in 0..3 {
        let expected = all(&writer.snapshot(), pairs);
        drop(writer);
        writer = open(&disk.env(), &small_options()).unwrap().0;
        assert_eq!(all(&writer.snapshot(), pairs), expected);
        assert_sound(&writer);
        churn(&writer, pairs, 2);
        assert_eq!(all(&snapshot, pairs), of_pairs);
        assert_eq!(all(&snapshot, loaded), of_loaded);
        assert_eq!(rows(&writer.snapshot(), loaded_now).unwrap().len(), 2);
        assert_sound(&reader);
        writer.put(pairs, b"longer", &bytes(100, 400_000)).unwrap();
    }
    assert!(segments(&disk) > 1);
    drop((snapshot, reader));
    writer.compact().unwrap();
    assert_eq!(segments(&disk), 1);
    assert_sound(&writer);
}

/// Keeps away: a checkpoint that shows a load, or a new table, and not what was committed before it.
#[test]
fn what_is_not_of_one_moment_is_not_seen() {
    let (disk, writer) = start();
    let pairs = writer.create_table(TableDefinition::key_value("pairs")).unwrap();
    let loaded = writer.create_table(column_table("loaded", Storage::Column)).unwrap();
    writer.flush().unwrap();
    let reader = reader(&disk);
    let counts = |snapshot: &Snapshot| {
        (all(snapshot, pairs).len(), all(snapshot, loaded).len(), snapshot.catalog().tables().count())
    };
    writer.put(pairs, b"before", b"").unwrap();
    writer.create_table(TableDefinition::key_value("more")).unwrap();
    load_numbers(&writer, loaded, 0..10);
    writer.put(pairs, b"after", b"").unwrap();
    load_numbers(&writer, loaded, 10..20);
    pass(&disk);
    let seen = counts(&reader.snapshot());
    assert!([(0, 0, 2), (1, 0, 3), (1, 10, 3), (2, 10, 3)].contains(&seen), "{seen:?}");
    writer.serve_readers();
    pass(&disk);
    assert_eq!(counts(&reader.snapshot()), (2, 20, 3));
    assert_sound(&reader);
}

/// Keeps away: a wrong answer of a table whose rows are elsewhere, and other tables that go with it.
#[test]
fn a_table_in_memory_says_where_its_rows_are() {
    let (disk, writer) = start();
    let cached = writer.create_table(TableDefinition::key_value("cached").storage(Storage::Memory)).unwrap();
    let pairs = writer.create_table(TableDefinition::key_value("pairs")).unwrap();
    writer.put(cached, b"a", b"b").unwrap();
    writer.put(pairs, b"a", b"b").unwrap();
    writer.flush().unwrap();
    let reader = reader(&disk);
    let is_refused = |found: Result<(), Error>| {
        let refused = found.unwrap_err().to_string();
        let words = "the rows of \"main.cached\" are in the memory of the process that writes";
        assert!(refused.contains(words), "{refused}");
    };
    is_refused(reader.get(cached, b"a").map(drop));
    is_refused(reader.snapshot().cursor(cached).map(drop));
    assert!(reader.get(pairs, b"a").unwrap().is_some());
    assert_sound(&reader);
    writer.put(pairs, b"b", b"c").unwrap();
    writer.flush().unwrap();
    pass(&disk);
    is_refused(reader.get(cached, b"a").map(drop));
    assert!(reader.get(pairs, b"b").unwrap().is_some());
}

/// Keeps away: waiting for a checkpoint that never comes, and one that is there at once although something was committed.
#[test]
fn a_reader_asks_and_is_answered() {
    let options = Options { background_threads: true, background_merge: true, ..small_options() };
    let disk = SimDisk::new(1);
    let running = Running::start(open_one(&disk, options.clone())).unwrap();
    let writer = running.engine();
    let pairs = writer.create_table(TableDefinition::key_value("pairs")).unwrap();
    let reader = reader(&disk);
    let long = Duration::from_secs(30);
    for key in 0..20u8 {
        writer.put(pairs, &[key], b"").unwrap();
        assert!(reader.refresh(long).unwrap() > ambo_engine::id::Timestamp(0));
        assert!(reader.get(pairs, &[key]).unwrap().is_some());
    }
    // Many at once.
    let stop = &Stop::new();
    stop.scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mine = open(&disk.env(), &beside()).unwrap().0;
                while stop.goes_on() {
                    mine.refresh(long).unwrap();
                    assert_eq!(all(&mine.snapshot(), pairs).len(), 20);
                }
            });
        }
        std::thread::sleep(Duration::from_millis(300));
        stop.now();
    });
    assert_sound(&reader);
    running.close().unwrap();
    drop(running);
    // Nobody answers: what the last one left is all there is.
    assert!(reader.refresh(Duration::from_millis(20)).is_ok());
    // Somebody who does not look.
    let writer = open(&disk.env(), &small_options()).unwrap().0;
    assert!(writer.serve_readers() < long);
    writer.put(pairs, b"x", b"").unwrap();
    let refused = reader.refresh(Duration::from_millis(20)).unwrap_err();
    assert!(
        matches!(&refused, Error::InUse(what) if what.contains("has not made a checkpoint")),
        "{refused}"
    );
    writer.serve_readers();
    assert!(reader.refresh(Duration::from_millis(20)).is_err());
}

fn open_one(disk: &SimDisk, options: Options) -> Engine {
    Engine::open(disk.env(), options).unwrap().0
}

/// Keeps away: what is older than a second although nobody asked, and checkpoints for nobody.
#[test]
fn checkpoints_are_made_for_readers_alone() {
    let (disk, writer) = start();
    let pairs = writer.create_table(TableDefinition::key_value("pairs")).unwrap();
    let size = || writer.info().unwrap().log_bytes;
    writer.put(pairs, b"a", b"").unwrap();
    pass(&disk);
    writer.serve_readers();
    let before = size();
    let reader = reader(&disk);
    writer.serve_readers();
    assert!(size() < before, "the log before a checkpoint goes");
    pass(&disk);
    assert!(reader.get(pairs, b"a").unwrap().is_some());
    writer.put(pairs, b"b", b"").unwrap();
    writer.serve_readers();
    writer.put(pairs, b"c", b"").unwrap();
    writer.serve_readers();
    pass(&disk);
    assert!(reader.get(pairs, b"b").unwrap().is_some());
    assert!(reader.get(pairs, b"c").unwrap().is_none(), "half a second has not passed");
    writer.serve_readers();
    pass(&disk);
    assert!(reader.get(pairs, b"c").unwrap().is_some());
}

/// Keeps away: a reader among many that nobody minds, and a writer that waits for them.
#[test]
fn a_thousand_readers_are_minded() {
    let (disk, writer) = start();
    let pairs = writer.create_table(TableDefinition::key_value("pairs")).unwrap();
    let mut held = Vec::new();
    for round in 0..100u64 {
        churn(&writer, pairs, 1);
        let expected = all(&writer.snapshot(), pairs);
        for _ in 0..10 {
            let reader = reader(&disk);
            let snapshot = reader.snapshot();
            held.push((reader, snapshot, expected.clone()));
        }
        assert_eq!(writer.readers().0 as u64, (round + 1) * 10);
    }
    churn(&writer, pairs, 2);
    let now = all(&writer.snapshot(), pairs);
    // In no order, so that holds go from between others.
    let mut random = Random::new(1);
    while !held.is_empty() {
        let at = random.below(held.len() as u64) as usize;
        let (reader, snapshot, expected) = held.swap_remove(at);
        if held.len().is_multiple_of(50) {
            assert_eq!(all(&snapshot, pairs), expected);
            pass(&disk);
            assert_eq!(all(&reader.snapshot(), pairs), now);
            assert_sound(&reader);
        }
    }
    writer.compact().unwrap();
    assert_eq!(writer.readers(), (0, None));
    assert_sound(&writer);
}

/// Keeps away: encrypted databases that readers cannot follow, above all when they get another data key; and a wrong key that reads.
#[test]
fn encrypted_databases_are_read_beside_too() {
    let key = |byte| KeySource::from(Key::new([byte; 32]));
    let disk = SimDisk::new(1);
    let options = |key, beside| Options { key, beside, ..small_options() };
    let writer = open(&disk.env(), &options(Some(key(1)), false)).unwrap().0;
    let pairs = writer.create_table(TableDefinition::key_value("pairs")).unwrap();
    churn(&writer, pairs, 1);
    for wrong in [None, Some(key(2))] {
        assert!(matches!(open(&disk.env(), &options(wrong, true)), Err(Error::Invalid(_))));
    }
    let reader = open(&disk.env(), &options(Some(key(1)), true)).unwrap().0;
    for round in 0..3 {
        if round > 0 {
            writer.set_key(&key(1)).unwrap();
        }
        churn(&writer, pairs, 2);
        pass(&disk);
        assert_eq!(all(&reader.snapshot(), pairs), all(&writer.snapshot(), pairs), "round {round}");
        assert_sound(&reader);
    }
    // With another key it cannot go on; after a while it says so.
    writer.set_key(&key(3)).unwrap();
    churn(&writer, pairs, 1);
    pass(&disk);
    assert!(reader.get(pairs, b"long").unwrap().is_some());
    assert!(reader.refresh(Duration::from_millis(2)).is_err());
    disk.clock().advance(Duration::from_secs(60));
    let refused = reader.get(pairs, b"long").map(drop).unwrap_err().to_string();
    assert!(refused.contains("cannot be followed any more"), "{refused}");
}

/// Keeps away: backups and other directories that are taken for databases with a writer.
#[test]
fn only_databases_are_read_beside() {
    let disk = SimDisk::new(1);
    let refused = |disk: &SimDisk| open(&disk.env(), &beside()).map(drop).unwrap_err().to_string();
    assert!(refused(&disk).contains("not found"));
    let (source, writer) = start();
    writer.create_table(TableDefinition::key_value("pairs")).unwrap();
    let target: Arc<dyn Disk> = Arc::new(disk.clone());
    writer.backup_to(&target).unwrap();
    assert!(refused(&disk).contains("a backup"), "{}", refused(&disk));
    // From a reader a backup is made as from anybody.
    writer.flush().unwrap();
    let reader = reader(&source);
    let target = SimDisk::new(3);
    reader.backup_to(&(Arc::new(target.clone()) as Arc<dyn Disk>)).unwrap();
    let copy = open(&target.env(), &Options { read_only: true, ..small_options() }).unwrap().0;
    assert_sound(&copy);
}

/// Keeps away: rows that have expired and a reader shows, others that it misses as a merge of the writer has left out more, and a snapshot
/// of a reader that changes as time goes on.
#[test]
fn tables_whose_rows_expire() {
    const HOUR: i64 = 3_600_000_000;
    const BEGIN: i64 = 1_700_000_000_000_000;
    let storages = [Storage::BTree, Storage::Lsm, Storage::Column, Storage::Append];
    for (storage, key) in
        storages.into_iter().flat_map(|storage| [(storage, &["id"][..]), (storage, &["at", "id"])])
    {
        let (disk, writer) = start();
        let definition = TableDefinition::new("t")
            .column("id", Type::I64)
            .column("at", Type::Timestamp)
            .primary_key(key)
            .storage(storage)
            .ttl(Retention { micros: 10 * HOUR as u64 }, "at");
        let table = writer.create_table(definition).unwrap();
        let format = RowFormat::new(writer.current().catalog.table(table).unwrap().clone()).unwrap();
        let put = |ids: std::ops::Range<i64>| {
            for id in ids {
                // Each hour a hundred of them.
                let row = [Datum::I64(id), Datum::Timestamp(BEGIN + id * HOUR / 100)];
                let key = format.encode_key(&row, 0).unwrap();
                writer.put(table, &key, &format.encode_row(&row).unwrap()).unwrap();
            }
        };
        put(0..500);
        writer.compact().unwrap();
        let reader = reader(&disk);
        let first = reader.snapshot();
        let expected = all(&first, table);
        assert_eq!(expected.len(), 500);
        for hours in [11, 12, 13] {
            disk.clock().advance(Duration::from_secs(if hours == 11 { 11 } else { 1 }) * 3600);
            let left = (500 - (hours - 10) * 100 - 1) as usize;
            for step in 0..3 {
                match step {
                    0 => {}
                    1 => writer.compact().unwrap(),
                    _ => put(900..900 + hours),
                }
                writer.flush().unwrap();
                pass(&disk);
                let now = reader.snapshot();
                let later = all(&now, table).len() - left;
                assert!(later <= hours as usize, "{storage:?} {key:?}: {later} of those that came later");
                assert_eq!(
                    now.count(table, None, None).unwrap() as usize,
                    left + later,
                    "{storage:?} {key:?}"
                );
                assert!(all(&first, table) == expected, "{storage:?} {key:?}: a snapshot is another");
                assert_sound(&reader);
            }
        }
        assert_sound(&writer);
    }
}
