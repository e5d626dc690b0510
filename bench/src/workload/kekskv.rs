//! KeksDB's workload: 12-byte keys and 500-byte values in random order, each put a transaction of its own.
//!
//! Log off: put without background optimisation, get while nothing is settled, settle, get again, ranges, full scan.
//! Log on, without waiting for the disk: put, with background work.

use std::time::{Duration, Instant};

use super::lab::{Lab, Phase};
use crate::data::{DataSet, Order};
use crate::engine::{Engine, Log, Reads, Result, SyncMode};

/// Rows in one range read.
pub(super) const RANGE_ROWS: usize = 10;
/// A scan is repeated until it took this long altogether.
const SCAN_TIME: Duration = Duration::from_secs(2);

pub(super) fn data_set() -> DataSet {
    DataSet::new(12, 500, Order::Random)
}

pub(super) fn run(lab: &mut Lab) -> Result<()> {
    let data = data_set();
    if lab.case.name == "log-off" { log_off(lab, &data) } else { log_on(lab, &data) }
}

fn log_off(lab: &mut Lab, data: &DataSet) -> Result<()> {
    let rows = lab.records;
    let config = lab.config(data, rows, Log::Off, SyncMode::None, false);
    let mut engine = lab.open(&config)?;
    lab.put_all(&*engine, "put, log off", data, rows)?;
    get(lab, &*engine, "get before settling", data, rows)?;
    lab.timed("settle", || engine.settle())?;
    warm(&*engine, data, rows)?;
    get(lab, &*engine, "get settled", data, rows)?;
    ranges(lab, &*engine, "ranges of 10", data, rows)?;
    if lab.case.threads == 1 {
        scan(lab, &*engine, rows)?;
    }
    engine.close()?;
    lab.disk("settled", rows * data.row_bytes() as u64);
    Ok(())
}

fn log_on(lab: &mut Lab, data: &DataSet) -> Result<()> {
    let rows = lab.records;
    let config = lab.config(data, rows, Log::On, SyncMode::None, true);
    let engine = lab.open(&config)?;
    lab.put_all(&*engine, "put, log on, no sync", data, rows)?;
    engine.close()?;
    lab.disk("log on, closed", rows * data.row_bytes() as u64);
    Ok(())
}

/// Reads every row once, untimed, so that what follows finds in the cache what the cache can hold. Settling moves
/// rows to new places in some engines and not in others.
pub(super) fn warm(engine: &dyn Engine, data: &DataSet, rows: u64) -> Result<()> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()) as u64;
    let read = |thread: u64| -> Result<()> {
        let mut session = engine.session(Reads::Held)?;
        for record in thread * rows / threads..(thread + 1) * rows / threads {
            session.get(&data.key(record), &mut |value| _ = std::hint::black_box(value[0]))?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..threads).map(|thread| scope.spawn(move || read(thread))).collect();
        readers.into_iter().try_for_each(|reader| reader.join().map_err(|_| "a reader panicked")?)
    })
}

/// Random reads of present keys.
pub(super) fn get(
    lab: &mut Lab,
    engine: &dyn Engine,
    name: &'static str,
    data: &DataSet,
    rows: u64,
) -> Result<()> {
    let (threads, limit) = (lab.case.threads, lab.limit());
    let phase = Phase { name, threads, reads: Reads::Held, operations: rows, limit, sampling: 8 };
    lab.phase(engine, phase, &|session, random, _| {
        let record = random.below(rows);
        let mut right = false;
        session.get(&data.key(record), &mut |value| right = data.matches(record, value))?;
        if right { Ok(1) } else { Err(format!("record {record} is missing or wrong").into()) }
    })?;
    Ok(())
}

/// Range reads of ten rows from random present keys; every row counts.
pub(super) fn ranges(
    lab: &mut Lab,
    engine: &dyn Engine,
    name: &'static str,
    data: &DataSet,
    rows: u64,
) -> Result<()> {
    let (threads, limit) = (lab.case.threads, lab.limit());
    let operations = rows / 4;
    let phase = Phase { name, threads, reads: Reads::Held, operations, limit, sampling: 8 };
    lab.phase(engine, phase, &|session, random, _| {
        let start = data.key(random.below(rows));
        let mut touched = 0_u8;
        let seen = session.range(&start, RANGE_ROWS, &mut |key, value| {
            touched ^= key[0] ^ value[0] ^ value[value.len() - 1];
        })?;
        std::hint::black_box(touched);
        if seen == 0 { Err("an empty range from a present key".into()) } else { Ok(seen as u64) }
    })?;
    Ok(())
}

/// Full scans by one thread, each over all rows in key order.
fn scan(lab: &mut Lab, engine: &dyn Engine, rows: u64) -> Result<()> {
    let mut session = engine.session(Reads::Held)?;
    let start = Instant::now();
    let mut records = 0;
    while start.elapsed() < SCAN_TIME {
        let mut touched = 0_u8;
        let seen = session.range(&[], usize::MAX, &mut |key, value| {
            touched ^= key[0] ^ value[0] ^ value[value.len() - 1];
        })? as u64;
        std::hint::black_box(touched);
        if seen != rows {
            return Err(format!("a scan saw {seen} of {rows} rows").into());
        }
        records += seen;
    }
    let rate = records as f64 / start.elapsed().as_secs_f64();
    lab.figure("full scan", 1, "throughput", "records/s", rate);
    Ok(())
}
