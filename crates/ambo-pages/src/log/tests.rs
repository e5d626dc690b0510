//! The log as a whole: the format by example, the recovery cases, hostile bytes, and a model with crashes.

mod cases;
mod example;
mod hostile;
mod kept;
mod model;
mod small_disk;

use std::sync::Arc;

use ambo_types::{
    Error, Result,
    id::TableId,
    record::{Record, RecordKind},
};

use super::*;
use crate::io::{Disk, sim::SimDisk};

const DATABASE: u128 = 0x0123_4567_89AB_CDEF_0011_2233_4455_6677;

/// An operation, owned.
type Op = (u32, Vec<u8>, RecordKind, Vec<u8>);
/// A transaction, owned.
type Transaction = (u64, Vec<Op>);

fn dyn_disk(disk: &SimDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

/// Recovers and collects.
fn read(disk: &SimDisk, start: Start, access: Access) -> Result<(Vec<Transaction>, Recovery)> {
    let mut transactions = Vec::new();
    let recovery = recover(&dyn_disk(disk), DATABASE, start, access, |ts, operations| {
        let owned = operations
            .map(|op| op.map(|op| (op.table.0, op.key.to_vec(), op.record.kind, op.record.bytes.to_vec())));
        transactions.push((ts.0, owned.collect::<Result<_>>()?));
        Ok(())
    })?;
    Ok((transactions, recovery))
}

fn read_all(disk: &SimDisk) -> Result<(Vec<Transaction>, Recovery)> {
    read(disk, Start::default(), Access::Write)
}

fn group(transactions: &[Transaction]) -> GroupBuffer {
    let mut buffer = GroupBuffer::new();
    for (ts, ops) in transactions {
        buffer.begin(Timestamp(*ts));
        for (table, key, kind, bytes) in ops {
            buffer.op(TableId(*table), key, Record { kind: *kind, bytes });
        }
        buffer.end().unwrap();
    }
    buffer
}

/// One put.
fn put(ts: u64, value_bytes: usize) -> Transaction {
    (ts, vec![(1, format!("key {ts}").into_bytes(), RecordKind::Inline, vec![ts as u8; value_bytes])])
}

fn options(segment_bytes: u64) -> LogOptions {
    LogOptions { segment_bytes, compress: false }
}

fn writer(disk: &SimDisk, segment_bytes: u64, position: LogPosition) -> LogWriter {
    LogWriter::new(dyn_disk(disk), options(segment_bytes), DATABASE, position)
}

/// A disk with the transactions 1 to `n`, each a synced group of its own, in segments of 4 KiB.
fn written(seed: u64, n: u64, value_bytes: usize) -> (SimDisk, LogWriter, Vec<Transaction>) {
    let disk = SimDisk::new(seed);
    let mut log = writer(&disk, 4096, LogPosition::default());
    let transactions: Vec<_> = (1..=n).map(|ts| put(ts, value_bytes)).collect();
    for transaction in &transactions {
        log.write_group(&mut group(std::slice::from_ref(transaction))).unwrap();
        log.sync().unwrap();
    }
    (disk, log, transactions)
}

/// The files of segments.
fn files(disk: &SimDisk) -> Vec<String> {
    disk.list().unwrap().into_iter().filter(|name| name.starts_with("log-")).collect()
}
