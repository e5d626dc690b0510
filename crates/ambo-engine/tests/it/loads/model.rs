//! Random loads among random writes, crashes and faults, against a model.
//!
//! `AMBO_SEED=n` runs one seed, `AMBO_SEEDS=n` so many.

use std::{collections::BTreeMap, sync::Arc, sync::atomic::Ordering};

use ambo_engine::{
    Error,
    catalog::TableDefinition,
    database::{BulkChange, Duplicates, Engine, LoadOptions, Loaded, RowFormat, Snapshot},
    id::TableId,
    io::sim::{Fault, FaultKind, Op, SimDisk},
};

use super::rows::{self, Row};
use crate::support::{Random, assert_sound, open, rows as rows_of, small_options};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

const SEEDS: u64 = 120;
const STEPS: usize = 40;

struct World {
    random: Random,
    disk: SimDisk,
    engine: Arc<Engine>,
    table: TableId,
    definition: TableDefinition,
    format: RowFormat,
    model: Model,
    snapshots: Vec<(Snapshot, Model)>,
}

/// How a load ends.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Trouble {
    None,
    Cancel,
    Fault,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let definition = rows::definition(&mut random);
        let disk = SimDisk::new(seed);
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        let table = engine.create_table(definition.clone()).unwrap();
        let format = RowFormat::new(Arc::new(definition.clone())).unwrap();
        let (model, snapshots) = (Model::new(), Vec::new());
        Self { random, disk, engine, table, definition, format, model, snapshots }
    }

    fn step(&mut self) {
        match self.random.below(15) {
            0 | 1 => self.write(),
            2 => self.engine.flush().unwrap(),
            3 => self.engine.compact().unwrap(),
            4 => self.engine.compact_due().unwrap(),
            5 => self.snapshots.push((self.engine.snapshot(), self.model.clone())),
            6 => self.look_back(),
            7 => self.reopen(),
            8 => self.load(Trouble::Cancel),
            9 => self.load(Trouble::Fault),
            10 | 11 => self.change(false),
            12 => self.change(true),
            _ => self.load(Trouble::None),
        }
        self.look();
    }

    fn write(&mut self) {
        for _ in 0..self.random.below(30) {
            let row = rows::row(&self.definition, &mut self.random);
            let (key, record) = rows::stored(&self.format, &row);
            if self.random.one_in(3) {
                self.engine.delete(self.table, &key).unwrap();
                self.model.remove(&key);
            } else {
                self.engine.put(self.table, &key, &record).unwrap();
                self.model.insert(key, record);
            }
        }
    }

    fn look(&self) {
        let found = rows_of(&self.engine.snapshot(), self.table).unwrap();
        assert!(found.iter().map(|(k, v)| (k, v)).eq(&self.model), "other rows than there should be");
    }

    fn look_back(&mut self) {
        if self.snapshots.is_empty() {
            return;
        }
        let number = self.random.below(self.snapshots.len() as u64) as usize;
        let (snapshot, model) = self.snapshots.swap_remove(number);
        let found = rows_of(&snapshot, self.table).unwrap();
        assert!(found.iter().map(|(k, v)| (k, v)).eq(&model), "a snapshot changed");
    }

    fn reopen(&mut self) {
        self.snapshots.clear();
        self.disk = self.disk.crash();
        let (engine, _) = open(&self.disk.env(), &small_options()).unwrap();
        self.engine = engine;
        assert_sound(&self.engine);
        let files = self.disk.list_segments();
        let segments = self.engine.info().unwrap().tables[0].segments.clone().map_or(0, |s| s.segments);
        assert_eq!(files, segments, "files that no checkpoint knows");
    }

    fn load(&mut self, trouble: Trouble) {
        let duplicates =
            *self.random.pick(&[Duplicates::Refuse, Duplicates::KeepFirst, Duplicates::KeepLast]);
        let few = if duplicates == Duplicates::Refuse { 12 } else { 60 };
        let batches: Vec<Vec<Row>> = (0..self.random.below(5)).map(|_| self.batch(few)).collect();
        let writers = 1 + self.random.below(3) as usize;
        let options = LoadOptions {
            duplicates,
            memory_bytes: *self.random.pick(&[0, 64 << 10, 64 << 20]),
            threads: 1 + self.random.below(2) as usize,
            ..LoadOptions::default()
        };
        let cancel_at = match trouble {
            Trouble::Cancel => self.random.below(batches.len() as u64 + 1) as usize,
            _ => usize::MAX,
        };
        if trouble == Trouble::Fault {
            let op = *self.random.pick(&[Op::Create, Op::Write, Op::Sync, Op::SyncDirectory, Op::Read]);
            let kind = *self.random.pick(&[FaultKind::NoSpace, FaultKind::Io]);
            let after = self.random.below(6);
            self.disk.inject(Fault { op, file_prefix: None, after, kind, once: self.random.one_in(2) });
        }
        let expected = self.expected(&batches, writers, duplicates);
        let result = self.run_load(&batches, writers, &options, cancel_at);
        self.disk.clear_faults();
        match (result, expected) {
            (Ok(loaded), Some((model, expected))) if cancel_at == usize::MAX => {
                assert_eq!(loaded, expected, "{duplicates:?}");
                self.model = model;
            }
            (Err(Error::Exists(_)), None) => {}
            (Err(Error::Cancelled), _) if trouble == Trouble::Cancel => {}
            (Err(error), expected) if trouble == Trouble::Fault => {
                if let Error::Poisoned(_) | Error::Io { .. } = error {
                    // All or nothing, which is known after reopening.
                    self.reopen();
                    let found: Model =
                        rows_of(&self.engine.snapshot(), self.table).unwrap().into_iter().collect();
                    let all = expected.is_some_and(|(model, _)| model == found);
                    assert!(all || found == self.model, "a part of a load");
                    self.model = found;
                }
            }
            (result, expected) => {
                panic!("{result:?} of a load where {:?} was expected", expected.map(|(_, loaded)| loaded))
            }
        }
    }

    /// Rows that were read are changed or deleted in bulk, while others write.
    fn change(&mut self, fault: bool) {
        let what = *self.random.pick(&[BulkChange::Update, BulkChange::Delete]);
        let (since, before) = (self.engine.snapshot(), self.model.clone());
        let share = 1 + self.random.below(4);
        let mut chosen: Vec<(Vec<u8>, Row)> = Vec::new();
        for (key, record) in &before {
            if self.random.one_in(share) {
                let mut row = self.format.decode(key, record).unwrap();
                let fresh = rows::row(&self.definition, &mut self.random);
                for column in 0..row.len() {
                    if what == BulkChange::Update && !self.definition.key.contains(&column) {
                        row[column] = fresh[column].clone();
                    }
                }
                chosen.push((key.clone(), row));
            }
        }
        let mut others = false;
        for _ in 0..self.random.below(4) {
            match self.random.below(8) {
                0 => self.load(Trouble::None),
                1 | 2 => self.write(),
                3 | 4 => self.engine.flush().unwrap(),
                5 => self.engine.compact().unwrap(),
                _ => continue,
            }
            others = true;
        }
        if fault {
            let op = *self.random.pick(&[Op::Create, Op::Write, Op::Sync, Op::Read]);
            let after = self.random.below(6);
            self.disk.inject(Fault { op, file_prefix: None, after, kind: FaultKind::Io, once: true });
        }
        let result = self.run_change(what, since, &chosen);
        self.disk.clear_faults();
        let mut after = self.model.clone();
        for (key, row) in &chosen {
            match what {
                BulkChange::Update => after.insert(key.clone(), rows::stored(&self.format, row).1),
                BulkChange::Delete => after.remove(key),
            };
        }
        match result {
            Ok(changed) => {
                // Rows that others left alone are as they were read.
                assert!(chosen.iter().all(|(key, _)| self.model.get(key) == before.get(key)), "lost update");
                assert_eq!(changed, chosen.len() as u64);
                self.model = after;
            }
            Err(Error::Conflict(_)) if others => {}
            Err(Error::Poisoned(_) | Error::Io { .. }) if fault => {
                self.reopen();
                let found: Model =
                    rows_of(&self.engine.snapshot(), self.table).unwrap().into_iter().collect();
                assert!(found == after || found == self.model, "a part of a change");
                self.model = found;
            }
            Err(error) => panic!("{what:?}: {error}"),
        }
    }

    fn run_change(
        &mut self,
        what: BulkChange,
        since: Snapshot,
        rows: &[(Vec<u8>, Row)],
    ) -> Result<u64, Error> {
        let options = LoadOptions {
            memory_bytes: *self.random.pick(&[0, 64 << 10, 64 << 20]),
            threads: 1 + self.random.below(2) as usize,
            ..LoadOptions::default()
        };
        let change = self.engine.column_change(self.table, what, since, options)?;
        let mut writers: Vec<_> = (0..1 + self.random.below(2)).map(|_| change.writer()).collect();
        let mut order: Vec<usize> = (0..rows.len()).collect();
        if self.random.one_in(2) {
            order.reverse();
        }
        for rest in order.chunks(50) {
            let writer = self.random.below(writers.len() as u64) as usize;
            let mut columns = rows::columns(
                &self.definition,
                &rest.iter().map(|row| rows[*row].1.clone()).collect::<Vec<_>>(),
            );
            if what == BulkChange::Delete {
                columns = self.definition.key.iter().map(|column| columns[*column].clone()).collect();
            }
            writers[writer].push_changed(columns, None, 1)?;
        }
        writers.into_iter().try_for_each(|writer| writer.finish())?;
        let done = change.finish()?;
        Ok(if what == BulkChange::Update { done.rows } else { done.replaced })
    }

    /// Sorted, the other way round, or any.
    fn batch(&mut self, few: u64) -> Vec<Row> {
        let count = self.random.below(few);
        let mut rows: Vec<Row> = (0..count).map(|_| rows::row(&self.definition, &mut self.random)).collect();
        if self.random.one_in(2) {
            rows.sort_by_key(|row| rows::stored(&self.format, row).0);
        }
        rows
    }

    fn run_load(
        &mut self,
        batches: &[Vec<Row>],
        writers: usize,
        options: &LoadOptions,
        cancel_at: usize,
    ) -> Result<Loaded, Error> {
        let load = self.engine.column_load(self.table, options.clone())?;
        let mut writers: Vec<_> = (0..writers).map(|_| load.writer()).collect();
        for (number, batch) in batches.iter().enumerate() {
            if number == cancel_at {
                options.cancel.store(true, Ordering::Relaxed);
            }
            let writer = number * writers.len() / batches.len();
            writers[writer].push(rows::columns(&self.definition, batch))?;
        }
        for (number, writer) in writers.into_iter().enumerate() {
            if number + batches.len() == cancel_at {
                options.cancel.store(true, Ordering::Relaxed);
            }
            writer.finish()?;
        }
        load.finish()
    }

    /// The rows afterwards; none if the load is refused.
    fn expected(
        &self,
        batches: &[Vec<Row>],
        _writers: usize,
        duplicates: Duplicates,
    ) -> Option<(Model, Loaded)> {
        let mut model = self.model.clone();
        let mut of_load: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        let mut given = 0;
        for row in batches.iter().flatten() {
            given += 1;
            let (key, record) = rows::stored(&self.format, row);
            match duplicates {
                Duplicates::Refuse if model.contains_key(&key) || of_load.contains_key(&key) => return None,
                Duplicates::KeepFirst if model.contains_key(&key) => {}
                Duplicates::KeepFirst => {
                    of_load.entry(key).or_insert(record);
                }
                _ => {
                    of_load.insert(key, record);
                }
            }
        }
        let rows = of_load.len() as u64;
        let replaced = of_load.keys().filter(|key| model.contains_key(*key)).count() as u64;
        model.extend(of_load);
        Some((model, Loaded { rows, left_out: given - rows, replaced }))
    }
}

trait Segments {
    fn list_segments(&self) -> u64;
}

impl Segments for SimDisk {
    fn list_segments(&self) -> u64 {
        use ambo_engine::io::Disk;
        self.list().unwrap().iter().filter(|name| name.starts_with("segment-")).count() as u64
    }
}

fn run(seed: u64) {
    let mut world = World::new(seed);
    for _ in 0..STEPS {
        world.step();
    }
    while !world.snapshots.is_empty() {
        world.look_back();
    }
    assert_sound(&world.engine);
    world.reopen();
    world.look();
}

/// Keeps away: rows of a load that are lost, doubled, or seen in part; losers that win; snapshots that change; files left behind.
#[test]
fn loads_do_what_rows_one_by_one_would() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    if let Some(seed) = number("AMBO_SEED") {
        return run(seed);
    }
    for seed in 0..number("AMBO_SEEDS").unwrap_or(SEEDS) {
        let failed = std::panic::catch_unwind(|| run(seed)).is_err();
        assert!(!failed, "AMBO_SEED={seed}");
    }
}
