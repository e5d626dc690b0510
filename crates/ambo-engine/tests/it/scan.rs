//! Scans by column against what row by row is true.

use std::{collections::BTreeMap, sync::Arc};

use ambo_codec::{
    Type, Value, ValueRef,
    column::{Compare, KeySet, Sum},
};
use ambo_engine::{
    catalog::{Storage, TableDefinition},
    database::{Engine, Isolation, Options, RowFormat, ScanPlan, Sync},
    id::TableId,
    io::sim::{SimDisk, split_mix},
    scan::{Filter, Test},
};

const KEY: usize = 0;
const NUMBER: usize = 1;
const PRICE: usize = 2;
const NAME: usize = 3;

type Rows = BTreeMap<i64, Vec<Value>>;

struct World {
    engine: Arc<Engine>,
    table: TableId,
    format: RowFormat,
    rows: Rows,
    seed: u64,
}

fn definition() -> TableDefinition {
    TableDefinition::new("t")
        .column("key", Type::I64)
        .column_nullable("number", Type::I32)
        .column("price", Type::F64)
        .column_nullable("name", Type::Utf8)
        .primary_key(&["key"])
        .storage(Storage::Column)
}

impl World {
    fn new(seed: u64) -> Self {
        let options = Options { background_threads: false, sync: Sync::Off, ..Options::default() };
        let engine = Arc::new(Engine::open(SimDisk::new(0).env(), options).unwrap().0);
        let table = engine.create_table(definition().storage(crate::support::by_column(seed / 3))).unwrap();
        let format = RowFormat::new(Arc::new(definition())).unwrap();
        Self { engine, table, format, rows: Rows::new(), seed }
    }

    fn below(&mut self, bound: u64) -> u64 {
        split_mix(&mut self.seed) % bound
    }

    fn write(&mut self, key: i64) {
        let stored = self.format.encode_key_values(&[key.into()], 0).unwrap();
        if self.below(5) == 0 {
            self.rows.remove(&key);
            return self.engine.delete(self.table, &stored).unwrap();
        }
        let number = if self.below(4) == 0 { Value::Null } else { Value::I32(self.below(1000) as i32 - 500) };
        let name = match self.below(3) {
            0 => Value::Null,
            1 => Value::Utf8(format!("name {}", self.below(20))),
            _ => Value::Utf8(format!("{:x}", self.below(1 << 40))),
        };
        let row = vec![key.into(), number, Value::F64(self.below(10_000) as f64 / 100.0), name];
        self.engine.put(self.table, &stored, &self.format.encode_row(&row).unwrap()).unwrap();
        self.rows.insert(key, row);
    }

    fn check(&self, filters: &[Filter]) {
        let plan = ScanPlan {
            columns: vec![NUMBER, PRICE, NAME, KEY],
            filters: filters.to_vec(),
            ..ScanPlan::default()
        };
        let snapshot = self.engine.snapshot();
        let scan = snapshot.scan_columns(self.table, &plan).unwrap();
        let selected: Vec<&Vec<Value>> =
            self.rows.values().filter(|row| filters.iter().all(|filter| holds(filter, row))).collect();
        assert_eq!(scan.count(2).unwrap(), selected.len() as u64, "{filters:?}");
        let found = scan.fold(2, Found::default, |found, morsel| {
            let (mut keys, mut prices) = (Vec::<i64>::new(), Vec::<f64>::new());
            morsel.values(3, &mut keys)?;
            morsel.values(1, &mut prices)?;
            found.keys.extend(&keys);
            found.price += prices.iter().sum::<f64>();
            let Sum::Integer(numbers) = morsel.sum(0)? else { panic!("a sum of integers") };
            found.numbers += numbers;
            found.count += morsel.count(0)?;
            if let Some((low, high)) = morsel.min_max(3)? {
                found.least.push(low);
                found.greatest.push(high);
            }
            let (mut offsets, mut data) = (Vec::new(), Vec::new());
            morsel.texts(2, &mut offsets, &mut data)?;
            let validity = morsel.block(2)?.validity();
            for (row, ends) in morsel.mask().iter().zip(offsets.windows(2)) {
                if validity.get(row) {
                    found.names.push(data[ends[0] as usize..ends[1] as usize].to_vec());
                }
            }
            Ok(())
        });
        let mut found = found.unwrap().into_iter().reduce(Found::join).unwrap();
        found.keys.sort_unstable();
        found.names.sort_unstable();
        let of = |column: usize| selected.iter().map(move |row| row[column].as_ref());
        assert_eq!(found.keys, of(KEY).map(|key| key.as_i64().unwrap()).collect::<Vec<_>>(), "{filters:?}");
        let numbers: Vec<i64> = of(NUMBER).filter_map(ValueRef::as_i64).collect();
        assert_eq!((found.count, found.numbers), (numbers.len(), numbers.iter().sum::<i64>().into()));
        let price: f64 = of(PRICE).filter_map(ValueRef::as_f64).sum();
        assert!((found.price - price).abs() < 1e-6 * price.abs().max(1.0), "{} {price}", found.price);
        let mut names: Vec<Vec<u8>> =
            of(NAME).filter_map(|name| name.as_bytes().map(<[u8]>::to_vec)).collect();
        names.sort_unstable();
        assert_eq!(found.names, names);
        let key = |value: &Value| value.as_ref().as_i64().unwrap();
        assert_eq!(found.least.iter().map(key).min(), self.least(&selected), "{filters:?}");
        assert_eq!(found.greatest.iter().map(key).max(), selected.last().map(|row| key(&row[KEY])));
    }

    fn least(&self, selected: &[&Vec<Value>]) -> Option<i64> {
        selected.first().map(|row| row[KEY].as_ref().as_i64().unwrap())
    }

    fn random_filter(&mut self) -> Filter {
        let how = [
            Compare::Equal,
            Compare::NotEqual,
            Compare::Less,
            Compare::LessEqual,
            Compare::Greater,
            Compare::GreaterEqual,
        ][self.below(6) as usize];
        let (a, b) = (self.below(1200) as i64 - 600, self.below(1200) as i64 - 600);
        let set = || KeySet::new((0..30).map(|step| a + step * b)).unwrap();
        let (column, test) = match self.below(13) {
            0 => (NUMBER, Test::Compare(how, Value::I64(a))),
            1 => (NUMBER, Test::Between(Value::I64(a.min(b)), Value::I64(a.max(b)))),
            2 => (NUMBER, Test::IsNull),
            3 => (NAME, Test::IsNotNull),
            4 => (NAME, Test::Compare(how, Value::Utf8(format!("name {}", a.rem_euclid(20))))),
            5 => (NAME, Test::Prefix(b"name 1".to_vec())),
            6 => (PRICE, Test::Compare(how, Value::F64(a.abs() as f64 / 6.0))),
            7 => (KEY, Test::In(vec![Value::I64(a), Value::I64(b), Value::Null])),
            8 => (KEY, Test::Among(set().into())),
            9 => (NUMBER, Test::Among(set().into())),
            10 => (NUMBER, Test::Not(Box::new(Test::Between(Value::I64(a.min(b)), Value::I64(a.max(b)))))),
            11 => (NAME, Test::Not(Box::new(Test::Like(vec![b"name".to_vec(), b"1".to_vec()])))),
            _ => (KEY, Test::Compare(how, Value::I64(a * 20))),
        };
        Filter { column, test }
    }
}

#[derive(Default)]
struct Found {
    keys: Vec<i64>,
    numbers: i128,
    count: usize,
    price: f64,
    names: Vec<Vec<u8>>,
    least: Vec<Value>,
    greatest: Vec<Value>,
}

impl Found {
    fn join(mut self, other: Self) -> Self {
        self.keys.extend(other.keys);
        self.numbers += other.numbers;
        self.count += other.count;
        self.price += other.price;
        self.names.extend(other.names);
        self.least.extend(other.least);
        self.greatest.extend(other.greatest);
        self
    }
}

fn holds(filter: &Filter, row: &[Value]) -> bool {
    let value = row[filter.column].as_ref();
    match &filter.test {
        Test::IsNull => return value.is_null(),
        Test::IsNotNull => return !value.is_null(),
        _ if value.is_null() => return false,
        _ => {}
    }
    let order = |constant: &Value| match (value.as_i64(), constant.as_ref().as_i64()) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => value.compare(constant.as_ref()),
    };
    match &filter.test {
        Test::Compare(how, constant) => how.holds(order(constant)),
        Test::Between(low, high) => order(low).is_ge() && order(high).is_le(),
        Test::In(list) => list.iter().any(|constant| !constant.is_null() && order(constant).is_eq()),
        Test::Prefix(prefix) => value.as_bytes().unwrap().starts_with(prefix),
        Test::Like(pieces) => {
            let text = value.as_bytes().unwrap();
            text.starts_with(&pieces[0]) && text[pieces[0].len()..].ends_with(&pieces[1])
        }
        Test::Among(set) => set.contains(value.as_i64().unwrap()),
        Test::Not(test) => !holds(&Filter { column: filter.column, test: (**test).clone() }, row),
        other => panic!("{other:?} is not asked here"),
    }
}

/// Keeps away: rows that a scan misses, sees twice, or sees in an old version, wherever they are; and filters, sums and bounds on encoded
/// blocks that differ from those on rows.
#[test]
fn scans_are_as_row_by_row() {
    for seed in 0..6 {
        let mut world = World::new(seed);
        let keys = [50, 3000, 30_000][seed as usize % 3];
        for round in 0..6 {
            for _ in 0..world.below(keys) {
                let key = world.below(keys) as i64 - 100;
                world.write(key);
            }
            match world.below(4) {
                0 => world.engine.flush().unwrap(),
                1 => world.engine.compact().unwrap(),
                _ => {}
            }
            world.check(&[]);
            for _ in 0..6 {
                let filters: Vec<_> = (0..1 + world.below(2)).map(|_| world.random_filter()).collect();
                world.check(&filters);
            }
            let old = world.engine.snapshot();
            let before = old.scan_columns(world.table, &ScanPlan::default()).unwrap().count(1).unwrap();
            (0..20).for_each(|key| world.write(key + round));
            world.engine.compact().unwrap();
            assert_eq!(
                old.scan_columns(world.table, &ScanPlan::default()).unwrap().count(1).unwrap(),
                before
            );
        }
        assert_eq!(world.engine.check().unwrap().problems, Vec::<String>::new());
    }
}

/// Keeps away: requests that cannot be answered and are, or end in a panic or an error that names no column.
#[test]
fn wrong_plans_are_refused() {
    let mut world = World::new(1);
    (0..100).for_each(|key| world.write(key));
    let snapshot = world.engine.snapshot();
    let refused = |plan: ScanPlan, words: &[&str]| {
        let error = match snapshot.scan_columns(world.table, &plan) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{plan:?} was taken"),
        };
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    };
    refused(ScanPlan { columns: vec![4], filters: Vec::new(), ..ScanPlan::default() }, &["no column 4"]);
    let filter = |column, test| ScanPlan {
        columns: vec![],
        filters: vec![Filter { column, test }],
        ..ScanPlan::default()
    };
    refused(filter(NUMBER, Test::Prefix(b"a".to_vec())), &["number"]);
    refused(filter(NUMBER, Test::Compare(Compare::Equal, Value::Utf8("x".into()))), &["number"]);
    refused(filter(NAME, Test::Compare(Compare::Equal, Value::I64(1))), &["name"]);
    let plain = world.engine.create_table(TableDefinition::key_value("plain")).unwrap();
    let snapshot = world.engine.snapshot();
    let error = snapshot.scan_columns(plain, &ScanPlan::default()).err().unwrap().to_string();
    assert!(error.contains("btree") && error.contains("plain"), "{error}");
}

/// Keeps away: a transaction whose scans miss its own writes, or that commits although a scanned row has changed; and totals over
/// morsels that forget some.
#[test]
fn transactions_scan_what_they_wrote() {
    let mut world = World::new(7);
    (0..500).for_each(|key| world.write(key));
    world.engine.compact().unwrap();
    (0..40).for_each(|key| world.write(key * 7));
    let count = world.rows.len() as u64;
    let plan = ScanPlan { columns: vec![KEY], filters: Vec::new(), ..ScanPlan::default() };
    let key = |world: &World, key: i64| world.format.encode_key_values(&[key.into()], 0).unwrap();
    let mut own = world.engine.begin(Isolation::Serializable).unwrap();
    let row = vec![10_000i64.into(), Value::Null, Value::F64(1.5), Value::Null];
    own.put(world.table, &key(&world, 10_000), &world.format.encode_row(&row).unwrap()).unwrap();
    let gone = *world.rows.keys().next().unwrap();
    own.delete(world.table, &key(&world, gone)).unwrap();
    let scan = own.scan_columns(world.table, &plan).unwrap();
    assert_eq!(scan.count(2).unwrap(), count);
    let sum: i64 = world.rows.keys().sum::<i64>() - gone + 10_000;
    assert_eq!(scan.sum(0, 2).unwrap(), Some(Sum::Integer(sum.into())));
    let second = *world.rows.keys().nth(1).unwrap();
    assert_eq!(scan.min_max(0, 2).unwrap(), Some((second.into(), 10_000i64.into())));
    let none = Filter { column: KEY, test: Test::Compare(Compare::Less, Value::I64(-1_000_000)) };
    let nothing = ScanPlan { columns: vec![KEY], filters: vec![none], ..ScanPlan::default() };
    let scan = own.scan_columns(world.table, &nothing).unwrap();
    assert_eq!(
        (scan.count(1).unwrap(), scan.sum(0, 1).unwrap(), scan.min_max(0, 1).unwrap()),
        (0, None, None)
    );
    drop(scan);
    world.engine.delete(world.table, &key(&world, second)).unwrap();
    let conflict = own.commit().unwrap_err();
    assert!(conflict.is_retryable(), "{conflict}");
    assert_eq!(world.engine.check().unwrap().problems, Vec::<String>::new());
}

/// Keeps away: rows that no column can hold, found only when the table compacts, long after they were acknowledged.
#[test]
fn rows_that_columns_cannot_hold_are_refused() {
    let mut world = World::new(3);
    (0..50).for_each(|key| world.write(key));
    let key = world.format.encode_key_values(&[7i64.into()], 0).unwrap();
    for (key, row) in [(&key[..], &b"no row"[..]), (b"no key", b"")] {
        let error = world.engine.put(world.table, key, row).unwrap_err();
        assert!(matches!(error, ambo_engine::Error::Invalid(_)), "{error}");
        let long = vec![7; 2 << 20];
        assert!(matches!(world.engine.put(world.table, key, &long), Err(ambo_engine::Error::Invalid(_))));
    }
    world.check(&[]);
    world.engine.compact().unwrap();
    world.check(&[]);
    assert_eq!(world.engine.check().unwrap().problems, Vec::<String>::new());
}

/// The keys that a scan finds, in order.
fn keys_of(scan: &ambo_engine::database::TableScan) -> Vec<i64> {
    let keys = scan.fold(2, Vec::new, |keys: &mut Vec<i64>, morsel| {
        let mut some = Vec::<i64>::new();
        morsel.values(0, &mut some)?;
        keys.extend(some);
        Ok(())
    });
    let mut keys = keys.unwrap().concat();
    keys.sort_unstable();
    keys
}

/// Keeps away: what is kept of newer rows from scan to scan and is not right any more, after writes, flushes and compacting, for
/// snapshots of another moment, or with a transaction's own writes above.
#[test]
fn kept_layers_are_as_made_anew() {
    for seed in 20..24 {
        let mut world = World::new(seed);
        let plan = ScanPlan { columns: vec![KEY], filters: Vec::new(), ..ScanPlan::default() };
        let spread = [40, 20_000][seed as usize % 2];
        (0..spread).for_each(|key| world.write(key));
        world.engine.compact().unwrap();
        let mut old = Vec::new();
        for _ in 0..60 {
            for _ in 0..world.below(6) {
                let key = world.below(spread as u64 + 20) as i64;
                world.write(key);
            }
            match world.below(12) {
                0 => world.engine.compact().unwrap(),
                1..4 => world.engine.flush().unwrap(),
                4 => old.push((world.engine.snapshot(), world.rows.keys().copied().collect::<Vec<_>>())),
                5 => drop(old.pop()),
                _ => {}
            }
            let keys: Vec<i64> = world.rows.keys().copied().collect();
            let now = world.engine.snapshot();
            assert_eq!(keys_of(&now.scan_columns(world.table, &plan).unwrap()), keys);
            // Kept, and older than some of it.
            assert_eq!(keys_of(&now.scan_columns(world.table, &plan).unwrap()), keys);
            for (snapshot, keys) in &old {
                assert_eq!(keys_of(&snapshot.scan_columns(world.table, &plan).unwrap()), *keys);
            }
            let mut own = world.engine.begin(Isolation::Snapshot).unwrap();
            let mut with_own = world.rows.clone();
            for _ in 0..3 {
                let key = world.below(spread as u64 + 20) as i64;
                let stored = world.format.encode_key_values(&[key.into()], 0).unwrap();
                if world.below(2) == 0 {
                    own.delete(world.table, &stored).unwrap();
                    with_own.remove(&key);
                } else {
                    let row = vec![key.into(), Value::Null, Value::F64(0.5), Value::Null];
                    own.put(world.table, &stored, &world.format.encode_row(&row).unwrap()).unwrap();
                    with_own.insert(key, row);
                }
            }
            let found = keys_of(&own.scan_columns(world.table, &plan).unwrap());
            assert_eq!(found, with_own.keys().copied().collect::<Vec<_>>());
            own.rollback();
            world.check(&[]);
        }
        drop(old);
        assert_eq!(world.engine.check().unwrap().problems, Vec::<String>::new());
    }
}
