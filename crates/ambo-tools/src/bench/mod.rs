//! bench: how fast puts, gets and scans are on this machine, in a table of its own.
//!
//! Keys are the numbers 0 … N-1 in a fixed shuffled order, so every get finds something and two runs do the
//! same work.

mod order;
mod phase;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use ambo::{Seek, Table, TableDefinition};
use clap::Args;
use serde_json::json;

use ambo_cli::compression::CompressionArguments;
use ambo_cli::engine::{Access, OrFail, Store, Tuning};
use ambo_cli::failure::{Failure, Result};
use ambo_cli::interrupt;
use ambo_cli::output::{self, Align, Output};
use order::Order;

pub use order::mix;
use phase::{Measured, Phase};

/// What to measure.
#[derive(Args, Clone, Debug)]
pub struct BenchArguments {
    /// The database's directory; made when there is none
    pub dir: PathBuf,
    /// How many records
    #[arg(short = 'n', long, default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..=u64::from(u32::MAX)))]
    pub records: u64,
    /// How many threads
    #[arg(short, long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: u16,
    /// Bytes of a key
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u16).range(10..=1024))]
    pub key_bytes: u16,
    /// Bytes of a value
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(0..=1 << 26))]
    pub value_bytes: u32,
    /// How the table is compressed.
    #[command(flatten)]
    pub compression: CompressionArguments,
    /// Keep the table `bench` afterwards
    #[arg(long)]
    pub keep: bool,
}

const TABLE: &str = "bench";
const RANGE_RECORDS: u64 = 10;

/// Runs the command.
pub fn run(arguments: &BenchArguments, tuning: &Tuning, out: &mut Output) -> Result<()> {
    interrupt::watch();
    let store = Store::open(&arguments.dir, Access::Create, tuning)?;
    if store.find_table(TABLE)?.is_some() {
        return Err(Failure::usage(format!(
            "{0}: table {TABLE} is there already; `ambo {0} -c 'drop {TABLE}'` removes it",
            store.dir.display()
        )));
    }
    let definition = arguments.compression.options().apply(TableDefinition::key_value(TABLE));
    let table = store.db.create_table(definition).or_fail(&store.dir)?;
    let measured = phases(arguments, &store, &table);
    if !arguments.keep {
        drop(table);
        store.db.drop_table(TABLE).or_fail(&store.dir)?;
    }
    report(arguments, &measured?, out)?;
    store.close()
}

/// All phases; an interrupted one is an error.
fn phases(arguments: &BenchArguments, store: &Store, table: &Table) -> Result<Vec<Measured>> {
    let order = Order::new(arguments.records, u64::from(arguments.threads));
    let value = vec![b'v'; arguments.value_bytes as usize];
    let key_bytes = usize::from(arguments.key_bytes);
    let phase = |name, seed, operation: &(dyn Fn(&[u8]) -> ambo::Result<u64> + Sync)| {
        Phase { name, order: &order, seed, key_bytes, threads: arguments.threads }
            .run(operation)
            .or_fail(&store.dir)
    };
    let put = |key: &[u8]| {
        // Values that begin with their key are not all the same for a compressor.
        let mut value = value.clone();
        let shared = key.len().min(value.len());
        value[..shared].copy_from_slice(&key[..shared]);
        table.put(key, &value).map(|()| 1)
    };
    let get = |key: &[u8]| {
        table.get_with(key, |value| std::hint::black_box(value.len())).map(|found| found.map_or(0, |_| 1))
    };
    let range = |key: &[u8]| {
        let mut cursor = table.cursor()?;
        let mut found = cursor.seek(Seek::Ge(key))?;
        let mut records = 0;
        while found && records < RANGE_RECORDS {
            std::hint::black_box(cursor.value()?.len());
            records += 1;
            found = cursor.next()?;
        }
        Ok(records)
    };
    let mut measured = vec![phase("put", 1, &put)?, phase("get, fresh", 2, &get)?];
    measured.push(once("compact", arguments.records, || store.db.compact()).or_fail(&store.dir)?);
    measured.push(phase("get, compacted", 3, &get)?);
    measured.push(phase("range of 10", 4, &range)?);
    measured.push(once("scan", arguments.records, || scan(table)).or_fail(&store.dir)?);
    match interrupt::raised() {
        true => Err(Failure::Interrupted("stopped by Ctrl-C; there are no figures".into())),
        false => Ok(measured),
    }
}

fn scan(table: &Table) -> ambo::Result<()> {
    let mut cursor = table.cursor()?;
    let mut found = cursor.seek(Seek::First)?;
    while found && !interrupt::raised() {
        std::hint::black_box((cursor.key().len(), cursor.value()?.len()));
        found = cursor.next()?;
    }
    Ok(())
}

fn once(
    name: &'static str,
    records: u64,
    action: impl FnOnce() -> ambo::Result<()>,
) -> ambo::Result<Measured> {
    let start = Instant::now();
    action()?;
    Ok(Measured { name, records, missing: 0, elapsed: start.elapsed(), latency: None })
}

fn report(arguments: &BenchArguments, measured: &[Measured], out: &mut Output) -> Result<()> {
    if out.is_json() {
        let phases: Vec<_> = measured.iter().map(Measured::to_json).collect();
        out.json(&json!({
            "records": arguments.records,
            "threads": arguments.threads,
            "key_bytes": arguments.key_bytes,
            "value_bytes": arguments.value_bytes,
            "phases": phases,
        }))?;
    } else {
        let right = |name| (name, Align::Right);
        let headings = ["records", "time", "records/s", "p50", "p99", "p99.9", "max"].map(right);
        let mut table = output::Table::new([("phase", Align::Left)].into_iter().chain(headings));
        measured.iter().for_each(|phase| table.row(phase.row()));
        table.write(out, true)?;
    }
    let missing: u64 = measured.iter().map(|phase| phase.missing).sum();
    match missing {
        0 => Ok(()),
        n => Err(Failure::Database(format!(
            "{} keys were put and not found; run `ambo check`",
            output::count(n)
        ))),
    }
}

/// A latency of so many nanoseconds.
fn nanoseconds(nanoseconds: u64) -> String {
    output::duration(Duration::from_nanos(nanoseconds))
}
