//! A table with a filter and indexes, with what is known of it.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use ambo_codec::Value as Datum;
use ambo_engine::{
    catalog::{IndexDefinition, Storage},
    database::{Engine, IndexRange, Isolation, Options, RowFormat, Seek, Snapshot},
    id::TableId,
    io::sim::{Fault, FaultKind, Op, SimDisk},
};

use super::{STORAGES, below, create};
use crate::support::{Random, assert_sound, open};

/// `n` of each id.
type Rows = BTreeMap<i64, i64>;

/// What happened at least once.
#[derive(Default, Debug)]
pub struct Seen {
    removed: u64,
    failed: u64,
    locked: u64,
    due: u64,
}

impl Seen {
    pub fn assert_all(&self) {
        assert!(self.removed > 0 && self.failed > 0 && self.locked > 0 && self.due > 0, "{self:?}");
    }
}

pub struct World {
    disk: SimDisk,
    options: Options,
    engine: Arc<Engine>,
    storage: Storage,
    table: (TableId, RowFormat),
    by_n: TableId,
    bound: Arc<AtomicI64>,
    rows: Rows,
    snapshots: Vec<(Snapshot, Rows)>,
}

impl World {
    pub fn new(seed: u64) -> Self {
        let disk = SimDisk::new(seed);
        let bound = Arc::new(AtomicI64::new(0));
        let options = below(&bound);
        let (engine, _) = open(&disk.env(), &options).unwrap();
        let storage = STORAGES[seed as usize % STORAGES.len()];
        let table = create(&engine, storage);
        let index = |definition: IndexDefinition| engine.create_index(&definition).unwrap();
        let by_n = index(IndexDefinition::new("by_n", "t", &["n"]));
        index(IndexDefinition::new("by_text", "t", &["text"]).unique());
        if storage.traits().by_column {
            index(IndexDefinition::new("bits", "t", &["n"]).bitmap());
        }
        let (rows, snapshots) = (Rows::new(), Vec::new());
        Self { disk, options, engine, storage, table, by_n, bound, rows, snapshots }
    }

    fn kept(&self) -> Rows {
        let bound = self.bound.load(Ordering::Relaxed);
        self.rows.iter().filter(|(_, n)| **n >= bound).map(|(id, n)| (*id, *n)).collect()
    }

    pub fn step(&mut self, random: &mut Random, seen: &mut Seen) {
        match random.below(16) {
            0..6 => (0..1 + random.below(80)).for_each(|_| self.write(random)),
            6 => self.engine.flush().unwrap(),
            7 | 8 => self.pass(random, seen),
            9 => {
                self.engine.compact().unwrap();
                self.removed(seen);
            }
            10 => {
                self.engine.compact_due().unwrap();
                seen.due += u64::from(self.some_removed());
            }
            11 => self.bound.store(random.below(60) as i64, Ordering::Relaxed),
            12 => self.locked_pass(random, seen),
            13 => self.failing_pass(random, seen),
            14 => self.reopen(random),
            _ => {
                if self.snapshots.len() > 2 {
                    self.snapshots.remove(random.below(3) as usize);
                }
                self.snapshots.push((self.engine.snapshot(), self.rows.clone()));
            }
        }
        self.compare();
    }

    fn write(&mut self, random: &mut Random) {
        let (id, n) = (random.below(3000) as i64, random.below(60) as i64);
        let (table, format) = &self.table;
        let text = if random.one_in(50) { "long ".repeat(1200) } else { String::new() };
        // Unique as long as nothing is left of a row that went.
        let row = [Datum::I64(id), Datum::I64(n), Datum::from(format!("{id}{text}").as_str())];
        let key = format.encode_key(&row, 0).unwrap();
        if random.one_in(8) {
            self.engine.delete(*table, &key).unwrap();
            self.rows.remove(&id);
            return;
        }
        self.engine.put(*table, &key, &format.encode_row(&row).unwrap()).unwrap();
        self.rows.insert(id, n);
    }

    /// All rows went that were to go.
    fn removed(&mut self, seen: &mut Seen) -> u64 {
        let kept = self.kept();
        let removed = (self.rows.len() - kept.len()) as u64;
        seen.removed += removed;
        self.rows = kept;
        removed
    }

    /// Some rows may have gone, of those that were to go. Returns whether any have.
    fn some_removed(&mut self) -> bool {
        let (seen, kept) = (rows_of(&self.engine.snapshot(), &self.table), self.kept());
        assert!(kept.iter().all(|(id, n)| seen.get(id) == Some(n)), "a row is lost that is kept");
        assert!(seen.iter().all(|(id, n)| self.rows.get(id) == Some(n)), "a row is there that was not");
        let any = seen.len() < self.rows.len();
        self.rows = seen;
        any
    }

    fn pass(&mut self, random: &mut Random, seen: &mut Seen) {
        let reported = match random.one_in(2) {
            true => self.engine.apply_filters().unwrap(),
            false => self.engine.apply_filter_of("t").unwrap(),
        };
        assert_eq!(reported, self.removed(seen));
    }

    /// Rows that a transaction has locked stay.
    fn locked_pass(&mut self, random: &mut Random, seen: &mut Seen) {
        let mut tx = self.engine.begin(Isolation::Snapshot).unwrap();
        let ids: Vec<_> = self.rows.keys().copied().collect();
        if ids.is_empty() {
            return;
        }
        let locked: Vec<i64> = (0..1 + random.below(3)).map(|_| *random.pick(&ids)).collect();
        for id in &locked {
            let key = self.table.1.encode_key_values(&[Datum::I64(*id)], 0).unwrap();
            tx.lock(self.table.0, &key).unwrap();
        }
        self.engine.apply_filters().unwrap();
        let mut left = self.kept();
        seen.locked += locked.iter().filter(|id| !left.contains_key(id)).count() as u64;
        left.extend(locked.iter().map(|id| (*id, self.rows[id])));
        self.rows = left;
    }

    /// The disk fails in the middle of it, and the power goes.
    fn failing_pass(&mut self, random: &mut Random, seen: &mut Seen) {
        if self.storage == Storage::Memory {
            return;
        }
        let op = *random.pick(&[Op::Write, Op::Sync]);
        let after = random.below(12);
        self.disk.inject(Fault { op, file_prefix: None, after, kind: FaultKind::Io, once: true });
        let kept = self.kept().len();
        let done = match random.one_in(2) {
            true => self.engine.compact(),
            false => self.engine.apply_filters().map(drop),
        };
        self.crash();
        self.some_removed();
        assert!(done.is_err() || self.rows.len() == kept, "what was deleted has come back");
        seen.failed += u64::from(done.is_err());
    }

    fn crash(&mut self) {
        self.snapshots.clear();
        let crashed = self.disk.crash();
        crashed.clear_faults();
        self.engine = open(&crashed.env(), &self.options).unwrap().0;
        self.disk = crashed;
    }

    fn reopen(&mut self, random: &mut Random) {
        if self.storage == Storage::Memory {
            return;
        }
        if random.one_in(2) {
            return self.crash();
        }
        self.snapshots.clear();
        self.engine.flush().unwrap();
        let env = self.disk.env();
        // The old one lets the lock go first.
        self.engine = open(&SimDisk::new(0).env(), &self.options).unwrap().0;
        self.engine = open(&env, &self.options).unwrap().0;
    }

    fn compare(&self) {
        let now = self.engine.snapshot();
        for (snapshot, rows) in
            self.snapshots.iter().map(|(snapshot, rows)| (snapshot, rows)).chain([(&now, &self.rows)])
        {
            assert_eq!(rows_of(snapshot, &self.table), *rows, "{:?}", self.storage);
            assert_eq!(snapshot.count(self.table.0, None, None).unwrap(), rows.len() as u64);
            for n in [0, 7, 30, 59] {
                let wanted = rows.values().filter(|of| **of == n).count() as u64;
                let value = [Datum::I64(n)];
                let counted = snapshot.index_count(self.by_n, IndexRange::Equal(&value)).unwrap();
                assert_eq!(counted, wanted, "{:?}: n = {n}", self.storage);
            }
        }
    }

    pub fn end(mut self) {
        assert_sound(&self.engine);
        self.engine.compact().unwrap();
        self.removed(&mut Seen::default());
        self.compare();
        let nothing = self.engine.apply_filters().unwrap();
        assert_eq!(nothing, 0, "a second pass finds nothing");
        assert_sound(&self.engine);
    }
}

fn rows_of(snapshot: &Snapshot, (table, format): &(TableId, RowFormat)) -> Rows {
    let mut cursor = snapshot.cursor(*table).unwrap();
    let mut rows = Rows::new();
    let mut there = cursor.seek(Seek::First).unwrap();
    while there {
        let (key, row) = cursor.row().unwrap();
        match &format.decode(key, row).unwrap()[..] {
            [Datum::I64(id), Datum::I64(n), _] => rows.insert(*id, *n),
            other => panic!("{other:?}"),
        };
        there = cursor.next().unwrap();
    }
    rows
}
