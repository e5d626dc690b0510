//! Tables that move to memory, and from there to files.

use std::{
    io::{Read as _, Write as _},
    sync::Arc,
    thread,
    time::Duration,
};

use ambo_codec::{Type, Value as Datum};
use ambo_engine::{
    Error,
    catalog::{IndexDefinition, Storage, TableDefinition},
    database::{Engine, IndexRange, Isolation, Options, RowFormat, Running},
    id::TableId,
    io::{
        Disk,
        sim::{Fault, FaultKind, Op, SimDisk},
    },
};

use crate::{
    stop::Stop,
    support::{assert_sound, bytes, open, rows, small_options},
};

const FILES: [Storage; 4] = [Storage::BTree, Storage::Column, Storage::Lsm, Storage::Stub];

/// `(k i64 key, v i64, name text)` with an index over `v`, and a second table beside it.
fn create(engine: &Arc<Engine>, storage: Storage) -> (TableId, TableId, RowFormat) {
    let definition = TableDefinition::new("t")
        .column("k", Type::I64)
        .column("v", Type::I64)
        .column("name", Type::Utf8)
        .primary_key(&["k"])
        .storage(storage);
    let table = engine.create_table(definition).unwrap();
    engine.create_index(&IndexDefinition::new("i", "t", &["v"])).unwrap();
    let other = engine.create_table(TableDefinition::key_value("other")).unwrap();
    (table, other, RowFormat::new(engine.current().catalog.table(table).unwrap().clone()).unwrap())
}

/// A row; each tenth has a name that is longer than a page.
fn row(k: i64) -> Vec<Datum> {
    let name = if k % 10 == 0 { format!("long {k} ").repeat(1000) } else { format!("name {k}") };
    vec![k.into(), (k % 7).into(), name.into()]
}

fn put(engine: &Arc<Engine>, table: TableId, format: &RowFormat, ks: impl IntoIterator<Item = i64>) {
    for k in ks {
        let row = row(k);
        engine.put(table, &format.encode_key(&row, 0).unwrap(), &format.encode_row(&row).unwrap()).unwrap();
    }
}

fn storage_of(engine: &Engine) -> Storage {
    engine.current().catalog.find("t").unwrap().1.storage
}

/// The keys of all rows, each of which has to be whole, and as many entries in the index.
fn keys(engine: &Arc<Engine>, table: TableId, format: &RowFormat) -> Vec<i64> {
    let snapshot = engine.snapshot();
    let mut found = Vec::new();
    for (key, bytes) in rows(&snapshot, table).unwrap() {
        let values = format.decode(&key, &bytes).unwrap();
        let k = values[0].as_ref().as_i64().unwrap();
        assert!(values == row(k), "row {k}");
        found.push(k);
    }
    let (index, ..) = engine.current().catalog.find_index("i").unwrap();
    let entries = (0..7i64).map(|v| snapshot.index_count(index, IndexRange::Equal(&[v.into()])).unwrap());
    assert_eq!(entries.sum::<u64>(), found.len() as u64);
    found
}

/// Keeps away: rows that are lost or come back, of the table, its index or another table, wherever a crash or an error meets the change;
/// rows in memory that outlive it in part.
#[test]
fn a_crash_leaves_the_one_or_the_other() {
    let ways = FILES.into_iter().flat_map(|file| [(file, Storage::Memory), (Storage::Memory, file)]);
    for (seed, (from, to)) in (0..).zip(ways) {
        for (op, kind) in
            [(Op::Write, FaultKind::Io), (Op::Sync, FaultKind::Io), (Op::Write, FaultKind::NoSpace)]
        {
            let (mut befores, mut afters) = (0, 0);
            for after in 0.. {
                let disk = SimDisk::new(seed * 1000 + after);
                let (engine, _) = open(&disk.env(), &small_options()).unwrap();
                let (table, other, format) = create(&engine, from);
                put(&engine, table, &format, 0..40);
                engine.compact().unwrap();
                put(&engine, table, &format, 30..60);
                engine.flush().unwrap();
                put(&engine, table, &format, 60..70);
                engine.delete(table, &format.encode_key(&row(5), 0).unwrap()).unwrap();
                engine.put(other, b"key", b"value").unwrap();
                disk.inject(Fault { op, file_prefix: None, after, kind, once: false });
                let result = engine.set_storage("t", to);
                disk.clear_faults();
                let all: Vec<_> = (0..70).filter(|k| *k != 5).collect();
                assert_eq!(keys(&engine, table, &format), all, "{from:?} to {to:?}, {op:?} {after}");
                if result.is_ok() {
                    assert_eq!(storage_of(&engine), to);
                    afters += 1;
                } else if engine.put(other, b"key", b"value").is_ok() {
                    // Nothing has happened, and it can be done again.
                    assert_eq!(storage_of(&engine), from);
                    engine.compact().unwrap();
                    assert_sound(&engine);
                    engine.set_storage("t", to).unwrap();
                    assert_eq!(keys(&engine, table, &format), all);
                    assert_sound(&engine);
                }
                drop(engine);
                let disk = disk.crash();
                let (engine, _) = open(&disk.env(), &small_options()).unwrap();
                let found = keys(&engine, table, &format);
                befores += u32::from(storage_of(&engine) == from);
                match storage_of(&engine) {
                    Storage::Memory => assert_eq!(found, [0i64; 0]),
                    _ => assert_eq!(found, all, "{from:?} to {to:?}, {op:?} {after}"),
                }
                assert!(result.is_err() || storage_of(&engine) == to);
                assert_eq!(engine.get(other, b"key").unwrap().unwrap(), b"value"[..]);
                assert_sound(&engine);
                // What it is now holds for what is written now, too.
                put(&engine, table, &format, 100..110);
                engine.flush().unwrap();
                put(&engine, table, &format, 110..120);
                let is_memory = storage_of(&engine) == Storage::Memory;
                let left = if is_memory { Vec::new() } else { all.into_iter().chain(100..120).collect() };
                drop(engine);
                let (engine, _) = open(&disk.crash().env(), &small_options()).unwrap();
                assert_eq!(keys(&engine, table, &format), left);
                assert_sound(&engine);
                if result.is_ok() {
                    break;
                }
            }
            assert!(befores > 0 && afters == 1, "{from:?} to {to:?}: {befores} {afters}");
        }
    }
}

/// Keeps away: a moved table that is read, or written to, where it was before: by snapshots, transactions, long values and loads that began
/// earlier.
#[test]
fn what_began_before_notices() {
    for (from, to) in FILES.into_iter().flat_map(|file| [(file, Storage::Memory), (Storage::Memory, file)]) {
        let disk = SimDisk::new(50);
        let options = Options { memtable_bytes: 1 << 20, ..small_options() };
        let (engine, _) = open(&disk.env(), &options).unwrap();
        let table = engine.create_table(TableDefinition::key_value("t").storage(from)).unwrap();
        let second = engine.create_table(TableDefinition::key_value("indexed").storage(from)).unwrap();
        engine.create_index(&IndexDefinition::new("i", "indexed", &["value"]).hash()).unwrap();
        let long = |seed: u64| bytes(seed, 1_500_000);
        for key in [&b"a"[..], b"b"] {
            engine.put(table, key, &long(1)).unwrap();
        }
        engine.compact().unwrap();
        engine.put(table, b"b", &long(2)).unwrap();
        engine.put(table, b"short", b"s").unwrap();
        let snapshot = engine.snapshot();
        let mut reader = engine.get_stream(table, b"b").unwrap().unwrap();
        let mut tx = engine.begin(Isolation::Snapshot).unwrap();
        tx.put(table, b"tx", &long(3)).unwrap();
        let mut short_tx = engine.begin(Isolation::Snapshot).unwrap();
        short_tx.put(table, b"short", b"t").unwrap();
        let mut streams = [table, second].map(|table| {
            let mut stream = engine.put_stream(table, b"stream").unwrap();
            stream.write_all(&long(4)[..700_000]).unwrap();
            stream
        });
        let bulk = (from != Storage::Column).then(|| {
            let mut bulk = engine.bulk_load(table).unwrap();
            bulk.push(b"bulk", &long(5)).unwrap();
            bulk
        });
        engine.set_storage("t", to).unwrap();
        engine.set_storage("indexed", to).unwrap();
        // What is written now may get the pages, by their numbers, that others had elsewhere.
        engine.put(table, b"new", &long(6)).unwrap();
        engine.flush().unwrap();
        tx.put(table, b"tx 2", &long(7)).unwrap();
        assert!(tx.get(table, b"tx").unwrap().unwrap() == long(3)[..]);
        assert!(tx.get(table, b"tx 2").unwrap().unwrap() == long(7)[..]);
        assert!(matches!(tx.commit(), Err(Error::Conflict(_))));
        assert!(matches!(short_tx.commit(), Err(Error::Conflict(_))));
        for stream in &mut streams {
            stream.write_all(&long(4)[700_000..]).unwrap();
        }
        streams.into_iter().for_each(|stream| stream.finish().unwrap());
        if let Some(bulk) = bulk {
            assert!(matches!(bulk.finish(), Err(Error::Conflict(_))));
        }
        assert!(snapshot.get(table, b"a").unwrap().unwrap() == long(1)[..]);
        assert!(snapshot.get(table, b"b").unwrap().unwrap() == long(2)[..]);
        assert!(snapshot.get(table, b"stream").unwrap().is_none());
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        assert!(read == long(2));
        drop((snapshot, reader));
        let check = |engine: &Arc<Engine>| {
            let found: Vec<_> = rows(&engine.snapshot(), table).unwrap();
            let expected = [
                (&b"a"[..], long(1)),
                (b"b", long(2)),
                (b"new", long(6)),
                (b"short", b"s".to_vec()),
                (b"stream", long(4)),
            ];
            assert_eq!(found.len(), expected.len());
            assert!(found.iter().zip(&expected).all(|(a, b)| (&a.0[..], &a.1) == (b.0, &b.1)));
            assert!(engine.get(second, b"stream").unwrap().unwrap() == long(4)[..]);
        };
        check(&engine);
        engine.compact().unwrap();
        check(&engine);
        assert_sound(&engine);
        if to != Storage::Memory {
            drop(engine);
            let (engine, _) = open(&disk.crash().env(), &options).unwrap();
            check(&engine);
            assert_sound(&engine);
        }
    }
}

/// Keeps away: a table that is logged although it is in memory, or is not although it came from there; an option that is lost between
/// files; segments that stay.
#[test]
fn what_is_logged() {
    let disk = SimDisk::new(51);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    let (table, _, format) = create(&engine, Storage::BTree);
    let is_logged = |engine: &Arc<Engine>, name: &str| {
        let catalog = &engine.current().catalog;
        let (id, definition) = catalog.find(name).unwrap();
        let index = catalog.indexes_of(id).next().map(|(_, index)| (index.log, index.storage));
        (definition.log, index)
    };
    put(&engine, table, &format, 0..50);
    assert_eq!(is_logged(&engine, "t"), (true, Some((true, Storage::BTree))));
    engine.set_storage("t", Storage::Column).unwrap();
    engine.set_storage("t", Storage::Memory).unwrap();
    assert_eq!(is_logged(&engine, "t"), (false, Some((false, Storage::Memory))));
    let files = disk.list().unwrap();
    assert!(!files.iter().any(|name| name.starts_with("segment-")), "{files:?}");
    let before = disk.counters().calls(Op::Write);
    put(&engine, table, &format, 50..60);
    assert_eq!(disk.counters().calls(Op::Write), before, "nothing is written");
    engine.set_storage("t", Storage::Column).unwrap();
    assert_eq!(is_logged(&engine, "t"), (true, Some((true, Storage::BTree))));
    let unlogged = TableDefinition::new("u").column("k", Type::I64).primary_key(&["k"]).log(false);
    engine.create_table(unlogged).unwrap();
    engine.set_storage("u", Storage::Column).unwrap();
    assert!(!is_logged(&engine, "u").0);
    engine.set_storage("u", Storage::Memory).unwrap();
    engine.set_storage("u", Storage::BTree).unwrap();
    assert!(is_logged(&engine, "u").0, "as if it were new");
    // A definition in the log from before the change does not undo it.
    engine.set_storage("t", Storage::Memory).unwrap();
    engine.rename_table("t", "renamed").unwrap();
    engine.rename_table("renamed", "t").unwrap();
    engine.set_storage("t", Storage::BTree).unwrap();
    assert_sound(&engine);
    let (crashed, _) = open(&disk.crash().env(), &small_options()).unwrap();
    assert_eq!(is_logged(&crashed, "t"), (true, Some((true, Storage::BTree))));
    assert_eq!(keys(&crashed, table, &format), (0..60).collect::<Vec<_>>());
    assert_sound(&crashed);
}

/// Keeps away: rows, and pages of long values, that come back from the log after their table has moved to memory under writers, and a
/// crash.
#[test]
fn nothing_of_a_table_in_memory_is_in_the_log() {
    let options = Options {
        background_threads: true,
        background_merge: true,
        lock_timeout: Duration::from_secs(5),
        // Nothing is flushed but by the change itself: the log begins where it left it.
        memtable_bytes: 16 << 20,
        log_segment_bytes: 1 << 20,
        ..small_options()
    };
    for seed in 0..8 {
        let disk = SimDisk::new(60 + seed);
        let (engine, _) = Engine::open(disk.env(), options.clone()).unwrap();
        let running = Running::start(engine).unwrap();
        let engine = running.engine();
        let (table, other, format) = create(engine, FILES[seed as usize / 2 % FILES.len()]);
        let raw = engine.create_table(TableDefinition::key_value("raw")).unwrap();
        let stop = Stop::new();
        let written = stop.scope(|scope| {
            let writer = scope.spawn(|| {
                let mut written = 0i64;
                // A simulated disk gets slow when much is on it.
                while stop.goes_on() && written < 1500 {
                    put(engine, table, &format, [written]);
                    engine.put(other, &written.to_be_bytes(), b"").unwrap();
                    let mut stream = engine.put_stream(raw, &written.to_be_bytes()).unwrap();
                    stream.write_all(&bytes(written as u64, 9000)).unwrap();
                    stream.finish().unwrap();
                    written += 1;
                }
                written
            });
            thread::sleep(Duration::from_millis(20));
            let moved = engine.set_storage(["t", "raw"][seed as usize % 2], Storage::Memory);
            stop.now();
            let written = writer.join().unwrap();
            moved.unwrap();
            written
        });
        assert_eq!(keys(engine, table, &format).len() as i64, written);
        let found = rows(&engine.snapshot(), raw).unwrap();
        assert!(found.iter().zip(0..written).all(|((_, value), k)| *value == bytes(k as u64, 9000)));
        assert_eq!(found.len() as i64, written);
        assert_sound(engine);
        let options = Options { background_threads: false, ..options.clone() };
        let (crashed, _) = open(&disk.crash().env(), &options).unwrap();
        let left = |is_moved: bool| if is_moved { 0 } else { written };
        assert_eq!(keys(&crashed, table, &format).len() as i64, left(seed % 2 == 0));
        assert_eq!(rows(&crashed.snapshot(), raw).unwrap().len() as i64, left(seed % 2 == 1));
        assert_eq!(rows(&crashed.snapshot(), other).unwrap().len() as i64, written);
        crashed.compact().unwrap();
        assert_sound(&crashed);
    }
}

/// Keeps away: a serializable transaction that forgets what it has read because the table has moved.
#[test]
fn what_was_read_before_is_checked() {
    for (from, to) in FILES.into_iter().flat_map(|file| [(file, Storage::Memory), (Storage::Memory, file)]) {
        let (engine, _) = open(&SimDisk::new(70).env(), &small_options()).unwrap();
        let (table, other, format) = create(&engine, from);
        put(&engine, table, &format, 0..20);
        let key = |k: i64| format.encode_key(&row(k), 0).unwrap();
        let mut txs = [3, 4].map(|k| {
            let tx = engine.begin(Isolation::Serializable).unwrap();
            assert!(tx.get(table, &key(k)).unwrap().is_some());
            tx
        });
        engine.delete(table, &key(3)).unwrap();
        engine.set_storage("t", to).unwrap();
        for (tx, name) in txs.iter_mut().zip([b"3", b"4"]) {
            tx.put(other, name, b"").unwrap();
        }
        let [changed, unchanged] = txs.map(|tx| tx.commit());
        assert!(matches!(changed, Err(Error::Conflict(_))));
        unchanged.unwrap();
        assert_sound(&engine);
    }
}

/// Keeps away: an index that is built while its table moves and stays behind, or loses rows.
#[test]
fn indexes_are_built_meanwhile() {
    let options = Options { memtable_bytes: 4 << 20, cache_bytes: 16 << 20, ..small_options() };
    let disk = SimDisk::new(80);
    let (engine, _) = open(&disk.env(), &options).unwrap();
    let (table, _, format) = create(&engine, Storage::BTree);
    put(&engine, table, &format, (0..4000).filter(|k| k % 10 != 0));
    let (mut moved, mut refused) = (0, 0);
    let ways = [Storage::Memory, Storage::Column, Storage::Memory, Storage::BTree];
    for round in 0..24u64 {
        thread::scope(|scope| {
            let builder = scope.spawn(|| {
                engine.create_index(&IndexDefinition::new("j", "t", &["v", "name"])).unwrap();
            });
            // At another moment of the building each time.
            thread::sleep(Duration::from_micros(round * 300));
            while !builder.is_finished() {
                match engine.set_storage("t", ways[moved % ways.len()]) {
                    Ok(()) => moved += 1,
                    Err(Error::Invalid(why)) if why.contains("is being built") => refused += 1,
                    Err(Error::Conflict(_)) => refused += 1,
                    Err(error) => panic!("{error}"),
                }
            }
        });
        let (index, ..) = engine.current().catalog.find_index("j").unwrap();
        let snapshot = engine.snapshot();
        let count = |v: i64| snapshot.index_count(index, IndexRange::Equal(&[v.into()])).unwrap();
        assert_eq!((0..7).map(count).sum::<u64>(), 3600);
        assert_sound(&engine);
        engine.drop_index("j").unwrap();
        engine.set_storage("t", ways[moved % ways.len()]).unwrap();
        moved += 1;
    }
    assert!(moved > 24 || refused > 5, "{moved} {refused}");
    assert_eq!(keys(&engine, table, &format).len(), 3600);
    assert_sound(&engine);
}
