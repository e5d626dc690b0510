//! A day of small commits, 1 to 100 rows each: what the files are like in the evening, beside a fresh bulk load of the same rows.

use std::time::Instant;

use ambo::{Datum, LoadOptions, Row, Storage, Sync, TableDefinition, Type};

use super::{Store, THREADS};
use crate::engine::Result;
use crate::measure::{Latencies, Usage};
use crate::random::Random;
use crate::workload::sheet::Sheet;

/// One row in so many is a new version of an earlier one.
const REPLACED: u64 = 10;
const ROWS_MAX: u64 = 100;
const KINDS: [&str; 6] = ["start", "stop", "heartbeat", "warning", "error", "measurement"];

fn definition() -> TableDefinition {
    TableDefinition::new("events")
        .column("id", Type::I64)
        .column("device", Type::I32)
        .column("at", Type::Timestamp)
        .column("value", Type::F64)
        .column("kind", Type::Utf8)
        .primary_key(&["id"])
        .storage(Storage::Column)
}

fn event(random: &mut Random, id: u64) -> Row {
    vec![
        Datum::I64(id as i64),
        Datum::I32(random.below(5000) as i32),
        Datum::Timestamp(1_790_000_000_000_000 + id as i64 * 1700 + random.below(1000) as i64),
        Datum::F64(random.below(100_000) as f64 / 100.0),
        KINDS[random.below(KINDS.len() as u64) as usize].into(),
    ]
}

fn raw_bytes(row: &Row) -> u64 {
    let of = |value: &Datum| match value {
        Datum::Utf8(text) => text.len() as u64,
        Datum::I32(_) => 4,
        _ => 8,
    };
    row.iter().map(of).sum()
}

pub fn run(sheet: &mut Sheet) -> Result<()> {
    let commits = sheet.records;
    let group = format!("{} small commits", crate::report::grouped(commits as f64));
    let name = |what: &str| format!("{group}: {what}");
    let store = Store::open(sheet, "day", Sync::Off)?;
    let table = store.db.create_table(definition())?;
    let (mut random, mut next, mut rows, mut raw) = (Random::new(6), 0, 0, 0);
    let mut latencies = Latencies::new();
    let before = Usage::now();
    let start = Instant::now();
    for _ in 0..commits {
        let count = 1 + random.below(ROWS_MAX);
        let began = Instant::now();
        let mut tx = store.db.begin()?;
        for _ in 0..count {
            let id = if next > 0 && random.below(REPLACED) == 0 { random.below(next) } else { next };
            next = next.max(id + 1);
            let row = event(&mut random, id);
            raw += raw_bytes(&row);
            tx.upsert_row(&table, &row)?;
        }
        tx.commit()?;
        latencies.record(began.elapsed());
        rows += count;
    }
    let seconds = start.elapsed().as_secs_f64();
    store.db.compact_due()?;
    let settled = start.elapsed().as_secs_f64();
    let written = (Usage::now().written_bytes - before.written_bytes) as f64;
    sheet.figure(&name("commits"), "ambo", "rate", "1/s", commits as f64 / seconds);
    sheet.figure(&name("rows"), "ambo", "rate", "1/s", rows as f64 / seconds);
    let [(_, p50), (_, p99), .., (_, max)] = latencies.percentiles();
    for (metric, value) in [("p50", p50), ("p99", p99), ("max", max)] {
        sheet.figure(&name("a commit"), "ambo", metric, "µs", value);
    }
    sheet.figure(&name("until nothing is due"), "ambo", "time", "ms", settled * 1e3);
    sheet.figure(
        &name("written ÷ rows as given, log included"),
        "ambo",
        "write amplification",
        "×",
        written / raw as f64,
    );
    let info = store.db.info()?;
    let space = info.tables.iter().find_map(|table| table.segments.clone()).ok_or("no column table")?;
    sheet.figure(
        &name("written ÷ files of the segments, log included"),
        "ambo",
        "write amplification",
        "×",
        written / space.file_bytes as f64,
    );
    for (what, count) in [
        ("rows in the table", table.len()?),
        ("segments", space.segments),
        ("runs of segments", space.runs),
        ("deleted rows in segments", space.deleted_rows),
    ] {
        sheet.figure(&name(what), "ambo", "number", "", count as f64);
    }
    let fresh = load_again(sheet, &table)?;
    drop(table);
    let check = store.db.check()?;
    if !check.is_sound() {
        return Err(format!("the database is damaged: {check:?}").into());
    }
    let bytes = store.close()?;
    sheet.figure(&name("after the commits"), "ambo", "size", "MB", bytes as f64 / 1e6);
    sheet.figure(&name("bulk load of the same rows"), "ambo", "size", "MB", fresh as f64 / 1e6);
    sheet.figure(&name("files ÷ files of a bulk load"), "ambo", "growth", "×", bytes as f64 / fresh as f64);
    Ok(())
}

/// Loads the rows of the table into another database; returns the bytes of its files.
fn load_again(sheet: &Sheet, table: &ambo::Table) -> Result<u64> {
    let store = Store::open(sheet, "day-loaded", Sync::Off)?;
    let copy = store.db.create_table(definition())?;
    let columns: Vec<&str> = table.definition().columns.iter().map(|column| column.name.as_str()).collect();
    let stream = table.select(&columns)?.batches()?.stream(THREADS);
    let loaded = copy.load_batches(stream, LoadOptions { threads: THREADS, ..LoadOptions::default() })?;
    if loaded.rows != table.len()? {
        return Err(format!("{} of {} rows were loaded", loaded.rows, table.len()?).into());
    }
    drop(copy);
    store.close()
}
