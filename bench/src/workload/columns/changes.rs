//! Single updates in a large table, and the deletion of half of its rows.

use std::time::Instant;

use ambo::{Compare, Database, Datum, Row, Sync, Table, Test};

use super::integers::Integers;
use super::peer::{DUCKDB, Peer, SQLITE};
use super::{Store, add_operations, each, label, latencies};
use crate::engine::Result;
use crate::random::{Random, mix};
use crate::workload::sheet::Sheet;

/// As many as the user of DuckDB made.
const UPDATES: usize = 1956;
/// Values of the column by which half of the rows is chosen.
const CHOICES: u64 = 1000;

pub fn run(sheet: &mut Sheet) -> Result<()> {
    let n = sheet.records;
    let data = Integers::new(4, n, |row, column| match column {
        0 => row as i64,
        1 => (mix(row) >> 32) as i64,
        2 => (mix(row ^ 0x5555_0000_0000) % CHOICES) as i64,
        _ => (mix(row + n) >> 44) as i64,
    });
    let mut random = Random::new(3);
    let updates: Vec<[i64; 2]> = (0..UPDATES).map(|i| [i as i64, random.below(n) as i64]).collect();
    ambo(sheet, &data, &updates)?;
    let parquet = sheet.dir.join("changes.parquet");
    data.write_parquet(&parquet)?;
    for whose in [DUCKDB, SQLITE] {
        let mut peer = Peer::start(sheet, whose, &format!("changes.{whose}"), true)?;
        peer.run(&[&format!("CREATE TABLE t ({})", data.sql_columns(" PRIMARY KEY"))])?;
        peer.fill("t", &parquet)?;
        let off = if whose == DUCKDB { "SET fsync_mode = 'NONE'" } else { "PRAGMA synchronous = OFF" };
        for (way, is_synced) in [("synced", true), ("sync off", false)] {
            if !is_synced {
                peer.run(&[off])?;
            }
            let ran = peer.each("UPDATE t SET c1 = ? WHERE c0 = ?", &updates, true)?;
            let what = label("1,956 single updates", n, way);
            add_operations(sheet, &what, whose, &latencies(&ran.us), UPDATES as f64 / ran.seconds);
        }
        if whose == DUCKDB {
            delete_of_duckdb(sheet, &mut peer)?;
        }
        peer.close()?;
    }
    Ok(())
}

fn ambo<F: Fn(u64, usize) -> i64 + std::marker::Sync>(
    sheet: &mut Sheet,
    data: &Integers<F>,
    updates: &[[i64; 2]],
) -> Result<()> {
    let n = data.rows;
    let store = Store::open(sheet, "changes", Sync::Commit)?;
    let table = data.create(&store.db, "t")?;
    data.load(&table)?;
    for (way, sync) in [("synced", Sync::Commit), ("sync off", Sync::Off)] {
        let (latencies, seconds) =
            each(updates, |&[value, key]| update(&store.db, &table, key, value, sync))?;
        let what = label("1,956 single updates", n, way);
        add_operations(sheet, &what, "ambo", &latencies, UPDATES as f64 / seconds);
    }
    let name = |what: &str| label("half of the rows deleted", n, what);
    store.db.compact()?;
    let before = crate::measure::disk_bytes(&store.dir) as f64 / 1e6;
    let start = Instant::now();
    let deleted = delete(&table)?;
    let seconds = start.elapsed().as_secs_f64();
    store.db.compact()?;
    let settled = start.elapsed().as_secs_f64();
    let after = crate::measure::disk_bytes(&store.dir) as f64 / 1e6;
    let left = table.len()?;
    if left + deleted != n {
        return Err(format!("{left} rows are left of {n} after {deleted} were deleted").into());
    }
    sheet.figure(&name("delete"), "ambo", "time", "ms", seconds * 1e3);
    sheet.figure(&name("delete and settle (DuckDB: checkpoint)"), "ambo", "time", "ms", settled * 1e3);
    add_sizes(sheet, "ambo", before, after);
    drop(table);
    store.db.vacuum()?;
    let compact = crate::measure::disk_bytes(&store.dir) as f64 / 1e6;
    sheet.figure(&name("after compact"), "ambo", "size", "MB", compact);
    store.close()?;
    Ok(())
}

fn update(db: &Database, table: &Table, key: i64, value: i64, sync: Sync) -> Result<()> {
    let mut tx = db.begin()?;
    tx.set_sync(sync);
    let mut change = |row: &mut Row| {
        row[1] = Datum::I64(value);
        Ok(())
    };
    let updated = tx.update_row(table, &[Datum::I64(key)], &mut change)?;
    tx.commit()?;
    if updated { Ok(()) } else { Err(format!("row {key} is gone").into()) }
}

/// Deletes the rows that a predicate chooses; returns how many.
fn delete(table: &Table) -> Result<u64> {
    let half = Test::Compare(Compare::Less, Datum::I64(CHOICES as i64 / 2));
    Ok(table.select(&[])?.filter("c2", half)?.delete()?)
}

fn delete_of_duckdb(sheet: &mut Sheet, peer: &mut Peer) -> Result<()> {
    let name = |what: &str| label("half of the rows deleted", sheet.records, what);
    let [delete, settle] = [name("delete"), name("delete and settle (DuckDB: checkpoint)")];
    peer.run(&["CHECKPOINT"])?;
    let before = peer.bytes_now() as f64 / 1e6;
    let deleted = peer.run(&[&format!("DELETE FROM t WHERE c2 < {}", CHOICES / 2)])?;
    let settled = peer.run(&["CHECKPOINT"])?;
    sheet.figure(&delete, DUCKDB, "time", "ms", deleted * 1e3);
    sheet.figure(&settle, DUCKDB, "time", "ms", (deleted + settled) * 1e3);
    add_sizes(sheet, DUCKDB, before, peer.bytes_now() as f64 / 1e6);
    Ok(())
}

fn add_sizes(sheet: &mut Sheet, whose: &str, before: f64, after: f64) {
    let n = sheet.records;
    let name = |what: &str| label("half of the rows deleted", n, what);
    sheet.figure(&name("before"), whose, "size", "MB", before);
    sheet.figure(&name("after"), whose, "size", "MB", after);
    sheet.figure(&name("after ÷ before"), whose, "size left", "×", after / before);
}
