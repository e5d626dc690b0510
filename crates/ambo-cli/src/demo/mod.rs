//! demo: a tour that loads real data, works on it, dies in the middle of writing and comes back.

mod bookings;
mod death;
pub mod flights;
mod page;
mod reads;
mod workload;
pub mod writer;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;

use crate::engine::{Access, OrFail, Store, Tuning};
use crate::failure::{Failure, Result};
use crate::load::{self, LoadArguments};
use crate::output::{Form, Output, remark};

/// Where to do the tour.
#[derive(Args, Clone, Debug)]
pub struct DemoArguments {
    /// The database's directory; must not be there yet
    pub dir: PathBuf,
    /// The flights, as CSV
    pub file: PathBuf,
    /// What the flights are, for the page at the end
    #[arg(long, default_value = "the given file")]
    pub source: String,
    /// How long the mixed workload runs, in seconds
    #[arg(long, default_value_t = 5)]
    pub seconds: u64,
    /// Texts that stand for NULL in the file
    #[arg(long, default_value = "NA")]
    pub null: String,
}

/// The table of flights.
const FLIGHTS: &str = "flights";

/// What the tour found out.
struct Account {
    source: String,
    csv_bytes: u64,
    load: Duration,
    /// All files of the database, after settling.
    disk_bytes: u64,
    reads: reads::Report,
    transactions: bookings::Report,
    workload: workload::Report,
    death: death::Report,
    total: Duration,
}

/// Runs the command.
pub fn run(arguments: &DemoArguments, tuning: &Tuning, out: &mut Output) -> Result<()> {
    let dir = arguments.dir.as_path();
    if dir.exists() {
        return Err(Failure::usage(format!(
            "{}: the demo makes its own database; name a new directory",
            dir.display()
        )));
    }
    let start = Instant::now();
    step("1/6 loading the flights into a table with typed columns");
    let load = load_flights(arguments, tuning)?;
    let store = Store::open(dir, Access::Write, tuning)?;
    step("2/6 settling, and reading: single flights, days, all of them");
    store.db.settle().or_fail(dir)?;
    let disk_bytes = directory_bytes(dir)?;
    let reads = reads::run(&store)?;
    step("3/6 transactions: conflict and retry, rollback, savepoint");
    let transactions = bookings::run(&store)?;
    step("4/6 a mixed workload of four threads, audited while it runs");
    let workload = workload::run(&store, Duration::from_secs(arguments.seconds))?;
    store.close()?;
    step("5/6 a process that writes, killed with kill -9");
    let death = death::run(dir, tuning)?;
    step("6/6 done");
    let account = Account {
        source: arguments.source.clone(),
        csv_bytes: std::fs::metadata(&arguments.file)
            .map_err(|error| Failure::file(&arguments.file, &error))?
            .len(),
        load,
        disk_bytes,
        reads,
        transactions,
        workload,
        death,
        total: start.elapsed(),
    };
    page::write(&account, dir, out)?;
    Ok(())
}

fn step(text: &str) {
    remark(&format!("── {text}"));
}

fn load_flights(arguments: &DemoArguments, tuning: &Tuning) -> Result<Duration> {
    let load = LoadArguments {
        dir: arguments.dir.clone(),
        files: vec![arguments.file.clone()],
        table: Some(FLIGHTS.into()),
        key: ["time_hour", "carrier", "flight"].map(String::from).to_vec(),
        null: Some(vec![String::new(), arguments.null.clone()]),
        ..LoadArguments::default()
    };
    let start = Instant::now();
    load::run(&load, tuning, &mut Output::to(std::io::stderr(), Form::Human))?;
    Ok(start.elapsed())
}

/// The sum of the lengths of all files.
fn directory_bytes(dir: &Path) -> Result<u64> {
    let fail = |error: std::io::Error| Failure::file(dir, &error);
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir).map_err(fail)? {
        bytes += entry.and_then(|entry| entry.metadata()).map_err(fail)?.len();
    }
    Ok(bytes)
}

/// Something that must hold does not.
fn broken(what: impl Into<String>) -> Failure {
    Failure::Database(format!("the demo found a mistake: {}", what.into()))
}
