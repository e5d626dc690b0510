//! TPC-H `lineitem`: bulk load, size, scans with none, 1 % and 10 % of the rows freshly updated, point reads.

use std::path::{Path, PathBuf};
use std::time::Instant;

use ambo::{Datum, Query, Row, Sync, Table};

use super::peer::{DUCKDB, Peer};
use super::queries::{self, Asked, compare};
use super::{Store, THREADS, add_operations, each, fastest, latencies, parquet};
use crate::engine::Result;
use crate::random::Random;
use crate::workload::sheet::Sheet;

const POINT_READS: usize = 20_000;
const PEER_POINT_READS: usize = 500;
/// Updates of one transaction.
const BATCH: usize = 1000;
/// At larger scale factors DuckDB gets no primary key: building it takes minutes, and memory in proportion.
const KEYED_SCALE_MAX: f64 = 2.0;
/// Shares of the rows to update, with the statement that does it. The supplier's number is spread evenly.
const FRESH: [(&str, i64, i64); 2] = [("1 % fresh", 100, 7), ("10 % fresh", 10, 3)];
/// The same with background merging off: the rows stay where they are.
const HELD: (&str, i64, i64) = ("10 % fresh, not settled in the background", 10, 6);
const KEY: [&str; 2] = ["l_orderkey", "l_linenumber"];

pub fn run(sheet: &mut Sheet) -> Result<()> {
    let scale = sheet.options.scale;
    let file = |end: &str| sheet.inputs.join(format!("tpch-{scale}{end}/lineitem.parquet"));
    let (snappy, zstd) = (file(""), file("-zstd"));
    if !snappy.exists() || !zstd.exists() {
        let inputs = sheet.inputs.display();
        return Err(format!("no {}: run bench/columns/fetch.sh {inputs} {scale}", snappy.display()).into());
    }
    let case = Case { name: format!("lineitem, SF {scale}"), snappy, zstd };
    let (store, table) = case.load(sheet)?;
    store.db.compact_due()?;
    let mut duckdb = case.load_duckdb(sheet)?;
    let settled = case.scans(sheet, &table, &mut duckdb, "0 % fresh", &[])?;
    case.point_reads(sheet, &table)?;
    for fresh in FRESH {
        case.update(sheet, &table, &mut duckdb, fresh)?;
        case.scans(sheet, &table, &mut duckdb, fresh.0, &settled)?;
    }
    drop(table);
    let store = store.reopen_without_merging(sheet)?;
    let table = store.db.table("lineitem")?;
    case.update(sheet, &table, &mut duckdb, HELD)?;
    case.scans(sheet, &table, &mut duckdb, HELD.0, &settled)?;
    drop(table);
    let start = Instant::now();
    store.db.compact()?;
    sheet.figure(
        &case.label("settle after the updates"),
        "ambo",
        "time",
        "ms",
        start.elapsed().as_secs_f64() * 1e3,
    );
    let check = store.db.check()?;
    if !check.is_sound() {
        return Err(format!("the database is damaged: {check:?}").into());
    }
    let bytes = store.close()?;
    sheet.figure(&case.label("after the updates"), "ambo", "size", "MB", bytes as f64 / 1e6);
    let bytes = duckdb.close()?;
    sheet.figure(&case.label("after the updates"), DUCKDB, "size", "MB", bytes as f64 / 1e6);
    Ok(())
}

struct Case {
    name: String,
    snappy: PathBuf,
    zstd: PathBuf,
}

impl Case {
    fn label(&self, what: &str) -> String {
        format!("{}: {what}", self.name)
    }

    /// Loads Ambo's table; the load is durable, what comes after need not be.
    fn load(&self, sheet: &mut Sheet) -> Result<(Store, Table)> {
        read_through(&self.snappy)?;
        let store = Store::open(sheet, "lineitem", Sync::Commit)?;
        let (table, rows, seconds) = parquet::load(&store.db, "lineitem", &KEY, &self.snappy)?;
        drop(table);
        sheet.records = rows;
        sheet.note(&format!("{rows} rows"));
        sheet.figure(&self.label("bulk load"), "ambo", "time", "ms", seconds * 1e3);
        let (store, bytes) = store.reopen(sheet, Sync::Off)?;
        sheet.figure(&self.label("loaded"), "ambo", "size", "MB", bytes as f64 / 1e6);
        let size = |path: &Path| std::fs::metadata(path).map(|file| file.len() as f64 / 1e6);
        sheet.figure(&self.label("loaded"), "parquet-snappy", "size", "MB", size(&self.snappy)?);
        sheet.figure(&self.label("loaded"), "parquet-zstd", "size", "MB", size(&self.zstd)?);
        let table = store.db.table("lineitem")?;
        Ok((store, table))
    }

    /// DuckDB's table, without a key: loading and scanning are fastest so.
    fn load_duckdb(&self, sheet: &mut Sheet) -> Result<Peer> {
        let mut peer = Peer::start(sheet, DUCKDB, "lineitem.duckdb", true)?;
        let create =
            format!("CREATE TABLE lineitem AS SELECT * FROM read_parquet('{}')", self.snappy.display());
        let seconds = peer.run(&[&create, "CHECKPOINT"])?;
        sheet.figure(&self.label("bulk load"), DUCKDB, "time", "ms", seconds * 1e3);
        sheet.figure(&self.label("loaded"), DUCKDB, "size", "MB", peer.bytes_now() as f64 / 1e6);
        peer.run(&["SET fsync_mode = 'NONE'"])?;
        Ok(peer)
    }

    /// Runs all queries in Ambo and, when nothing is left to do for it in the background, in DuckDB. Returns the fastest times of both in
    /// milliseconds. `settled`: those without fresh rows, which the times are held against.
    fn scans(
        &self,
        sheet: &mut Sheet,
        table: &Table,
        duckdb: &mut Peer,
        fresh: &str,
        settled: &[[f64; 2]],
    ) -> Result<Vec<[f64; 2]>> {
        let asked = queries::all(table)?;
        let mut ours = Vec::new();
        let mut left = Vec::new();
        for Asked { query, .. } in &asked {
            ours.push(run_query(query)?);
            // Not asked before the first query, so that it is this one that finds the rows new.
            left.push(table.select(&["l_tax"])?.scan()?.fresh_rows());
        }
        table.database().compact_due()?;
        let mut times = Vec::new();
        for (at, (asked, (first, fastest, rows))) in asked.iter().zip(ours).enumerate() {
            let what = self.label(&format!("{}, {fresh}", asked.name));
            let (their_first, their_fastest, their_rows) = duckdb.repeat(asked.sql)?;
            compare(&what, asked.groups, &rows, &their_rows)?;
            let both = [("ambo", first, fastest), (DUCKDB, their_first, their_fastest)];
            for (i, (whose, first, fastest)) in both.into_iter().enumerate() {
                sheet.figure(&what, whose, "time", "ms", fastest * 1e3);
                sheet.figure(&what, whose, "first", "ms", first * 1e3);
                if let Some(settled) = settled.get(at) {
                    sheet.figure(&what, whose, "slow-down", "×", fastest * 1e3 / settled[i]);
                }
            }
            let what = self.label(&format!("{fresh}, after {}", asked.name));
            sheet.figure(&what, "ambo", "rows outside of segments", "rows", left[at] as f64);
            times.push([fastest * 1e3, their_fastest * 1e3]);
        }
        Ok(times)
    }

    /// Updates the rows whose supplier's number leaves `rest` when it is divided.
    fn update(
        &self,
        sheet: &mut Sheet,
        table: &Table,
        duckdb: &mut Peer,
        (fresh, divisor, rest): (&str, i64, i64),
    ) -> Result<()> {
        let keys = keys_of(table, |supplier| supplier % divisor == rest)?;
        let price = table.definition().column_index("l_extendedprice").ok_or("no price")?;
        let mut raise = |row: &mut Row| {
            if let Datum::Decimal128 { unscaled, .. } = &mut row[price] {
                *unscaled += 100;
            }
            Ok(())
        };
        let start = Instant::now();
        for keys in keys.chunks(BATCH) {
            let mut tx = table.database().begin()?;
            for key in keys {
                if !tx.update_row(table, &row_of(*key), &mut raise)? {
                    return Err("a row is gone".into());
                }
            }
            tx.commit()?;
        }
        let ours = keys.len() as f64 / start.elapsed().as_secs_f64();
        let update = format!(
            "UPDATE lineitem SET l_extendedprice = l_extendedprice + 1 WHERE l_suppkey % {divisor} = {rest}"
        );
        let theirs = keys.len() as f64 / duckdb.run(&[&update])?;
        let what = self.label(&format!("update of rows for {fresh}"));
        sheet.figure(&what, "ambo", "rate", "1/s", ours);
        sheet.figure(&what, DUCKDB, "rate", "1/s", theirs);
        Ok(())
    }

    /// Reads whole rows by key.
    fn point_reads(&self, sheet: &mut Sheet, table: &Table) -> Result<()> {
        let keys = keys_of(table, |_| true)?;
        let pick = |times: usize, seed: u64| {
            let mut random = Random::new(seed);
            (0..times).map(|_| keys[random.below(keys.len() as u64) as usize]).collect::<Vec<_>>()
        };
        let what = self.label("point read of 16 columns");
        for (timed, seed) in [(false, 1), (true, 2)] {
            let picked: Vec<Row> = pick(POINT_READS, seed).into_iter().map(row_of).collect();
            let (latencies, seconds) = each(&picked, |key| {
                let row = table.get_row(key)?.ok_or("a row is gone")?;
                if row.len() == 16 { Ok(()) } else { Err("a row of other columns".into()) }
            })?;
            if timed {
                add_operations(sheet, &what, "ambo", &latencies, POINT_READS as f64 / seconds);
            }
        }
        if sheet.options.scale > KEYED_SCALE_MAX {
            return Ok(());
        }
        let mut peer = Peer::start(sheet, DUCKDB, "lineitem-key.duckdb", false)?;
        let file = self.snappy.display();
        peer.run(&[
            &format!("CREATE TABLE lineitem AS SELECT * FROM read_parquet('{file}')"),
            "ALTER TABLE lineitem ADD PRIMARY KEY (l_orderkey, l_linenumber)",
            "CHECKPOINT",
        ])?;
        let wanted: Vec<[i64; 2]> =
            pick(PEER_POINT_READS, 2).into_iter().map(|(order, line)| [order, i64::from(line)]).collect();
        let sql = "SELECT * FROM lineitem WHERE l_orderkey = ? AND l_linenumber = ?";
        peer.each(sql, &wanted[..50], true)?;
        let read = peer.each(sql, &wanted, true)?;
        if read.rows != wanted.len() as u64 {
            return Err(format!("DuckDB found {} rows", read.rows).into());
        }
        let rate = read.us.len() as f64 / read.seconds;
        add_operations(sheet, &what, DUCKDB, &latencies(&read.us), rate);
        peer.close()?;
        Ok(())
    }
}

/// Seconds of the first and of the fastest of some repetitions, and the rows.
fn run_query(query: &Query) -> Result<(f64, f64, Vec<Row>)> {
    let mut first = None;
    let (fastest, rows) = fastest(|| {
        let start = Instant::now();
        let rows = query.run(THREADS)?.rows;
        first.get_or_insert(start.elapsed().as_secs_f64());
        Ok(rows)
    })?;
    Ok((first.unwrap_or(fastest), fastest, rows))
}

/// Keys of the rows whose supplier's number is wanted.
fn keys_of(table: &Table, is_wanted: impl Fn(i64) -> bool + std::marker::Sync) -> Result<Vec<(i64, i32)>> {
    let scan = table.select(&[KEY[0], KEY[1], "l_suppkey"])?.scan()?;
    let found = scan.fold(1, Vec::new, |found, morsel| {
        let (mut orders, mut lines, mut suppliers) =
            (Vec::<i64>::new(), Vec::<i32>::new(), Vec::<i64>::new());
        morsel.values(0, &mut orders)?;
        morsel.values(1, &mut lines)?;
        morsel.values(2, &mut suppliers)?;
        for ((order, line), supplier) in orders.into_iter().zip(lines).zip(suppliers) {
            if is_wanted(supplier) {
                found.push((order, line));
            }
        }
        Ok(())
    })?;
    Ok(found.into_iter().flatten().collect())
}

fn row_of((order, line): (i64, i32)) -> Row {
    vec![Datum::I64(order), Datum::I32(line)]
}

/// Reads a file, so that the system has it in memory.
fn read_through(path: &Path) -> Result<()> {
    std::io::copy(&mut std::fs::File::open(path)?, &mut std::io::sink())?;
    Ok(())
}
