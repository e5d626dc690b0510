//! Scans of column tables over rows that are not compacted, while these are written, flushed, compacted and merged.

use std::{collections::BTreeMap, sync::Arc};

use ambo_codec::{Type, Value, column::Sum};
use ambo_engine::{
    catalog::{Storage, TableDefinition},
    database::{Engine, Isolation, Options, RowFormat, Running, ScanPlan, Snapshot, Sync},
    id::TableId,
    io::sim::SimDisk,
    scan::{Aggregate, AggregatePlan, Expression},
};

use crate::support::{Random, assert_sound};

type Rows = BTreeMap<i64, i64>;

struct World {
    engine: Arc<Engine>,
    table: TableId,
    format: RowFormat,
    /// How many rows have the same first column of the key.
    parts: i64,
}

fn definition() -> TableDefinition {
    TableDefinition::new("t")
        .column("key", Type::I64)
        .column("part", Type::I32)
        .column("amount", Type::I64)
        .primary_key(&["key", "part"])
        .storage(Storage::Column)
}

impl World {
    fn new(options: Options, parts: i64) -> Self {
        let options = Options { sync: Sync::Off, ..options };
        Self::of(Arc::new(Engine::open(SimDisk::new(0).env(), options).unwrap().0), parts)
    }

    fn of(engine: Arc<Engine>, parts: i64) -> Self {
        let table = engine.create_table(definition()).unwrap();
        Self { engine, table, format: RowFormat::new(Arc::new(definition())).unwrap(), parts }
    }

    fn columns(&self, key: i64) -> [Value; 2] {
        [Value::I64(key / self.parts), Value::I32((key % self.parts) as i32)]
    }

    fn key(&self, key: i64) -> Vec<u8> {
        self.format.encode_key_values(&self.columns(key), 0).unwrap()
    }

    fn row(&self, key: i64, amount: i64) -> Vec<u8> {
        let [key, part] = self.columns(key);
        self.format.encode_row(&[key, part, amount.into()]).unwrap()
    }

    fn put(&self, key: i64, amount: i64) {
        self.engine.put(self.table, &self.key(key), &self.row(key, amount)).unwrap();
    }

    /// Holds all that a scan of a snapshot says against its rows.
    fn assert_sees(&self, snapshot: &Snapshot, rows: &Rows) {
        let plan = ScanPlan { columns: vec![0, 1, 2], filters: Vec::new(), ..ScanPlan::default() };
        let scan = snapshot.scan_columns(self.table, &plan).unwrap();
        assert_eq!(scan.count(2).unwrap(), rows.len() as u64);
        let total = rows.values().sum::<i64>();
        assert_eq!(scan.sum(2, 1).unwrap(), (!rows.is_empty()).then_some(Sum::Integer(total.into())));
        let aggregates = [Aggregate::Rows, Aggregate::Count(Expression::Column(2))];
        let plan =
            |count: usize| AggregatePlan { group_by: Vec::new(), aggregates: aggregates[..count].to_vec() };
        let count = Value::I64(rows.len() as i64);
        assert_eq!(scan.aggregate(&plan(1), 2).unwrap().rows, [[count.clone()]]);
        assert_eq!(scan.aggregate(&plan(2), 1).unwrap().rows, [[count.clone(), count]]);
        let found = scan.fold(1, Vec::new, |found: &mut Vec<(i64, i64)>, morsel| {
            let (mut keys, mut parts) = (Vec::<i64>::new(), Vec::<i32>::new());
            let mut amounts = Vec::<i64>::new();
            morsel.values(0, &mut keys)?;
            morsel.values(1, &mut parts)?;
            morsel.values(2, &mut amounts)?;
            let keys = keys.iter().zip(parts).map(|(key, part)| key * self.parts + i64::from(part));
            found.extend(keys.zip(amounts));
            Ok(())
        });
        let mut found = found.unwrap().concat();
        found.sort_unstable();
        assert!(found.iter().copied().eq(rows.iter().map(|(key, amount)| (*key, *amount))));
    }
}

/// Keeps away: rows that are missed, seen twice or in another version because of what is kept from scan to scan, in snapshots of any
/// age, through all ways that rows go.
#[test]
fn snapshots_of_any_age_see_their_rows() {
    for seed in 0..8 {
        let mut random = Random::new(seed);
        let options = Options { background_threads: false, background_merge: false, ..Options::default() };
        let world = World::new(options, [1, 7][seed as usize / 4]);
        let keys = [60, 4000, 30_000, 300][seed as usize % 4];
        let mut rows = Rows::new();
        for key in 0..random.below(keys) as i64 {
            world.put(key, key);
            rows.insert(key, key);
        }
        let mut old: Vec<(Snapshot, Rows)> = Vec::new();
        for _ in 0..80 {
            for _ in 0..*random.pick(&[0, 1, 3, 40, 400, 1500]) {
                let key = random.below(keys + keys / 8) as i64;
                if random.one_in(4) {
                    world.engine.delete(world.table, &world.key(key)).unwrap();
                    rows.remove(&key);
                } else {
                    let amount = random.below(1 << 40) as i64;
                    world.put(key, amount);
                    rows.insert(key, amount);
                }
            }
            match random.below(16) {
                0 => world.engine.compact().unwrap(),
                1 => world.engine.compact_due().unwrap(),
                2..6 => world.engine.flush().unwrap(),
                6 | 7 => old.push((world.engine.snapshot(), rows.clone())),
                9 | 10 => _ = world.engine.make_ahead(usize::MAX),
                8 if !old.is_empty() => drop(old.swap_remove(random.below(old.len() as u64) as usize)),
                _ => {}
            }
            if !random.one_in(3) {
                world.assert_sees(&world.engine.snapshot(), &rows);
            }
            if random.one_in(3) {
                old.iter().for_each(|(snapshot, rows)| world.assert_sees(snapshot, rows));
            }
        }
        old.iter().for_each(|(snapshot, rows)| world.assert_sees(snapshot, rows));
        drop(old);
        assert_sound(&world.engine);
    }
}

/// Keeps away: scans that make themselves what was to be made ahead of them, or see rows as they were then; and work for scans that nobody
/// asks for.
#[test]
fn layers_are_made_ahead_of_scans() {
    const KEYS: i64 = 10_000;
    let options = Options { background_threads: false, background_merge: false, ..Options::default() };
    let world = World::new(options, 1);
    let mut rows: Rows = (0..KEYS).map(|key| (key, key)).collect();
    rows.iter().for_each(|(key, amount)| world.put(*key, *amount));
    world.engine.compact().unwrap();
    assert!(!world.engine.make_ahead(usize::MAX), "nobody scanned");
    let write = |rows: &mut Rows, count: i64, amount: i64| {
        for key in (0..count).map(|key| key * 3) {
            world.put(key, amount);
            rows.insert(key, amount);
        }
    };
    let kept = || world.engine.memory().fresh;
    for round in 1..4 {
        write(&mut rows, 3000, round);
        world.assert_sees(&world.engine.snapshot(), &rows);
        let before = kept();
        write(&mut rows, 10, -round);
        assert!(world.engine.make_ahead(usize::MAX));
        assert_eq!(kept(), before, "these few are left to the scan");
        write(&mut rows, 600, -round);
        assert!(world.engine.make_ahead(600));
        assert_eq!(kept(), before, "these are too many for who asked");
        assert!(world.engine.make_ahead(usize::MAX));
        let ahead = kept();
        assert!(ahead > before, "{ahead} bytes, {before} before");
        world.assert_sees(&world.engine.snapshot(), &rows);
        assert_eq!(kept(), ahead, "there was nothing left to be made");
        if round == 2 {
            world.engine.compact().unwrap();
        }
    }
    assert_sound(&world.engine);
}

/// Keeps away: scans that pay for all that a busy writer wrote since the last one; small commits that pay for a large one, or for scans
/// that nobody asks for; and rows that are not seen because of who made the layers.
#[test]
fn commits_make_the_layers_that_nobody_else_makes() {
    let options = Options { background_threads: false, background_merge: false, ..Options::default() };
    let world = World::new(options, 1);
    let mut rows: Rows = (0..40_000).map(|key| (key, key)).collect();
    rows.iter().for_each(|(key, amount)| world.put(*key, *amount));
    world.engine.compact().unwrap();
    let kept = || world.engine.memory().fresh;
    let write = |rows: &mut Rows, keys: std::ops::Range<i64>, amount: i64| {
        for key in keys {
            world.put(key, amount);
            rows.insert(key, amount);
        }
    };
    write(&mut rows, 0..3000, 1);
    assert_eq!(kept(), 0, "nobody scanned");
    world.assert_sees(&world.engine.snapshot(), &rows);
    let mut before = kept();
    for round in 0..5 {
        write(&mut rows, 4000 * round..4000 * round + 1000, -round);
        // Layers become one layer, so there may be fewer bytes, too.
        assert_ne!(kept(), before, "round {round}");
        if round % 2 == 0 {
            world.assert_sees(&world.engine.snapshot(), &rows);
        }
        before = kept();
    }
    let mut large = world.engine.begin(Isolation::Snapshot).unwrap();
    for key in 20_000..40_000 {
        large.put(world.table, &world.key(key), &world.row(key, 7)).unwrap();
        rows.insert(key, 7);
    }
    large.commit().unwrap();
    assert_eq!(kept(), before, "a large commit is soon compacted");
    write(&mut rows, 0..2000, 8);
    assert_eq!(kept(), before, "a small commit makes layers of a large one");
    world.assert_sees(&world.engine.snapshot(), &rows);
    assert_sound(&world.engine);
}

/// Keeps away: a scan that sees half of a transaction, or a row in the memtable and in its segment, or in neither, while other threads
/// write, flush and compact.
#[test]
fn scans_beside_writers_see_whole_transactions() {
    const KEYS: i64 = 20_000;
    let options = Options { memtable_bytes: 1 << 20, sync: Sync::Off, ..Options::default() };
    let running = Running::start(Engine::open(SimDisk::new(0).env(), options).unwrap().0).unwrap();
    let world = World::of(running.engine().clone(), 1);
    (0..KEYS).for_each(|key| world.put(key, 100));
    world.engine.compact().unwrap();
    let scans = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut random = Random::new(1);
            // Where each row is, and what it has.
            let mut rows: Vec<(i64, i64)> = (0..KEYS).map(|key| (key, 100)).collect();
            for _ in 0..15_000 {
                let (from, to) = (random.below(KEYS as u64) as usize, random.below(KEYS as u64) as usize);
                rows[from].1 -= 7;
                rows[to].1 += 7;
                let mut change = world.engine.begin(Isolation::Snapshot).unwrap();
                if random.one_in(3) {
                    // It is deleted, and may come back.
                    change.delete(world.table, &world.key(rows[from].0)).unwrap();
                    rows[from].0 = (rows[from].0 + KEYS) % (2 * KEYS);
                }
                for (key, amount) in [rows[from], rows[to]] {
                    change.put(world.table, &world.key(key), &world.row(key, amount)).unwrap();
                }
                change.commit().unwrap();
            }
        });
        let mut scans = 0;
        let mut old: Option<Snapshot> = None;
        while !writer.is_finished() || scans < 50 {
            let now = world.engine.snapshot();
            for snapshot in std::iter::once(&now).chain(&old) {
                let plan = ScanPlan { columns: vec![2], filters: Vec::new(), ..ScanPlan::default() };
                let scan = snapshot.scan_columns(world.table, &plan).unwrap();
                assert_eq!(scan.count(1).unwrap(), KEYS as u64);
                let sum = scan.sum(0, 1).unwrap();
                assert_eq!(sum, Some(Sum::Integer((KEYS * 100).into())), "scan {scans}");
            }
            scans += 1;
            if scans % 16 == 0 {
                old = Some(now);
            }
        }
        writer.join().unwrap();
        scans
    });
    assert!(scans >= 50);
    assert_sound(&world.engine);
    running.close().unwrap();
}
