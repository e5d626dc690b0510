//! SingleStore's experiment with its universal storage: `f(a bigint, b bigint)`, ordered by a, b in quite another order, a hash index on
//! each.

use ambo::{Compare, Datum, Index, IndexDefinition, Sync, Table, Test};
use std::time::Instant;

use super::integers::Integers;
use super::peer::{DUCKDB, Peer, SQLITE};
use super::{Store, THREADS, add_operations, each, fastest, label, latencies};
use crate::engine::Result;
use crate::random::Random;
use crate::workload::sheet::Sheet;

/// Seeks of Ambo and of the peers.
const SEEKS: usize = 50_000;
const COLD_SEEKS: usize = 1000;
const PEER_SEEKS: usize = 2000;
/// Beyond so many rows peers build no index: DuckDB's has to fit into memory.
const PEER_ROWS_MAX: u64 = 20_000_000;
/// Rows of SingleStore's table: 1,024 to the third.
const SEED_ROWS: f64 = 1_073_741_824.0;

/// A bijection of 0..n that leaves nothing of the order: rounds of multiplication and shift on as few bits as n has, until the result is
/// below n.
fn permuted(value: u64, n: u64) -> u64 {
    let bits = (64 - (n - 1).leading_zeros()).max(2);
    let mask = (1_u64 << bits) - 1;
    let mut x = value;
    loop {
        for factor in [0x9e37_79b9_7f4a_7c15_u64, 0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
            x = x.wrapping_mul(factor) & mask;
            x ^= x >> (bits / 2);
        }
        x = x.wrapping_add(0x5555) & mask;
        if x < n {
            return x;
        }
    }
}

pub fn run(sheet: &mut Sheet) -> Result<()> {
    let n = sheet.records;
    let data = Integers {
        columns: vec!["a".into(), "b".into()],
        rows: n,
        value: |row, column| if column == 0 { row as i64 } else { permuted(row, n) as i64 },
    };
    ambo(sheet, &data)?;
    if n <= PEER_ROWS_MAX {
        load_with_indexes(sheet, &data)?;
        let parquet = sheet.dir.join("f.parquet");
        data.write_parquet(&parquet)?;
        for name in [DUCKDB, SQLITE] {
            peer(sheet, name, n, &parquet)?;
        }
    }
    Ok(())
}

fn ambo<F: Fn(u64, usize) -> i64 + std::marker::Sync>(sheet: &mut Sheet, data: &Integers<F>) -> Result<()> {
    let n = data.rows;
    let name = |what: &str| label("seeks", n, what);
    let store = Store::open(sheet, "seeks", Sync::Off)?;
    let table = data.create(&store.db, "f")?;
    let seconds = data.load(&table)?;
    sheet.figure(&name("load, 2 threads"), "ambo", "time", "ms", seconds * 1e3);
    for column in ["a", "b"] {
        sheet.note(&format!("index on {column}"));
        let start = Instant::now();
        store.db.create_index(&IndexDefinition::new(format!("f_{column}"), "f", &[column]).hash())?;
        let what = name(&format!("create the index on {column}"));
        sheet.figure(&what, "ambo", "time", "ms", start.elapsed().as_secs_f64() * 1e3);
    }
    store.db.compact_due()?;
    let scan_us = scan(sheet, &table, n)? * 1e6;
    for column in ["b", "a"] {
        let index = table.index(&format!("f_{column}"))?;
        seek(&index, column == "a", n, SEEKS, 1)?;
        let (latencies, rate) = seek(&index, column == "a", n, SEEKS, 2)?;
        add_operations(sheet, &name(&format!("seek on {column}, warm")), "ambo", &latencies, rate);
        let what = name(&format!("scan ÷ median seek on {column}, warm"));
        let [(_, p50), ..] = latencies.percentiles();
        sheet.figure(&what, "ambo", "advantage", "times", scan_us / p50);
    }
    drop(table);
    let mut store = store;
    for column in ["b", "a"] {
        store = store.reopen_cold(sheet, Sync::Off)?;
        let index = store.db.table("f")?.index(&format!("f_{column}"))?;
        let (latencies, rate) = seek(&index, column == "a", n, COLD_SEEKS.min(n as usize / 100), 3)?;
        add_operations(sheet, &name(&format!("seek on {column}, cold")), "ambo", &latencies, rate);
    }
    let info = store.db.info()?;
    let table = info.tables.iter().find(|table| table.segments.is_some()).ok_or("no table")?;
    let of_table = table.stored_bytes(info.page_size) as f64 / n as f64;
    let of_indexes: u64 = table.indexes.iter().map(|index| index.stored_bytes(info.page_size)).sum();
    let dir = store.dir.clone();
    let bytes = store.close()? as f64 / n as f64;
    std::fs::remove_dir_all(dir)?;
    sheet.figure(&name("table"), "ambo", "bytes a row", "bytes", of_table);
    sheet.figure(&name("both indexes"), "ambo", "bytes a row", "bytes", of_indexes as f64 / n as f64);
    sheet.figure(&name("all files, closed"), "ambo", "bytes a row", "bytes", bytes);
    let gigabytes = bytes * SEED_ROWS / 1e9;
    sheet.figure(
        &name("files of 1,074 M rows at as many bytes each"),
        "ambo",
        "extrapolated",
        "GB",
        gigabytes,
    );
    Ok(())
}

/// Loads into a table that has its indexes already.
fn load_with_indexes<F: Fn(u64, usize) -> i64 + std::marker::Sync>(
    sheet: &mut Sheet,
    data: &Integers<F>,
) -> Result<()> {
    let store = Store::open(sheet, "seeks-indexed", Sync::Off)?;
    let table = data.create(&store.db, "f")?;
    for column in ["a", "b"] {
        store.db.create_index(&IndexDefinition::new(format!("f_{column}"), "f", &[column]).hash())?;
    }
    let seconds = data.load(&table)?;
    sheet.figure(&label("seeks", data.rows, "load with both indexes"), "ambo", "time", "ms", seconds * 1e3);
    seek(&table.index("f_b")?, false, data.rows, 100, 4)?;
    drop(table);
    store.close()?;
    Ok(std::fs::remove_dir_all(sheet.dir.join("seeks-indexed"))?)
}

/// Looks for a value of b without the index; returns the seconds.
fn scan(sheet: &mut Sheet, table: &Table, n: u64) -> Result<f64> {
    let test = Test::Compare(Compare::Equal, Datum::I64(permuted(n / 2, n) as i64));
    let select = table.select(&["a"])?.filter("b", test)?;
    let (seconds, found) = fastest(|| Ok(select.scan()?.count(THREADS)?))?;
    if found != 1 {
        return Err(format!("a scan found {found} rows").into());
    }
    sheet.figure(&label("seeks", n, "scan for one b, 2 threads"), "ambo", "time", "ms", seconds * 1e3);
    Ok(seconds)
}

fn seek(
    index: &Index,
    is_a: bool,
    n: u64,
    seeks: usize,
    seed: u64,
) -> Result<(crate::measure::Latencies, f64)> {
    let mut random = Random::new(seed);
    let rows = (0..seeks).map(|_| random.below(n));
    let (latencies, seconds) = each(rows, |row| {
        let (a, b) = (Datum::I64(row as i64), Datum::I64(permuted(row, n) as i64));
        let found = index.get(std::slice::from_ref(if is_a { &a } else { &b }))?;
        match found.as_deref() {
            Some([found_a, found_b]) if (found_a, found_b) == (&a, &b) => Ok(()),
            other => Err(format!("row {row}: {other:?} was found").into()),
        }
    })?;
    Ok((latencies, seeks as f64 / seconds))
}

fn peer(sheet: &mut Sheet, whose: &'static str, n: u64, parquet: &std::path::Path) -> Result<()> {
    let name = |what: &str| label("seeks", n, what);
    let mut peer = Peer::start(sheet, whose, &format!("seeks.{whose}"), false)?;
    peer.run(&["CREATE TABLE f (a BIGINT, b BIGINT)"])?;
    let seconds = peer.fill("f", parquet)?;
    sheet.figure(&name("load, 2 threads"), whose, "time", "ms", seconds * 1e3);
    let wanted = permuted(n / 2, n);
    let (_, seconds, _) = peer.repeat(&format!("SELECT a FROM f WHERE b = {wanted}"))?;
    sheet.figure(&name("scan for one b, 2 threads"), whose, "time", "ms", seconds * 1e3);
    for column in ["a", "b"] {
        let ran = peer.run(&[&format!("CREATE INDEX f_{column} ON f ({column})")])?;
        let what = name(&format!("create the index on {column}"));
        sheet.figure(&what, whose, "time", "ms", ran * 1e3);
    }
    for column in ["b", "a"] {
        let mut random = Random::new(2);
        let rows = (0..PEER_SEEKS).map(|_| random.below(n));
        let wanted: Vec<[i64; 1]> =
            rows.map(|row| [if column == "a" { row } else { permuted(row, n) } as i64]).collect();
        let sql = format!("SELECT a, b FROM f WHERE {column} = ?");
        let warm = wanted.len() / 10;
        peer.each(&sql, &wanted[..warm], true)?;
        let found = peer.each(&sql, &wanted, true)?;
        if found.rows != wanted.len() as u64 {
            return Err(format!("{whose} found {} rows", found.rows).into());
        }
        let rate = found.us.len() as f64 / found.seconds;
        add_operations(sheet, &name(&format!("seek on {column}, warm")), whose, &latencies(&found.us), rate);
    }
    let bytes = peer.close()? as f64 / n as f64;
    sheet.figure(&name("all files, closed"), whose, "bytes a row", "bytes", bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permutation_has_each_number_once() {
        // Keeps away: seeks that find two rows, or none.
        for n in [2, 3, 1000, 4096] {
            let mut seen = vec![false; n as usize];
            (0..n).for_each(|value| seen[permuted(value, n) as usize] = true);
            assert!(seen.into_iter().all(|seen| seen), "{n}");
        }
    }
}
