//! Many threads at once, with freezes, merges and checkpoints under way, on both disks; then a crash or a close, and a comparison.
//!
//! Not repeatable to the letter, as the scheduler decides; the invariants hold whatever it does.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use ambo_engine::{
    Error,
    catalog::TableDefinition,
    database::{Engine, Isolation, Options, Running, Seek, Snapshot, Sync},
    id::TableId,
    io::{Env, sim::SimDisk},
    log::Operation,
    record::Record,
};

use crate::{
    stop::Stop,
    support::{Random, assert_sound, bytes, open, rows, small_options},
};

const ACCOUNTS: u64 = 24;
const TOTAL: u64 = ACCOUNTS * 1000;
const COUNTERS: u64 = 16;
const WRITERS: u64 = 3;

fn options(sync: Sync) -> Options {
    Options {
        background_threads: true,
        background_merge: true,
        lock_timeout: Duration::from_secs(5),
        sync,
        ..small_options()
    }
}

#[derive(Clone, Copy)]
struct Tables {
    bank: TableId,
    counters: TableId,
    filler: TableId,
}

fn key(n: u64) -> [u8; 8] {
    n.to_be_bytes()
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes[..8].try_into().unwrap())
}

/// What threads have been promised, counter by counter.
struct Promised {
    counters: Vec<AtomicU64>,
    transfers: AtomicU64,
    conflicts: AtomicU64,
}

fn create(engine: &Arc<Engine>) -> Tables {
    let table = |name| engine.create_table(TableDefinition::key_value(name)).unwrap();
    let tables = Tables { bank: table("bank"), counters: table("counters"), filler: table("filler") };
    let mut transaction = engine.begin(Isolation::Snapshot).unwrap();
    for n in 0..ACCOUNTS {
        transaction.put(tables.bank, &key(n), &1000u64.to_le_bytes()).unwrap();
    }
    transaction.commit().unwrap();
    tables
}

/// Moves money between accounts; whoever fails tries again with others.
fn transfer(
    engine: &Arc<Engine>,
    tables: Tables,
    random: &mut Random,
    promised: &Promised,
) -> Result<(), Error> {
    let isolation = if random.one_in(3) { Isolation::Serializable } else { Isolation::Snapshot };
    let mut transaction = engine.begin(isolation)?;
    let (from, to) = (random.below(ACCOUNTS), random.below(ACCOUNTS));
    if from == to {
        return Ok(());
    }
    if random.one_in(4) {
        // In an order, so that waits do not cross.
        transaction.lock(tables.bank, &key(from.min(to)))?;
        transaction.lock(tables.bank, &key(from.max(to)))?;
    }
    let balance = |n| Ok::<_, Error>(number(&transaction.get(tables.bank, &key(n))?.expect("accounts stay")));
    let (mine, yours) = (balance(from)?, balance(to)?);
    let amount = random.below(50).min(mine);
    transaction.put(tables.bank, &key(from), &(mine - amount).to_le_bytes())?;
    transaction.put(tables.bank, &key(to), &(yours + amount).to_le_bytes())?;
    transaction.commit()?;
    promised.transfers.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// One thread's own counters go up by one at a time, in a batch with filling that keeps flushes coming.
fn count_up(
    engine: &Arc<Engine>,
    tables: Tables,
    random: &mut Random,
    me: u64,
    promised: &Promised,
) -> Result<(), Error> {
    let n = random.below(COUNTERS) * WRITERS + me;
    let next = promised.counters[n as usize].load(Ordering::Relaxed) + 1;
    let filling = bytes(random.next(), random.below(900) as usize);
    let (count, keys) = (next.to_le_bytes(), [key(n), key(random.below(500)), key(random.below(500))]);
    let operations = [
        Operation { table: tables.counters, key: &keys[0], record: Record::inline(&count) },
        Operation { table: tables.filler, key: &keys[1], record: Record::inline(&filling) },
        Operation { table: tables.filler, key: &keys[2], record: Record::TOMBSTONE },
    ];
    engine.write_batch(&operations, None)?;
    promised.counters[n as usize].store(next, Ordering::Relaxed);
    Ok(())
}

fn write(engine: &Arc<Engine>, tables: Tables, seed: u64, me: u64, promised: &Promised, stop: &Stop) {
    let mut random = Random::new(seed * 100 + me);
    while stop.goes_on() {
        let result = match random.one_in(2) {
            true => transfer(engine, tables, &mut random, promised),
            false => count_up(engine, tables, &mut random, me, promised),
        };
        match result {
            Ok(()) => {}
            Err(error) if error.is_retryable() => {
                promised.conflicts.fetch_add(1, Ordering::Relaxed);
            }
            // The power is gone.
            Err(Error::Io { .. } | Error::Poisoned(_)) if !stop.goes_on() => return,
            Err(error) => panic!("{error}"),
        }
    }
}

fn check_bank(snapshot: &Snapshot, tables: Tables) {
    let accounts = rows(snapshot, tables.bank).unwrap();
    assert_eq!(accounts.len() as u64, ACCOUNTS);
    assert_eq!(accounts.iter().map(|(_, value)| number(value)).sum::<u64>(), TOTAL, "money was made or lost");
    assert_eq!(snapshot.count(tables.bank, None, None).unwrap(), ACCOUNTS);
}

/// Reads while others write: the sum stays, counters never go back, a snapshot never changes.
fn read(engine: &Arc<Engine>, tables: Tables, stop: &Stop) -> u64 {
    let mut seen = vec![0; (COUNTERS * WRITERS) as usize];
    let mut rounds = 0;
    while stop.goes_on() {
        let snapshot = engine.snapshot();
        check_bank(&snapshot, tables);
        let filler = rows(&snapshot, tables.filler).unwrap();
        for (key, value) in rows(&snapshot, tables.counters).unwrap() {
            let n = u64::from_be_bytes(key[..].try_into().unwrap()) as usize;
            assert!(
                number(&value) >= seen[n],
                "counter {n} went back from {} to {}",
                seen[n],
                number(&value)
            );
            seen[n] = number(&value);
            let now = engine.get(tables.counters, &key).unwrap().expect("counters stay");
            assert!(number(&now) >= seen[n], "a read is behind an earlier snapshot");
            let later = engine.snapshot().get(tables.counters, &key).unwrap().expect("counters stay");
            assert!(number(&later) >= number(&now), "a snapshot is behind an earlier read");
        }
        let mut cursor = snapshot.cursor(tables.filler).unwrap();
        let mut there = cursor.seek(Seek::Last).unwrap();
        for (key, value) in filler.iter().rev() {
            assert!(
                there && cursor.key() == &key[..] && cursor.value().unwrap() == &value[..],
                "a snapshot has changed"
            );
            there = cursor.prev().unwrap();
        }
        assert!(!there);
        rounds += 1;
    }
    rounds
}

/// Creates, fills, renames, truncates and drops tables while others work, and loads in bulk.
fn define(engine: &Arc<Engine>, seed: u64, stop: &Stop) {
    let mut random = Random::new(seed);
    let mut round = || -> Result<(), Error> {
        let id = engine.create_table(TableDefinition::key_value("temporary"))?;
        for n in 0..random.below(60) {
            engine.put(id, &key(n), &bytes(n, random.below(3000) as usize))?;
        }
        let before = engine.snapshot();
        let mut load = engine.bulk_load(id)?;
        for n in 50..100 {
            load.push(&key(n), b"loaded")?;
        }
        load.finish()?;
        assert_eq!(engine.get(id, &key(70))?.expect("just loaded"), b"loaded");
        assert!(before.get(id, &key(70))?.is_none(), "a snapshot sees a later load");
        let id = match random.one_in(2) {
            true => engine.truncate_table("temporary")?,
            false => id,
        };
        engine.put(id, b"after", b"after")?;
        engine.rename_table("temporary", "renamed")?;
        assert_eq!(engine.get(id, b"after")?.expect("just written"), b"after");
        let rows_before = before.count(id, None, None);
        engine.drop_table("renamed")?;
        match engine.put(id, b"late", b"") {
            Err(Error::NotFound(_)) => {}
            // The power may have gone since.
            Err(error) => return Err(error),
            Ok(()) => panic!("a row was written to a dropped table"),
        }
        if let Ok(rows_before) = rows_before {
            assert_eq!(before.count(id, None, None)?, rows_before, "a dropped table is there for a snapshot");
            assert_eq!(rows(&before, id)?.len() as u64, rows_before);
        }
        Ok(())
    };
    while stop.goes_on() {
        match round() {
            Ok(()) => {}
            Err(Error::Io { .. } | Error::Poisoned(_)) if !stop.goes_on() => return,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Runs writers and readers for a while; `finish` is called while they are at it or after.
fn run(
    engine: &Arc<Engine>,
    tables: Tables,
    seed: u64,
    time: Duration,
    promised: &Promised,
    power_off: impl FnOnce(),
) {
    let stop = Stop::new();
    let reading = Stop::new();
    stop.scope(|scope| {
        let _reading = reading.at_end();
        for me in 0..WRITERS {
            let stop = &stop;
            scope.spawn(move || write(engine, tables, seed, me, promised, stop));
        }
        let stopping = &stop;
        scope.spawn(move || define(engine, seed, stopping));
        let readers: Vec<_> = (0..2).map(|_| scope.spawn(|| read(engine, tables, &reading))).collect();
        let started = Instant::now();
        while started.elapsed() < time {
            thread::sleep(Duration::from_millis(20));
            match started.elapsed().as_millis() % 3 {
                0 => engine.compact().unwrap(),
                1 => engine.flush().unwrap(),
                _ => drop(engine.vacuum().unwrap()),
            }
        }
        reading.now();
        let rounds: u64 = readers.into_iter().map(|reader| reader.join().unwrap()).sum();
        assert!(rounds > 0);
        stop.now();
        power_off();
    });
}

fn promised() -> Promised {
    Promised {
        counters: (0..COUNTERS * WRITERS).map(|_| AtomicU64::new(0)).collect(),
        transfers: AtomicU64::new(0),
        conflicts: AtomicU64::new(0),
    }
}

fn verify(env: &Env, tables: Tables, promised: &Promised, all: bool) {
    let (engine, _) = open(env, &small_options()).unwrap();
    assert_sound(&engine);
    let snapshot = engine.snapshot();
    check_bank(&snapshot, tables);
    for (n, counter) in promised.counters.iter().enumerate() {
        let found = snapshot.get(tables.counters, &key(n as u64)).unwrap().map_or(0, |value| number(&value));
        let promised = counter.load(Ordering::Relaxed);
        // One more may have been on its way.
        assert!(found <= promised + 1, "counter {n}: {found} found, {promised} written");
        assert!(!all || found >= promised, "counter {n}: {found} found, {promised} acknowledged");
    }
    assert!(promised.transfers.load(Ordering::Relaxed) > 0);
}

/// Keeps away: lost updates, torn transactions, readers that see time go back, and pages freed under a reader; then what an orderly end
/// loses.
#[test]
fn bank_and_counters_on_a_real_disk() {
    for (seed, sync) in [(1, Sync::Off), (2, Sync::Interval(Duration::from_millis(5))), (3, Sync::Commit)] {
        let directory = tempfile::tempdir().unwrap();
        let env = Env::os(directory.path(), true).unwrap();
        let running = Running::start(Engine::open(env.clone(), options(sync)).unwrap().0).unwrap();
        let tables = create(running.engine());
        let promised = promised();
        run(running.engine(), tables, seed, Duration::from_millis(700), &promised, || {});
        running.close().unwrap();
        drop(running);
        verify(&env, tables, &promised, true);
    }
}

/// Keeps away: what is lost when the power goes while everything is under way.
#[test]
fn bank_and_counters_and_the_power_goes() {
    for seed in 0..6 {
        let sync = if seed % 2 == 0 { Sync::Commit } else { Sync::Off };
        let disk = SimDisk::new(seed);
        let running = Running::start(Engine::open(disk.env(), options(sync)).unwrap().0).unwrap();
        let tables = create(running.engine());
        running.engine().flush().unwrap();
        let promised = promised();
        let mut after = None;
        run(running.engine(), tables, seed, Duration::from_millis(250), &promised, || {
            after = Some(disk.crash())
        });
        drop(running);
        verify(&after.unwrap().env(), tables, &promised, sync == Sync::Commit);
    }
}

/// Keeps away: a full disk that stops the database for good, loses what was committed, or stops readers.
#[test]
fn a_full_disk_is_survived() {
    for seed in 0..4 {
        let disk = SimDisk::new(seed);
        let sync = if seed % 2 == 0 { Sync::Commit } else { Sync::Off };
        let running = Running::start(Engine::open(disk.env(), options(sync)).unwrap().0).unwrap();
        let engine = running.engine();
        let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
        let mut acknowledged = Vec::new();
        let mut n = 0;
        for room in [1 << 20, 1 << 17, 1 << 19] {
            disk.set_capacity(Some(disk.used() + room));
            // Until it is full, and a few times more.
            let mut refused = 0;
            while refused < 5 {
                n += 1;
                match engine.put(table, &key(n), &bytes(n, 3000)) {
                    Ok(()) => acknowledged.push(n),
                    Err(Error::DiskFull(_)) => refused += 1,
                    Err(error) => panic!("{error}"),
                }
                assert!(n < 100_000, "it never gets full");
            }
            assert_eq!(
                engine.get(table, &key(acknowledged[0])).unwrap().unwrap(),
                bytes(acknowledged[0], 3000)
            );
            disk.set_capacity(None);
            let started = Instant::now();
            while engine.put(table, &key(0), b"works again").is_err() {
                assert!(started.elapsed() < Duration::from_secs(20), "it stays refused");
                thread::sleep(Duration::from_millis(20));
            }
        }
        engine.compact().unwrap();
        drop(running);
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        assert_sound(&engine);
        let found = rows(&engine.snapshot(), table).unwrap();
        let expected = [(key(0).to_vec(), b"works again".to_vec())]
            .into_iter()
            .chain(acknowledged.iter().map(|n| (key(*n).to_vec(), bytes(*n, 3000))));
        assert!(found.into_iter().eq(expected));
    }
}
