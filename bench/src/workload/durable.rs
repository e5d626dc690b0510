//! Durable commits a second: each puts one row and returns when a loss of power cannot take it back.

use super::lab::{Lab, Phase, UNBOUNDED};
use crate::data::{DataSet, Order};
use crate::engine::{Log, Reads, Result, SyncMode};

/// Rows that the store is sized for.
const ROWS: u64 = 1_000_000;

pub(super) fn run(lab: &mut Lab) -> Result<()> {
    let data = DataSet::new(16, 100, Order::Random);
    let config = lab.config(&data, ROWS, Log::On, SyncMode::Commit, true);
    let engine = lab.open(&config)?;
    let (threads, limit) = (lab.case.threads, lab.limit());
    let phase =
        Phase { name: "commit", threads, reads: Reads::Fresh, operations: UNBOUNDED, limit, sampling: 1 };
    lab.phase(&*engine, phase, &|session, _, record| {
        let (key, value) = data.row(record);
        session.put(&key, value)?;
        Ok(1)
    })?;
    engine.close()
}
