//! The `ambo` command.

mod arguments;
mod bench;
mod command;
mod compression;
mod crash;
mod demo;
mod dump;
mod engine;
mod failure;
mod index;
mod interrupt;
mod load;
mod output;
mod schema;
mod shell;
mod storage;
mod view;
mod word;

use std::io::Write;
use std::process::ExitCode;

use ambo_files::{datum, text};
use clap::Parser;

use arguments::Arguments;
use failure::{Failure, Result};
use output::Output;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut out = Output::stdout(arguments.json);
    let result = run(arguments, &mut out);
    // What was found before a failure is shown too; if nobody reads it, that is the end of it.
    let flushed = out.flush().map_err(Failure::from);
    match result.and(flushed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Some(text) = failure.text() {
                output::remark(&format!("ambo: {text}"));
            }
            failure.code()
        }
    }
}

fn run(arguments: Arguments, out: &mut Output) -> Result<()> {
    let Arguments { dir, shell, command, tuning, .. } = arguments;
    match (dir, command) {
        (_, Some(command)) => command::run(command, &tuning, out),
        (Some(dir), None) => shell::run(&dir, &shell, &tuning, out),
        (None, None) => {
            Err(Failure::usage("which database? `ambo DIR` opens a SQL prompt, `ambo --help` tells more"))
        }
    }
}
