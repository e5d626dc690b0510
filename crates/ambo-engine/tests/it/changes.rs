//! A follower of what is committed, beside writers, crashes and loads: it always has what the database has.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use ambo_codec::{Type, Value as Datum};
use ambo_engine::{
    Error,
    catalog::{Storage, TableDefinition},
    database::{Change, ChangedValue, Engine, Isolation, LoadOptions, Options, Sync},
    id::{TableId, Timestamp},
    io::sim::SimDisk,
    log::Operation,
    record::Record,
};

use crate::{
    loads::columns,
    support::{Random, assert_sound, bytes, open, rows, small_options},
};

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// What somebody has made of the changes.
#[derive(Default)]
struct Follower {
    at: Timestamp,
    tables: BTreeMap<TableId, Rows>,
    commits: u64,
    gaps: u64,
    elsewhere: u64,
}

impl Follower {
    fn poll(&mut self, engine: &Arc<Engine>) {
        let mut feed = engine.changes_since(self.at).unwrap();
        let mut anew = BTreeSet::new();
        while let Some(change) = feed.next().unwrap() {
            match change {
                Change::Unlogged { first, last } => {
                    assert_eq!(first.0, self.at.0 + 1, "a moment is left out, or comes twice");
                    self.at = last;
                    self.gaps += 1;
                    // Only the table that is loaded into: all else is in the log.
                    anew.extend(engine.current().catalog.find("c").map(|(id, _)| id));
                }
                Change::Commit { timestamp, ranges, rows, .. } => {
                    assert_eq!(timestamp.0, self.at.0 + 1, "a moment is left out, or comes twice");
                    self.at = timestamp;
                    self.commits += 1;
                    for range in ranges {
                        let is_in = |key: &Vec<u8>| {
                            *key >= range.lower && range.upper.as_ref().is_none_or(|upper| key < upper)
                        };
                        self.tables.entry(range.table).or_default().retain(|key, _| !is_in(key));
                    }
                    for row in rows {
                        self.take(engine, row.table, row.key, row.value);
                    }
                }
            }
        }
        assert_eq!(self.at, feed.until());
        for table in anew {
            self.tables.insert(table, all_rows(engine, table));
        }
        self.compare(engine);
    }

    fn take(&mut self, engine: &Arc<Engine>, table: TableId, key: Vec<u8>, value: ChangedValue) {
        let rows = self.tables.entry(table).or_default();
        match value {
            ChangedValue::Written(value) => drop(rows.insert(key, value)),
            ChangedValue::Deleted => drop(rows.remove(&key)),
            ChangedValue::Elsewhere => {
                self.elsewhere += 1;
                match engine.get(table, &key).unwrap() {
                    Some(value) => drop(rows.insert(key, value.to_vec())),
                    None => drop(rows.remove(&key)),
                }
            }
        }
    }

    fn compare(&self, engine: &Arc<Engine>) {
        for (table, definition) in engine.current().catalog.tables() {
            let mine = self.tables.get(&table).cloned().unwrap_or_default();
            assert!(mine == all_rows(engine, table), "{} is another at {}", definition.name, self.at);
        }
    }
}

fn all_rows(engine: &Arc<Engine>, table: TableId) -> Rows {
    rows(&engine.snapshot(), table).unwrap().into_iter().collect()
}

fn table(engine: &Arc<Engine>, random: &mut Random) -> Option<TableId> {
    let current = engine.current();
    let raw = current.catalog.tables().filter(|(_, table)| table.is_raw());
    let raw: Vec<_> = raw.map(|(id, _)| id).collect();
    (!raw.is_empty()).then(|| *random.pick(&raw))
}

fn write(engine: &Arc<Engine>, random: &mut Random) {
    let Some(table) = table(engine, random) else { return };
    let key = |random: &mut Random| random.below(40).to_be_bytes();
    match random.below(9) {
        0 => engine.delete(table, &key(random)).unwrap(),
        8 => {
            let (lower, upper) = (key(random), key(random));
            engine.delete_range(table, &lower, Some(&upper)).unwrap();
        }
        1 => {
            let mut tx = engine.begin(Isolation::Snapshot).unwrap();
            for _ in 0..random.below(6) {
                tx.put(table, &key(random), &bytes(random.next(), random.below(900) as usize)).unwrap();
            }
            tx.commit().unwrap();
        }
        2 => {
            let (key, value) = (key(random), bytes(random.next(), 50));
            let put = |record| Operation { table, key: &key, record };
            engine.write_batch(&[put(Record::TOMBSTONE), put(Record::inline(&value))], None).unwrap();
        }
        3 if random.one_in(12) => {
            engine.put(table, &key(random), &bytes(random.next(), (1 << 20) + 1)).unwrap()
        }
        _ => engine.put(table, &key(random), &bytes(random.next(), random.below(300) as usize)).unwrap(),
    }
}

fn load(engine: &Arc<Engine>, random: &mut Random) {
    let Ok((table, definition)) =
        engine.current().catalog.find("c").map(|(id, definition)| (id, definition.clone()))
    else {
        return;
    };
    let load = engine.column_load(table, LoadOptions::default()).unwrap();
    let mut writer = load.writer();
    let from = random.below(1 << 40) as i64;
    let rows: Vec<_> = (from..from + 20).map(|id| vec![Datum::I64(id), Datum::I64(-id)]).collect();
    writer.push(columns(&definition, &rows)).unwrap();
    writer.finish().unwrap();
    load.finish().unwrap();
}

fn define(engine: &Arc<Engine>, random: &mut Random) {
    let name = format!("t{}", random.below(4));
    match engine.current().catalog.find(&name) {
        Err(_) => drop(engine.create_table(TableDefinition::key_value(name)).unwrap()),
        Ok(_) => engine.drop_table(&name).unwrap(),
    }
}

fn run(seed: u64) -> Follower {
    let mut random = Random::new(seed);
    let options = Options {
        keep_log_bytes: 64 << 20,
        log_compression: random.one_in(3),
        background_merge: random.one_in(2),
        sync: *random.pick(&[Sync::Commit, Sync::Off]),
        ..small_options()
    };
    let mut disk = SimDisk::new(seed);
    let (mut engine, _) = open(&disk.env(), &options).unwrap();
    engine.create_table(TableDefinition::key_value("a")).unwrap();
    let c = TableDefinition::new("c").column("id", Type::I64).column("n", Type::I64).primary_key(&["id"]);
    engine.create_table(c.storage(Storage::Column)).unwrap();
    let mut follower = Follower::default();
    for _ in 0..150 {
        match random.below(40) {
            0 | 1 => engine.flush().unwrap(),
            2 => engine.compact().unwrap(),
            3 => load(&engine, &mut random),
            4 => define(&engine, &mut random),
            5 | 6 => {
                if random.one_in(2) {
                    disk = disk.crash();
                }
                drop(engine);
                engine = open(&disk.env(), &options).unwrap().0;
            }
            7..12 => follower.poll(&engine),
            _ => write(&engine, &mut random),
        }
    }
    follower.poll(&engine);
    assert_sound(&engine);
    follower
}

/// Keeps away: a commit that a follower misses, gets twice, or gets although a crash has taken it.
#[test]
fn a_follower_has_what_the_database_has() {
    let (mut commits, mut gaps, mut elsewhere) = (0, 0, 0);
    for seed in 0..60 {
        let follower = run(seed);
        commits += follower.commits;
        gaps += follower.gaps;
        elsewhere += follower.elsewhere;
    }
    assert!(
        commits > 3000 && gaps > 60 && elsewhere > 0,
        "{commits} commits, {gaps} gaps, {elsewhere} elsewhere"
    );
}

/// Keeps away: a follower that is behind what is kept, and hears nothing of it.
#[test]
fn what_is_not_kept_is_told() {
    let disk = SimDisk::new(1);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
    let before = engine.snapshot().timestamp();
    engine.put(table, b"k", b"v").unwrap();
    assert!(matches!(engine.changes_since(Timestamp(before.0 + 5)).map(drop), Err(Error::Invalid(_))));
    assert!(engine.changes_since(before).unwrap().next().unwrap().is_some(), "the log has it still");
    engine.flush().unwrap();
    match engine.changes_since(before).map(drop) {
        Err(Error::NotFound(why)) => assert!(why.contains("keep_log_bytes"), "{why}"),
        other => panic!("{other:?}"),
    }
    assert!(engine.changes_since(engine.snapshot().timestamp()).unwrap().next().unwrap().is_none());
    assert_sound(&engine);
}
