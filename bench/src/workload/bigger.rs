//! Data four times the cache: what is not in the engine's cache comes from the disk or the system's page cache.
//!
//! Engines read through the system's page cache and so have whatever memory the machine has left; to bound
//! that, run with `--wrap` and a command that limits memory.

use super::kekskv;
use super::lab::{Lab, Phase};
use crate::data::DataSet;
use crate::engine::{Engine, Log, Reads, Result, SyncMode};

/// The data are this many times the cache.
const DATA_TO_CACHE: u64 = 4;

pub(super) fn run(lab: &mut Lab) -> Result<()> {
    let data = kekskv::data_set();
    let rows = lab.records;
    let mut config = lab.config(&data, rows, Log::On, SyncMode::None, true);
    config.cache_bytes = (config.data_bytes / DATA_TO_CACHE).max(16 << 20) as usize;
    config.write_buffer_bytes =
        ((config.data_bytes / 8) as usize).clamp(64 << 20, lab.options.buffer_mib << 20);
    config.larger_than_memory = true;
    let mut engine = lab.open(&config)?;
    lab.put_all(&*engine, "put", &data, rows)?;
    lab.timed("settle", || engine.settle())?;
    kekskv::warm(&*engine, &data, rows)?;
    kekskv::get(lab, &*engine, "get settled", &data, rows)?;
    kekskv::ranges(lab, &*engine, "ranges of 10", &data, rows)?;
    update(lab, &*engine, &data, rows)?;
    engine.close()?;
    lab.disk("closed", rows * data.row_bytes() as u64);
    Ok(())
}

/// Half reads and half updates of random rows.
fn update(lab: &mut Lab, engine: &dyn Engine, data: &DataSet, rows: u64) -> Result<()> {
    let (threads, limit) = (lab.case.threads, lab.limit());
    let phase =
        Phase { name: "half updates", threads, reads: Reads::Fresh, operations: rows, limit, sampling: 1 };
    lab.phase(engine, phase, &|session, random, n| {
        let record = random.below(rows);
        if n % 2 == 0 {
            session.put(&data.key(record), data.value(record, n))?;
        } else {
            let mut touched = 0;
            session.get(&data.key(record), &mut |value| touched = value[0] ^ value[value.len() - 1])?;
            std::hint::black_box(touched);
        }
        Ok(1)
    })?;
    Ok(())
}
