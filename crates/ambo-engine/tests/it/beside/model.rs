//! Random operations of a process that writes, and of readers beside it, with either killed, and the power cut: what each snapshot shows is
//! what was committed at its moment, now and later.

use std::{collections::BTreeMap, sync::Arc};

use ambo_engine::{
    catalog::{Storage, TableDefinition},
    database::{Engine, Isolation, Options, Snapshot},
    id::{TableId, Timestamp},
    io::sim::SimDisk,
    log::Operation,
    record::Record,
    seal::{Key, KeySource},
};

use super::{column_table, pass};
use crate::{
    loads::load_numbers,
    support::{Random, assert_sound, bytes, open, rows, small_options},
};

const SEEDS: u64 = 150;
const STEPS: usize = 70;

/// What each table has, by its name.
type Contents = BTreeMap<String, BTreeMap<Vec<u8>, Vec<u8>>>;

struct World {
    random: Random,
    disk: SimDisk,
    options: Options,
    writer: Option<Arc<Engine>>,
    /// What was there from each moment on.
    history: Vec<(Timestamp, Contents)>,
    now: Contents,
    loaded: i64,
    readers: Vec<Arc<Engine>>,
    held: Vec<(Snapshot, Contents)>,
    tables: u64,
    by_row: Storage,
}

impl World {
    fn new(seed: u64, by_row: Storage, by_column: Storage, key: Option<KeySource>) -> Self {
        let disk = SimDisk::new(seed);
        let options = Options { key, ..small_options() };
        let writer = open(&disk.env(), &options).unwrap().0;
        let mut world = Self {
            random: Random::new(seed),
            disk,
            options,
            writer: Some(writer),
            history: vec![(Timestamp(0), Contents::new())],
            now: Contents::new(),
            loaded: 0,
            readers: Vec::new(),
            held: Vec::new(),
            tables: 0,
            by_row,
        };
        let pairs = world.pairs();
        world.create("pairs", pairs);
        world.create("loaded", column_table("loaded", by_column));
        world
    }

    fn pairs(&self) -> TableDefinition {
        TableDefinition::key_value("pairs").storage(self.by_row)
    }

    fn writer(&self) -> Arc<Engine> {
        self.writer.clone().expect("somebody writes")
    }

    fn id(&self, name: &str) -> TableId {
        self.writer().current().catalog.find(name).unwrap().0
    }

    /// Notes that what is there now has been since the newest commit.
    fn note(&mut self) {
        let at = self.writer().snapshot().timestamp();
        self.history.push((at, self.now.clone()));
    }

    fn create(&mut self, name: &str, definition: TableDefinition) {
        self.writer().create_table(definition).unwrap();
        self.now.insert(name.to_owned(), BTreeMap::new());
        self.note();
    }

    fn write(&mut self) {
        let count = 1 + self.random.below(12);
        let id = self.id("pairs");
        let mut written = Vec::new();
        for _ in 0..count {
            let key = self.random.below(60).to_be_bytes().to_vec();
            let len = if self.random.one_in(6) { 0 } else { self.random.below(900) as usize };
            written.push((key, (len > 0).then(|| bytes(self.random.next(), len))));
        }
        let operations: Vec<_> = written
            .iter()
            .map(|(key, value)| Operation {
                table: id,
                key,
                record: value.as_ref().map_or(Record::TOMBSTONE, |value| Record::inline(value)),
            })
            .collect();
        self.writer().write_batch(&operations, None).unwrap();
        let table = self.now.get_mut("pairs").unwrap();
        for (key, value) in written {
            match value {
                Some(value) => table.insert(key, value),
                None => table.remove(&key),
            };
        }
        self.note();
    }

    fn write_long(&mut self) {
        let key = (1000 + self.random.below(4)).to_be_bytes().to_vec();
        let len = 20_000 + self.random.below(100_000) as usize;
        let value = bytes(self.random.next(), len);
        let mut tx = self.writer().begin(Isolation::Snapshot).unwrap();
        tx.put(self.id("pairs"), &key, &value).unwrap();
        tx.commit().unwrap();
        self.now.get_mut("pairs").unwrap().insert(key, value);
        self.note();
    }

    fn load(&mut self) {
        let count = 1 + self.random.below(300) as i64;
        let id = self.id("loaded");
        load_numbers(&self.writer(), id, self.loaded..self.loaded + count);
        self.loaded += count;
        let all = rows(&self.writer().snapshot(), id).unwrap();
        let table = self.now.get_mut("loaded").unwrap();
        assert_eq!(all.len(), table.len() + count as usize);
        *table = all.into_iter().collect();
        self.note();
    }

    fn define(&mut self) {
        match self.random.below(4) {
            0 => {
                self.tables += 1;
                let name = format!("t{}", self.tables);
                self.create(&name, TableDefinition::key_value(name.as_str()));
            }
            1 => {
                let Some(name) = self.now.keys().find(|name| name.starts_with('t')).cloned() else { return };
                self.writer().drop_table(&name).unwrap();
                self.now.remove(&name);
                self.note();
            }
            2 => {
                self.writer().truncate_table("loaded").unwrap();
                self.now.insert("loaded".into(), BTreeMap::new());
                self.note();
            }
            _ => {
                self.writer().drop_table("pairs").unwrap();
                self.now.remove("pairs");
                self.note();
                let pairs = self.pairs();
                self.create("pairs", pairs);
            }
        }
    }

    fn open_again(&mut self) {
        let writer = open(&self.disk.env(), &self.options).unwrap().0;
        let last = writer.snapshot().timestamp();
        // A load is in a checkpoint, not in the log: its moment may be given again.
        for (at, _) in &mut self.history {
            *at = (*at).min(last);
        }
        self.writer = Some(writer);
        self.assert_writer();
    }

    fn assert_writer(&self) {
        assert_same(&contents(&self.writer().snapshot()), &self.now, "what was committed");
        assert_sound(&self.writer());
    }

    fn open_reader(&mut self) {
        self.writer().flush().unwrap();
        let options = Options { beside: true, ..self.options.clone() };
        self.readers.push(open(&self.disk.env(), &options).unwrap().0);
    }

    /// What was there at a moment. A load's moment is given again after a crash; then what was there before it and what after it have one
    /// moment, and it is the one of them that was found, if it is any.
    fn expected(&self, at: Timestamp, found: &Contents) -> Contents {
        let last = self.history.iter().map(|(from, _)| *from).filter(|from| *from <= at).max();
        let mut of_moment = self.history.iter().rev().filter(|(from, _)| Some(*from) == last);
        let newest = &of_moment.clone().next().expect("there is a first moment").1;
        of_moment.find(|(_, there)| there == found).map_or(newest, |(_, there)| there).clone()
    }

    /// One of the readers begins to read.
    fn read(&mut self) {
        if self.readers.is_empty() {
            return;
        }
        pass(&self.disk);
        let reader = self.readers[self.random.below(self.readers.len() as u64) as usize].clone();
        let snapshot = reader.snapshot();
        let at = snapshot.timestamp();
        let found = contents(&snapshot);
        let expected = self.expected(at, &found);
        assert_same(&found, &expected, &format!("at {at}"));
        if self.random.one_in(3) {
            assert_sound(&reader);
        }
        if self.random.one_in(2) {
            self.held.push((snapshot, expected));
        }
    }

    fn step(&mut self) {
        match self.random.below(24) {
            0..6 => self.write(),
            6 => self.write_long(),
            7 | 8 => self.load(),
            9 => self.define(),
            10 | 11 => self.writer().flush().unwrap(),
            12 => self.writer().compact_due().unwrap(),
            13 => self.writer().compact().unwrap(),
            14 => drop(self.writer().vacuum().unwrap()),
            15 => {
                self.writer().serve_readers();
            }
            16 if self.readers.len() < 4 => self.open_reader(),
            16..20 => self.read(),
            20 if !self.held.is_empty() => {
                // Later as when it began.
                let held = self.random.below(self.held.len() as u64) as usize;
                let (snapshot, expected) = self.held.swap_remove(held);
                assert_same(&contents(&snapshot), &expected, "later");
            }
            21 if !self.readers.is_empty() => {
                let reader = self.random.below(self.readers.len() as u64) as usize;
                self.readers.swap_remove(reader);
            }
            22 => {
                // kill -9: what it wrote is in the files.
                self.writer = None;
                self.open_again();
            }
            23 if self.random.one_in(3) => {
                // Nobody is left.
                (self.writer, self.readers, self.held) = (None, Vec::new(), Vec::new());
                self.disk = self.disk.crash();
                self.open_again();
            }
            _ => {}
        }
    }
}

/// That both have the same, or where they differ: rows are long.
fn assert_same(found: &Contents, expected: &Contents, when: &str) {
    let names = |of: &Contents| of.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(found), names(expected), "tables {when}");
    for (name, rows) in expected {
        let keys = |of: &BTreeMap<Vec<u8>, Vec<u8>>| of.keys().cloned().collect::<Vec<_>>();
        assert!(keys(&found[name]) == keys(rows), "{name} has other keys {when}");
        assert!(found[name] == *rows, "{name} has other values {when}");
    }
}

fn contents(snapshot: &Snapshot) -> Contents {
    let tables = snapshot.catalog().tables().map(|(id, table)| {
        let rows = rows(snapshot, id).unwrap_or_else(|error| panic!("{}: {error}", table.name));
        (table.name.trim_start_matches("main.").to_owned(), rows.into_iter().collect())
    });
    tables.collect()
}

fn run(seed: u64, by_row: Storage, by_column: Storage, key: Option<&KeySource>) {
    let mut world = World::new(seed, by_row, by_column, key.cloned());
    for _ in 0..STEPS {
        world.step();
    }
    for (snapshot, expected) in &world.held {
        assert_same(&contents(snapshot), expected, "in the end");
    }
    (world.held, world.readers) = (Vec::new(), Vec::new());
    world.writer().compact().unwrap();
    world.assert_writer();
    assert_eq!(world.writer().readers(), (0, None));
}

fn run_all(by_row: Storage, by_column: Storage, key: Option<&KeySource>, seeds: u64) {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (first, count) = (number("AMBO_SEED").unwrap_or(0), number("AMBO_SEEDS").unwrap_or(seeds));
    let count = if number("AMBO_SEED").is_some() { 1 } else { count };
    for seed in first..first + count {
        let ran =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(seed, by_row, by_column, key)));
        assert!(ran.is_ok(), "AMBO_SEED={seed} fails with {by_row:?} and {by_column:?}");
    }
}

/// Keeps away: a reader that shows what never was, pages of it that are reused, and a writer that loses something to its readers.
#[test]
fn readers_see_moments() {
    run_all(Storage::BTree, Storage::Column, None, SEEDS);
}

/// Keeps away: the same where the last level is cut into parts, and merged slot by slot.
#[test]
fn readers_see_moments_of_slots() {
    run_all(Storage::Lsm, Storage::Column, None, SEEDS / 3);
}

/// Keeps away: the same with extents, and where everything is encrypted.
#[test]
fn readers_see_moments_of_extents_and_of_encrypted_databases() {
    run_all(Storage::BTree, Storage::Append, None, SEEDS / 3);
    let key = KeySource::from(Key::new([7; 32]));
    run_all(Storage::BTree, Storage::Column, Some(&key), SEEDS / 5);
}
