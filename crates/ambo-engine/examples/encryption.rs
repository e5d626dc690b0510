//! Measures what encryption costs, and how evenly writers go.
//!
//! `cargo run --release -p ambo-engine --example encryption [-- ROWS]`. Rows of 12 + 500 bytes are put one by one by one thread with the
//! log on and no sync, while memtables are flushed behind; then compacted; then read in random order with a cache that has a tenth of
//! them, and scanned. Plain and encrypted databases take turns; each line is the best of three runs but for the waits, which are the worst.

#![allow(clippy::print_stdout, reason = "a program that prints its measurements")]

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use ambo_engine::{
    Result,
    catalog::TableDefinition,
    database::{Engine, Options, Running, Seek, Sync},
    io::{Env, sim::split_mix},
    seal::{Key, KeySource},
};

const RUNS: usize = 3;
const VALUE_BYTES: usize = 500;
const READS: u64 = 200_000;

fn key(number: u64) -> [u8; 12] {
    let mut key = [0; 12];
    key[4..].copy_from_slice(&number.to_be_bytes());
    key
}

fn value(number: u64) -> Vec<u8> {
    let mut state = number;
    (0..VALUE_BYTES.div_ceil(8)).flat_map(|_| split_mix(&mut state).to_le_bytes()).take(VALUE_BYTES).collect()
}

/// What a run took.
#[derive(Clone, Copy)]
struct Times {
    put: Duration,
    put_half: Duration,
    put_most: Duration,
    put_longest: Duration,
    get: Duration,
    scan: Duration,
}

fn options(key: Option<&KeySource>, rows: u64) -> Options {
    Options {
        key: key.cloned(),
        sync: Sync::Off,
        cache_bytes: ((rows as usize * VALUE_BYTES) / 10).max(1 << 20),
        ..Options::default()
    }
}

/// The mean of a put, half of them, all but one in ten thousand, and the longest.
fn puts(engine: &Arc<Engine>, rows: u64) -> Result<[Duration; 4]> {
    let table = engine.create_table(TableDefinition::key_value("t"))?;
    let values: Vec<_> = (0..1000).map(value).collect();
    let mut each = Vec::with_capacity(rows as usize);
    let mut state = 1;
    let start = Instant::now();
    for number in 0..rows {
        // Each key once, in no order.
        let place = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ split_mix(&mut state) >> 60;
        let before = Instant::now();
        engine.put(table, &key(place), &values[number as usize % values.len()])?;
        each.push(before.elapsed());
    }
    let mean = start.elapsed() / rows as u32;
    each.sort_unstable();
    let at = |share: f64| each[((each.len() - 1) as f64 * share) as usize];
    Ok([mean, at(0.5), at(0.9999), at(1.0)])
}

fn run(key_source: Option<&KeySource>, rows: u64) -> Result<Times> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let open = || {
        let (engine, _) = Engine::open(Env::os(dir.path(), true)?, options(key_source, rows))?;
        Running::start(engine)
    };
    let running = open()?;
    let [put, put_half, put_most, put_longest] = puts(running.engine(), rows)?;
    running.engine().compact()?;
    running.close()?;
    drop(running);

    let running = open()?;
    let engine = running.engine();
    let table = engine.current().catalog.find("t")?.0;
    let snapshot = engine.snapshot();
    let mut keys = Vec::new();
    let start = Instant::now();
    let mut cursor = snapshot.cursor(table)?;
    let mut there = cursor.seek(Seek::First)?;
    while there {
        keys.push(cursor.key().to_vec());
        std::hint::black_box(cursor.value()?);
        there = cursor.next()?;
    }
    let scan = start.elapsed() / keys.len() as u32;
    let mut state = 7;
    let start = Instant::now();
    for _ in 0..READS {
        let key = &keys[split_mix(&mut state) as usize % keys.len()];
        assert!(snapshot.get(table, key)?.is_some(), "it was put");
    }
    let get = start.elapsed() / READS as u32;
    drop(cursor);
    drop(snapshot);
    running.close()?;
    Ok(Times { put, put_half, put_most, put_longest, get, scan })
}

fn main() -> Result<()> {
    let rows = std::env::args().nth(1).and_then(|rows| rows.parse().ok()).unwrap_or(1_000_000);
    let key = KeySource::from(Key::random()?);
    let mut results: [Vec<Times>; 2] = Default::default();
    for _ in 0..RUNS {
        results[0].push(run(None, rows)?);
        results[1].push(run(Some(&key), rows)?);
    }
    println!("{rows} rows of 12 + {VALUE_BYTES} bytes; times of one row");
    println!("| | put, mean | half | 99.99 % | longest | get, a tenth in the cache | scan |");
    println!("|---|---|---|---|---|---|---|");
    for (name, runs) in ["plain", "encrypted"].iter().zip(&results) {
        let best = |of: fn(&Times) -> Duration| runs.iter().map(of).min().expect("there are runs");
        let worst = |of: fn(&Times) -> Duration| runs.iter().map(of).max().expect("there are runs");
        println!(
            "| {name} | {:?} | {:?} | {:?} | {:?} | {:?} | {:?} |",
            best(|run| run.put),
            best(|run| run.put_half),
            worst(|run| run.put_most),
            worst(|run| run.put_longest),
            best(|run| run.get),
            best(|run| run.scan),
        );
    }
    Ok(())
}
