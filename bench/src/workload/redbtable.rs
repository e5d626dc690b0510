//! The table of redb's README: 24-byte keys in random order, 150-byte values, every commit durable.
//!
//! One difference: loads and removals go in transactions of 100,000 rows instead of a single one, because
//! engines with write buffers would otherwise have to hold all rows in memory, outside their budget.

use super::lab::{Lab, Phase, load};
use crate::data::{DataSet, Order};
use crate::engine::{Engine, Log, Reads, Result, SyncMode};

/// Rows in one transaction of the bulk load and of the removals.
const BULK_ROWS: u64 = 100_000;
/// Durable commits of one row.
const SINGLE_COMMITS: u64 = 1000;
/// Durable commits of many rows, and their rows.
const BATCHES: u64 = 100;
const BATCH_ROWS: u64 = 1000;
/// Random reads.
const READS: u64 = 1_000_000;
/// Range reads, of ten rows each.
const RANGES: u64 = 500_000;

pub(super) fn run(lab: &mut Lab) -> Result<()> {
    let data = DataSet::new(24, 150, Order::Random);
    let bulk = lab.records;
    let singles = bulk + SINGLE_COMMITS;
    let rows = singles + BATCHES * BATCH_ROWS;
    let mut config = lab.config(&data, rows, Log::On, SyncMode::Commit, true);
    config.threads = 32;
    let mut engine = lab.open(&config)?;

    rate(lab, "bulk load", bulk, || load(&*engine, &data, 0..bulk, BULK_ROWS))?;
    rate(lab, "single commits", SINGLE_COMMITS, || load(&*engine, &data, bulk..singles, 1))?;
    rate(lab, "commits of 1,000", BATCHES * BATCH_ROWS, || load(&*engine, &data, singles..rows, BATCH_ROWS))?;
    lab.disk("loaded", rows * data.row_bytes() as u64);
    for threads in [1, 4, 8, 16, 32] {
        reads(lab, &*engine, threads, &data, rows)?;
    }
    range_reads(lab, &*engine, &data, rows)?;

    let half = rows / 2;
    rate(lab, "removals", half, || remove(&*engine, &data, half))?;
    lab.disk("half removed", (rows - half) * data.row_bytes() as u64);
    lab.timed("compaction", || engine.compact())?;
    lab.disk("half removed, compacted", (rows - half) * data.row_bytes() as u64);
    engine.close()
}

/// Times one thread's work on `records` records.
fn rate(lab: &mut Lab, name: &str, records: u64, work: impl FnOnce() -> Result<()>) -> Result<()> {
    let start = std::time::Instant::now();
    work()?;
    let rate = records as f64 / start.elapsed().as_secs_f64();
    lab.figure(name, 1, "throughput", "records/s", rate);
    Ok(())
}

fn reads(lab: &mut Lab, engine: &dyn Engine, threads: usize, data: &DataSet, rows: u64) -> Result<()> {
    let limit = lab.limit();
    let phase =
        Phase { name: "random reads", threads, reads: Reads::Held, operations: READS, limit, sampling: 8 };
    lab.phase(engine, phase, &|session, random, _| {
        let record = random.below(rows);
        let mut right = false;
        session.get(&data.key(record), &mut |value| right = data.matches(record, value))?;
        if right { Ok(1) } else { Err(format!("record {record} is missing or wrong").into()) }
    })?;
    Ok(())
}

fn range_reads(lab: &mut Lab, engine: &dyn Engine, data: &DataSet, rows: u64) -> Result<()> {
    let limit = lab.limit();
    let phase = Phase {
        name: "range reads of 10",
        threads: 1,
        reads: Reads::Held,
        operations: RANGES,
        limit,
        sampling: 8,
    };
    lab.phase(engine, phase, &|session, random, _| {
        let mut touched = 0_u8;
        let start = data.key(random.below(rows));
        let seen = session.range(&start, 10, &mut |_, value| touched ^= value[0] ^ value[value.len() - 1])?;
        std::hint::black_box(touched);
        Ok(seen as u64)
    })?;
    Ok(())
}

fn remove(engine: &dyn Engine, data: &DataSet, rows: u64) -> Result<()> {
    let mut session = engine.session(Reads::Fresh)?;
    let mut start = 0;
    while start < rows {
        let end = (start + BULK_ROWS).min(rows);
        session.delete_batch(&mut (start..end).map(|record| data.key(record)))?;
        start = end;
    }
    Ok(())
}
