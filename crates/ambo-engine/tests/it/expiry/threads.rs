//! Rows that expire while they are written, read and merged by several threads.

use std::{collections::BTreeMap, sync::Mutex, thread, time::Duration};

use ambo_codec::{Type, Value as Datum};
use ambo_engine::{
    catalog::{IndexDefinition, Retention, Storage, TableDefinition},
    database::{Engine, Options, RowFormat, Running, Seek, Snapshot},
    id::TableId,
    io::{Clock, sim::SimDisk},
};

use crate::support::{Random, assert_sound, small_options};

const TTL: i64 = 3_600_000_000;

/// Ids and times of the rows that a snapshot sees.
fn seen(snapshot: &Snapshot, table: TableId, format: &RowFormat) -> BTreeMap<i64, i64> {
    let mut cursor = snapshot.cursor(table).unwrap();
    let mut rows = BTreeMap::new();
    let mut there = cursor.seek(Seek::First).unwrap();
    while there {
        let (key, row) = cursor.row().unwrap();
        match &format.decode(key, row).unwrap()[..] {
            [Datum::I64(id), Datum::Timestamp(at), ..] => rows.insert(*id, *at),
            other => panic!("{other:?}"),
        };
        there = cursor.next().unwrap();
    }
    rows
}

/// Keeps away: a row that a merge, or a commit that deletes, takes from a snapshot for which it has not expired, and one that has expired
/// and is seen, while time goes on.
#[test]
fn snapshots_beside_merges_see_what_has_not_expired() {
    for (seed, storage) in
        [Storage::BTree, Storage::Column, Storage::Memory, Storage::BTree].into_iter().enumerate()
    {
        let disk = SimDisk::new(seed as u64);
        let options = Options { background_threads: true, background_merge: true, ..small_options() };
        let running = Running::start(Engine::open(disk.env(), options).unwrap().0).unwrap();
        let engine = running.engine();
        let definition = TableDefinition::new("t")
            .column("id", Type::I64)
            .column("at", Type::Timestamp)
            .column("n", Type::I64)
            .primary_key(&["id"])
            .storage(storage)
            .ttl(Retention { micros: TTL as u64 }, "at");
        let table = engine.create_table(definition).unwrap();
        if seed > 2 {
            engine.create_index(&IndexDefinition::new("by_n", "t", &["n"])).unwrap();
        }
        let format = RowFormat::new(engine.current().catalog.table(table).unwrap().clone()).unwrap();
        let committed = Mutex::new(BTreeMap::new());
        let clock = disk.clock();
        let (mut expired, mut looked) = (0, 0);
        thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut random = Random::new(seed as u64);
                for id in 0..4000i64 {
                    let at = clock.wall().as_micros() as i64 - random.below(TTL as u64) as i64;
                    let row = [Datum::I64(id), Datum::Timestamp(at), Datum::I64(id % 7)];
                    let key = format.encode_key(&row, 0).unwrap();
                    engine.put(table, &key, &format.encode_row(&row).unwrap()).unwrap();
                    committed.lock().unwrap().insert(id, at);
                    clock.advance(Duration::from_secs(random.below(3)));
                }
            });
            let merger = scope.spawn(|| {
                for _ in 0..12 {
                    engine.compact().unwrap();
                    thread::sleep(Duration::from_millis(3));
                }
            });
            while !(writer.is_finished() && merger.is_finished()) {
                let before = committed.lock().unwrap().clone();
                let snapshot = engine.snapshot();
                let cut = snapshot.now().unwrap() - TTL;
                clock.advance(Duration::from_secs(1));
                let rows = seen(&snapshot, table, &format);
                assert!(rows.values().all(|at| *at > cut), "a row that has expired is seen");
                for (id, at) in &before {
                    assert!(*at <= cut || rows.get(id) == Some(at), "row {id} is lost");
                }
                expired += before.len().saturating_sub(rows.len());
                looked += 1;
            }
        });
        assert!(expired > 0 && looked > 3, "{expired} rows had expired in {looked} snapshots");
        engine.compact().unwrap();
        assert_sound(engine);
        running.close().unwrap();
    }
}
