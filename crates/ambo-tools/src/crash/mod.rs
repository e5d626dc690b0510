//! crash-loop: kills a writing process with `kill -9` again and again, and looks for lost and torn writes.
//!
//! A child ([`writer`]) commits transactions with several threads and acknowledges each through a pipe. The parent
//! kills it at a random moment, opens the database and compares it with the [`plan`]: every transaction that was
//! acknowledged is there, at most one more of each thread and crash, each of them whole, and nothing else;
//! then the database checks itself. Some rounds are killed again before anybody looks, so that recovery is
//! interrupted too.

mod plan;
mod verify;
pub mod victim;
pub mod writer;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::bench::mix;
use ambo_cli::engine::Store;
use ambo_cli::failure::{Failure, Result};
use ambo_cli::interrupt;
use ambo_cli::output::{self, Output, remark};
use ambo_cli::storage::StorageName;
use plan::Model;
use writer::WriterArguments;

/// How often to crash, and what.
#[derive(Args, Clone, Debug)]
pub struct CrashArguments {
    /// The database's directory, new or from an earlier `crash-loop` with as many threads
    pub dir: PathBuf,
    /// How many crashes
    #[arg(short, long, default_value_t = 20)]
    pub rounds: u64,
    /// How many writing threads
    #[arg(short, long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub threads: u32,
    /// Chooses the moments of the crashes and the options of the rounds
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Where new tables keep their rows, btree or column [default: some here and some there]
    #[arg(long, value_name = "STORAGE", value_parser = durable)]
    pub storage: Option<StorageName>,
}

/// A storage whose rows outlive their process.
fn durable(text: &str) -> Result<StorageName, String> {
    match StorageName::from_str(text, false)? {
        StorageName::Memory => {
            Err("the rows of memory tables are gone after a crash, as they should be".into())
        }
        storage => Ok(storage),
    }
}

const ROUNDS_PER_REMARK: u64 = 50;

/// What happened in all rounds.
#[derive(Debug, Default)]
struct Tally {
    acknowledged: u64,
    /// Committed, but killed before saying so.
    unsaid: u64,
    verified: u64,
    cut: u64,
    recovery_max: Duration,
}

/// Runs the command.
pub fn run(arguments: &CrashArguments, out: &mut Output) -> Result<()> {
    interrupt::watch();
    let start = Instant::now();
    let mut model = Model::new(arguments.threads);
    let mut tally = Tally::default();
    resume(&arguments.dir, &mut model)?;
    let mut crashes = 0;
    for round in 0..arguments.rounds {
        let dice = mix(arguments.seed.wrapping_mul(1_000_003) ^ round);
        let before = model.acknowledged_total();
        crash_once(arguments, dice, &mut model)?;
        crashes += 1;
        tally.acknowledged += model.acknowledged_total() - before;
        if (round + 1).is_multiple_of(ROUNDS_PER_REMARK) {
            remark(&format!(
                "{} crashes, {} acknowledged transactions",
                round + 1,
                output::count(tally.acknowledged)
            ));
        }
        let last = round + 1 == arguments.rounds || interrupt::raised();
        // One round in four is followed by the next crash before anybody has looked.
        if last || dice >> 60 >= 4 {
            look(&arguments.dir, &mut model, crashes, &mut tally)
                .map_err(|failure| in_round(failure, round, arguments))?;
            crashes = 0;
        }
        if last {
            break;
        }
    }
    report(arguments, &tally, start.elapsed(), out)
}

/// A database of an earlier run is where the model begins.
fn resume(dir: &Path, model: &mut Model) -> Result<()> {
    if dir.join("pages").exists() {
        let store = Store::open(dir, ambo_cli::engine::Access::Write, &Default::default())?;
        verify::resume(&store, model)?;
        store.close()?;
    }
    Ok(())
}

/// Starts a writer, lets it run for a moment and kills it. The model learns what was acknowledged.
fn crash_once(arguments: &CrashArguments, dice: u64, model: &mut Model) -> Result<()> {
    let moment = Duration::from_millis(5 + mix(dice) % 600);
    let words = WriterArguments::of_dice(arguments, dice).to_words();
    for (writer, generation) in victim::run_and_kill(&words, moment)? {
        model.acknowledge(writer, generation);
    }
    Ok(())
}

/// Opens the database and compares.
fn look(dir: &Path, model: &mut Model, crashes: u64, tally: &mut Tally) -> Result<()> {
    let store = Store::open(dir, ambo_cli::engine::Access::Create, &Default::default())?;
    let recovery = store.db.recovery();
    tally.recovery_max = tally.recovery_max.max(recovery.elapsed);
    tally.cut += u64::from(recovery.cut.is_some());
    let unsaid = verify::verify(&store, model, crashes)?;
    tally.unsaid += unsaid;
    tally.verified += 1;
    store.close()
}

fn in_round(failure: Failure, round: u64, arguments: &CrashArguments) -> Failure {
    let text = failure.text().unwrap_or("damage").to_string();
    remark(&format!(
        "crash round {round}, seed {}: {text}; the database is left in {}",
        arguments.seed,
        arguments.dir.display()
    ));
    failure
}

fn report(arguments: &CrashArguments, tally: &Tally, elapsed: Duration, out: &mut Output) -> Result<()> {
    if out.is_json() {
        out.json(&json!({
            "rounds": arguments.rounds,
            "threads": arguments.threads,
            "seed": arguments.seed,
            "acknowledged": tally.acknowledged,
            "unsaid": tally.unsaid,
            "verified": tally.verified,
            "torn_logs": tally.cut,
            "recovery_seconds_max": tally.recovery_max.as_secs_f64(),
            "seconds": elapsed.as_secs_f64(),
        }))?;
        return Ok(());
    }
    writeln!(
        out,
        "{} crashes in {}: {} acknowledged transactions of {} threads, all there, none torn; {} more had been committed \
         without a chance to say so; {} torn log ends; slowest recovery {}",
        output::count(arguments.rounds),
        output::duration(elapsed),
        output::count(tally.acknowledged),
        arguments.threads,
        output::count(tally.unsaid),
        output::count(tally.cut),
        output::duration(tally.recovery_max),
    )?;
    Ok(())
}
