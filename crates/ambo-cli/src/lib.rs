//! The `ambo` command as a library: [`run`] is all of it. What is public besides is for the programs of `ambo-tools`, which take the same
//! options and write in the same forms.

mod arguments;
mod command;
pub mod compression;
mod dump;
pub mod engine;
pub mod failure;
mod index;
pub mod interrupt;
mod load;
pub mod output;
#[cfg(feature = "http")]
mod remote;
mod role;
mod schema;
mod serve;
mod shell;
pub mod storage;
mod view;
mod word;

use std::io::Write;
use std::process::ExitCode;

use ambo_files::{datum, text};
use clap::Parser;

use arguments::Arguments;
use failure::{Failure, Result};
use output::Output;
pub use shell::{
    has_colours,
    settings::Mode,
    show::{Reader, Show, show},
};

/// Does what the words of the command line say.
pub fn run() -> ExitCode {
    let arguments = Arguments::parse();
    let mut out = Output::stdout(arguments.json);
    let result = act(arguments, &mut out);
    end("ambo", result, &mut out)
}

/// Ends a program: says what failed, if anything, and returns its exit code.
pub fn end(program: &str, result: Result<()>, out: &mut Output) -> ExitCode {
    // What was found before a failure is shown too; if nobody reads it, that is the end of it.
    let flushed = out.flush().map_err(Failure::from);
    match result.and(flushed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Some(text) = failure.text() {
                output::remark(&format!("{program}: {text}"));
            }
            failure.code()
        }
    }
}

fn act(arguments: Arguments, out: &mut Output) -> Result<()> {
    let Arguments { dir, shell, command, tuning, .. } = arguments;
    match (dir, command) {
        (_, Some(command)) => command::run(command, &tuning, out),
        (Some(dir), None) => shell::run(&dir, &shell, &tuning, out),
        (None, None) => {
            Err(Failure::usage("which database? `ambo DIR` opens a SQL prompt, `ambo --help` tells more"))
        }
    }
}
