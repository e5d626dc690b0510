//! A table of 16 columns: single reads, updates and upserts by key, a group-by, the size.

use ambo::{Aggregate, Datum, Sync, Table};

use super::integers::Integers;
use super::peer::{DUCKDB, Peer, SQLITE};
use super::queries::compare;
use super::{Store, THREADS, add_operations, each, fastest, label, latencies};
use crate::engine::Result;
use crate::random::{Random, mix};
use crate::workload::sheet::Sheet;

const COLUMNS: usize = 16;
/// Operations of each kind: of Ambo and SQLite, and of DuckDB, which has milliseconds for each.
const OPERATIONS: usize = 50_000;
const DUCKDB_OPERATIONS: usize = 1000;

const GROUP_BY: &str = "SELECT c1, count(*), sum(c2), sum(c3) FROM t GROUP BY c1 ORDER BY c1";

pub fn run(sheet: &mut Sheet) -> Result<()> {
    let n = sheet.records;
    let data = Integers::new(COLUMNS, n, |row, column| match column {
        0 => row as i64,
        1 => (mix(row) % 100) as i64,
        _ => (mix(row * COLUMNS as u64 + column as u64) % 1000) as i64,
    });
    let mut random = Random::new(4);
    let keys: Vec<[i64; 1]> = (0..OPERATIONS).map(|_| [random.below(n) as i64]).collect();
    let updates: Vec<[i64; 2]> = keys.iter().map(|[key]| [*key % 977, (*key * 7 + 1) % n as i64]).collect();
    // Half of the rows are there, half are new.
    let upserts: Vec<[i64; COLUMNS]> = (0..OPERATIONS)
        .map(|_| std::array::from_fn(|column| random.below(if column == 0 { 2 * n } else { 1000 }) as i64))
        .collect();
    let parquet = sheet.dir.join("wide.parquet");
    data.write_parquet(&parquet)?;
    let groups = ambo(sheet, &data, &keys, &updates, &upserts)?;
    for whose in [DUCKDB, SQLITE] {
        let operations = if whose == DUCKDB { DUCKDB_OPERATIONS } else { OPERATIONS };
        let mut peer = Peer::start(sheet, whose, &format!("wide.{whose}"), false)?;
        peer.run(&[&format!("CREATE TABLE t ({})", data.sql_columns(" PRIMARY KEY"))])?;
        let seconds = peer.fill("t", &parquet)?;
        sheet.figure(&name(n, "load"), whose, "time", "ms", seconds * 1e3);
        sheet.figure(&name(n, "loaded"), whose, "size", "MB", peer.bytes_now() as f64 / 1e6);
        let (_, seconds, rows) = peer.repeat(GROUP_BY)?;
        compare("group-by", 0, &groups, &rows)?;
        sheet.figure(&name(n, "group-by, 2 threads"), whose, "time", "ms", seconds * 1e3);
        let marks = vec!["?"; COLUMNS].join(", ");
        let upsert = format!("INSERT OR REPLACE INTO t VALUES ({marks})");
        let read = peer.each("SELECT * FROM t WHERE c0 = ?", &keys[..operations], true)?;
        if read.rows != operations as u64 {
            return Err(format!("{whose} found {} rows", read.rows).into());
        }
        let updated = peer.each("UPDATE t SET c5 = ? WHERE c0 = ?", &updates[..operations], true)?;
        let upserted = peer.each(&upsert, &upserts[..operations], true)?;
        for (what, ran) in [("point read", read), ("single update", updated), ("single upsert", upserted)] {
            let rate = operations as f64 / ran.seconds;
            add_operations(sheet, &name(n, what), whose, &latencies(&ran.us), rate);
        }
        peer.close()?;
    }
    Ok(())
}

fn name(rows: u64, what: &str) -> String {
    label("16 columns", rows, what)
}

/// Measures Ambo; returns the groups, for comparison.
fn ambo<F: Fn(u64, usize) -> i64 + std::marker::Sync>(
    sheet: &mut Sheet,
    data: &Integers<F>,
    keys: &[[i64; 1]],
    updates: &[[i64; 2]],
    upserts: &[[i64; COLUMNS]],
) -> Result<Vec<Vec<Datum>>> {
    let n = data.rows;
    let store = Store::open(sheet, "wide", Sync::Off)?;
    let table = data.create(&store.db, "t")?;
    let seconds = data.load(&table)?;
    sheet.figure(&name(n, "load"), "ambo", "time", "ms", seconds * 1e3);
    drop(table);
    let (store, bytes) = store.reopen(sheet, Sync::Off)?;
    sheet.figure(&name(n, "loaded"), "ambo", "size", "MB", bytes as f64 / 1e6);
    let table = store.db.table("t")?;
    let query = table.select(&[])?.group_by(&["c1"])?.aggregate(&[
        Aggregate::Rows,
        Aggregate::sum("c2"),
        Aggregate::sum("c3"),
    ])?;
    let (seconds, groups) = fastest(|| Ok(query.run(THREADS)?.rows))?;
    sheet.figure(&name(n, "group-by, 2 threads"), "ambo", "time", "ms", seconds * 1e3);
    read(&table, &keys[..keys.len() / 5])?;
    let mut add = |what: &str, (latencies, seconds): (crate::measure::Latencies, f64)| {
        add_operations(sheet, &name(n, what), "ambo", &latencies, keys.len() as f64 / seconds);
    };
    add("point read", read(&table, keys)?);
    add("single update", each(updates, |&[value, key]| update(&table, key, value))?);
    add("single upsert", each(upserts, |row| Ok(table.upsert_row(&row.map(Datum::I64))?))?);
    drop(table);
    let check = store.db.check()?;
    if !check.is_sound() {
        return Err(format!("the database is damaged: {check:?}").into());
    }
    store.close()?;
    Ok(groups)
}

fn read(table: &Table, keys: &[[i64; 1]]) -> Result<(crate::measure::Latencies, f64)> {
    each(keys, |&[key]| match table.get_row(&[Datum::I64(key)])? {
        Some(row) if row.len() == COLUMNS && row[0] == Datum::I64(key) => Ok(()),
        other => Err(format!("row {key}: {other:?} was found").into()),
    })
}

fn update(table: &Table, key: i64, value: i64) -> Result<()> {
    let updated = table.update_row(&[Datum::I64(key)], |row| {
        row[5] = Datum::I64(value);
        Ok(())
    })?;
    if updated { Ok(()) } else { Err(format!("row {key} is gone").into()) }
}
