//! Indexes of tables that are large enough for several threads, and for more entries than memory has room for.

use std::sync::Arc;

use ambo_codec::{Type, Value as Datum};
use ambo_engine::{
    Error,
    catalog::{IndexDefinition, Storage, TableDefinition},
    database::{Duplicates, Engine, Isolation, LoadOptions, Options, RowFormat, Running, Sync},
    id::TableId,
    io::sim::{Fault, FaultKind, Op, SimDisk},
};

use crate::{
    loads::columns,
    support::{assert_sound, small_options},
};

const ROWS: i64 = 150_000;

fn options(cache_bytes: usize) -> Options {
    Options {
        cache_bytes,
        memtable_bytes: 16 << 20,
        log_segment_bytes: 1 << 20,
        background_threads: true,
        sync: Sync::Off,
        ..small_options()
    }
}

/// Of a row: its number, which is its key, a number that no other row has, and a text that many have, or NULL.
fn row(number: i64, round: i64) -> Vec<Datum> {
    let text =
        if number % 11 == 0 { Datum::Null } else { Datum::from(format!("text {}", number % 300).as_str()) };
    vec![Datum::I64(number), Datum::I64((number * 7919) % 1_000_003 + round * 2_000_000), text]
}

fn table(engine: &Arc<Engine>, storage: Storage) -> (TableId, RowFormat) {
    let definition = TableDefinition::new("t")
        .column("k", Type::I64)
        .column("u", Type::I64)
        .column_nullable("s", Type::Utf8)
        .primary_key(&["k"])
        .storage(storage);
    let id = engine.create_table(definition).unwrap();
    (id, RowFormat::new(engine.current().catalog.table(id).unwrap().clone()).unwrap())
}

fn load(engine: &Arc<Engine>, (id, format): &(TableId, RowFormat), rows: impl Iterator<Item = Vec<Datum>>) {
    let definition = engine.current().catalog.table(*id).unwrap().clone();
    if definition.storage == Storage::Column {
        let options = LoadOptions { duplicates: Duplicates::KeepLast, threads: 2, ..LoadOptions::default() };
        let load = engine.column_load(*id, options).unwrap();
        let mut writer = load.writer();
        let rows: Vec<_> = rows.collect();
        rows.chunks(10_000).for_each(|rows| writer.push(columns(&definition, rows)).unwrap());
        writer.finish().unwrap();
        load.finish().unwrap();
        return;
    }
    let mut bulk = engine.bulk_load(*id).unwrap();
    rows.for_each(|row| {
        bulk.push(&format.encode_key(&row, 0).unwrap(), &format.encode_row(&row).unwrap()).unwrap()
    });
    bulk.finish().unwrap();
}

/// Changes some rows and deletes others.
fn change(engine: &Arc<Engine>, (id, format): &(TableId, RowFormat), from: i64, round: i64) {
    let mut tx = engine.begin(Isolation::Snapshot).unwrap();
    for number in (from..ROWS).step_by(37) {
        let row = row(number, round);
        let key = format.encode_key(&row, 0).unwrap();
        match number % 3 {
            0 => tx.delete(*id, &key).map(drop).unwrap(),
            _ => tx.put(*id, &key, &format.encode_row(&row).unwrap()).unwrap(),
        }
    }
    tx.commit().unwrap();
}

fn indexes() -> [IndexDefinition; 4] {
    [
        IndexDefinition::new("u_hash", "t", &["u"]).hash(),
        IndexDefinition::new("u_unique", "t", &["u"]).unique(),
        IndexDefinition::new("s", "t", &["s"]),
        IndexDefinition::new("s_k_hash", "t", &["s", "k"]).hash().unique(),
    ]
}

/// Keeps away: rows that no thread took or two did, whatever they are in; entries that are lost between what is in memory and what is in
/// trees, or at the ends of ranges; a load whose entries are not those of its rows; pages that nobody owns.
#[test]
fn several_threads_index_every_row_once() {
    for storage in [Storage::BTree, Storage::Memory, Storage::Column] {
        for cache_bytes in [1 << 20, 64 << 20] {
            let disk = SimDisk::new(3);
            let (engine, _) = Engine::open(disk.env(), options(cache_bytes)).unwrap();
            let running = Running::start(engine).unwrap();
            let engine = running.engine();
            let t = table(engine, storage);
            load(engine, &t, (0..ROWS).map(|number| row(number, 0)));
            change(engine, &t, 5, 1);
            engine.flush().unwrap();
            change(engine, &t, 20, 2);
            let ids = indexes().map(|index| engine.create_index(&index).unwrap());
            assert_sound(engine);
            // What comes replaces some of the rows.
            load(engine, &t, (ROWS - 30_000..ROWS + 90_000).map(|number| row(number, 3)));
            assert_sound(engine);
            let snapshot = engine.snapshot();
            let rows = snapshot.count(t.0, None, None).unwrap();
            assert!(rows > 230_000);
            ids.iter().for_each(|id| assert_eq!(snapshot.count(*id, None, None).unwrap(), rows));
            drop(snapshot);
            running.close().unwrap();
        }
    }
}

/// Keeps away: a second row with the values of a unique index that is in another chunk, range or tree than the first; what is left of an
/// index that was refused or could not be written.
#[test]
fn an_index_that_cannot_be_made_leaves_nothing() {
    for cache_bytes in [1 << 20, 64 << 20] {
        let disk = SimDisk::new(4);
        let (engine, _) = Engine::open(disk.env(), options(cache_bytes)).unwrap();
        let running = Running::start(engine).unwrap();
        let engine = running.engine();
        let t = table(engine, Storage::Column);
        let twice =
            |number: i64| if number == ROWS - 5 { row(3, 0)[1].clone() } else { row(number, 0)[1].clone() };
        let rows = |number| vec![Datum::I64(number), twice(number), Datum::Null];
        load(engine, &t, (0..ROWS).map(rows));
        let before = engine.info().unwrap().pages.used_pages;
        let refused = engine.create_index(&IndexDefinition::new("u", "t", &["u"]).unique()).unwrap_err();
        assert!(matches!(&refused, Error::Exists(what) if what.contains("(u) = (23757)")), "{refused}");
        // Each of several ranges is written before anything is published.
        for after in [0, 1, 2] {
            let file_prefix = Some("pages".into());
            disk.inject(Fault { op: Op::Write, file_prefix, after, kind: FaultKind::Io, once: false });
            let failed = engine.create_index(&IndexDefinition::new("u", "t", &["u"]));
            disk.clear_faults();
            assert!(matches!(failed, Err(Error::Io { .. })), "{after}: {failed:?}");
        }
        engine.flush().unwrap();
        assert_sound(engine);
        engine.create_index(&IndexDefinition::new("u", "t", &["u"])).unwrap();
        assert_sound(engine);
        engine.drop_index("u").unwrap();
        engine.flush().unwrap();
        engine.flush().unwrap();
        assert!(engine.info().unwrap().pages.used_pages <= before + 8);
        running.close().unwrap();
    }
}
