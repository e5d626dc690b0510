//! What aggregates of segments came to, kept for the next time: always as if it were computed anew.

use std::sync::Arc;

use ambo_codec::{Value, column::Compare};
use ambo_engine::{
    catalog::{Storage, TableDefinition},
    database::{Engine, Options, PartialsUsed, RowFormat, ScanPlan, Snapshot, Sync, TableScan},
    id::TableId,
    io::sim::SimDisk,
    scan::{Aggregate, AggregatePlan, Expression, Filter, Test},
};

use crate::{
    aggregate::{World, assert_as_new, group_columns},
    support::{Random, assert_sound},
};

/// Keeps away: a result that is kept and is not what its rows come to now, or came to at the moment of a snapshot; after inserts, updates,
/// deletes, settling and merging, with layers of fresh rows and without.
#[test]
fn what_is_kept_is_as_new() {
    let mut all = PartialsUsed::default();
    for seed in 0..6 {
        let mut world = World::new(seed);
        let keys = [2000, 20_000, 9000][seed as usize % 3];
        let plans: Vec<_> = (0..8)
            .map(|_| {
                let group_by = group_columns(&mut world);
                let aggregates = (0..1 + world.below(4)).map(|_| world.aggregate()).collect();
                let filters = (0..world.below(3)).map(|_| world.question()).collect::<Vec<_>>();
                (AggregatePlan { group_by, aggregates }, filters)
            })
            .collect();
        let mut snapshots: Vec<Snapshot> = Vec::new();
        for round in 0..8 {
            let extreme = world.below(2) == 0;
            // Many rows at first, then few, in one place or anywhere.
            let (writes, first, range) = match round {
                0 => (keys, 0, keys),
                1..4 => (keys / 100, world.below(keys), 50),
                _ => (keys / 20, 0, keys + keys / 10),
            };
            for _ in 0..writes {
                let key = first + world.below(range);
                world.write(key as i64, extreme);
            }
            match world.below(4) {
                0 => world.engine.compact().unwrap(),
                1 => world.engine.compact_due().unwrap(),
                2 => world.engine.flush().unwrap(),
                _ if round == 0 => world.engine.compact_due().unwrap(),
                _ => {}
            }
            snapshots.push(world.engine.snapshot());
            if snapshots.len() > 3 {
                snapshots.remove(world.below(3) as usize);
            }
            for (plan, filters) in &plans {
                for snapshot in &snapshots {
                    let columns = (0..world.types.len()).collect();
                    let scan = ScanPlan { columns, filters: filters.clone(), ..ScanPlan::default() };
                    let scan = snapshot.scan_columns(world.table, &scan).unwrap();
                    let PartialsUsed { parts, kept, .. } = assert_as_new(&scan, &world.types, plan);
                    all.parts += parts;
                    all.kept += kept;
                }
            }
        }
        drop(snapshots);
        assert_sound(&world.engine);
    }
    assert!(all.kept * 2 > all.parts, "{all:?}");
}

/// A table of a key, a small number, a double and a text; and what is there of it.
struct Numbers {
    engine: Arc<Engine>,
    table: TableId,
    format: RowFormat,
}

impl Numbers {
    fn new(options: Options) -> Self {
        let definition = TableDefinition::new("t")
            .column("key", ambo_codec::Type::I64)
            .column_nullable("n", ambo_codec::Type::I32)
            .column_nullable("x", ambo_codec::Type::F64)
            .column_nullable("s", ambo_codec::Type::Utf8)
            .primary_key(&["key"])
            .storage(Storage::Column);
        let engine = Arc::new(Engine::open(SimDisk::new(0).env(), options).unwrap().0);
        let table = engine.create_table(definition.clone()).unwrap();
        Self { engine, table, format: RowFormat::new(Arc::new(definition)).unwrap() }
    }

    fn put(&self, key: i64, n: i32) {
        let x = Value::F64(f64::from(n) / 10.0);
        let row = [key.into(), n.into(), x, Value::Utf8(format!("text {}", n % 7))];
        let stored = self.format.encode_key_values(&[key.into()], 0).unwrap();
        self.engine.put(self.table, &stored, &self.format.encode_row(&row).unwrap()).unwrap();
    }

    fn fill(&self, keys: i64) {
        (0..keys).for_each(|key| self.put(key, (key % 1000) as i32));
        self.engine.compact().unwrap();
    }

    fn scan(&self, filters: Vec<Filter>) -> TableScan {
        let plan = ScanPlan { columns: vec![1, 2, 3], filters, ..ScanPlan::default() };
        self.engine.snapshot().scan_columns(self.table, &plan).unwrap()
    }

    fn values(&self) -> u64 {
        self.engine.info().unwrap().partials.values
    }
}

fn options() -> Options {
    Options { background_threads: false, sync: Sync::Off, ..Options::default() }
}

fn sums(group_by: Vec<usize>) -> AggregatePlan {
    let sum = |column| Aggregate::Sum(Expression::Column(column));
    AggregatePlan { group_by, aggregates: vec![sum(0), sum(1), Aggregate::Max(Expression::Column(2))] }
}

/// Keeps away: segments that are read although what they come to is known, and those that are not, although rows of them are gone, or other
/// conditions are asked.
#[test]
fn only_what_is_new_is_read() {
    let t = Numbers::new(options());
    t.fill(20_000);
    let used = |scan: TableScan, plan: &AggregatePlan| {
        let (_, used) = scan.aggregate_told(plan, 2).unwrap();
        (used.parts, used.kept)
    };
    let less = |bound: i32| vec![Filter { column: 1, test: Test::Compare(Compare::Less, bound.into()) }];
    assert_eq!(used(t.scan(vec![]), &sums(vec![2])), (1, 0));
    assert_eq!(used(t.scan(vec![]), &sums(vec![2])), (1, 1));
    // Other groups, other conditions, other constants.
    assert_eq!(used(t.scan(vec![]), &sums(vec![0])), (1, 0));
    assert_eq!(used(t.scan(less(500)), &sums(vec![2])), (1, 0));
    assert_eq!(used(t.scan(less(501)), &sums(vec![2])), (1, 0));
    assert_eq!(used(t.scan(less(500)), &sums(vec![2])), (1, 1));
    // New rows are a part of their own, and then a segment of their own.
    t.put(50_000, 5);
    assert_eq!(used(t.scan(vec![]), &sums(vec![2])), (1, 1));
    let before = t.engine.snapshot();
    // A row that is written anew is missing in the segment.
    t.put(7, 900);
    assert_eq!(used(t.scan(vec![]), &sums(vec![2])), (1, 0));
    assert_eq!(used(t.scan(vec![]), &sums(vec![2])), (1, 1));
    // Wherever it and others are that are new, it is missing as before.
    (60_000..64_000).for_each(|key| t.put(key, 3));
    t.engine.compact_due().unwrap();
    let (parts, kept) = used(t.scan(vec![]), &sums(vec![2]));
    assert_eq!(kept, 1);
    let plan = ScanPlan { columns: vec![1, 2, 3], filters: vec![], ..ScanPlan::default() };
    let old = before.scan_columns(t.table, &plan).unwrap();
    let types = [ambo_codec::Type::I32, ambo_codec::Type::F64, ambo_codec::Type::Utf8];
    assert_as_new(&old, &types, &sums(vec![2]));
    drop((old, before));
    // Off, nothing is there.
    t.engine.keep_partials(Some(false));
    assert_eq!((t.values(), t.engine.memory().partials), (0, 0));
    assert_eq!(used(t.scan(vec![]), &sums(vec![2])), (parts, 0));
    assert_eq!(used(t.scan(vec![]), &sums(vec![2])), (parts, 0));
    t.engine.keep_partials(None);
    used(t.scan(vec![]), &sums(vec![2]));
    assert_eq!(used(t.scan(vec![]), &sums(vec![2])), (parts, parts));
    assert_sound(&t.engine);
}

/// Keeps away: a window of time that moves on, and reads segments in its middle again; and one that takes what a segment came to as a whole
/// where some of its rows are outside, or have no value.
#[test]
fn windows_that_move_find_what_is_in_their_middle() {
    let t = Numbers::new(options());
    for part in 0..6 {
        (part * 3000..(part + 1) * 3000).for_each(|key| t.put(key, key as i32));
        t.engine.compact_due().unwrap();
    }
    let window = |from: i32, to: i32| {
        let test = Test::Between(from.into(), to.into());
        let other = Test::Compare(Compare::GreaterEqual, from.into());
        let filters = vec![Filter { column: 1, test }, Filter { column: 1, test: other }];
        let scan = t.scan(filters);
        let types = [ambo_codec::Type::I32, ambo_codec::Type::F64, ambo_codec::Type::Utf8];
        let (groups, used) = scan.aggregate_told(&sums(vec![2]), 2).unwrap();
        assert_as_new(&scan, &types, &sums(vec![2]));
        let total: i128 = (from.max(0)..=to.min(17_999)).map(i128::from).sum();
        let sum = |row: &Vec<Value>| match row[1] {
            Value::Decimal128 { unscaled, .. } => unscaled,
            ref other => panic!("{other:?}"),
        };
        assert_eq!(groups.rows.iter().map(sum).sum::<i128>(), total);
        used
    };
    let first = window(100, 16_000);
    assert_eq!(first.kept, 0);
    let parts = first.parts;
    assert!(parts > 1, "{first:?}");
    let next = window(200, 16_100);
    assert_eq!(next.kept, parts - 2, "all but those at both ends");
    assert_eq!(window(-5, 20_000).kept, parts - 2);
    assert_eq!(window(-50, 30_000).kept, parts);
    // A row without a value is in no window.
    let row = [Value::I64(4000), Value::Null, Value::F64(1.0), Value::Null];
    let stored = t.format.encode_key_values(&row[..1], 0).unwrap();
    t.engine.put(t.table, &stored, &t.format.encode_row(&row).unwrap()).unwrap();
    t.engine.compact().unwrap();
    let scan = t.scan(vec![Filter { column: 1, test: Test::IsNotNull }]);
    assert_eq!(scan.count(1).unwrap(), 17_999);
    assert_eq!(scan.aggregate(&sums(vec![]), 1).unwrap().rows.len(), 1);
    let types = [ambo_codec::Type::I32, ambo_codec::Type::F64, ambo_codec::Type::Utf8];
    assert_as_new(&t.scan(vec![]), &types, &sums(vec![]));
    assert_as_new(&scan, &types, &sums(vec![]));
    assert_sound(&t.engine);
}

/// Keeps away: results of segments that were merged, dropped or changed, which stay and take memory.
#[test]
fn what_is_gone_is_forgotten() {
    let t = Numbers::new(options());
    t.fill(5000);
    t.scan(vec![]).aggregate(&sums(vec![2]), 1).unwrap();
    t.scan(vec![]).aggregate(&sums(vec![]), 1).unwrap();
    assert_eq!(t.values(), 2);
    assert!(t.engine.memory().partials > 500);
    (0..5000).for_each(|key| t.put(key * 2, 3));
    t.engine.compact().unwrap();
    assert_eq!(t.values(), 0, "the segment was merged");
    t.scan(vec![]).aggregate(&sums(vec![2]), 1).unwrap();
    assert_eq!(t.values(), 1);
    t.engine.set_not_null("t", "n").unwrap();
    let (_, used) = t.scan(vec![]).aggregate_told(&sums(vec![2]), 1).unwrap();
    assert_eq!(used.kept, 0, "what is counted of a column is another thing where all have a value");
    let types = [ambo_codec::Type::I32, ambo_codec::Type::F64, ambo_codec::Type::Utf8];
    assert_as_new(&t.scan(vec![]), &types, &sums(vec![2]));
    t.engine.drop_table("t").unwrap();
    t.engine.compact().unwrap();
    assert_eq!((t.values(), t.engine.memory().partials), (0, 0));
}

/// Keeps away: an error of rows that do not count, one that is forgotten because something was kept, and a result that is kept of a segment
/// that ended with an error.
#[test]
fn errors_are_errors_again() {
    let t = Numbers::new(options());
    t.fill(20_000);
    let power = (0..14).fold(Expression::Column(0), |power, _| power * Expression::Column(0));
    let plan = AggregatePlan { group_by: vec![], aggregates: vec![Aggregate::Sum(power)] };
    let less = vec![Filter { column: 1, test: Test::Compare(Compare::Less, 100.into()) }];
    for _ in 0..3 {
        assert!(t.scan(vec![]).aggregate(&plan, 2).unwrap_err().to_string().contains("128 bits"));
    }
    assert_eq!(t.values(), 0);
    let found = t.scan(less.clone()).aggregate(&plan, 2).unwrap();
    assert_eq!(t.values(), 1);
    assert_eq!(t.scan(less).aggregate(&plan, 2).unwrap(), found);
    assert!(t.scan(vec![]).aggregate(&plan, 2).unwrap_err().to_string().contains("128 bits"));
}

/// Keeps away: results that take more than their part of a small budget, and old ones that keep new ones out.
#[test]
fn memory_is_within_its_part() {
    let t = Numbers::new(Options { cache_bytes: 4 << 20, ..options() });
    t.fill(30_000);
    let mut random = Random::new(3);
    let plan = |constant: i32| {
        let sum = Aggregate::Sum(Expression::Column(0) * Expression::constant(constant));
        AggregatePlan { group_by: vec![2], aggregates: vec![sum] }
    };
    for constant in 0..2000 {
        let scan = t.scan(vec![]);
        scan.aggregate(&plan(constant), 1).unwrap();
        let used = t.engine.memory();
        assert!(used.total <= used.limit && used.partials <= used.limit / 8, "{used:?}");
        let (_, again) = scan.aggregate_told(&plan(constant), 1).unwrap();
        assert_eq!(again.kept, 1, "what was asked last is there");
        if constant > 0 {
            let other = plan(random.below(constant as u64) as i32);
            scan.aggregate(&other, 1).unwrap();
        }
    }
    let values = t.values();
    assert!(values > 100 && values < 1900, "{values}");
    // As many groups as rows are too much, and no harm.
    t.fill(30_000);
    let keys = ScanPlan { columns: vec![0, 1, 2], filters: vec![], ..ScanPlan::default() };
    let scan = t.engine.snapshot().scan_columns(t.table, &keys).unwrap();
    let types = [ambo_codec::Type::I64, ambo_codec::Type::I32, ambo_codec::Type::F64];
    let many = AggregatePlan { group_by: vec![0], aggregates: vec![Aggregate::Sum(Expression::Column(2))] };
    assert_eq!(assert_as_new(&scan, &types, &many).kept, 0);
    assert_sound(&t.engine);
}
