//! Measures what compressing log groups saves and costs.
//!
//! `cargo run --release -p ambo-engine --example log_compression [-- ROWS]`. Rows are committed one by one or a hundred at a time, by one
//! thread or eight, and stay in the memtable, so the log is all that is written. Each line is the best of three runs; runs with and without
//! compression take turns.

#![allow(clippy::print_stdout, reason = "a program that prints its measurements")]

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use ambo_engine::{
    catalog::TableDefinition,
    database::{Engine, Options, Sync},
    io::{Env, sim::split_mix},
    log::Operation,
    record::Record,
};

const RUNS: usize = 3;

/// What a value looks like.
#[derive(Clone, Copy)]
enum Values {
    /// An order as JSON, some 200 bytes.
    Json,
    /// 500 bytes that no codec makes smaller.
    Random,
    /// 8 bytes.
    Short,
}

impl Values {
    fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON, 200 bytes",
            Self::Random => "random, 500 bytes",
            Self::Short => "counters, 8 bytes",
        }
    }

    fn value(self, row: u64) -> Vec<u8> {
        let mut state = row;
        let mut random = |n: u64| split_mix(&mut state) % n;
        match self {
            Self::Json => format!(
                "{{\"order\":{row},\"customer\":\"C{:06}\",\"status\":\"{}\",\"priority\":\"{}\",\"lines\":[{{\"part\":{},\
                 \"quantity\":{},\"price\":{}.{:02}}},{{\"part\":{},\"quantity\":{},\"price\":{}.{:02}}}],\"clerk\":\"Clerk#{:05}\"}}",
                random(1_000_000),
                ["open", "shipped", "returned"][random(3) as usize],
                ["urgent", "high", "medium", "low"][random(4) as usize],
                random(200_000),
                random(50),
                random(2000),
                random(100),
                random(200_000),
                random(50),
                random(2000),
                random(100),
                random(1000),
            )
            .into_bytes(),
            Self::Random => (0..63).flat_map(|_| split_mix(&mut state).to_le_bytes()).take(500).collect(),
            Self::Short => random(1000).to_le_bytes().to_vec(),
        }
    }
}

#[derive(Clone, Copy)]
struct Workload {
    values: Values,
    threads: u64,
    batch: u64,
    sync: Sync,
    rows: u64,
}

struct Measured {
    elapsed: Duration,
    cpu: Duration,
    log_bytes: u64,
}

fn run(workload: Workload, log_compression: bool) -> Measured {
    let dir = tempfile::tempdir().expect("a directory");
    let options = Options {
        memtable_bytes: 4 << 30,
        log_compression,
        sync: workload.sync,
        background_threads: false,
        ..Options::default()
    };
    let open =
        || Engine::open(Env::os(dir.path(), true).expect("a directory"), options.clone()).expect("opens");
    let engine = Arc::new(open().0);
    let table = engine.create_table(TableDefinition::key_value("t")).expect("a table");
    let rows: Vec<_> =
        (0..workload.rows).map(|row| (row.to_be_bytes(), workload.values.value(row))).collect();
    let share = rows.len() / workload.threads as usize;
    let (start, cpu) = (Instant::now(), cpu_time());
    thread::scope(|scope| {
        for rows in rows.chunks(share) {
            let engine = &engine;
            scope.spawn(move || {
                for batch in rows.chunks(workload.batch as usize) {
                    let operations: Vec<_> = batch
                        .iter()
                        .map(|(key, value)| Operation { table, key, record: Record::inline(value) })
                        .collect();
                    engine.write_batch(&operations, None).expect("it is written");
                }
            });
        }
    });
    let (elapsed, cpu) = (start.elapsed(), cpu_time() - cpu);
    drop(engine);
    Measured { elapsed, cpu, log_bytes: open().1.log_bytes }
}

/// Processor time of all threads so far, in steps of 10 ms.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

fn main() {
    let rows: u64 = std::env::args().nth(1).map_or(400_000, |rows| rows.parse().expect("a number of rows"));
    println!(
        "| values | sync | threads | rows a commit | log bytes a row, raw / LZ4 | rows/s, raw / LZ4 | µs of processor a row, raw / LZ4 |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|");
    for values in [Values::Json, Values::Random, Values::Short] {
        for (sync, threads, batch, part) in [
            (Sync::Off, 1, 1, 1),
            (Sync::Off, 8, 1, 1),
            (Sync::Off, 1, 100, 1),
            (Sync::Commit, 8, 1, 40),
            (Sync::Commit, 1, 100, 2),
        ] {
            let workload = Workload { values, threads, batch, sync, rows: rows / part };
            let runs: Vec<_> = (0..RUNS).map(|_| [false, true].map(|on| run(workload, on))).collect();
            let best = |on: usize, of: fn(&Measured) -> f64| {
                runs.iter().map(|run| of(&run[on])).fold(f64::INFINITY, f64::min)
            };
            let n = workload.rows as f64;
            let pair = |of: fn(&Measured) -> f64| (best(0, of), best(1, of));
            let bytes = pair(|run| run.log_bytes as f64);
            let seconds = pair(|run| run.elapsed.as_secs_f64());
            let cpu = pair(|run| run.cpu.as_secs_f64());
            println!(
                "| {} | {} | {threads} | {batch} | {:.0} / {:.0} | {:.0} / {:.0} | {:.2} / {:.2} |",
                values.name(),
                if sync == Sync::Commit { "commit" } else { "off" },
                bytes.0 / n,
                bytes.1 / n,
                n / seconds.0,
                n / seconds.1,
                cpu.0 / n * 1e6,
                cpu.1 / n * 1e6,
            );
        }
    }
}
