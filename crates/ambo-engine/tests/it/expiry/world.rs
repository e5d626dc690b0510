//! A table whose rows expire, with what is known of it.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use ambo_codec::{Type, Value as Datum};
use ambo_engine::{
    Error,
    catalog::{IndexDefinition, Retention, Storage, TableDefinition},
    database::{Duplicates, Engine, Isolation, LoadOptions, Options, RowFormat, Snapshot},
    id::TableId,
    io::sim::SimDisk,
};

use super::doors::{self, Seen};
use crate::support::{Random, assert_sound, bytes, open, small_options};

const MINUTE: i64 = 60_000_000;
const DAY: i64 = 86_400_000_000;
/// Rows are there so many units after their time.
const TTL: i64 = 60;

pub type Rows = BTreeMap<Vec<u8>, Vec<Datum>>;

/// The columns of the table.
pub const ID: usize = 0;
pub const AT: usize = 1;
pub const UNIQUE: usize = 2;
pub const NUMBER: usize = 3;
pub const TEXT: usize = 4;

/// The indexes that it may have.
#[derive(Default)]
pub struct Indexes {
    pub unique: Option<TableId>,
    pub number: Option<TableId>,
    pub text: Option<TableId>,
    pub at: Option<TableId>,
}

pub struct World {
    disk: SimDisk,
    options: Options,
    engine: Arc<Engine>,
    kind: Type,
    storage: Storage,
    table: TableId,
    format: RowFormat,
    indexes: Indexes,
    /// All rows that were written and not deleted, expired or not.
    rows: Rows,
    /// Views from before, and the rows that they had.
    snapshots: Vec<(Snapshot, Rows)>,
}

fn micros(value: &Datum) -> i64 {
    match value {
        Datum::Date32(day) => i64::from(*day) * DAY,
        Datum::Timestamp(micros) | Datum::TimestampTz(micros) => *micros,
        other => panic!("{other} is no time"),
    }
}

impl World {
    pub fn new(seed: u64) -> Self {
        let disk = SimDisk::new(seed);
        let options = small_options();
        let (engine, _) = open(&disk.env(), &options).unwrap();
        let storages = [Storage::BTree, Storage::Column, Storage::Append, Storage::Memory, Storage::Lsm];
        let storage = storages[seed as usize % 5];
        let kind = [Type::Timestamp, Type::TimestampTz, Type::Date32][(seed / 4) as usize % 3];
        let is_in_key = (seed / 12) % 2 == 1;
        let definition = TableDefinition::new("t")
            .column("id", Type::I32)
            .column("at", kind)
            .column("u", Type::I64)
            .column("n", Type::I64)
            .column_nullable("text", Type::Utf8)
            .primary_key(if is_in_key { &["at", "id"] } else { &["id"] })
            .storage(storage)
            .ttl(Retention { micros: (TTL * unit(kind)) as u64 }, "at");
        let table = engine.create_table(definition).unwrap();
        let format = RowFormat::new(engine.current().catalog.table(table).unwrap().clone()).unwrap();
        let mut world = Self {
            disk,
            options,
            engine,
            kind,
            storage,
            table,
            format,
            indexes: Indexes::default(),
            rows: Rows::new(),
            snapshots: Vec::new(),
        };
        if (seed / 24) % 2 == 1 || seed.is_multiple_of(5) {
            world.create_indexes(storage, kind);
        }
        world
    }

    fn create_indexes(&mut self, storage: Storage, kind: Type) {
        let index = |definition: IndexDefinition| Some(self.engine.create_index(&definition).unwrap());
        self.indexes = Indexes {
            unique: index(IndexDefinition::new("by_u", "t", &["u"]).unique()),
            number: index(IndexDefinition::new("by_n", "t", &["n"])),
            text: index(IndexDefinition::new("by_text", "t", &["text"]).hash()),
            at: (kind != Type::Date32).then(|| index(IndexDefinition::new("by_at", "t", &["at"]))).flatten(),
        };
        if storage.traits().by_column {
            self.engine.create_index(&IndexDefinition::new("bits", "t", &["n"]).bitmap()).unwrap();
        }
    }

    fn now(&self) -> i64 {
        use ambo_engine::io::Clock;
        self.disk.clock().wall().as_micros() as i64
    }

    fn row(&self, random: &mut Random) -> Vec<Datum> {
        let unit = unit(self.kind);
        let at = self.now() / unit * unit + (random.below(90) as i64 - 75) * unit;
        let at = match self.kind {
            Type::Date32 => Datum::Date32((at / DAY) as i32),
            Type::Timestamp => Datum::Timestamp(at + i64::from(random.one_in(3))),
            _ => Datum::TimestampTz(at),
        };
        // Some are long enough for a blob.
        let text = if random.one_in(60) { 6000 } else { random.below(12) as usize };
        let text = format!("{:?}", bytes(random.below(20), text));
        vec![
            Datum::I32(random.below(150) as i32),
            at,
            Datum::I64(random.below(400) as i64),
            Datum::I64(random.below(9) as i64),
            if random.one_in(4) { Datum::Null } else { Datum::from(text.as_str()) },
        ]
    }

    /// The rows that are there for who sees them now.
    pub fn visible(&self, rows: &Rows, now: i64) -> Rows {
        let cut = now - TTL * unit(self.kind);
        let is_there = |(_, row): &(&Vec<u8>, &Vec<Datum>)| micros(&row[AT]) > cut;
        rows.iter().filter(is_there).map(|(key, row)| (key.clone(), row.clone())).collect()
    }

    pub fn step(&mut self, random: &mut Random) {
        match random.below(20) {
            0..9 => (0..1 + random.below(60)).for_each(|_| self.write(random)),
            9 => self.transaction(random),
            10 => self.engine.flush().unwrap(),
            11 => self.engine.compact_due().unwrap(),
            12 => self.engine.compact().unwrap(),
            13 if self.storage.traits().by_column => self.load(random),
            13..16 => {
                let units = [1, 7, 30, 130][random.below(4) as usize];
                self.disk.clock().advance(Duration::from_micros((units * unit(self.kind)) as u64));
            }
            16 => self.reopen(random),
            17 => {
                if self.snapshots.len() > 2 {
                    self.snapshots.remove(random.below(3) as usize);
                }
                self.snapshots.push((self.engine.snapshot(), self.rows.clone()));
            }
            _ => {
                self.engine.drop_expired().unwrap();
            }
        }
    }

    /// A row with the unique value of another one, of those that are there; and those that it frees.
    fn taken(&self, key: &[u8], row: &[Datum], now: i64) -> (bool, Vec<Vec<u8>>) {
        if self.indexes.unique.is_none() {
            return (false, Vec::new());
        }
        let others = || self.rows.iter().filter(|(other, of)| *other != key && of[UNIQUE] == row[UNIQUE]);
        let visible = self.visible(&self.rows, now);
        let is_taken = others().any(|(other, _)| visible.contains_key(other));
        (is_taken, others().map(|(key, _)| key.clone()).collect())
    }

    fn write(&mut self, random: &mut Random) {
        let row = self.row(random);
        let key = self.format.encode_key(&row, 0).unwrap();
        if random.one_in(6) {
            self.engine.delete(self.table, &key).unwrap();
            self.rows.remove(&key);
            return;
        }
        let stored = self.format.encode_row(&row).unwrap();
        let (is_taken, freed) = self.taken(&key, &row, self.now());
        match self.engine.put(self.table, &key, &stored) {
            Ok(()) => {
                assert!(!is_taken, "the value of another row: {row:?}");
                freed.iter().for_each(|key| drop(self.rows.remove(key)));
                self.rows.insert(key, row);
            }
            Err(Error::Exists(what)) => assert!(is_taken, "{what}: {row:?}"),
            Err(error) => panic!("{error}"),
        }
    }

    /// Writes in a transaction, and looks through its doors.
    fn transaction(&mut self, random: &mut Random) {
        let mut tx = self.engine.begin(Isolation::Snapshot).unwrap();
        let now = self.now();
        let mut rows = self.rows.clone();
        std::mem::swap(&mut rows, &mut self.rows);
        for _ in 0..1 + random.below(30) {
            let row = self.row(random);
            let key = self.format.encode_key(&row, 0).unwrap();
            if random.one_in(6) {
                tx.delete(self.table, &key).unwrap();
                self.rows.remove(&key);
                continue;
            }
            let (is_taken, freed) = self.taken(&key, &row, now);
            match tx.put(self.table, &key, &self.format.encode_row(&row).unwrap()) {
                Ok(()) => {
                    assert!(!is_taken, "the value of another row: {row:?}");
                    freed.iter().for_each(|key| drop(self.rows.remove(key)));
                    self.rows.insert(key, row);
                }
                Err(Error::Exists(what)) => assert!(is_taken, "{what}: {row:?}"),
                Err(error) => panic!("{error}"),
            }
        }
        let visible = self.visible(&self.rows, now);
        doors::compare_transaction(&tx, self.table, &self.format, &visible, &self.rows);
        doors::compare(
            &tx.view(),
            self.table,
            &self.format,
            &self.indexes,
            &visible,
            random,
            &mut Seen::default(),
        );
        match random.one_in(3) {
            true => self.rows = rows,
            false => drop(tx.commit().unwrap()),
        }
    }

    /// Rows straight into segments, or none if one of them is there.
    fn load(&mut self, random: &mut Random) {
        let mut new = Rows::new();
        // Few, for with many one of them is there.
        for _ in 0..1 + random.below(3) {
            let row = self.row(random);
            let is_unique = new.values().all(|other: &Vec<Datum>| other[UNIQUE] != row[UNIQUE]);
            if is_unique || self.indexes.unique.is_none() {
                new.insert(self.format.encode_key(&row, 0).unwrap(), row);
            }
        }
        let now = self.now();
        let visible = self.visible(&self.rows, now);
        let is_there = new.keys().any(|key| visible.contains_key(key))
            || new.iter().any(|(key, row)| self.taken(key, row, now).0);
        let rows: Vec<_> = new.values().cloned().collect();
        let definition = self.format.definition();
        let options = LoadOptions { duplicates: Duplicates::Refuse, threads: 1, ..LoadOptions::default() };
        let load = self.engine.column_load(self.table, options).unwrap();
        let mut writer = load.writer();
        writer.push(crate::loads::columns(definition, &rows)).unwrap();
        writer.finish().unwrap();
        match load.finish() {
            Ok(_) => {
                assert!(!is_there, "rows that are there were loaded again");
                let freed: Vec<_> = new.iter().flat_map(|(key, row)| self.taken(key, row, now).1).collect();
                freed.iter().for_each(|key| drop(self.rows.remove(key)));
                self.rows.extend(new);
            }
            Err(Error::Exists(what)) => assert!(is_there, "{what}"),
            Err(error) => panic!("{error}"),
        }
    }

    /// In order, or after a loss of power.
    fn reopen(&mut self, random: &mut Random) {
        if self.storage == Storage::Memory {
            return;
        }
        self.snapshots.clear();
        let env = self.disk.env();
        self.engine = match random.one_in(2) {
            true => {
                let crashed = self.disk.crash();
                self.disk = crashed;
                open(&self.disk.env(), &self.options).unwrap().0
            }
            false => {
                self.engine.flush().unwrap();
                // The old one lets the lock go first.
                let other = SimDisk::new(0);
                self.engine = open(&other.env(), &self.options).unwrap().0;
                open(&env, &self.options).unwrap().0
            }
        };
    }

    pub fn compare(&mut self, random: &mut Random, seen: &mut Seen) {
        let snapshot = self.engine.snapshot();
        assert_eq!(snapshot.now(), Some(self.now()));
        let visible = self.visible(&self.rows, self.now());
        seen.expired += (self.rows.len() - visible.len()) as u64;
        doors::compare_engine(&self.engine, self.table, &self.format, &visible, &self.rows);
        doors::compare(&snapshot, self.table, &self.format, &self.indexes, &visible, random, seen);
        for (snapshot, rows) in &self.snapshots {
            let visible = self.visible(rows, snapshot.now().unwrap());
            doors::compare(snapshot, self.table, &self.format, &self.indexes, &visible, random, seen);
        }
    }

    /// What has expired is gone when all is compacted that nobody sees, and the database is sound.
    pub fn end(mut self) {
        assert_sound(&self.engine);
        self.snapshots.clear();
        self.engine.compact().unwrap();
        self.engine.compact().unwrap();
        let visible = self.visible(&self.rows, self.now()).len() as u64;
        let stored = self.engine.snapshot().with_expired().count(self.table, None, None).unwrap();
        assert_eq!(stored, visible, "rows that have expired are still stored");
        assert_sound(&self.engine);
    }
}

fn unit(kind: Type) -> i64 {
    if kind == Type::Date32 { DAY } else { MINUTE }
}
