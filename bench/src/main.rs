//! Comparisons of Ambo with RocksDB, LMDB, redb, fjall and SQLite, and of its codecs with their peers. `ambo-bench --help` tells how.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]
#![allow(clippy::disallowed_methods, reason = "real time and real files are what is measured")]

mod contender;
mod data;
mod engine;
mod measure;
mod options;
mod random;
mod report;
mod results;
mod runner;
mod statistics;
#[cfg(feature = "codecs")]
mod timing;
mod workload;

use std::process::ExitCode;

use engine::Result;
use options::{HELP, Options};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ambo-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut arguments = std::env::args().skip(1).peekable();
    let command = match arguments.peek() {
        Some(word) if !word.starts_with("--") => arguments.next().unwrap_or_default(),
        _ => "run".into(),
    };
    if command == "help" || arguments.peek().is_some_and(|word| word == "--help") {
        print!("{HELP}");
        return Ok(());
    }
    let options = Options::parse(arguments)?;
    match command.as_str() {
        "run" => {
            eprintln!("one reading of the clock takes {:.0} ns", measure::clock_cost_ns());
            runner::run(&options)?;
            report::write(&options)
        }
        "report" => report::write(&options),
        "child" => runner::child(&options),
        "fill" => {
            let (case, kind) = runner::case_of(&options)?;
            workload::fill(case, kind, &options)
        }
        _ => Err(format!("unknown command {command}; --help lists them").into()),
    }
}
