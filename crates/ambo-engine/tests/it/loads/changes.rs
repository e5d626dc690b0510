//! Rows changed and deleted in bulk: beside others, with row locks, with indexes, and where rows are told apart by numbers.

use std::{sync::Arc, thread, time::Duration};

use ambo_codec::{Type, Value};
use ambo_engine::{
    Error,
    catalog::{IndexDefinition, Storage, TableDefinition},
    database::{BulkChange, Engine, Isolation, LoadOptions, Options, RowFormat, Running, Snapshot},
    id::TableId,
    io::sim::SimDisk,
    scan::ColumnBuffer,
};

use super::rows::columns;
use crate::{
    stop::Stop,
    support::{Random, assert_sound, open, rows, small_options},
};

struct World {
    definition: TableDefinition,
    format: RowFormat,
    engine: Arc<Engine>,
    table: TableId,
}

impl World {
    /// A table with rows `0..count`, compacted.
    fn new(definition: TableDefinition, count: i64) -> Self {
        let options = Options { lock_timeout: Duration::from_millis(300), ..small_options() };
        let (engine, _) = open(&SimDisk::new(9).env(), &options).unwrap();
        Self::in_engine(engine, definition, count)
    }

    /// The same with all background threads.
    fn running(definition: TableDefinition, count: i64) -> (Running, Self) {
        let options = Options { background_threads: true, background_merge: true, ..small_options() };
        let (engine, _) = Engine::open(SimDisk::new(9).env(), options).unwrap();
        let running = Running::start(engine).unwrap();
        let world = Self::in_engine(running.engine().clone(), definition, count);
        (running, world)
    }

    fn in_engine(engine: Arc<Engine>, definition: TableDefinition, count: i64) -> Self {
        let definition = definition.storage(Storage::Column);
        let table = engine.create_table(definition.clone()).unwrap();
        let format = RowFormat::new(Arc::new(definition.clone())).unwrap();
        let world = Self { definition, format, engine, table };
        let load = world.engine.column_load(table, LoadOptions::default()).unwrap();
        let mut writer = load.writer();
        let all: Vec<_> = (0..count).map(|id| row(id, id % 7)).collect();
        writer.push(columns(&world.definition, &all)).unwrap();
        writer.finish().unwrap();
        assert_eq!(load.finish().unwrap().rows, count as u64);
        world
    }

    /// The rows with their stored keys, in the order of these.
    fn rows(&self) -> Vec<(Vec<u8>, Vec<Value>)> {
        self.rows_in(&self.engine.snapshot())
    }

    fn rows_in(&self, snapshot: &Snapshot) -> Vec<(Vec<u8>, Vec<Value>)> {
        let stored = rows(snapshot, self.table).unwrap();
        stored.into_iter().map(|(key, row)| (key.clone(), self.format.decode(&key, &row).unwrap())).collect()
    }

    /// Changes or deletes rows; returns how many.
    fn change(
        &self,
        what: BulkChange,
        since: Snapshot,
        rows: &[(Vec<u8>, Vec<Value>)],
    ) -> Result<u64, Error> {
        let change = self.engine.column_change(self.table, what, since, LoadOptions::default())?;
        let mut writer = change.writer();
        let numbers = self.definition.is_numbered().then(|| {
            let mut numbers = ColumnBuffer::new(Type::U64);
            for (key, _) in rows {
                numbers.push(self.format.number_of(key).unwrap().into()).unwrap();
            }
            numbers
        });
        let all = columns(&self.definition, &rows.iter().map(|(_, row)| row.clone()).collect::<Vec<_>>());
        let brought = match what {
            BulkChange::Update => all,
            BulkChange::Delete => self.definition.key.iter().map(|column| all[*column].clone()).collect(),
        };
        writer.push_changed(brought, numbers, 1)?;
        writer.finish()?;
        let done = change.finish()?;
        Ok(if what == BulkChange::Update { done.rows } else { done.replaced })
    }
}

fn row(id: i64, v: i64) -> Vec<Value> {
    vec![Value::I64(id), Value::I64(v), Value::I64(id % 5)]
}

fn number(value: &Value) -> i64 {
    match value {
        Value::I64(number) => *number,
        other => panic!("{other} is no number"),
    }
}

fn table() -> TableDefinition {
    TableDefinition::new("t").column("id", Type::I64).column("v", Type::I64).column("s", Type::I64)
}

/// Rows are changed and deleted, and what is left is what row by row would have left.
fn goes_through(definition: TableDefinition, indexes: &[IndexDefinition]) {
    let world = World::new(definition, 20_000);
    for index in indexes {
        world.engine.create_index(index).unwrap();
    }
    let mut chosen = world.rows();
    let even = |(_, row): &(Vec<u8>, Vec<Value>)| matches!(row[0], Value::I64(id) if id % 2 == 0);
    chosen.retain(even);
    for (_, row) in &mut chosen {
        row[1] = Value::I64(1000);
    }
    assert_eq!(world.change(BulkChange::Update, world.engine.snapshot(), &chosen).unwrap(), 10_000);
    assert_sound(&world.engine);
    let all = world.rows();
    assert_eq!(all.len(), 20_000);
    assert!(all.iter().all(|row| even(row) == (row.1[1] == Value::I64(1000))));
    assert_eq!(world.change(BulkChange::Delete, world.engine.snapshot(), &chosen).unwrap(), 10_000);
    let left = world.rows();
    assert!(left.len() == 10_000 && !left.iter().any(even));
    assert_sound(&world.engine);
    world.engine.compact().unwrap();
    assert_eq!(world.rows(), left);
    assert_sound(&world.engine);
}

/// Keeps away: rows that are not found again by their keys, and entries of indexes that stay behind.
#[test]
fn changes_of_every_kind_of_table() {
    let indexes = [IndexDefinition::new("i", "t", &["v"]), IndexDefinition::new("u", "t", &["id"]).unique()];
    goes_through(table().primary_key(&["id"]), &[]);
    goes_through(table().primary_key(&["id"]), &indexes);
    goes_through(table(), &[]);
    goes_through(table(), &indexes);
    goes_through(table().sort_key(&["s"]), &[]);
    goes_through(table().primary_key(&["id"]).sort_key(&["s"]), &[]);
}

/// Keeps away: a change that overwrites what others wrote since its rows were read, in memtables, in runs, and in segments.
#[test]
fn the_first_committer_wins() {
    for compact in [false, true] {
        for what in [BulkChange::Update, BulkChange::Delete] {
            let world = World::new(table().primary_key(&["id"]), 1000);
            let since = world.engine.snapshot();
            let chosen = world.rows();
            let (key, _) = &chosen[500];
            let theirs = world.format.encode_row(&row(500, -1)).unwrap();
            world.engine.put(world.table, key, &theirs).unwrap();
            if compact {
                world.engine.compact().unwrap();
            }
            let error = world.change(what, since, &chosen).unwrap_err();
            assert!(matches!(error, Error::Conflict(_)), "{error}");
            assert_eq!(world.rows().len(), 1000);
            assert_eq!(world.rows()[500].1, row(500, -1));
            // Rows that nobody touched may be changed from the same moment on.
            let since = world.engine.snapshot();
            world.engine.put(world.table, key, &theirs).unwrap();
            assert_eq!(world.change(what, since, &chosen[..500]).unwrap(), 500);
            assert_sound(&world.engine);
        }
    }
}

/// Keeps away: transactions that overwrite what a change did after they began, and snapshots that see it.
#[test]
fn a_change_is_one_commit() {
    let world = World::new(table().primary_key(&["id"]), 1000);
    let chosen = world.rows();
    let before = world.engine.snapshot();
    let mut late = world.engine.begin(Isolation::Snapshot).unwrap();
    late.put(world.table, &chosen[3].0, &world.format.encode_row(&row(3, 3)).unwrap()).unwrap();
    world.change(BulkChange::Delete, world.engine.snapshot(), &chosen[..10]).unwrap();
    assert_eq!(rows(&before, world.table).unwrap().len(), 1000);
    assert_eq!(world.rows().len(), 990);
    assert!(matches!(late.commit(), Err(Error::Conflict(_))));
    // Keys without a row delete nothing.
    let error = world.change(BulkChange::Delete, before, &chosen[..10]).unwrap_err();
    assert!(matches!(error, Error::Conflict(_)), "{error}");
    assert_eq!(world.change(BulkChange::Delete, world.engine.snapshot(), &chosen[..20]).unwrap(), 10);
    assert_sound(&world.engine);
}

/// Keeps away: a change of rows that somebody has locked, and one that waits for ever, or for locks on other rows.
#[test]
fn row_locks_are_waited_for() {
    let world = World::new(table().primary_key(&["id"]), 1000);
    let chosen = world.rows();
    let mut holder = world.engine.begin(Isolation::Snapshot).unwrap();
    holder.lock(world.table, &chosen[500].0).unwrap();
    let since = world.engine.snapshot();
    assert_eq!(world.change(BulkChange::Delete, since, &chosen[..500]).unwrap(), 500);
    let error = world.change(BulkChange::Delete, world.engine.snapshot(), &chosen[500..]).unwrap_err();
    assert!(matches!(error, Error::Lock(_)), "{error}");
    thread::scope(|scope| {
        let since = world.engine.snapshot();
        let deleted = scope.spawn(|| world.change(BulkChange::Delete, since, &chosen[500..]));
        thread::sleep(Duration::from_millis(50));
        assert!(!deleted.is_finished());
        holder.rollback();
        assert_eq!(deleted.join().unwrap().unwrap(), 500);
    });
    assert!(world.rows().is_empty());
    assert_sound(&world.engine);
}

/// Keeps away: of two that add to a number, in bulk and row by row, one whose sum is lost.
#[test]
fn others_add_to_the_same_rows() {
    let (running, world) = World::running(table().primary_key(&["id"]), 2000);
    let stop = Stop::new();
    let (mut added, mut conflicts) = (0, 0);
    let by_row = stop.scope(|scope| {
        let adding = scope.spawn(|| {
            let (mut random, mut added) = (Random::new(4), vec![0; 2000]);
            while stop.goes_on() {
                let id = random.below(2000) as usize;
                let key = world.format.encode_key(&row(id as i64, 0), 0).unwrap();
                let mut tx = world.engine.begin(Isolation::Snapshot).unwrap();
                let before = tx.get(world.table, &key).unwrap().unwrap();
                let mut values = world.format.decode(&key, &before).unwrap();
                values[1] = Value::I64(number(&values[1]) + 1);
                tx.put(world.table, &key, &world.format.encode_row(&values).unwrap()).unwrap();
                match tx.commit() {
                    Ok(_) => added[id] += 1,
                    Err(error) => assert!(error.is_retryable(), "{error}"),
                }
                thread::sleep(Duration::from_micros(random.below(3000)));
            }
            added
        });
        while added < 20 {
            let since = world.engine.snapshot();
            let mut chosen = world.rows_in(&since);
            for (_, row) in &mut chosen {
                row[1] = Value::I64(number(&row[1]) + 1000);
            }
            match world.change(BulkChange::Update, since, &chosen) {
                Ok(_) => added += 1,
                Err(Error::Conflict(_)) => conflicts += 1,
                Err(error) => panic!("{error}"),
            }
        }
        stop.now();
        adding.join().unwrap()
    });
    assert!(conflicts > 0);
    for (id, (_, values)) in world.rows().into_iter().enumerate() {
        let expected = id as i64 % 7 + by_row[id] + added * 1000;
        assert_eq!(values, row(id as i64, expected), "after {conflicts} conflicts");
    }
    assert_sound(&world.engine);
    drop(world);
    running.close().unwrap();
}

/// Keeps away: rows and keys that are none of the table.
#[test]
fn what_cannot_be_is_refused() {
    let world = World::new(table().primary_key(&["id"]), 10);
    let whole = || columns(&world.definition, &[row(1, 1)]);
    let change =
        |what| world.engine.column_change(world.table, what, world.engine.snapshot(), Default::default());
    let delete = change(BulkChange::Delete).unwrap();
    let error = delete.writer().push_changed(whole(), None, 1).unwrap_err();
    assert!(error.to_string().contains("none of this table"), "{error}");
    assert!(delete.finish().is_err());
    let load = world.engine.column_load(world.table, Default::default()).unwrap();
    let error = load.writer().push_changed(whole(), None, 1).unwrap_err();
    assert!(error.to_string().contains("are given to a load"), "{error}");
    let update = change(BulkChange::Update).unwrap();
    let mut numbers = ColumnBuffer::new(Type::U64);
    numbers.push(7u64.into()).unwrap();
    let error = update.writer().push_changed(whole(), Some(numbers), 1).unwrap_err();
    assert!(error.to_string().contains("numbers"), "{error}");
    let error = update.writer().push(whole()).unwrap_err();
    assert!(error.to_string().contains("new rows"), "{error}");
    assert_eq!(world.rows().len(), 10);
    let empty = change(BulkChange::Delete).unwrap();
    empty.writer().finish().unwrap();
    assert_eq!(empty.finish().unwrap().replaced, 0);
    assert_sound(&world.engine);
}
