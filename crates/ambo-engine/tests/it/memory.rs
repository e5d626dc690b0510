//! One budget for all that is cached: of pages, blocks, rows and fresh layers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use ambo_codec::{Type, Value, column::Sum};
use ambo_engine::{
    catalog::{Storage, TableDefinition},
    database::{Engine, MemoryUse, Options, RowFormat, ScanPlan, Seek, Sync},
    id::TableId,
    io::sim::SimDisk,
};

use crate::support::{Random, assert_sound, bytes};

const PAGE: usize = 4096;
/// Rows for each pair.
const ROWS: u64 = 9;

fn options(cache_bytes: usize) -> Options {
    Options {
        cache_bytes,
        memtable_bytes: 8 << 20,
        page_size: PAGE,
        background_threads: false,
        sync: Sync::Off,
        ..Options::default()
    }
}

/// A btree table and a column table, of about as many bytes each.
struct World {
    disk: SimDisk,
    engine: Arc<Engine>,
    pairs: TableId,
    rows: TableId,
    keys: u64,
}

impl World {
    /// Pairs of 100 bytes, and nine times as many rows of 16 bytes, whose blocks are smaller than a sixteenth of a budget of some MiB.
    fn new(options: &Options, keys: u64) -> Self {
        let disk = SimDisk::new(1);
        let engine = Arc::new(Engine::open(disk.env(), options.clone()).unwrap().0);
        let table = |name: &str, storage, keys: u64, len: usize| {
            let table = engine.create_table(TableDefinition::key_value(name).storage(storage)).unwrap();
            let mut batch = 0;
            for key in 0..keys {
                engine.put(table, &key.to_be_bytes(), &value(key, 0)[..len]).unwrap();
                batch += 1;
                if batch == 5000 {
                    engine.flush().unwrap();
                    batch = 0;
                }
            }
            table
        };
        let pairs = table("pairs", Storage::BTree, keys, 100);
        let rows = table("rows", Storage::Column, keys * ROWS, 16);
        engine.compact().unwrap();
        let world = Self { disk, engine, pairs, rows, keys };
        world.assert_within();
        world
    }

    /// The same, with nothing in memory.
    fn reopened(self, options: &Options) -> Self {
        let Self { disk, engine, pairs, rows, keys } = self;
        engine.flush().unwrap();
        drop(engine);
        let engine = Arc::new(Engine::open(disk.env(), options.clone()).unwrap().0);
        Self { disk, engine, pairs, rows, keys }
    }

    fn used(&self) -> MemoryUse {
        self.engine.memory()
    }

    fn assert_within(&self) -> MemoryUse {
        let used = self.used();
        assert!(used.total <= used.limit, "{used:?}");
        used
    }

    /// Reads many rows by key.
    fn read(&self, table: TableId, reads: u64, of: u64, random: &mut Random) {
        let snapshot = self.engine.snapshot();
        for at in 0..reads {
            let key = random.below(of);
            let found = snapshot.get(table, &key.to_be_bytes()).unwrap().expect("the key is there");
            assert_eq!(found[..8], value(key, 0)[..8]);
            if at % 64 == 0 {
                self.assert_within();
            }
        }
    }

    /// Reads all rows in order.
    fn walk(&self, table: TableId) {
        let snapshot = self.engine.snapshot();
        let mut cursor = snapshot.cursor(table).unwrap();
        let mut there = cursor.seek(Seek::First).unwrap();
        let mut rows = 0;
        while there {
            rows += 1;
            there = cursor.next().unwrap();
            if rows % 256 == 0 {
                self.assert_within();
            }
        }
        assert!(rows >= self.keys);
    }

    fn scan(&self) {
        let plan = ScanPlan { columns: vec![0, 1], filters: vec![], ..ScanPlan::default() };
        let scan = self.engine.snapshot().scan_columns(self.rows, &plan).unwrap();
        for unit in 0..scan.units() {
            drop(scan.morsel(unit).unwrap());
            self.assert_within();
        }
        assert!(scan.count(1).unwrap() >= self.keys * ROWS);
    }
}

/// 8 bytes that say which row it is, and others that hardly compress.
fn value(key: u64, round: u64) -> Vec<u8> {
    [&key.to_le_bytes()[..], &bytes(key ^ round << 40, 92)].concat()
}

/// Keeps away: caches that take more than the budget together, at any moment, whatever reads and writes there are, and shares that starve.
#[test]
fn the_budget_holds_while_all_is_used() {
    let options = options(4 << 20);
    let world = World::new(&options, 30_000);
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let (mut most, mut fresh) = (MemoryUse::default(), 0);
            while !is_done.load(Ordering::Relaxed) {
                let used = world.assert_within();
                if used.total > most.total {
                    most = used;
                }
                fresh = fresh.max(used.fresh);
                thread::yield_now();
            }
            (most, fresh)
        });
        let work = [
            scope.spawn(|| world.read(world.pairs, 60_000, world.keys, &mut Random::new(1))),
            scope.spawn(|| world.read(world.rows, 20_000, world.keys * ROWS, &mut Random::new(2))),
            scope.spawn(|| {
                for _ in 0..3 {
                    world.walk(world.pairs);
                    world.scan();
                    world.walk(world.rows);
                }
            }),
            scope.spawn(|| {
                let mut random = Random::new(3);
                for round in 1..4000 {
                    for table in [world.pairs, world.rows] {
                        let key = random.below(world.keys);
                        world.engine.put(table, &key.to_be_bytes(), &value(key, round)[..16]).unwrap();
                    }
                    if round % 200 == 0 {
                        world.scan();
                    }
                }
            }),
        ];
        let work = work.map(thread::ScopedJoinHandle::join);
        is_done.store(true, Ordering::Relaxed);
        let (most, fresh) = watch.join().unwrap();
        work.into_iter().for_each(|work| work.unwrap());
        assert!(most.total > most.limit / 8 * 7, "{most:?}");
        assert!(fresh > 0);
    });
    // Who needs memory has a sixteenth less a step, of a thirty-second, for certain; which of the two needed it last is not.
    let mut random = Random::new(4);
    world.read(world.pairs, 2_000, world.keys, &mut random);
    world.read(world.rows, 2_000, world.keys * ROWS, &mut random);
    let used = world.assert_within();
    assert!(used.pages >= used.limit / 32 && used.blocks + used.rows >= used.limit / 32, "{used:?}");
    let info = world.engine.info().unwrap();
    assert_eq!(info.memory.pages, info.pages.resident_bytes);
    assert_eq!(info.memory.blocks, info.block_cache_bytes);
    assert_sound(&world.engine);
}

/// Keeps away: memory that stays where it was needed once, and a cache that cannot have nearly all of it.
#[test]
fn memory_follows_the_work() {
    // Each table needs about four fifths of it.
    let options = options(4 << 20);
    let world = World::new(&options, 30_000).reopened(&options);
    let mut random = Random::new(5);
    let shares =
        |used: MemoryUse| (used.pages * 100 / used.limit, (used.blocks + used.rows) * 100 / used.limit);
    for round in 0..3 {
        world.read(world.pairs, 120_000, world.keys, &mut random);
        let (pages, _) = shares(world.used());
        assert!(pages >= 65, "round {round}: {:?}", world.used());
        let misses = world.engine.info().unwrap().pages.misses;
        world.read(world.pairs, 20_000, world.keys, &mut random);
        let missed = world.engine.info().unwrap().pages.misses - misses;
        assert!(missed < 1000, "round {round}: {missed} misses, {:?}", world.used());
        world.read(world.rows, 120_000, world.keys * ROWS, &mut random);
        let (_, blocks) = shares(world.used());
        assert!(blocks >= 65, "round {round}: {:?}", world.used());
    }
    assert_sound(&world.engine);
}

/// Keeps away: a database that does not work with the least memory, whatever its pages.
#[test]
fn the_least_memory_works() {
    for page_size in [4 << 10, 64 << 10] {
        let options = Options { page_size, memtable_bytes: 64 << 10, ..options(256 << 10) };
        let disk = SimDisk::new(2);
        let engine = Arc::new(Engine::open(disk.env(), options).unwrap().0);
        let table =
            |name, storage| engine.create_table(TableDefinition::key_value(name).storage(storage)).unwrap();
        let tables = [table("a", Storage::BTree), table("b", Storage::Column)];
        let within = || {
            let used = engine.memory();
            assert!(used.total <= used.limit + 4 * page_size as u64, "{used:?}");
        };
        for key in 0..3000u64 {
            for table in tables {
                engine.put(table, &key.to_be_bytes(), &value(key, 0)).unwrap();
            }
            within();
        }
        engine.compact().unwrap();
        let snapshot = engine.snapshot();
        let mut random = Random::new(7);
        for _ in 0..3000 {
            for table in tables {
                let key = random.below(3000);
                let found = snapshot.get(table, &key.to_be_bytes()).unwrap().expect("the key is there");
                assert_eq!(found[..], value(key, 0));
            }
            within();
        }
        drop(snapshot);
        assert_sound(&engine);
    }
}

/// Keeps away: memory that is taken from who holds it, or an answer that is wrong, when pages are pinned and blocks in use while their
/// cache becomes smaller.
#[test]
fn what_readers_hold_stays() {
    let options = options(2 << 20);
    let world = World::new(&options, 20_000);
    let mut random = Random::new(9);
    let snapshot = world.engine.snapshot();
    for (held, other, len) in [(world.pairs, world.rows, 100), (world.rows, world.pairs, 16)] {
        world.read(held, 20_000, world.keys, &mut random);
        let mut cursors: Vec<_> = (0..world.keys)
            .step_by(500)
            .map(|key| {
                let mut cursor = snapshot.cursor(held).unwrap();
                assert!(cursor.seek(Seek::Ge(&key.to_be_bytes())).unwrap());
                (cursor, key)
            })
            .collect();
        let scan = snapshot
            .scan_columns(
                world.rows,
                &ScanPlan { columns: vec![0, 1], filters: vec![], ..ScanPlan::default() },
            )
            .unwrap();
        let morsel = scan.morsel(0).unwrap();
        world.read(other, 60_000, world.keys, &mut random);
        for (cursor, key) in &mut cursors {
            for key in *key..(*key + 20).min(world.keys) {
                assert_eq!(
                    (cursor.key().to_vec(), cursor.value().unwrap().to_vec()),
                    (key.to_be_bytes().to_vec(), value(key, 0)[..len].to_vec())
                );
                cursor.next().unwrap();
            }
        }
        assert!(morsel.is_some());
        drop(morsel);
        assert_eq!(scan.count(1).unwrap(), world.keys * ROWS);
        world.assert_within();
    }
    drop(snapshot);
    assert_sound(&world.engine);
}

/// Keeps away: that what scans need of rows that are not compacted is made anew for each scan, where the rows are too many to be kept and
/// some of their columns are not; and that a scan goes by columns that were kept for another.
#[test]
fn of_too_many_fresh_rows_columns_are_kept() {
    const ROWS: i64 = 40_000;
    let options = Options { background_merge: false, ..options(8 << 20) };
    let (engine, _) = Engine::open(SimDisk::new(3).env(), options).unwrap();
    let engine = Arc::new(engine);
    let definition = TableDefinition::new("t")
        .column("key", Type::I64)
        .column("number", Type::I64)
        .column("other", Type::I64)
        .column("text", Type::Binary)
        .primary_key(&["key"])
        .storage(Storage::Column);
    let table = engine.create_table(definition.clone()).unwrap();
    let format = RowFormat::new(Arc::new(definition)).unwrap();
    let write = |key: i64, round: i64| {
        let row = [key.into(), (key + round).into(), (key % 7).into(), Value::Binary(bytes(key as u64, 100))];
        let stored = format.encode_key_values(&row[..1], 0).unwrap();
        engine.put(table, &stored, &format.encode_row(&row).unwrap()).unwrap();
    };
    (0..ROWS).for_each(|key| write(key, 0));
    engine.compact().unwrap();
    let sum = |column: usize| {
        let plan = ScanPlan { columns: vec![column], filters: vec![], ..ScanPlan::default() };
        let scan = engine.snapshot().scan_columns(table, &plan).unwrap();
        let sums =
            (0..scan.units()).map(|unit| match scan.morsel(unit).unwrap().map(|morsel| morsel.sum(0)) {
                None => 0,
                Some(Ok(Sum::Integer(sum))) => sum,
                other => panic!("{:?}", other.is_some()),
            });
        sums.sum::<i128>()
    };
    let numbers: i128 = (0..ROWS).map(i128::from).sum();
    let others: i128 = (0..ROWS).map(|key| i128::from(key % 7)).sum();
    assert_eq!((sum(1), sum(2), engine.memory().fresh), (numbers, others, 0));
    for round in 1..4i64 {
        (0..ROWS).for_each(|key| write(key, round));
        let numbers = numbers + i128::from(ROWS * round);
        assert_eq!(sum(1), numbers);
        let one = engine.memory().fresh;
        assert!(one > 0, "nothing is kept in round {round}");
        assert_eq!((sum(1), engine.memory().fresh), (numbers, one), "what is kept serves again");
        assert_eq!(sum(2), others);
        let two = engine.memory().fresh;
        assert!(two > one, "{two} bytes for two columns, {one} for one");
        assert_eq!((sum(1), sum(2), engine.memory().fresh), (numbers, others, two));
        // Some more rows lie above them, whole.
        (0..100).for_each(|key| write(key * 7, round + 1));
        assert_eq!((sum(1), sum(2)), (numbers + 100, others));
        if round < 3 {
            engine.compact().unwrap();
            assert_eq!((sum(1), engine.memory().fresh), (numbers + 100, 0));
        }
    }
    let plan = ScanPlan { columns: vec![3], filters: vec![], ..ScanPlan::default() };
    let scan = engine.snapshot().scan_columns(table, &plan).unwrap();
    let lengths = (0..scan.units()).filter_map(|unit| scan.morsel(unit).unwrap()).map(|morsel| {
        let (mut ends, mut data) = (Vec::new(), Vec::new());
        morsel.texts(0, &mut ends, &mut data).unwrap();
        data.len()
    });
    assert_eq!(lengths.sum::<usize>(), 100 * ROWS as usize);
    assert_sound(&engine);
}
