//! The core workloads of YCSB (Cooper et al., SoCC 2010): 1,000-byte values, scrambled zipfian choice with skew 0.99.
//!
//! In the order that YCSB advises, on one load: A (half updates), B (5 % updates), C (reads), F
//! (read-modify-write), D (reads of the latest, 5 % inserts), E (short scans, 5 % inserts). Log on, without waiting for the disk.

use std::sync::atomic::{AtomicU64, Ordering};

use super::lab::{Lab, Phase, load};
use crate::data::{DataSet, Order};
use crate::engine::{Engine, Log, Reads, Result, Session, SyncMode};
use crate::random::{Random, Zipfian};

/// A fifth of the records of other suites, as rows are larger.
const RECORDS_DIVISOR: u64 = 5;
/// Scans return 1 to this many rows, uniformly.
const SCAN_ROWS_MAX: u64 = 100;
/// Rows in one transaction of the untimed load.
const LOAD_BATCH_ROWS: u64 = 1000;

/// The data and what is in the store.
struct Stock {
    data: DataSet,
    zipfian: Zipfian,
    rows: u64,
    /// Records inserted so far, those under way included.
    inserted: AtomicU64,
}

pub(super) fn run(lab: &mut Lab) -> Result<()> {
    let rows = (lab.records / RECORDS_DIVISOR).max(1000);
    let data = DataSet::new(24, 1000, Order::Random);
    let config = lab.config(&data, rows * 2, Log::On, SyncMode::None, true);
    let engine = lab.open(&config)?;
    load(&*engine, &data, 0..rows, LOAD_BATCH_ROWS)?;
    let zipfian = Zipfian::new(rows, Zipfian::THETA);
    let stock = Stock { data, zipfian, rows, inserted: AtomicU64::new(rows) };

    mix(lab, &*engine, "A: half updates", &stock, &|s, r, n| {
        if r.below(100) < 50 { stock.read(s, r) } else { stock.update(s, r, n) }
    })?;
    mix(lab, &*engine, "B: 5 % updates", &stock, &|s, r, n| {
        if r.below(100) < 95 { stock.read(s, r) } else { stock.update(s, r, n) }
    })?;
    mix(lab, &*engine, "C: reads", &stock, &|s, r, _| stock.read(s, r))?;
    mix(lab, &*engine, "F: read-modify-write", &stock, &|s, r, n| {
        if r.below(100) < 50 { stock.read(s, r) } else { stock.modify(s, r, n) }
    })?;
    mix(lab, &*engine, "D: latest", &stock, &|s, r, _| {
        if r.below(100) < 95 { stock.read_latest(s, r) } else { stock.insert(s) }
    })?;
    mix(lab, &*engine, "E: short scans", &stock, &|s, r, _| {
        if r.below(100) < 95 { stock.scan(s, r) } else { stock.insert(s) }
    })?;
    engine.close()?;
    let stored = stock.inserted.load(Ordering::Relaxed) * stock.data.row_bytes() as u64;
    lab.disk("closed", stored);
    Ok(())
}

type Step<'a> = dyn Fn(&mut dyn Session, &mut Random, u64) -> Result<()> + Sync + 'a;

/// Runs one workload; an operation counts as one record whatever it touches, as in YCSB.
fn mix(lab: &mut Lab, engine: &dyn Engine, name: &'static str, stock: &Stock, step: &Step<'_>) -> Result<()> {
    let (threads, limit) = (lab.case.threads, lab.limit());
    let phase = Phase { name, threads, reads: Reads::Fresh, operations: stock.rows, limit, sampling: 1 };
    lab.phase(engine, phase, &|session, random, n| step(session, random, n).map(|()| 1))?;
    Ok(())
}

impl Stock {
    fn read_record(&self, session: &mut dyn Session, record: u64) -> Result<bool> {
        let mut touched = 0_u8;
        let found =
            session.get(&self.data.key(record), &mut |value| touched = value[0] ^ value[value.len() - 1])?;
        std::hint::black_box(touched);
        Ok(found)
    }

    fn read(&self, session: &mut dyn Session, random: &mut Random) -> Result<()> {
        let record = self.zipfian.scrambled(random);
        if self.read_record(session, record)? { Ok(()) } else { Err(format!("no record {record}").into()) }
    }

    fn update(&self, session: &mut dyn Session, random: &mut Random, version: u64) -> Result<()> {
        let record = self.zipfian.scrambled(random);
        session.put(&self.data.key(record), self.data.value(record, version + 1))
    }

    fn modify(&self, session: &mut dyn Session, random: &mut Random, version: u64) -> Result<()> {
        let record = self.zipfian.scrambled(random);
        self.read_record(session, record)?;
        session.put(&self.data.key(record), self.data.value(record, version + 1))
    }

    fn insert(&self, session: &mut dyn Session) -> Result<()> {
        let record = self.inserted.fetch_add(1, Ordering::Relaxed);
        let (key, value) = self.data.row(record);
        session.put(&key, value)
    }

    fn read_latest(&self, session: &mut dyn Session, random: &mut Random) -> Result<()> {
        let newest = self.inserted.load(Ordering::Relaxed) - 1;
        // The very newest may still be on its way in by another thread: absent is no failure here.
        self.read_record(session, newest - self.zipfian.rank(random).min(newest)).map(|_| ())
    }

    fn scan(&self, session: &mut dyn Session, random: &mut Random) -> Result<()> {
        let start = self.data.key(self.zipfian.scrambled(random));
        let limit = 1 + random.below(SCAN_ROWS_MAX) as usize;
        let mut touched = 0_u8;
        session.range(&start, limit, &mut |_, value| touched ^= value[0] ^ value[value.len() - 1])?;
        std::hint::black_box(touched);
        Ok(())
    }
}
