//! Indexes of a whole engine: of every storage and type, and built while their tables are in use.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
    sync::Arc,
    time::Duration,
};

use ambo_codec::{Type, Value as Datum};
use ambo_engine::{
    Error, Result,
    catalog::{IndexDefinition, Storage, TableDefinition},
    database::{
        Duplicates, Engine, IndexRange, Isolation, LoadOptions, Options, RowFormat, Running, Snapshot,
    },
    id::TableId,
    io::sim::{Fault, FaultKind, Op, SimDisk},
};

use crate::{
    loads::columns,
    stop::Stop,
    support::{Random, assert_sound, open, rows, small_options},
};

const STORAGES: [Storage; 6] =
    [Storage::BTree, Storage::Lsm, Storage::Memory, Storage::Column, Storage::Append, Storage::Stub];

/// A table `(id i32, town text or NULL, size i64)`, and what goes into it.
fn towns(engine: &Arc<Engine>, storage: Storage) -> (TableId, RowFormat) {
    let definition = TableDefinition::new("towns")
        .column("id", Type::I32)
        .column_nullable("town", Type::Utf8)
        .column("size", Type::I64)
        .primary_key(&["id"])
        .storage(storage);
    let id = engine.create_table(definition).unwrap();
    let definition = engine.current().catalog.table(id).unwrap().clone();
    (id, RowFormat::new(definition).unwrap())
}

/// Two bounds, and whether a value is between them.
type Between<'a> = (Bound<&'a [Datum]>, Bound<&'a [Datum]>, fn(i64, i64, i64) -> bool);
type Row = (i32, Option<String>, i64);

fn datums((id, town, size): &Row) -> Vec<Datum> {
    let town = town.as_ref().map_or(Datum::Null, |town| Datum::from(town.as_str()));
    vec![Datum::I32(*id), town, Datum::I64(*size)]
}

fn index(engine: &Arc<Engine>, definition: IndexDefinition) -> TableId {
    engine.create_index(&definition).unwrap()
}

/// The rows that an index finds, by their ids.
fn found(snapshot: &Snapshot, format: &RowFormat, index: TableId, range: IndexRange<'_>) -> Result<Vec<i32>> {
    let mut scan = snapshot.index_scan(index, range)?;
    let mut out = Vec::new();
    while let Some(key) = scan.next_key()?.map(<[u8]>::to_vec) {
        let row = snapshot.get(scan.table(), &key)?.expect("an entry has a row");
        if scan.is_meant(&key, &row)? {
            match format.decode(&key, &row)?[0] {
                Datum::I32(id) => out.push(id),
                ref other => panic!("{other}"),
            }
        }
    }
    Ok(out)
}

/// Compares all ways to look with a walk over all rows.
fn compare(engine: &Arc<Engine>, format: &RowFormat, rows: &BTreeMap<i32, Row>, ids: &[TableId; 4]) {
    let snapshot = engine.snapshot();
    let [town, hash, both, size] = *ids;
    let towns: BTreeSet<_> = rows.values().map(|row| row.1.clone()).collect();
    for name in towns.iter().chain([&Some("nowhere".to_owned())]) {
        let expected: Vec<_> = rows.values().filter(|row| row.1 == *name).map(|row| row.0).collect();
        let value = [name.as_ref().map_or(Datum::Null, |name| Datum::from(name.as_str()))];
        for index in [town, hash] {
            let range = IndexRange::Equal(&value);
            assert_eq!(found(&snapshot, format, index, range).unwrap(), expected, "{name:?}");
            assert_eq!(snapshot.index_count(index, range).unwrap(), expected.len() as u64, "{name:?}");
            let first = snapshot.index_get(index, &value).unwrap();
            let first = first.map(|(key, row)| format.decode(&key, &row).unwrap());
            let expected = expected.first().map(|id| datums(&rows[id]));
            assert_eq!(first, expected, "{name:?}");
        }
        let mut expected: Vec<_> = rows.values().filter(|row| row.1 == *name).collect();
        expected.sort_by_key(|row| (row.2, row.0));
        let expected: Vec<_> = expected.iter().map(|row| row.0).collect();
        assert_eq!(found(&snapshot, format, both, IndexRange::Equal(&value)).unwrap(), expected);
    }
    let mut by_size: Vec<_> = rows.values().map(|row| (row.2, row.0)).collect();
    by_size.sort_unstable();
    for (from, to) in [(-5, 5), (0, 0), (-40, 41), (7, 3)] {
        let (low, high) = ([Datum::I64(from)], [Datum::I64(to)]);
        let bounds: [Between<'_>; 4] = [
            (Bound::Included(&low), Bound::Excluded(&high), |size, from, to| from <= size && size < to),
            (Bound::Excluded(&low), Bound::Included(&high), |size, from, to| from < size && size <= to),
            (Bound::Unbounded, Bound::Included(&high), |size, _, to| size <= to),
            (Bound::Excluded(&low), Bound::Unbounded, |size, from, _| from < size),
        ];
        for (lower, upper, keeps) in bounds {
            let expected: Vec<_> =
                by_size.iter().filter(|(size, _)| keeps(*size, from, to)).map(|(_, id)| *id).collect();
            let range = IndexRange::Between(lower, upper);
            assert_eq!(found(&snapshot, format, size, range).unwrap(), expected, "{lower:?} {upper:?}");
            assert_eq!(snapshot.index_count(size, range).unwrap(), expected.len() as u64);
        }
    }
    assert!(snapshot.index_scan(hash, IndexRange::Between(Bound::Unbounded, Bound::Unbounded)).is_err());
    assert!(
        snapshot.index_scan(both, IndexRange::Equal(&[Datum::Null, Datum::I64(0), Datum::Null])).is_err()
    );
}

/// Keeps away: an index that finds others than the rows there are, whatever the storage, before and after compacting and reopening, built
/// before or behind the rows.
#[test]
fn indexes_find_what_a_walk_finds() {
    for (seed, storage) in STORAGES.into_iter().enumerate() {
        let disk = SimDisk::new(seed as u64);
        let mut random = Random::new(seed as u64);
        let (mut engine, _) = open(&disk.env(), &small_options()).unwrap();
        let (table, format) = towns(&engine, storage);
        let mut model = BTreeMap::new();
        let definitions = [
            IndexDefinition::new("town", "towns", &["town"]),
            IndexDefinition::new("town_hash", "towns", &["town"]).hash(),
            IndexDefinition::new("both", "towns", &["town", "size"]),
            IndexDefinition::new("size", "towns", &["size"]),
        ];
        let early = index(&engine, definitions[0].clone());
        for round in 0..4 {
            for _ in 0..400 {
                let id = random.below(300) as i32;
                if random.one_in(4) {
                    engine.delete(table, &format.encode_key_values(&[Datum::I32(id)], 0).unwrap()).unwrap();
                    model.remove(&id);
                    continue;
                }
                // Zero bytes and beginnings of one another are what texts in keys may stumble over.
                let names = ["", "a", "a\0", "a\0b", "ab", "\u{10FFFF}", "Brest"];
                let town = (!random.one_in(5)).then(|| (*random.pick(&names)).to_owned());
                let row = (id, town, random.below(80) as i64 - 40);
                let values = datums(&row);
                let key = format.encode_key(&values, 0).unwrap();
                engine.put(table, &key, &format.encode_row(&values).unwrap()).unwrap();
                model.insert(id, row);
            }
            let names = ["town_hash", "both", "size"];
            let ids = match round {
                0 => definitions[1..].iter().map(|of| index(&engine, of.clone())).collect::<Vec<_>>(),
                _ => names.map(|name| engine.current().catalog.find_index(name).unwrap().0).to_vec(),
            };
            compare(&engine, &format, &model, &[early, ids[0], ids[1], ids[2]]);
            match round {
                0 => engine.compact().unwrap(),
                1 => drop(engine.vacuum().unwrap()),
                _ => {}
            }
            compare(&engine, &format, &model, &[early, ids[0], ids[1], ids[2]]);
            assert_sound(&engine);
            if storage != Storage::Memory {
                drop(engine);
                engine = open(&disk.env(), &small_options()).unwrap().0;
            }
        }
        let info = engine.info().unwrap().tables.remove(0);
        assert!(info.indexes.iter().all(|index| index.rows == model.len() as u64));
        assert_eq!(info.indexes.len(), 4);
    }
}

/// Keeps away: a unique index that lets rows in, keeps NULLs out, or minds a row itself; in one transaction and in several.
#[test]
fn unique_indexes_refuse_a_second_row() {
    for (storage, hash) in STORAGES.into_iter().flat_map(|storage| [(storage, false), (storage, true)]) {
        let disk = SimDisk::new(3);
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        let (table, format) = towns(&engine, storage);
        let unique = IndexDefinition::new("u", "towns", &["town", "size"]).unique();
        let unique = if hash { unique.hash() } else { unique };
        let id = index(&engine, unique.clone());
        let stored = |id: i32, town: Option<&str>, size: i64| {
            let values = datums(&(id, town.map(str::to_owned), size));
            (format.encode_key(&values, 0).unwrap(), format.encode_row(&values).unwrap())
        };
        let put = |row: (Vec<u8>, Vec<u8>)| engine.put(table, &row.0, &row.1);
        put(stored(1, Some("Bern"), 1)).unwrap();
        put(stored(1, Some("Bern"), 1)).unwrap();
        put(stored(2, Some("Bern"), 2)).unwrap();
        put(stored(3, None, 1)).unwrap();
        put(stored(4, None, 1)).unwrap();
        for compacted in [false, true] {
            let error = put(stored(5, Some("Bern"), 2)).unwrap_err();
            assert!(
                matches!(&error, Error::Exists(what) if what.contains("(town, size) = (Bern, 2)") && what.contains("main.u")),
                "{error}"
            );
            assert!(put(stored(1, Some("Bern"), 2)).is_err());
            // What is taken and given in one transaction may change hands.
            let mut tx = engine.begin(Isolation::Snapshot).unwrap();
            let (first, second) = (stored(1, Some("Bern"), 2), stored(2, Some("Bern"), 1));
            assert!(tx.put(table, &first.0, &first.1).is_err());
            tx.delete(table, &second.0).unwrap();
            tx.put(table, &first.0, &first.1).unwrap();
            let savepoint = tx.savepoint();
            tx.put(table, &second.0, &second.1).unwrap();
            tx.rollback_to(savepoint).unwrap();
            tx.put(table, &second.0, &second.1).unwrap();
            tx.commit().unwrap();
            put(stored(1, Some("Basel"), 1)).unwrap();
            put(stored(2, Some("Bern"), 2)).unwrap();
            put(stored(1, Some("Bern"), 1)).unwrap();
            // Of two at once, one.
            let mut txs: Vec<_> = (0..2).map(|_| engine.begin(Isolation::Snapshot).unwrap()).collect();
            for (n, tx) in txs.iter_mut().enumerate() {
                let row = stored(10 + n as i32, Some("Chur"), 1);
                tx.put(table, &row.0, &row.1).unwrap();
            }
            let results: Vec<_> = txs.into_iter().map(|tx| tx.commit()).collect();
            assert!(matches!(&results[..], [Ok(_), Err(Error::Conflict(_))]), "{results:?}");
            engine.delete(table, &stored(10, None, 0).0).unwrap();
            let values = [Datum::from("Bern"), Datum::I64(2)];
            let (key, _) = engine.snapshot().index_get(id, &values).unwrap().unwrap();
            assert_eq!(key, stored(2, None, 0).0);
            assert_eq!(
                engine.snapshot().index_count(id, IndexRange::Equal(&[Datum::Null, 1i64.into()])).unwrap(),
                2
            );
            if !compacted {
                engine.compact().unwrap();
            }
        }
        assert_sound(&engine);
        // Rows that cannot be unique keep an index from being.
        let twice = IndexDefinition::new("v", "towns", &["size"]).unique();
        let error = engine.create_index(&twice).unwrap_err();
        assert!(matches!(&error, Error::Exists(what) if what.contains("(size) = (1)")), "{error}");
        assert!(engine.current().catalog.find_index("v").is_err());
        assert_sound(&engine);
        engine.drop_index("u").unwrap();
        put(stored(5, Some("Bern"), 2)).unwrap();
        assert!(engine.create_index(&unique).is_err());
        assert_sound(&engine);
    }
}

/// Keeps away: a check that does not see an entry that is missing, too many, or another row's.
#[test]
fn a_check_names_entries_that_are_not_those_of_the_rows() {
    for storage in STORAGES {
        let disk = SimDisk::new(4);
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        let (table, format) = towns(&engine, storage);
        for id in 0..300 {
            let values = datums(&(id, (id % 7 > 0).then(|| format!("town {}", id % 50)), id.into()));
            let key = format.encode_key(&values, 0).unwrap();
            engine.put(table, &key, &format.encode_row(&values).unwrap()).unwrap();
            if id == 200 {
                engine.compact().unwrap();
            }
        }
        let town = index(&engine, IndexDefinition::new("town", "towns", &["town"]).hash());
        let size = index(&engine, IndexDefinition::new("size", "towns", &["size"]).unique());
        assert_sound(&engine);
        let found = |what: &str| {
            let problems = engine.check().unwrap().problems;
            assert!(problems.iter().any(|problem| problem.contains(what)), "{what}: {problems:#?}");
        };
        let entries = rows(&engine.snapshot(), town).unwrap();
        let (key, value) = &entries[100];
        engine.delete(town, key).unwrap();
        found("index \"main.town\" has no entry for the row of key");
        engine.put(town, b"another", value).unwrap();
        found("index \"main.town\" has no entry for the row of key");
        engine.put(town, key, value).unwrap();
        found("index \"main.town\" has 301 entries, its table 300 rows");
        engine.delete(town, b"another").unwrap();
        assert_sound(&engine);
        // Two entries that have each other's row: their keys and their values are all there.
        let entries = rows(&engine.snapshot(), size).unwrap();
        let [(first, of_first), (second, of_second)] = &entries[17..19] else { unreachable!() };
        engine.put(size, first, of_second).unwrap();
        engine.put(size, second, of_first).unwrap();
        found("index \"main.size\" names another row for the values of that of key");
        engine.put(size, first, of_first).unwrap();
        engine.put(size, second, of_second).unwrap();
        assert_sound(&engine);
    }
}

/// Keeps away: indexes that stay behind when their table goes, is emptied, or moves.
#[test]
fn indexes_follow_their_table() {
    let disk = SimDisk::new(4);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    let (table, format) = towns(&engine, Storage::Column);
    let put = |table, id: i32| {
        let values = datums(&(id, Some("Bern".into()), 1));
        engine
            .put(table, &format.encode_key(&values, 0).unwrap(), &format.encode_row(&values).unwrap())
            .unwrap();
    };
    (0..100).for_each(|id| put(table, id));
    index(&engine, IndexDefinition::new("i", "towns", &["town"]));
    for (name, expected) in [("i", "index"), ("towns", "table")] {
        let again = engine.create_index(&IndexDefinition::new(name, "towns", &["size"])).unwrap_err();
        assert!(matches!(&again, Error::Exists(what) if what.starts_with(expected)), "{again}");
    }
    let wrong = engine.create_index(&IndexDefinition::new("j", "towns", &["sice"])).unwrap_err();
    assert!(matches!(&wrong, Error::NotFound(what) if what.contains("size")), "{wrong}");
    assert!(engine.current().catalog.find("i").is_err());
    engine.define(&ambo_engine::database::CatalogEdit::CreateSchema("geo".into())).unwrap();
    engine.rename_table("towns", "geo.places").unwrap();
    assert!(engine.current().catalog.find_index("geo.i").is_ok());
    let old = engine.snapshot();
    let table = engine.truncate_table("geo.places").unwrap();
    let id = engine.current().catalog.find_index("geo.i").unwrap().0;
    assert_eq!(engine.snapshot().count(id, None, None).unwrap(), 0);
    (0..10).for_each(|id| put(table, id));
    assert_eq!(engine.snapshot().count(id, None, None).unwrap(), 10);
    let before = old.catalog().find_index("geo.i").unwrap().0;
    assert_eq!(old.count(before, None, None).unwrap(), 100);
    drop(old);
    assert_sound(&engine);
    drop(engine);
    let (engine, _) = open(&disk.crash().env(), &small_options()).unwrap();
    assert_eq!(engine.snapshot().count(id, None, None).unwrap(), 10);
    engine.drop_table("geo.places").unwrap();
    assert!(engine.current().catalog.indexes().next().is_none());
    assert!(engine.snapshot().count(id, None, None).is_err());
    engine.compact().unwrap();
    assert_sound(&engine);
}

/// Settings under which memtables are flushed and merged all the time.
fn busy_options() -> Options {
    Options {
        background_threads: true,
        background_merge: true,
        lock_timeout: Duration::from_secs(5),
        ..small_options()
    }
}

const KEYS: u64 = 500;

/// Writes rows of one column `v` until told to stop. A unique index makes it meet rows with its values.
fn write_until(
    engine: &Arc<Engine>,
    table: TableId,
    format: &RowFormat,
    seed: u64,
    values: u64,
    stop: &Stop,
) {
    let mut random = Random::new(seed);
    while stop.goes_on() {
        let row = [Datum::I64(random.below(KEYS) as i64), Datum::I64(random.below(values) as i64)];
        let key = format.encode_key(&row, 0).unwrap();
        let value = format.encode_row(&row).unwrap();
        let result = match random.below(8) {
            0 => engine.delete(table, &key),
            1..5 => engine.put(table, &key, &value),
            _ => {
                let mut write = || {
                    let mut tx = engine.begin(Isolation::Snapshot)?;
                    tx.put(table, &key, &value)?;
                    if random.one_in(2) {
                        tx.delete(
                            table,
                            &format
                                .encode_key(&[Datum::I64(random.below(KEYS) as i64), row[1].clone()], 0)?,
                        )?;
                    }
                    tx.commit().map(drop)
                };
                write()
            }
        };
        match result {
            Ok(()) | Err(Error::Exists(_) | Error::Conflict(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Keeps away: a commit that an index does not learn of while it is built, and deletions that are forgotten before they find what they
/// delete; rows with the same values that both get into a unique index.
#[test]
fn an_index_is_built_while_its_table_is_written_to() {
    for storage in STORAGES {
        let disk = SimDisk::new(6);
        let (engine, _) = Engine::open(disk.env(), busy_options()).unwrap();
        let running = Running::start(engine).unwrap();
        let engine = running.engine();
        let definition = TableDefinition::new("t")
            .column("k", Type::I64)
            .column("v", Type::I64)
            .primary_key(&["k"])
            .storage(storage);
        let table = engine.create_table(definition).unwrap();
        let format = RowFormat::new(engine.current().catalog.table(table).unwrap().clone()).unwrap();
        for (unique, values) in [(false, 20), (true, KEYS * 4), (true, KEYS * 400)] {
            let stop = Stop::new();
            let (mut built, mut refused) = (0, 0);
            stop.scope(|scope| {
                for seed in 0..2 {
                    let (format, stop) = (&format, &stop);
                    scope.spawn(move || write_until(engine, table, format, seed, values, stop));
                }
                for round in 0..25 {
                    let index = IndexDefinition::new("i", "t", &["v"]);
                    let index = if round % 2 == 0 { index.hash() } else { index };
                    match engine.create_index(&if unique { index.unique() } else { index }) {
                        Ok(_) => {
                            built += 1;
                            assert_sound(engine);
                            engine.drop_index("i").unwrap();
                        }
                        Err(Error::Exists(_)) if unique => refused += 1,
                        Err(error) => panic!("{error}"),
                    }
                }
            });
            assert!(unique || refused == 0);
            assert_eq!(built + refused, 25);
            assert_sound(engine);
        }
        running.close().unwrap();
    }
}

/// Keeps away: an index that is half there after a crash, or pages of it that nobody owns.
#[test]
fn a_crash_while_an_index_is_built_leaves_all_of_it_or_nothing() {
    let (mut there, mut absent) = (0, 0);
    for seed in 0..40 {
        let disk = SimDisk::new(seed);
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        let (table, format) = towns(&engine, Storage::BTree);
        for id in 0..600 {
            let values = datums(&(id, Some(format!("town {}", id % 7)), i64::from(id)));
            engine
                .put(table, &format.encode_key(&values, 0).unwrap(), &format.encode_row(&values).unwrap())
                .unwrap();
        }
        // The power goes at a write, and at each that follows, until it is back.
        let op = if seed % 2 == 0 { Op::Write } else { Op::Sync };
        let fault = Fault { op, file_prefix: None, after: seed / 2, kind: FaultKind::Io, once: false };
        disk.inject(fault);
        let result = engine.create_index(&IndexDefinition::new("i", "towns", &["town"]));
        drop(engine);
        disk.clear_faults();
        let (engine, _) = open(&disk.crash().env(), &small_options()).unwrap();
        let catalog = engine.current().catalog.clone();
        match catalog.find_index("i") {
            Ok((id, _, of)) => {
                assert!(of.ready);
                assert_eq!(engine.snapshot().count(id, None, None).unwrap(), 600);
                there += 1;
            }
            Err(_) => {
                assert!(result.is_err(), "seed {seed}: it was said to be there");
                absent += 1;
            }
        }
        assert_eq!(rows(&engine.snapshot(), table).unwrap().len(), 600);
        assert_sound(&engine);
        index_again(&engine);
        assert_sound(&engine);
    }
    assert!(there > 3 && absent > 3, "{there} {absent}");
}

fn index_again(engine: &Arc<Engine>) {
    if engine.current().catalog.find_index("i").is_err() {
        index(engine, IndexDefinition::new("i", "towns", &["town"]));
    }
}

/// Keeps away: rows of a load that an index does not find, rows that gave way to them and are found still, a second row with the values of
/// a unique index, and what is left of a load that was refused for it.
#[test]
fn loads_bring_their_entries() {
    for mode in [Duplicates::Refuse, Duplicates::KeepFirst, Duplicates::KeepLast] {
        let disk = SimDisk::new(9);
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        let (table, format) = towns(&engine, Storage::Column);
        let ids = [
            IndexDefinition::new("town", "towns", &["town"]),
            IndexDefinition::new("town_hash", "towns", &["town"]).hash(),
            IndexDefinition::new("both", "towns", &["town", "size"]),
            IndexDefinition::new("size", "towns", &["size"]).unique(),
        ]
        .map(|of| index(&engine, of));
        let mut model = BTreeMap::new();
        let row = |id: i32, size: i64| (id, (id % 3 > 0).then(|| format!("town {}", id % 5)), size);
        let load = |rows: &[Row]| {
            let options = LoadOptions { duplicates: mode, memory_bytes: 1 << 20, ..LoadOptions::default() };
            let load = engine.column_load(table, options)?;
            let mut writer = load.writer();
            let definition = engine.current().catalog.table(table).unwrap().clone();
            let rows: Vec<_> = rows.iter().map(datums).collect();
            rows.chunks(100).try_for_each(|rows| writer.push(columns(&definition, rows)))?;
            writer.finish()?;
            load.finish()
        };
        let first: Vec<_> = (0..2000).map(|id| row(id, i64::from(id))).collect();
        assert_eq!(load(&first).unwrap().rows, 2000);
        model.extend(first.iter().map(|row| (row.0, row.clone())));
        compare(&engine, &format, &model, &ids);
        // Some rows are in memtables.
        for id in 1990..2010 {
            let values = datums(&row(id, i64::from(id) + 10_000));
            engine
                .put(table, &format.encode_key(&values, 0).unwrap(), &format.encode_row(&values).unwrap())
                .unwrap();
            model.insert(id, row(id, i64::from(id) + 10_000));
        }
        // The sizes of rows that give way may come again, with others.
        let second: Vec<_> = (1900..2100).map(|id| row(id, i64::from(3999 - id))).collect();
        let result = load(&second);
        match mode {
            Duplicates::Refuse => assert!(matches!(&result, Err(Error::Exists(_))), "{result:?}"),
            // 1900..2000 stay with their sizes, and 2010..2100 want 1900..1990 of them.
            Duplicates::KeepFirst => assert!(
                matches!(&result, Err(Error::Exists(what)) if what.contains("main.size")),
                "{result:?}"
            ),
            Duplicates::KeepLast => {
                assert_eq!(result.unwrap().rows, 200);
                model.extend(second.iter().map(|row| (row.0, row.clone())));
            }
        }
        compare(&engine, &format, &model, &ids);
        assert_sound(&engine);
        let twice = load(&[row(5000, -7), row(5001, -7)]);
        assert!(matches!(&twice, Err(Error::Exists(what)) if what.contains("(size) = (-7)")), "{twice:?}");
        engine.compact().unwrap();
        compare(&engine, &format, &model, &ids);
        assert_sound(&engine);
        drop(engine);
        let (engine, _) = open(&disk.crash().env(), &small_options()).unwrap();
        compare(&engine, &format, &model, &ids);
        assert_sound(&engine);
    }
}

/// Keeps away: values that an index cannot hold, found when it is too late.
#[test]
fn values_too_long_for_an_index_are_refused() {
    let disk = SimDisk::new(8);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
    index(&engine, IndexDefinition::new("i", "t", &["value"]));
    let error = engine.put(table, b"k", &[7; 70_000]).unwrap_err();
    assert!(matches!(&error, Error::Invalid(what) if what.contains("hash index")), "{error}");
    assert!(engine.get(table, b"k").unwrap().is_none());
    engine.drop_index("i").unwrap();
    engine.put(table, b"k", &[7; 70_000]).unwrap();
    assert!(engine.create_index(&IndexDefinition::new("i", "t", &["value"])).is_err());
    let hash = index(&engine, IndexDefinition::new("i", "t", &["value"]).hash());
    // Long enough for pages of its own.
    engine.put(table, b"l", &vec![8; 2 << 20]).unwrap();
    let (key, _) = engine.snapshot().index_get(hash, &[Datum::from(&vec![8; 2 << 20][..])]).unwrap().unwrap();
    assert_eq!(key, b"l");
    engine.delete(table, b"l").unwrap();
    assert_sound(&engine);
}
