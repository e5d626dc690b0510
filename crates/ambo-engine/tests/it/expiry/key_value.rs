//! Values of key-value tables, which expire by the time of their commit.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    sync::Arc,
    time::Duration,
};

use ambo_codec::Type;
use ambo_engine::{
    Error,
    catalog::{IndexDefinition, Retention, Storage, TableDefinition, TableOptions},
    database::{Change, ChangedValue, Engine, Isolation, ScanPlan, Snapshot},
    id::{TableId, Timestamp},
    io::{Clock, sim::SimDisk},
    log::Operation,
    record::Record,
};

use crate::support::{Random, assert_sound, bytes, open, rows, small_options};

const HOUR: i64 = 3_600_000_000;

/// Values, and when they were committed.
type Model = BTreeMap<Vec<u8>, (Vec<u8>, i64)>;

struct World {
    disk: SimDisk,
    engine: Arc<Engine>,
    table: TableId,
    storage: Storage,
    model: Model,
    snapshots: Vec<(Snapshot, Model)>,
}

fn visible(model: &Model, now: i64) -> Vec<(Vec<u8>, Vec<u8>)> {
    let is_there = |(_, (_, at)): &(&Vec<u8>, &(Vec<u8>, i64))| *at > now - HOUR;
    model.iter().filter(is_there).map(|(key, (value, _))| (key.clone(), value.clone())).collect()
}

impl World {
    fn new(seed: u64) -> Self {
        let disk = SimDisk::new(seed);
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        let storage = [Storage::BTree, Storage::Memory, Storage::Lsm][seed as usize % 3];
        let definition = TableDefinition::key_value("t").storage(storage);
        let definition = definition.ttl_of_commits(Retention { micros: HOUR as u64 });
        let table = engine.create_table(definition).unwrap();
        Self { disk, engine, table, storage, model: Model::new(), snapshots: Vec::new() }
    }

    fn now(&self) -> i64 {
        self.disk.clock().wall().as_micros() as i64
    }

    fn key_value(&self, random: &mut Random) -> (Vec<u8>, Vec<u8>) {
        let length = match random.below(40) {
            0 => 9000,
            1 => 0,
            _ => random.below(40) as usize,
        };
        (format!("{:03}", random.below(200)).into_bytes(), bytes(random.next(), length))
    }

    fn step(&mut self, random: &mut Random) {
        let now = self.now();
        match random.below(16) {
            0..4 => {
                for _ in 0..random.below(30) {
                    let (key, value) = self.key_value(random);
                    self.engine.put(self.table, &key, &value).unwrap();
                    self.model.insert(key, (value, now));
                }
            }
            4 => {
                let (key, value) = self.key_value(random);
                let mut writer = self.engine.put_stream(self.table, &key).unwrap();
                writer.write_all(&value).unwrap();
                writer.finish().unwrap();
                self.model.insert(key, (value, now));
            }
            5 => {
                let written: BTreeMap<_, _> = (0..9).map(|_| self.key_value(random)).collect();
                let operation =
                    |(key, value)| Operation { table: self.table, key, record: Record::inline(value) };
                let operations: Vec<_> =
                    written.iter().map(|(key, value)| operation((&key[..], &value[..]))).collect();
                self.engine.write_batch(&operations, None).unwrap();
                self.model.extend(written.into_iter().map(|(key, value)| (key, (value, now))));
            }
            6 => self.transaction(random),
            7 => {
                let (key, _) = self.key_value(random);
                self.engine.delete(self.table, &key).unwrap();
                self.model.remove(&key);
            }
            8 => {
                let mut load = self.engine.bulk_load(self.table).unwrap();
                let loaded: BTreeMap<_, _> = (0..20).map(|_| self.key_value(random)).collect();
                loaded.iter().for_each(|(key, value)| load.push(key, value).unwrap());
                load.finish().unwrap();
                self.model.extend(loaded.into_iter().map(|(key, value)| (key, (value, now))));
            }
            9 => self.engine.flush().unwrap(),
            10 => self.engine.compact_due().unwrap(),
            11 => self.engine.compact().unwrap(),
            12 | 13 => {
                let minutes = [1, 20, 59, 61][random.below(4) as usize];
                self.disk.clock().advance(Duration::from_secs(minutes * 60));
            }
            14 if self.storage != Storage::Memory => {
                self.snapshots.clear();
                self.disk = self.disk.crash();
                self.engine = open(&self.disk.env(), &small_options()).unwrap().0;
            }
            _ => {
                self.snapshots.push((self.engine.snapshot(), self.model.clone()));
                if self.snapshots.len() > 3 {
                    self.snapshots.remove(0);
                }
            }
        }
    }

    /// The time of a transaction's values is that of its commit.
    fn transaction(&mut self, random: &mut Random) {
        let mut tx = self.engine.begin(Isolation::Snapshot).unwrap();
        let mut written = BTreeMap::new();
        for _ in 0..5 {
            let (key, value) = self.key_value(random);
            tx.put(self.table, &key, &value).unwrap();
            assert_eq!(tx.get(self.table, &key).unwrap().unwrap(), value[..]);
            written.insert(key, value);
        }
        let mut seen = self.model.clone();
        seen.extend(written.iter().map(|(key, value)| (key.clone(), (value.clone(), self.now()))));
        compare(&tx.view(), self.table, &visible(&seen, self.now()));
        self.disk.clock().advance(Duration::from_secs(600));
        tx.commit().unwrap();
        let now = self.now();
        self.model.extend(written.into_iter().map(|(key, value)| (key, (value, now))));
    }

    fn compare(&self) {
        let expected = visible(&self.model, self.now());
        compare(&self.engine.snapshot(), self.table, &expected);
        for (snapshot, model) in &self.snapshots {
            compare(snapshot, self.table, &visible(model, snapshot.now().unwrap()));
        }
        let expected: BTreeMap<_, _> = expected.into_iter().collect();
        for key in self.model.keys() {
            let wanted = expected.get(key);
            let (engine, table) = (&self.engine, self.table);
            assert_eq!(engine.get(table, key).unwrap().map(|value| value.to_vec()).as_ref(), wanted);
            assert_eq!(engine.get_with(table, key, <[u8]>::to_vec).unwrap().as_ref(), wanted);
            assert_eq!(engine.contains(table, key).unwrap(), wanted.is_some());
            let streamed = engine.get_stream(table, key).unwrap().map(|mut reader| {
                let mut read = Vec::new();
                reader.read_to_end(&mut read).unwrap();
                assert_eq!(reader.len(), read.len() as u64);
                read
            });
            assert_eq!(streamed.as_ref(), wanted);
        }
    }
}

fn compare(snapshot: &Snapshot, table: TableId, expected: &[(Vec<u8>, Vec<u8>)]) {
    assert_eq!(rows(snapshot, table).unwrap(), expected);
    assert_eq!(snapshot.count(table, None, None).unwrap(), expected.len() as u64);
    let mut found = Vec::new();
    let mut all = snapshot.find_rows(table, &[]).unwrap();
    while let Some(row) = all.next_row().unwrap() {
        found.push(row);
    }
    found.sort();
    assert_eq!(found, expected);
    let plan = ScanPlan { columns: vec![1], filters: Vec::new(), ..ScanPlan::default() };
    let scan = Arc::new(snapshot.clone().into_row_scan(table, &plan).unwrap().with_unit_rows(30));
    let mut values = Vec::new();
    for unit in 0..scan.units().unwrap() {
        let mut rows = scan.unit(unit, &[]).unwrap();
        while let Some((columns, count)) = rows.next_columns(7).unwrap() {
            let value = |row| columns[0].get(row).unwrap().as_bytes().unwrap().to_vec();
            values.extend((0..count).map(value));
        }
    }
    assert_eq!(values, expected.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>());
    for (key, value) in expected {
        assert_eq!(snapshot.get(table, key).unwrap().unwrap(), value[..]);
    }
}

/// Keeps away: a value that expires too early or too late, or is read with the time that is kept behind it, by any door and however it
/// came; and one that is stored for ever.
#[test]
fn values_expire_by_the_time_of_their_commit() {
    let mut expired = 0;
    for seed in 0..24 {
        let mut world = World::new(seed);
        let mut random = Random::new(seed);
        for _ in 0..60 {
            world.step(&mut random);
            if random.one_in(2) {
                world.compare();
            }
            expired += world.model.len() - visible(&world.model, world.now()).len();
        }
        world.compare();
        world.snapshots.clear();
        world.engine.compact().unwrap();
        let left = visible(&world.model, world.now()).len() as u64;
        let all = world.engine.snapshot().with_expired();
        assert_eq!(all.count(world.table, None, None).unwrap(), left, "seed {seed}");
        drop(all);
        assert_sound(&world.engine);
    }
    assert!(expired > 1000, "{expired}");
}

// Keeps away: the time of a commit in what followers are told, a ttl that comes later and finds no times, and tables that cannot keep them.
#[test]
fn times_of_commits_are_kept_and_not_shown() {
    let disk = SimDisk::new(1);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    let table = engine.create_table(TableDefinition::key_value("t").ttl_of_commits(None)).unwrap();
    engine.put(table, b"old", b"value").unwrap();
    disk.clock().advance(Duration::from_secs(7200));
    engine.put(table, b"new", b"").unwrap();
    assert_eq!(engine.snapshot().count(table, None, None).unwrap(), 2);
    engine.alter_table("t", &TableOptions::new().ttl(Retention { micros: HOUR as u64 })).unwrap();
    assert_eq!(rows(&engine.snapshot(), table).unwrap(), [(b"new".to_vec(), Vec::new())]);
    let mut feed = engine.changes_since(Timestamp(0)).unwrap();
    let mut told = Vec::new();
    while let Some(change) = feed.next().unwrap() {
        if let Change::Commit { rows, .. } = change {
            told.extend(rows.into_iter().map(|row| row.value));
        }
    }
    assert_eq!(told, [ChangedValue::Written(b"value".to_vec()), ChangedValue::Written(Vec::new())]);
    let index = engine.create_index(&IndexDefinition::new("i", "t", &["value"])).unwrap_err();
    assert!(matches!(index, Error::Invalid(_)), "{index}");
    assert!(engine.set_storage("t", Storage::Column).is_err());
    let plain = engine.create_table(TableDefinition::key_value("plain")).unwrap();
    engine.put(plain, b"k", b"v").unwrap();
    let late = engine.alter_table("plain", &TableOptions::new().ttl(Retention { micros: 1 })).unwrap_err();
    assert!(late.to_string().contains("created so"), "{late}");
    let columns = TableDefinition::new("c").column("x", Type::I64).ttl_of_commits(None);
    assert!(engine.create_table(columns).is_err());
    assert_sound(&engine);
}
