//! Column tables beside DuckDB and SQLite: loads, scans, seeks by index, small writes, and what is left of the files.
//!
//! Ambo runs in this process. DuckDB and SQLite run in a Python process each (`peer.rs`, `bench/columns/peers.py`), which takes the times
//! itself. All may use two threads and are not to wait for the disk at a commit, unless a row says so.

mod batches;
mod changes;
mod day;
mod integers;
mod lineitem;
mod mixed;
pub mod parquet;
pub mod peer;
mod queries;
mod seeks;
mod wide;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ambo::{Database, Datum, Sync};

use super::Case;
use super::sheet::Sheet;
use crate::engine::Result;
use crate::measure::{Latencies, disk_bytes};

/// Threads that a statement may use.
pub const THREADS: usize = 2;
/// How often a statement that only reads is run at least; the fastest counts.
const REPETITIONS: usize = 3;
/// It is run for at least so long, so that a disturbance of the machine does not meet all repetitions.
const STRETCH: Duration = Duration::from_secs(1);
/// Cache of pages unless the user says otherwise; blocks have as much again. DuckDB takes up to 80 % of the memory.
const CACHE_MIB: usize = 2048;

/// Rows of a case unless the user says otherwise.
pub fn records(case: Case) -> u64 {
    match case.name {
        "seeks" => 10_000_000,
        "uuids" => 3_000_000,
        "random-upserts" => 300_000,
        "changes" => 2_400_000,
        "mixed" => 2_000_000,
        "day" => 50_000,
        _ => 1_000_000,
    }
}

/// Measures a case.
pub fn run(sheet: &mut Sheet) -> Result<()> {
    let load = load_average()?;
    let name = sheet.case.name;
    sheet.figure(&format!("machine: when {name} began"), "ambo", "load average", "processes", load);
    match name {
        "lineitem" => lineitem::run(sheet),
        "seeks" => seeks::run(sheet),
        "uuids" => batches::uuids(sheet),
        "random-upserts" => batches::random(sheet),
        "changes" => changes::run(sheet),
        "wide" => wide::run(sheet),
        "day" => day::run(sheet),
        _ => mixed::run(sheet),
    }
}

/// Processes that wanted a processor in the last minute, of the whole machine.
pub fn load_average() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/loadavg")?;
    Ok(text.split(' ').next().unwrap_or_default().parse()?)
}

/// A database of a case: its directory below the case's own, removed when this is dropped.
struct Store {
    db: Database,
    dir: PathBuf,
}

impl Store {
    fn open(sheet: &Sheet, name: &str, sync: Sync) -> Result<Store> {
        let dir = sheet.dir.join(name);
        Ok(Store { db: open(sheet, &dir, sync)?, dir })
    }

    /// Closes the database and opens it again; returns the bytes of its files in between. Other handles have to be gone.
    fn reopen(self, sheet: &Sheet, sync: Sync) -> Result<(Store, u64)> {
        self.db.close()?;
        let bytes = disk_bytes(&self.dir);
        Ok((Store { db: open(sheet, &self.dir, sync)?, dir: self.dir }, bytes))
    }

    /// Closes the database and opens it again, to settle nothing by itself.
    fn reopen_without_merging(self, sheet: &Sheet) -> Result<Store> {
        self.db.close()?;
        let db = options(sheet, Sync::Off).background_merge(false).open(&self.dir)?;
        Ok(Store { db, dir: self.dir })
    }

    /// Closes the database and opens it again, with none of its files in memory.
    fn reopen_cold(self, sheet: &Sheet, sync: Sync) -> Result<Store> {
        self.db.close()?;
        forget_files(&self.dir)?;
        Ok(Store { db: open(sheet, &self.dir, sync)?, dir: self.dir })
    }

    /// Closes the database; returns the bytes of its files.
    fn close(self) -> Result<u64> {
        self.db.close()?;
        Ok(disk_bytes(&self.dir))
    }
}

fn open(sheet: &Sheet, dir: &Path, sync: Sync) -> Result<Database> {
    Ok(options(sheet, sync).open(dir)?)
}

pub fn options(sheet: &Sheet, sync: Sync) -> ambo::Options {
    let cache = sheet.options.cache_mib.unwrap_or(CACHE_MIB) << 20;
    ambo::Options::new().cache_bytes(cache).memtable_bytes(sheet.options.buffer_mib << 20).sync(sync)
}

/// Has the system forget what it keeps of the files in a directory.
fn forget_files(dir: &Path) -> Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let file = std::fs::File::open(entry?.path())?;
        file.sync_all()?;
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
    }
    Ok(())
}

/// `seeks`, 10,000,000 and `on b` become `seeks, 10 M rows: on b`.
pub fn label(group: &str, rows: u64, what: &str) -> String {
    let rows = match rows {
        n if n.is_multiple_of(100_000) && n >= 1_000_000 => format!("{} M", n as f64 / 1e6),
        n if n.is_multiple_of(1000) => format!("{} k", n / 1000),
        n => n.to_string(),
    };
    format!("{group}, {rows} rows: {what}")
}

/// The shortest of some repetitions, in seconds, and what the last returned.
pub fn fastest<R>(mut work: impl FnMut() -> Result<R>) -> Result<(f64, R)> {
    let mut least = Duration::MAX;
    let begin = Instant::now();
    let mut times = 0;
    loop {
        let start = Instant::now();
        let found = work()?;
        least = least.min(start.elapsed());
        times += 1;
        if times >= REPETITIONS && begin.elapsed() >= STRETCH {
            return Ok((least.as_secs_f64(), found));
        }
    }
}

/// Times each operation; returns their latencies and the seconds of all.
pub fn each<T>(
    of: impl IntoIterator<Item = T>,
    mut work: impl FnMut(T) -> Result<()>,
) -> Result<(Latencies, f64)> {
    let mut latencies = Latencies::new();
    let start = Instant::now();
    let mut before = start;
    for one in of {
        work(one)?;
        let now = Instant::now();
        latencies.record(now - before);
        before = now;
    }
    Ok((latencies, (before - start).as_secs_f64()))
}

/// Adds rate and percentiles of operations.
pub fn add_operations(sheet: &mut Sheet, data: &str, whose: &str, latencies: &Latencies, rate: f64) {
    let [(_, p50), (_, p99), ..] = latencies.percentiles();
    sheet.figure(data, whose, "rate", "1/s", rate);
    sheet.figure(data, whose, "p50", "µs", p50);
    sheet.figure(data, whose, "p99", "µs", p99);
}

/// Latencies that a peer measured, in microseconds.
pub fn latencies(us: &[f64]) -> Latencies {
    let mut latencies = Latencies::new();
    us.iter().for_each(|us| latencies.record(Duration::from_secs_f64(us / 1e6)));
    latencies
}

/// A value as a number, for comparison with a peer's.
fn number(value: &Datum) -> Result<f64> {
    match value {
        Datum::Decimal128 { unscaled, scale } => Ok(*unscaled as f64 / 10_f64.powi(i32::from(*scale))),
        other => other.as_ref().as_f64().ok_or_else(|| format!("{other:?} is no number").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_tell_sizes_apart() {
        // Keeps away: figures of two sizes in one row of a table.
        assert_eq!(label("seeks", 10_000_000, "on b"), "seeks, 10 M rows: on b");
        assert_eq!(label("seeks", 2_400_000, "on b"), "seeks, 2.4 M rows: on b");
        assert_eq!(label("seeks", 300_000, "on b"), "seeks, 300 k rows: on b");
        assert_eq!(label("seeks", 1234, "on b"), "seeks, 1234 rows: on b");
    }
}
