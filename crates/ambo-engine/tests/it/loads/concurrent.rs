//! Loads while others write, with all background threads.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use ambo_engine::{
    Error,
    catalog::{IndexDefinition, Storage, TableDefinition},
    database::{Duplicates, Engine, Isolation, LoadOptions, Options, Running},
    id::TableId,
    io::sim::SimDisk,
    scan::ColumnBuffer,
};

use crate::{
    stop::Stop,
    support::{Random, assert_sound, rows, small_options},
};

fn start(seed: u64) -> (Running, TableId) {
    let options = Options { background_threads: true, background_merge: true, ..small_options() };
    let (engine, _) = Engine::open(SimDisk::new(seed).env(), options).unwrap();
    let running = Running::start(engine).unwrap();
    let definition = TableDefinition::key_value("t").storage(Storage::Column);
    let table = running.engine().create_table(definition).unwrap();
    (running, table)
}

fn batch(definition: &TableDefinition, keys: &[u32], value: &str) -> Vec<ColumnBuffer> {
    let row = |key: &u32| vec![key.to_be_bytes()[..].into(), value.as_bytes().into()];
    super::rows::columns(definition, &keys.iter().map(row).collect::<Vec<_>>())
}

fn load(
    engine: &Arc<Engine>,
    table: TableId,
    keys: &[u32],
    value: &str,
    duplicates: Duplicates,
) -> Result<u64, Error> {
    let definition = TableDefinition::key_value("t");
    let options = LoadOptions { duplicates, memory_bytes: 1 << 20, ..LoadOptions::default() };
    let load = engine.column_load(table, options)?;
    let halves = keys.split_at(keys.len() / 2);
    let writers = [(load.writer(), halves.0), (load.writer(), halves.1)];
    thread::scope(|scope| {
        let threads = writers.map(|(mut writer, keys)| {
            let definition = &definition;
            scope.spawn(move || {
                keys.chunks(500).try_for_each(|keys| writer.push(batch(definition, keys, value)))?;
                writer.finish()
            })
        });
        threads.into_iter().try_for_each(|thread| thread.join().unwrap())
    })?;
    Ok(load.finish()?.rows)
}

/// Keeps away: rows of others that a load takes with it, rows of a load that older rows hide, and a load that never comes to its end
/// because others write.
#[test]
fn others_write_all_the_time() {
    write_and_load(false);
}

/// Keeps away: the same with an index, and entries of rows that others or a load have replaced.
#[test]
fn others_write_to_a_table_with_an_index_all_the_time() {
    write_and_load(true);
}

fn write_and_load(indexed: bool) {
    let (running, table) = start(1);
    let engine = running.engine();
    if indexed {
        engine.create_index(&IndexDefinition::new("by_value", "t", &["value"]).hash()).unwrap();
        engine.create_index(&IndexDefinition::new("by_key", "t", &["key"]).unique()).unwrap();
    }
    let stop = Stop::new();
    let written = AtomicU64::new(0);
    // Odd keys are those of the writers, even ones those of loads; a few keys belong to all.
    let shared = |key: u32| key < 20;
    let (models, last) = stop.scope(|scope| {
        let writers: Vec<_> = (0..2u32)
            .map(|number| {
                let (stop, written) = (&stop, &written);
                scope.spawn(move || {
                    let mut random = Random::new(u64::from(number));
                    let mut model = BTreeMap::new();
                    while stop.goes_on() {
                        let key = match random.one_in(4) {
                            true => random.below(20) as u32,
                            false => 20 + (random.below(4000) as u32) * 4 + 2 * number + 1,
                        };
                        if random.one_in(5) {
                            engine.delete(table, &key.to_be_bytes()).unwrap();
                            model.remove(&key);
                        } else {
                            let value = format!("w{}", random.next());
                            engine.put(table, &key.to_be_bytes(), value.as_bytes()).unwrap();
                            model.insert(key, value);
                        }
                        written.fetch_add(1, Ordering::Relaxed);
                    }
                    model
                })
            })
            .collect();
        let mut random = Random::new(77);
        let mut last = BTreeMap::new();
        for round in 0..30 {
            let mut keys: Vec<u32> =
                (0..20).chain((0..3000).map(|_| 20 + 2 * random.below(8000) as u32)).collect();
            keys.sort_unstable();
            keys.dedup();
            if round % 2 == 0 {
                keys.reverse();
            }
            let value = format!("load {round}");
            let rows = load(engine, table, &keys, &value, Duplicates::KeepLast).unwrap();
            if indexed && round % 5 == 0 {
                assert_sound(engine);
            }
            assert_eq!(rows, keys.len() as u64);
            keys.iter().for_each(|key| drop(last.insert(*key, value.clone())));
        }
        stop.now();
        (writers.into_iter().map(|writer| writer.join().unwrap()).collect::<Vec<_>>(), last)
    });
    assert!(written.into_inner() > 1000);
    let look = || {
        let found = rows(&engine.snapshot(), table).unwrap();
        let mut count = 0;
        for (key, value) in &found {
            let key = u32::from_be_bytes(key[..].try_into().unwrap());
            if shared(key) {
                continue;
            }
            count += 1;
            let of = models.iter().chain([&last]).find_map(|model| model.get(&key));
            assert_eq!(of.map(String::as_bytes), Some(&value[..]), "key {key}");
        }
        let owned = models.iter().chain([&last]).flat_map(BTreeMap::keys).filter(|key| !shared(**key));
        assert_eq!(count, owned.count());
    };
    look();
    assert_sound(engine);
    engine.compact().unwrap();
    look();
    assert_sound(engine);
    running.close().unwrap();
}

/// Keeps away: a load and an insert that both believe that they brought a key.
#[test]
fn of_a_load_and_an_insert_one_wins() {
    let (running, table) = start(2);
    let engine = running.engine();
    let (mut of_load, mut of_insert) = (0, 0);
    for round in 0..60u32 {
        let keys: Vec<u32> = (round * 1000..round * 1000 + 600).collect();
        let contested = keys[300].to_be_bytes();
        let insert = || loop {
            let mut tx = engine.begin(Isolation::Snapshot).unwrap();
            if tx.get(table, &contested).unwrap().is_some() {
                return false;
            }
            tx.put(table, &contested, b"inserted").unwrap();
            match tx.commit() {
                Ok(_) => return true,
                Err(error) => assert!(error.is_retryable(), "{error}"),
            }
        };
        let (loaded, inserted) = thread::scope(|scope| {
            let loading = scope.spawn(|| load(engine, table, &keys, "loaded", Duplicates::Refuse));
            if round % 3 > 0 {
                // So that now the one is first, now the other.
                thread::sleep(std::time::Duration::from_micros(u64::from(round) * 40));
            }
            let inserted = insert();
            (loading.join().unwrap(), inserted)
        });
        match loaded {
            Ok(rows) => {
                assert!(rows == 600 && !inserted, "round {round}");
                of_load += 1;
            }
            Err(Error::Exists(_)) => {
                assert!(inserted, "round {round}");
                of_insert += 1;
            }
            Err(error) => panic!("round {round}: {error}"),
        }
        let value = engine.get(table, &contested).unwrap().unwrap();
        assert_eq!(&*value, if inserted { &b"inserted"[..] } else { b"loaded" });
    }
    assert_eq!(of_load + of_insert, 60);
    let expected = of_load * 600 + of_insert;
    assert_eq!(rows(&engine.snapshot(), table).unwrap().len(), expected);
    assert_sound(engine);
    running.close().unwrap();
}

/// Keeps away: a load and an insert that both believe that they brought a value that is to be unique, under different keys.
#[test]
fn of_a_load_and_an_insert_of_one_value_one_wins() {
    let (running, table) = start(3);
    let engine = running.engine();
    engine.create_index(&IndexDefinition::new("by_value", "t", &["value"]).hash().unique()).unwrap();
    let definition = TableDefinition::key_value("t");
    let (mut of_load, mut of_insert) = (0, 0);
    let mut random = Random::new(3);
    let mut took = std::time::Duration::from_millis(2);
    for round in 0..150u32 {
        let value = |key: u32| format!("{round} {key}");
        let row =
            |key: u32| vec![(round * 1000 + key).to_be_bytes()[..].into(), value(key).as_bytes().into()];
        let rows: Vec<Vec<_>> = (0..200).map(row).collect();
        let contested = random.below(200) as u32;
        let delay = took.mul_f64(random.below(120) as f64 / 100.0);
        let load = || {
            let options = LoadOptions { memory_bytes: 1 << 20, ..LoadOptions::default() };
            let load = engine.column_load(table, options)?;
            let mut writer = load.writer();
            writer.push(super::rows::columns(&definition, &rows))?;
            writer.finish()?;
            load.finish()
        };
        let began = std::time::Instant::now();
        let (loaded, inserted) = thread::scope(|scope| {
            let loading = scope.spawn(|| {
                let loaded = load();
                (loaded, began.elapsed())
            });
            thread::sleep(delay);
            let key = 1_000_000 + round;
            let inserted = engine.put(table, &key.to_be_bytes(), value(contested).as_bytes());
            (loading.join().unwrap(), inserted)
        });
        let (loaded, elapsed) = loaded;
        took = (took * 3 + elapsed.min(std::time::Duration::from_millis(50))) / 4;
        match (&loaded, &inserted) {
            (Ok(_), Err(Error::Exists(_))) => of_load += 1,
            (Err(Error::Exists(_)), Ok(())) => of_insert += 1,
            other => panic!("round {round}: {other:?}"),
        }
    }
    assert!(of_load > 0 && of_insert > 0, "{of_load} {of_insert}");
    assert_eq!(rows(&engine.snapshot(), table).unwrap().len(), of_load * 200 + of_insert);
    assert_sound(engine);
    running.close().unwrap();
}
