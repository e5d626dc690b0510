//! Runs the phases of a case and collects their figures.

use std::path::PathBuf;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use super::Case;
use crate::data::DataSet;
use crate::engine::{self, Config, Engine, Failure, Kind, Log, Reads, Result, Session, SyncMode};
use crate::measure::{Latencies, Usage, disk_bytes};
use crate::options::Options;
use crate::random::Random;
use crate::report::LIMITED;
use crate::results::{Figure, Machine};

/// Bytes of a mebibyte.
const MIB: f64 = (1_u64 << 20) as f64;
/// Operations between two looks at the time limit.
const LIMIT_CHECK_OPERATIONS: u64 = 64;
/// Operations of a phase that only its limit ends.
pub const UNBOUNDED: u64 = 1 << 40;
/// Rows in one transaction where rows are loaded without being timed.
const LOAD_BATCH_ROWS: u64 = 1000;

/// The place where one case is measured.
#[derive(Debug)]
pub struct Lab {
    /// What is measured.
    pub case: Case,
    /// On what.
    pub kind: Kind,
    /// Records in the data set.
    pub records: u64,
    /// As the user asked.
    pub options: Options,
    /// The directory of the store.
    pub dir: PathBuf,
    machine: Machine,
    figures: Vec<Figure>,
    /// Cache and write buffers of the store that was opened.
    budget_bytes: usize,
}

/// A timed phase.
#[derive(Debug, Clone, Copy)]
pub struct Phase {
    /// Its name in the results.
    pub name: &'static str,
    /// Threads that share the operations.
    pub threads: usize,
    /// How reads see writes.
    pub reads: Reads,
    /// Operations of all threads together.
    pub operations: u64,
    /// When to stop although operations are left.
    pub limit: Duration,
    /// Every how many operations one is timed. At 1, all are, by one reading of the clock each, so that no
    /// stall is missed; where nothing stalls and operations are short, readings would weigh too much.
    pub sampling: u64,
}

/// What one thread did.
struct Share {
    latencies: Latencies,
    records: u64,
    /// Operations of the thread's range that it did not come to.
    rest: std::ops::Range<u64>,
}

/// One operation: session, the thread's randomness, the number of the operation; returns the records it touched.
pub type Operation<'a> = dyn Fn(&mut dyn Session, &mut Random, u64) -> Result<u64> + Sync + 'a;

impl Lab {
    /// A lab with an empty directory for the store.
    pub fn new(case: Case, kind: Kind, options: &Options) -> Result<Lab> {
        let dir = options.dir.clone();
        std::fs::create_dir_all(&dir)?;
        Ok(Lab {
            case,
            kind,
            records: options.records_of(case),
            machine: Machine::here(&dir),
            dir,
            options: options.clone(),
            figures: Vec::new(),
            budget_bytes: 0,
        })
    }

    /// The configuration for a store of `rows` rows of the data set; cases change what they need.
    pub fn config(&self, data: &DataSet, rows: u64, log: Log, sync: SyncMode, background: bool) -> Config {
        let data_bytes = rows * data.row_bytes() as u64;
        let automatic = (data_bytes as usize * 3 / 2).max(1 << 30);
        Config {
            cache_bytes: self.options.cache_mib.map_or(automatic, |mib| mib << 20),
            write_buffer_bytes: self.options.buffer_mib << 20,
            log,
            sync,
            background,
            threads: self.case.threads,
            value_bytes: data.value(0, 0).len(),
            data_bytes,
            larger_than_memory: false,
        }
    }

    /// Opens the store.
    pub fn open(&mut self, config: &Config) -> Result<Box<dyn Engine>> {
        self.budget_bytes = config.cache_bytes + config.write_buffer_bytes;
        engine::open(self.kind, &self.dir, config)
    }

    /// Adds a figure of a phase.
    pub fn figure(&mut self, phase: &str, threads: usize, metric: &str, unit: &str, value: f64) {
        self.figures.push(Figure {
            workload: format!("{}/{phase}", self.case.suite.name()),
            engine: self.kind.into(),
            threads,
            metric: metric.into(),
            unit: unit.into(),
            value,
            run: self.options.child.run,
            records: self.records,
            machine: self.machine.clone(),
            failure: None,
        });
    }

    /// The limit of a phase that reads or mixes.
    pub fn limit(&self) -> Duration {
        Duration::from_secs(self.options.seconds)
    }

    /// The limit of a timed load.
    pub fn load_limit(&self) -> Duration {
        Duration::from_secs(self.options.load_seconds)
    }

    /// Runs a phase, adds its figures, and returns the ranges of operations that the limit left undone.
    pub fn phase(
        &mut self,
        engine: &dyn Engine,
        phase: Phase,
        operation: &Operation<'_>,
    ) -> Result<Vec<std::ops::Range<u64>>> {
        let before = Usage::now();
        let barrier = Barrier::new(phase.threads + 1);
        let (shares, took) = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..phase.threads)
                .map(|thread| {
                    let barrier = &barrier;
                    scope.spawn(move || work(engine, &phase, thread as u64, barrier, operation))
                })
                .collect();
            barrier.wait();
            let start = Instant::now();
            let shares: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
            (shares, start.elapsed())
        });
        let after = Usage::now();

        let mut all = Share { latencies: Latencies::new(), records: 0, rest: 0..0 };
        let mut rests = Vec::new();
        for share in shares {
            let share = share.map_err(|_| Failure::from("a worker panicked"))??;
            all.latencies.add(&share.latencies);
            all.records += share.records;
            rests.push(share.rest);
        }
        let Phase { name, threads, .. } = phase;
        let seconds = took.as_secs_f64();
        self.figure(name, threads, "throughput", "records/s", all.records as f64 / seconds);
        if !all.latencies.is_empty() {
            for (metric, value) in all.latencies.percentiles() {
                self.figure(name, threads, metric, "µs", value);
            }
        }
        let cpu_us = (after.cpu - before.cpu).as_secs_f64() * 1e6;
        self.figure(name, threads, "processor time", "µs/record", cpu_us / all.records.max(1) as f64);
        let written = after.written_bytes.saturating_sub(before.written_bytes);
        self.figure(name, threads, "written", "MiB", written as f64 / MIB);
        let left: u64 = rests.iter().map(|rest| rest.end - rest.start).sum();
        if left > 0 && phase.operations != UNBOUNDED {
            let share = 1.0 - left as f64 / phase.operations as f64;
            self.figure(name, threads, LIMITED, "share", share);
        }
        Ok(rests)
    }

    /// Timed puts of all records, one a transaction, in the data set's order; what the limit leaves is loaded untimed.
    pub fn put_all(
        &mut self,
        engine: &dyn Engine,
        name: &'static str,
        data: &DataSet,
        rows: u64,
    ) -> Result<()> {
        let threads = self.case.threads;
        let limit = self.load_limit();
        let phase = Phase { name, threads, reads: Reads::Fresh, operations: rows, limit, sampling: 1 };
        let rests = self.phase(engine, phase, &|session, _, record| {
            let (key, value) = data.row(record);
            session.put(&key, value)?;
            Ok(1)
        })?;
        for rest in rests {
            load(engine, data, rest, LOAD_BATCH_ROWS)?;
        }
        Ok(())
    }

    /// Times something that is done once, and adds the seconds.
    pub fn timed(&mut self, phase: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let start = Instant::now();
        work()?;
        let seconds = start.elapsed().as_secs_f64();
        self.figure(phase, self.case.threads, "time", "s", seconds);
        Ok(())
    }

    /// Adds the size of the store, absolute and against `raw_bytes` of keys and values.
    pub fn disk(&mut self, phase: &str, raw_bytes: u64) {
        let bytes = disk_bytes(&self.dir) as f64;
        let threads = self.case.threads;
        self.figure(phase, threads, "disk", "MiB", bytes / MIB);
        self.figure(phase, threads, "disk / raw data", "ratio", bytes / raw_bytes as f64);
    }

    /// Adds what the whole process used, and hands out the figures.
    pub fn finish(mut self) -> Vec<Figure> {
        let usage = Usage::now();
        let name = format!("{} whole process", self.case.name);
        let threads = self.case.threads;
        let memory = usage.memory_peak_bytes as f64;
        self.figure(&name, threads, "peak memory", "MiB", memory / MIB);
        self.figure(&name, threads, "memory over budget", "MiB", (memory - self.budget_bytes as f64) / MIB);
        self.figure(&name, threads, "written", "MiB", usage.written_bytes as f64 / MIB);
        self.figure(&name, threads, "processor time", "s", usage.cpu.as_secs_f64());
        self.figures
    }
}

/// Stores rows without timing them.
pub fn load(engine: &dyn Engine, data: &DataSet, records: std::ops::Range<u64>, batch: u64) -> Result<()> {
    let mut session = engine.session(Reads::Fresh)?;
    let mut start = records.start;
    while start < records.end {
        let end = (start + batch).min(records.end);
        session.put_batch(&mut (start..end).map(|record| data.row(record)))?;
        start = end;
    }
    Ok(())
}

/// One thread of a phase.
fn work(
    engine: &dyn Engine,
    phase: &Phase,
    thread: u64,
    barrier: &Barrier,
    operation: &Operation<'_>,
) -> Result<Share> {
    let session = engine.session(phase.reads);
    let mut random = Random::new(0xa3b0 + thread);
    let mut latencies = Latencies::new();
    let threads = phase.threads as u64;
    let end = (thread + 1) * phase.operations / threads;
    let mut next = thread * phase.operations / threads;
    let mut records = 0;
    // Wait even after a failure: the others would wait for ever.
    barrier.wait();
    let mut session = session?;
    let start = Instant::now();
    let mut last = start;
    while next < end {
        if phase.sampling == 1 {
            records += operation(&mut *session, &mut random, next)?;
            let now = Instant::now();
            latencies.record(now - last);
            last = now;
        } else if next.is_multiple_of(phase.sampling) {
            let before = Instant::now();
            records += operation(&mut *session, &mut random, next)?;
            last = Instant::now();
            latencies.record(last - before);
        } else {
            records += operation(&mut *session, &mut random, next)?;
        }
        next += 1;
        if next.is_multiple_of(LIMIT_CHECK_OPERATIONS) && last - start > phase.limit {
            break;
        }
    }
    Ok(Share { latencies, records, rest: next..end })
}
