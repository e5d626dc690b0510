//! Bulk load of sorted rows into an empty store, by the fastest documented way, until everything is on the disk.

use std::time::Instant;

use super::lab::Lab;
use crate::data::{DataSet, Order};
use crate::engine::{Log, Result, SyncMode};

pub(super) fn run(lab: &mut Lab) -> Result<()> {
    let data = DataSet::new(12, 500, Order::Sorted);
    let rows = lab.records;
    let config = lab.config(&data, rows, Log::Off, SyncMode::None, true);
    let engine = lab.open(&config)?;
    let start = Instant::now();
    engine.bulk_load(&mut (0..rows).map(|record| data.row(record)))?;
    let loaded = start.elapsed();
    // Closing makes it durable where the load has not; bulk loads leave settled structures, so nothing is left to settle.
    engine.close()?;
    let closed = start.elapsed();
    lab.figure("sorted load", 1, "throughput", "records/s", rows as f64 / loaded.as_secs_f64());
    lab.figure("sorted load and close", 1, "throughput", "records/s", rows as f64 / closed.as_secs_f64());
    lab.disk("sorted load", rows * data.row_bytes() as u64);
    Ok(())
}
