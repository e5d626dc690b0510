//! What the makefile runs beside the tests: the tour of `make demo`, the crash loop of `make crash`, and a measurement of this machine.
//! They use a database as any program does, and are not part of the `ambo` command.

mod bench;
mod crash;
mod demo;

use std::{path::PathBuf, process::ExitCode};

use ambo_cli::{engine::Tuning, failure::Result, output::Output};
use clap::{Parser, Subcommand};

/// Tools for those who work on Ambo.
#[derive(Parser, Debug)]
#[command(name = "ambo-tools", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Print JSON for programs: one document, or one line a record
    #[arg(long, global = true)]
    json: bool,
    /// Tuning.
    #[command(flatten)]
    tuning: Tuning,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Measure puts, gets and scans on this machine
    Bench(bench::BenchArguments),
    /// Kill a writing process again and again, and look for lost writes
    #[command(name = "crash-loop")]
    Crash(crash::CrashArguments),
    /// The process that `crash-loop` kills
    #[command(hide = true)]
    CrashWriter(crash::writer::WriterArguments),
    /// The tour that `make demo` gives
    Demo(demo::DemoArguments),
    /// The process that `demo` kills
    #[command(hide = true)]
    DemoWriter(demo::writer::WriterArguments),
    /// Write made-up flights, the same on every machine
    DemoData {
        /// The directory for the CSV files
        dir: PathBuf,
        /// How many flights
        #[arg(long, value_name = "N", default_value_t = demo::data::FLIGHTS, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
        flights: u64,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut out = Output::stdout(arguments.json);
    let result = act(arguments.command, &arguments.tuning, &mut out);
    ambo_cli::end("ambo-tools", result, &mut out)
}

fn act(command: Command, tuning: &Tuning, out: &mut Output) -> Result<()> {
    match command {
        Command::Bench(arguments) => bench::run(&arguments, tuning, out),
        Command::Crash(arguments) => crash::run(&arguments, out),
        Command::CrashWriter(arguments) => crash::writer::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments, tuning, out),
        Command::DemoWriter(arguments) => demo::writer::run(&arguments),
        Command::DemoData { dir, flights } => demo::data::write(&dir, flights),
    }
}
