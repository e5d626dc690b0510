//! Databases with the usual options on disks of a few megabytes.

use std::{sync::Arc, thread};

use ambo_engine::{
    Error,
    catalog::TableDefinition,
    database::{Engine, Isolation, Options, Running},
    id::TableId,
    io::sim::SimDisk,
};

use crate::support::{Random, assert_sound, bytes, open, rows};

const MIB: u64 = 1 << 20;

/// What a program has that sets nothing, but for threads: the first thread does all itself.
fn options() -> Options {
    Options { background_threads: false, ..Options::default() }
}

fn small(seed: u64, capacity: u64) -> SimDisk {
    let disk = SimDisk::new(seed);
    disk.set_capacity(Some(capacity));
    disk
}

fn start(disk: &SimDisk) -> (Arc<Engine>, TableId) {
    let (engine, _) = open(&disk.env(), &options()).unwrap();
    let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
    (engine, table)
}

fn key(n: u64) -> [u8; 8] {
    n.to_be_bytes()
}

/// The rows `keys`, each with its value of 1,000 bytes.
fn expected(keys: impl IntoIterator<Item = u64>) -> Vec<(Vec<u8>, Vec<u8>)> {
    keys.into_iter().map(|n| (key(n).to_vec(), bytes(n, 1000))).collect()
}

/// Puts rows from `n` on until the disk is full; the first that was refused.
fn fill(engine: &Arc<Engine>, table: TableId, mut n: u64) -> u64 {
    loop {
        match engine.put(table, &key(n), &bytes(n, 1000)) {
            Ok(()) => n += 1,
            Err(Error::DiskFull(_)) => return n,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Keeps away: a first write that needs 64 MiB of free disk.
#[test]
fn a_row_needs_little_room() {
    for capacity in [MIB / 2, 2 * MIB, 8 * MIB] {
        let disk = small(capacity, capacity);
        let (engine, table) = start(&disk);
        engine.put(table, &key(1), &bytes(1, 1000)).unwrap();
        let survivor = disk.crash();
        let (engine, _) = open(&survivor.env(), &options()).unwrap();
        assert_eq!(rows(&engine.snapshot(), table).unwrap(), expected([1]));
        engine.flush().unwrap();
        assert_sound(&engine);
    }
}

/// Keeps away: a disk that the log fills before a checkpoint lets it go, rows that a full disk loses, and a database that stays
/// refused when there is room again.
#[test]
fn a_small_disk_is_filled_with_rows() {
    let disk = small(1, 8 * MIB);
    let (engine, table) = start(&disk);
    let full = fill(&engine, table, 0);
    assert!(full * 1000 > 8 * MIB / 2, "only {full} rows of 1,000 bytes");
    assert_eq!(rows(&engine.snapshot(), table).unwrap(), expected(0..full));

    let disk = disk.crash();
    let (engine, _) = open(&disk.env(), &options()).unwrap();
    assert_eq!(rows(&engine.snapshot(), table).unwrap(), expected(0..full), "after a crash");

    disk.set_capacity(Some(16 * MIB));
    let more = fill(&engine, table, full);
    assert!(more > full + full / 2, "{full} rows in 8 MiB, {more} in 16");
    assert_eq!(rows(&engine.snapshot(), table).unwrap(), expected(0..more));
    disk.set_capacity(None);
    engine.compact().unwrap();
    assert_sound(&engine);
}

/// Keeps away: a small disk that is full after a while though its rows do not become more.
#[test]
fn rows_are_replaced_for_ever_on_a_small_disk() {
    let disk = small(2, 8 * MIB);
    let (engine, table) = start(&disk);
    for n in 0..40_000 {
        engine.put(table, &key(n % 1000), &bytes(n, 1000)).unwrap();
    }
    let found = rows(&engine.snapshot(), table).unwrap();
    let newest = (39_000..40_000).map(|n| (key(n % 1000).to_vec(), bytes(n, 1000)));
    assert_eq!(found, newest.collect::<Vec<_>>());
    assert_sound(&engine);
}

/// Keeps away: rows that are lost, or come back, when the power fails on a disk that is small or full.
#[test]
fn a_crash_on_a_small_disk_loses_nothing() {
    let mut refused = 0;
    for seed in 0..6 {
        let mut random = Random::new(seed);
        let mut disk = small(seed, (1 + random.below(8)) * MIB / 4);
        let (mut engine, table) = start(&disk);
        let mut there = std::collections::BTreeMap::new();
        for _ in 0..3 {
            for _ in 0..random.below(800) {
                let (n, delete) = (random.below(1000), random.one_in(3));
                let done = match delete {
                    true => engine.delete(table, &key(n)),
                    false => engine.put(table, &key(n), &bytes(n, 1000)),
                };
                match (done, delete) {
                    (Ok(()), true) => drop(there.remove(&n)),
                    (Ok(()), false) => drop(there.insert(n, ())),
                    (Err(Error::DiskFull(_)), _) => refused += 1,
                    (Err(error), _) => panic!("seed {seed}: {error}"),
                }
            }
            disk = disk.crash();
            engine = open(&disk.env(), &options()).unwrap().0;
            let found = rows(&engine.snapshot(), table).unwrap();
            assert!(found == expected(there.keys().copied()), "seed {seed}");
        }
        disk.set_capacity(None);
        engine.flush().unwrap();
        assert_sound(&engine);
    }
    assert!(refused > 0, "no disk was ever full");
}

/// Keeps away: a commit that no checkpoint makes room for, and that tries again for ever.
#[test]
fn a_transaction_that_has_no_room_is_refused() {
    let disk = small(6, 4 * MIB);
    let (engine, table) = start(&disk);
    engine.put(table, &key(0), &bytes(0, 1000)).unwrap();
    let mut transaction = engine.begin(Isolation::Snapshot).unwrap();
    for n in 1..2500 {
        transaction.put(table, &key(n), &bytes(n, 1000)).unwrap();
    }
    assert!(matches!(transaction.commit(), Err(Error::DiskFull(_))));
    assert_eq!(rows(&engine.snapshot(), table).unwrap(), expected([0]));
    engine.put(table, &key(1), &bytes(1, 1000)).unwrap();
    assert_eq!(rows(&engine.snapshot(), table).unwrap(), expected([0, 1]));
    assert_sound(&engine);
}

/// Keeps away: deletes that a full disk refuses, so that it stays full; deleted rows whose room never comes back.
#[test]
fn a_full_disk_takes_deletes_and_then_rows() {
    for background_threads in [false, true] {
        let disk = small(4, 8 * MIB);
        let options = Options { background_threads, ..Options::default() };
        let running = Running::start(Engine::open(disk.env(), options).unwrap().0).unwrap();
        let engine = running.engine();
        let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
        for n in 0..3000 {
            engine.put(table, &key(n % 500), &bytes(n, 1000)).unwrap();
        }
        let mut first = 500;
        for _ in 0..3 {
            let full = fill(engine, table, first);
            assert!(full - first > 5000, "{} rows of 1,000 bytes", full - first);
            for n in first..full {
                engine.delete(table, &key(n)).unwrap();
            }
            first = full;
        }
        let kept = (2500..3000).map(|n| (key(n % 500).to_vec(), bytes(n, 1000)));
        assert_eq!(rows(&engine.snapshot(), table).unwrap(), kept.collect::<Vec<_>>());
        engine.compact().unwrap();
        assert_sound(engine);
    }
}

/// Keeps away: threads that fill the disk with log while a checkpoint is under way, and are refused for it; runs that pile up until
/// there is no room to merge them.
#[test]
fn threads_share_a_small_disk() {
    let disk = small(3, 8 * MIB);
    let running = Running::start(Engine::open(disk.env(), Options::default()).unwrap().0).unwrap();
    let engine = running.engine();
    let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
    thread::scope(|scope| {
        for part in 0..3 {
            scope.spawn(move || {
                for n in 0..10_000 {
                    engine.put(table, &key(part * 500 + n % 500), &bytes(part, 1000)).unwrap();
                }
            });
        }
    });
    let found = rows(&engine.snapshot(), table).unwrap();
    let newest = (0..1500).map(|n| (key(n).to_vec(), bytes(n / 500, 1000)));
    assert_eq!(found, newest.collect::<Vec<_>>());
    engine.compact().unwrap();
    assert_sound(engine);
}
