//! Compaction filters: what they remove is gone for all doors at once, and nothing else is.

mod simple;
mod threads;
mod world;

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use ambo_codec::{Type, Value as Datum};
use ambo_engine::{
    catalog::{Storage, TableDefinition},
    database::{Engine, FilteredRow, Filters, Options, RowFormat},
    id::TableId,
};

use crate::support::{Random, small_options};

pub const STORAGES: [Storage; 5] =
    [Storage::BTree, Storage::Lsm, Storage::Memory, Storage::Column, Storage::Append];

/// Rows whose `n` is less than a bound go.
pub fn below(bound: &Arc<AtomicI64>) -> Options {
    let bound = bound.clone();
    with_filter(move |row: &FilteredRow<'_>| match row.get("n")? {
        Datum::I64(n) => Ok(*n >= bound.load(Ordering::Relaxed)),
        other => panic!("{other:?}"),
    })
}

pub fn with_filter(
    filter: impl Fn(&FilteredRow<'_>) -> ambo_engine::Result<bool> + Send + Sync + 'static,
) -> Options {
    let mut filters = Filters::default();
    filters.register("below", filter);
    Options { filters, ..small_options() }
}

pub fn definition(storage: Storage) -> TableDefinition {
    TableDefinition::new("t")
        .column("id", Type::I64)
        .column("n", Type::I64)
        .column_nullable("text", Type::Utf8)
        .primary_key(&["id"])
        .storage(storage)
        .compaction_filter("below")
}

pub fn create(engine: &Engine, storage: Storage) -> (TableId, RowFormat) {
    let id = engine.create_table(definition(storage)).unwrap();
    (id, RowFormat::new(engine.current().catalog.table(id).unwrap().clone()).unwrap())
}

pub fn put(engine: &Arc<Engine>, (table, format): &(TableId, RowFormat), id: i64, n: i64) {
    let row = [Datum::I64(id), Datum::I64(n), Datum::from(format!("text {id}").as_str())];
    let key = format.encode_key(&row, 0).unwrap();
    engine.put(*table, &key, &format.encode_row(&row).unwrap()).unwrap();
}

/// Keeps away: a row that a filter keeps and that is lost, one that comes back after a crash, entries of indexes without their rows, and
/// snapshots that change, through writes, passes, merges, faults, crashes and other bounds.
#[test]
fn rows_are_those_that_no_pass_has_removed() {
    let mut seen = world::Seen::default();
    let seeds = std::env::var("FILTER_SEEDS").map_or(0..40, |seeds| {
        let (first, last) = seeds.split_once("..").expect("a range");
        first.parse().unwrap()..last.parse().unwrap()
    });
    for seed in seeds {
        let mut world = world::World::new(seed);
        let mut random = Random::new(seed ^ 0x66);
        for _ in 0..40 {
            world.step(&mut random, &mut seen);
        }
        world.end();
    }
    seen.assert_all();
}
