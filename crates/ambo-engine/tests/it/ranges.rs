//! Ranges of keys that are deleted as a whole, beside a model: in memtables, runs, bases, snapshots, scans, the log and the change feed.

use std::{collections::BTreeMap, sync::Arc};

use ambo_codec::ValueRef as DatumRef;
use ambo_engine::{
    Error,
    catalog::{IndexDefinition, Storage, TableDefinition},
    database::{Change, Engine, Isolation, Options, RangeChange, ScanPlan, Seek, Snapshot},
    id::TableId,
    io::sim::SimDisk,
    scan::ColumnBuffer,
};

use crate::support::{Random, assert_sound, bytes, open, rows, small_options};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

const KEYS: u64 = 600;

fn key(number: u64) -> Vec<u8> {
    format!("{:03}{}", number, "-".repeat(number as usize % 5)).into_bytes()
}

fn range(random: &mut Random) -> (Vec<u8>, Option<Vec<u8>>) {
    let lower = if random.one_in(8) { Vec::new() } else { key(random.below(KEYS)) };
    let upper = (!random.one_in(8)).then(|| key(random.below(KEYS)));
    (lower, upper)
}

fn delete_range(model: &mut Model, lower: &[u8], upper: Option<&[u8]>) {
    model.retain(|key, _| &key[..] < lower || upper.is_some_and(|upper| &key[..] >= upper));
}

fn bytes_at(column: &ColumnBuffer, row: usize) -> Vec<u8> {
    match column.get(row).unwrap() {
        DatumRef::Binary(bytes) => bytes.to_vec(),
        other => panic!("{other:?}"),
    }
}

/// All rows as a scan of columns finds them, in units of about so many.
fn scanned(snapshot: &Snapshot, table: TableId, unit_rows: u64) -> Model {
    let plan = ScanPlan { columns: vec![0, 1], filters: Vec::new(), ..ScanPlan::default() };
    let scan = snapshot.clone().into_row_scan(table, &plan).unwrap().with_unit_rows(unit_rows);
    let scan = Arc::new(scan);
    let mut found = Model::new();
    for unit in 0..scan.units().unwrap() {
        let mut of_unit = scan.unit(unit, &[]).unwrap();
        while let Some((columns, count)) = of_unit.next_columns(100).unwrap() {
            for row in 0..count {
                let before = found.insert(bytes_at(&columns[0], row), bytes_at(&columns[1], row));
                assert!(before.is_none(), "a row comes twice");
            }
        }
    }
    found
}

fn backward(snapshot: &Snapshot, table: TableId) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut cursor = snapshot.cursor(table).unwrap();
    let mut found = Vec::new();
    let mut there = cursor.seek(Seek::Last).unwrap();
    while there {
        found.push((cursor.key().to_vec(), cursor.value().unwrap().to_vec()));
        there = cursor.prev().unwrap();
    }
    found
}

/// Compares what a snapshot shows in every way that there is.
fn compare(snapshot: &Snapshot, table: TableId, model: &Model, random: &mut Random) {
    let expected: Vec<_> = model.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    assert!(rows(snapshot, table).unwrap() == expected, "forward");
    assert!(backward(snapshot, table).into_iter().rev().eq(expected), "backward");
    assert!(scanned(snapshot, table, 1 + random.below(200)) == *model, "scanned");
    assert_eq!(snapshot.count(table, None, None).unwrap(), model.len() as u64);
    let statistics = snapshot.statistics(table).unwrap();
    let is_bound = !statistics.rows.is_exact && statistics.rows.value >= model.len() as u64;
    assert!(is_bound || statistics.rows.value == model.len() as u64, "{:?}", statistics.rows);
    for _ in 0..12 {
        let (lower, upper) = range(random);
        let is_in = |key: &&Vec<u8>| **key >= lower && upper.as_ref().is_none_or(|upper| *key < upper);
        let expected = model.keys().filter(is_in).count() as u64;
        assert_eq!(snapshot.count(table, Some(&lower), upper.as_deref()).unwrap(), expected);
        let sought = key(random.below(KEYS));
        let found = snapshot.get(table, &sought).unwrap().map(|value| value.to_vec());
        assert_eq!(found.as_ref(), model.get(&sought));
        turn_around(snapshot, table, model, &sought);
    }
}

/// From a key a step on, and back.
fn turn_around(snapshot: &Snapshot, table: TableId, model: &Model, from: &[u8]) {
    let mut cursor = snapshot.cursor(table).unwrap();
    let mut after = model.range(from.to_vec()..).map(|(key, _)| key);
    let first = after.next();
    assert_eq!(cursor.seek(Seek::Ge(from)).unwrap(), first.is_some());
    let Some(first) = first else { return };
    assert_eq!(cursor.key(), &first[..]);
    let next = after.next();
    assert_eq!(cursor.next().unwrap(), next.is_some());
    if let Some(next) = next {
        assert_eq!(cursor.key(), &next[..]);
        assert!(cursor.prev().unwrap());
        assert_eq!(cursor.key(), &first[..]);
    }
}

/// A table of a storage, whose rows are written, deleted by ranges, flushed, compacted and reopened.
struct Run {
    disk: SimDisk,
    engine: Option<Arc<Engine>>,
    table: TableId,
    model: Model,
    snapshots: Vec<(Snapshot, Model)>,
    random: Random,
}

impl Run {
    fn new(seed: u64, storage: Storage, indexed: bool) -> Self {
        let disk = SimDisk::new(seed);
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        let table = engine.create_table(TableDefinition::key_value("t").storage(storage)).unwrap();
        if indexed {
            engine.create_index(&IndexDefinition::new("by_value", "t", &["value"])).unwrap();
        }
        let random = Random::new(seed);
        Self { disk, engine: Some(engine), table, model: Model::new(), snapshots: Vec::new(), random }
    }

    fn engine(&self) -> Arc<Engine> {
        self.engine.clone().unwrap()
    }

    fn write(&mut self) {
        let engine = self.engine();
        for _ in 0..self.random.below(60) {
            let key = key(self.random.below(KEYS));
            // Some are long values, in pages of their own.
            let len = if self.random.one_in(40) { 9000 } else { self.random.below(40) as usize };
            let value = bytes(self.random.next(), len);
            engine.put(self.table, &key, &value).unwrap();
            self.model.insert(key, value);
        }
    }

    fn delete(&mut self) {
        let (lower, upper) = range(&mut self.random);
        if self.random.one_in(3) {
            let isolation = *self.random.pick(&[Isolation::Snapshot, Isolation::ReadCommitted]);
            let mut tx = self.engine().begin(isolation).unwrap();
            let kept = key(self.random.below(KEYS));
            tx.put(self.table, &key(7), b"goes with the range, or stays").unwrap();
            self.model.insert(key(7), b"goes with the range, or stays".to_vec());
            tx.delete_range(self.table, &lower, upper.as_deref()).unwrap();
            delete_range(&mut self.model, &lower, upper.as_deref());
            let between = self.random.one_in(2).then(|| (tx.view(), self.model.clone()));
            tx.put(self.table, &kept, b"later").unwrap();
            self.model.insert(kept, b"later".to_vec());
            let (lower, upper) = range(&mut self.random);
            let before = (tx.savepoint(), self.model.clone());
            tx.delete_range(self.table, &lower, upper.as_deref()).unwrap();
            delete_range(&mut self.model, &lower, upper.as_deref());
            compare(&tx.view(), self.table, &self.model, &mut self.random);
            if let Some((view, model)) = &between {
                compare(view, self.table, model, &mut self.random);
            }
            if self.random.one_in(3) {
                tx.rollback_to(before.0).unwrap();
                self.model = before.1;
                compare(&tx.view(), self.table, &self.model, &mut self.random);
            }
            drop(between);
            tx.commit().unwrap();
            return;
        }
        self.engine().delete_range(self.table, &lower, upper.as_deref()).unwrap();
        delete_range(&mut self.model, &lower, upper.as_deref());
    }

    fn reopen(&mut self) {
        self.snapshots.clear();
        let killed = self.random.one_in(2);
        let engine = self.engine.take().unwrap();
        if !killed {
            engine.flush().unwrap();
        }
        drop(engine);
        if killed {
            self.disk = self.disk.crash();
        }
        self.engine = Some(open(&self.disk.env(), &small_options()).unwrap().0);
    }

    fn step(&mut self) {
        match self.random.below(14) {
            0..5 => self.write(),
            5..9 => self.delete(),
            9 => self.engine().flush().unwrap(),
            10 => self.engine().compact().unwrap(),
            11 if self.disk_has_rows() => self.reopen(),
            12 if self.snapshots.len() < 3 => {
                self.snapshots.push((self.engine().snapshot(), self.model.clone()));
            }
            _ => {
                self.snapshots.pop();
            }
        }
    }

    fn disk_has_rows(&self) -> bool {
        let current = self.engine().current();
        current.catalog.table(self.table).unwrap().storage.traits().durable
    }

    fn compare(&mut self) {
        let Self { table, model, snapshots, random, .. } = self;
        let now = self.engine.as_ref().unwrap().snapshot();
        compare(&now, *table, model, random);
        for (snapshot, model) in snapshots {
            compare(snapshot, *table, model, random);
        }
    }
}

/// Keeps away: rows of a range that are still found, and others that are not, in whatever way, of whatever storage, at whatever moment.
#[test]
fn ranges_go_and_all_else_stays() {
    for (seed, storage) in
        [Storage::BTree, Storage::Memory, Storage::Column, Storage::BTree].into_iter().enumerate()
    {
        for part in 0..4 {
            let mut run = Run::new((seed * 10 + part) as u64, storage, seed == 3 || part == 3);
            for _ in 0..60 {
                run.step();
                run.compare();
            }
            assert_sound(&run.engine());
        }
    }
}

fn filled(options: &Options, rows: u64) -> (SimDisk, Arc<Engine>, TableId) {
    let disk = SimDisk::new(3);
    let (engine, _) = open(&disk.env(), options).unwrap();
    let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
    for number in 0..rows {
        engine.put(table, &number.to_be_bytes(), b"a value of some bytes").unwrap();
    }
    (disk, engine, table)
}

/// Keeps away: a deletion, or a cursor behind it, that goes through all rows of the range.
#[test]
fn it_takes_as_long_as_one_row() {
    let options = Options { memtable_bytes: 1 << 20, ..small_options() };
    let (disk, engine, table) = filled(&options, 60_000);
    engine.compact().unwrap();
    let (lower, upper) = (100u64.to_be_bytes(), 59_900u64.to_be_bytes());
    let written = disk.counters().bytes_written;
    engine.delete_range(table, &lower, Some(&upper)).unwrap();
    let log = disk.counters().bytes_written - written;
    assert!(log <= 256, "{log} bytes of log");
    let reads =
        |disk: &SimDisk| disk.counters().calls.get(&ambo_engine::io::sim::Op::Read).copied().unwrap_or(0);
    let before = reads(&disk);
    let snapshot = engine.snapshot();
    let mut cursor = snapshot.cursor(table).unwrap();
    assert!(cursor.seek(Seek::Ge(&lower)).unwrap());
    assert_eq!(cursor.key(), upper);
    assert!(cursor.prev().unwrap());
    assert_eq!(cursor.key(), 99u64.to_be_bytes());
    assert!(reads(&disk) - before < 20, "pages of the range are read");
    drop((cursor, snapshot));
    let (written, before) = (disk.counters().bytes_written, reads(&disk));
    let mut tx = engine.begin(Isolation::Serializable).unwrap();
    tx.delete_range(table, &10u64.to_be_bytes(), Some(&59_990u64.to_be_bytes())).unwrap();
    tx.put(table, &lower, b"again").unwrap();
    tx.commit().unwrap();
    assert!(disk.counters().bytes_written - written <= 512 && reads(&disk) - before < 20);
    engine.compact().unwrap();
    assert_eq!(engine.snapshot().count(table, None, None).unwrap(), 21);
    assert_sound(&engine);
}

/// Keeps away: a transaction that does again for each range what it did for those before.
#[test]
fn many_ranges_of_one_transaction() {
    let (_, engine, table) = filled(&small_options(), 20_000);
    let at = |number: u64| number.to_be_bytes();
    let mut tx = engine.begin(Isolation::Snapshot).unwrap();
    let before = tx.savepoint();
    for round in 0..2 {
        for number in (0..20_000).step_by(4) {
            tx.delete_range(table, &at(number), Some(&at(number + 3))).unwrap();
        }
        assert_eq!(tx.count(table, None, None).unwrap(), 5_000);
        if round == 0 {
            tx.rollback_to(before).unwrap();
            assert_eq!(tx.count(table, None, None).unwrap(), 20_000);
        }
    }
    tx.commit().unwrap();
    assert_eq!(engine.snapshot().count(table, None, None).unwrap(), 5_000);
    engine.compact().unwrap();
    assert_eq!(engine.snapshot().count(table, None, None).unwrap(), 5_000);
    assert_sound(&engine);
}

/// Keeps away: a lost update, by a range that a transaction does not notice or does not wait for.
#[test]
fn it_conflicts_as_a_write_to_each_of_its_keys() {
    let (_, engine, table) = filled(&small_options(), 100);
    let at = |number: u64| number.to_be_bytes();
    for isolation in [Isolation::Snapshot, Isolation::Serializable] {
        engine.put(table, &at(50), b"again").unwrap();
        let mut inside = engine.begin(isolation).unwrap();
        let mut outside = engine.begin(isolation).unwrap();
        inside.put(table, &at(45), b"x").unwrap();
        outside.put(table, &at(70), b"x").unwrap();
        engine.delete_range(table, &at(40), Some(&at(60))).unwrap();
        assert!(matches!(inside.commit(), Err(Error::Conflict(_))), "{isolation:?}");
        outside.commit().unwrap();
    }
    // A phantom that goes.
    let mut reader = engine.begin(Isolation::Serializable).unwrap();
    assert_eq!(reader.count(table, Some(&at(10)), Some(&at(20))).unwrap(), 10);
    reader.put(table, &at(1), b"x").unwrap();
    engine.delete_range(table, &at(19), Some(&at(30))).unwrap();
    assert!(matches!(reader.commit(), Err(Error::Conflict(_))));
    // Of two that delete parts of one range the second comes too late, also where no row was between; and so does one who deletes what
    // others have come to write.
    let mut first = engine.begin(Isolation::Snapshot).unwrap();
    let mut second = engine.begin(Isolation::Snapshot).unwrap();
    let mut third = engine.begin(Isolation::Snapshot).unwrap();
    first.delete_range(table, &at(1000), Some(&at(2000))).unwrap();
    second.delete_range(table, &at(1500), None).unwrap();
    third.delete_range(table, &at(3000), None).unwrap();
    first.commit().unwrap();
    assert!(matches!(second.commit(), Err(Error::Conflict(_))));
    engine.put(table, &at(3001), b"x").unwrap();
    assert!(matches!(third.commit(), Err(Error::Conflict(_))));
    engine.delete(table, &at(3001)).unwrap();
    // A row that is locked is waited for; others go one by one meanwhile.
    let mut holder = engine.begin(Isolation::Snapshot).unwrap();
    holder.lock(table, &at(80)).unwrap();
    assert!(matches!(engine.delete_range(table, &at(75), Some(&at(85))), Err(Error::Lock(_))));
    assert_eq!(engine.snapshot().count(table, Some(&at(75)), Some(&at(85))).unwrap(), 10);
    engine.delete_range(table, &at(90), Some(&at(95))).unwrap();
    assert_eq!(engine.snapshot().count(table, Some(&at(90)), None).unwrap(), 5);
    let mut other = engine.begin(Isolation::Snapshot).unwrap();
    other.delete_range(table, &at(75), Some(&at(85))).unwrap();
    assert!(matches!(other.commit(), Err(Error::Lock(_))));
    drop(holder);
    // One that is locked after the range was deleted.
    let mut other = engine.begin(Isolation::Snapshot).unwrap();
    other.delete_range(table, &at(95), None).unwrap();
    let mut holder = engine.begin(Isolation::Snapshot).unwrap();
    holder.lock(table, &at(1)).unwrap();
    other.commit().unwrap();
    drop(holder);
    assert_eq!(engine.snapshot().count(table, Some(&at(90)), None).unwrap(), 0);
    engine.delete_range(table, &at(75), Some(&at(85))).unwrap();
    assert_eq!(engine.snapshot().count(table, Some(&at(75)), Some(&at(85))).unwrap(), 0);
    assert_sound(&engine);
}

/// Keeps away: rows that come back with an index, or with another storage, that is made while a range is only in memory.
#[test]
fn indexes_and_storages_that_come_later_know_of_it() {
    let (disk, engine, table) = filled(&small_options(), 500);
    engine.compact().unwrap();
    let at = |number: u64| number.to_be_bytes();
    engine.delete_range(table, &at(100), Some(&at(400))).unwrap();
    engine.create_index(&IndexDefinition::new("by_value", "t", &["value"])).unwrap();
    engine.put(table, &at(200), b"back").unwrap();
    assert_sound(&engine);
    engine.drop_index("by_value").unwrap();
    for storage in [Storage::Column, Storage::Append, Storage::Memory, Storage::BTree] {
        engine.delete_range(table, &at(450), Some(&at(460))).unwrap();
        engine.set_storage("t", storage).unwrap();
        assert_eq!(engine.snapshot().count(table, None, None).unwrap(), 191, "{storage:?}");
        engine.put(table, &at(455), b"back").unwrap();
        assert_sound(&engine);
    }
    engine.delete_range(table, &at(450), Some(&at(460))).unwrap();
    drop(engine);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    assert_eq!(engine.snapshot().count(table, None, None).unwrap(), 191);
    assert_sound(&engine);
}

/// Keeps away: a follower that keeps what a range took away.
#[test]
fn the_change_feed_tells_of_it() {
    let options = Options { keep_log_bytes: 1 << 20, ..small_options() };
    let (_, engine, table) = filled(&options, 20);
    let since = engine.snapshot().timestamp();
    engine.delete_range(table, &[1], None).unwrap();
    engine.delete_range(table, &[], Some(&[1])).unwrap();
    // There is nothing between.
    engine.delete_range(table, &[7], Some(&[7])).unwrap();
    let mut feed = engine.changes_since(since).unwrap();
    let mut seen = Vec::new();
    while let Some(change) = feed.next().unwrap() {
        let Change::Commit { ranges, rows, defines: false, .. } = change else { panic!("{change:?}") };
        assert!(rows.is_empty());
        seen.extend(ranges);
    }
    let range = |lower: &[u8], upper: Option<&[u8]>| RangeChange {
        table,
        lower: lower.to_vec(),
        upper: upper.map(<[u8]>::to_vec),
    };
    assert_eq!(seen, [range(&[1], None), range(&[], Some(&[1]))]);
    assert_eq!(engine.snapshot().count(table, None, None).unwrap(), 0);
    assert_sound(&engine);
}
