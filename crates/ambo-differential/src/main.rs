//! Random databases, statements and queries whose answers have to be those of another database, or to fit one another.
//!
//! `ambo-differential [sqlite|duckdb|norec|tlp]... [--databases N] [--steps N] [--seed N] [--dir DIR] [--python PATH] [--whole]`; see
//! `docs/decisions/0028-oracles.md`. `ambo-differential duckdb --script FILE` (or `sqlite`) asks both the statements of a file, each of
//! which ends with `;` at the end of a line.

#![allow(clippy::print_stdout, reason = "a program that tells what it finds")]

mod answer;
mod duckdb;
mod narrow;
mod oracle;
mod pair;
mod parameters;
mod peer;
mod random;
mod reduce;
mod run;
mod script;
mod sqlite;
mod subject;
#[cfg(test)]
mod tests;
mod wide;

use std::{path::PathBuf, process::ExitCode};

use oracle::Oracle;
use random::Random;
use run::{Language, Plan, STEPS, Tally};
use subject::Way;

/// Any failure.
type Failure = Box<dyn std::error::Error + Send + Sync>;
type Result<T> = std::result::Result<T, Failure>;

/// Which oracles run, and over what.
struct Arguments {
    oracles: Vec<String>,
    databases: u64,
    /// Of each database beside another system.
    steps: usize,
    seed: u64,
    dir: PathBuf,
    python: String,
    reduces: bool,
    /// Statements that were written down.
    script: Option<PathBuf>,
}

impl Arguments {
    fn read(words: impl Iterator<Item = String>) -> Result<Self> {
        let mut arguments = Self {
            oracles: Vec::new(),
            databases: 100,
            steps: STEPS,
            seed: 1,
            dir: std::env::temp_dir().join("ambo-differential"),
            python: std::env::var("AMBO_DUCKDB_PYTHON").unwrap_or_else(|_| "python3".into()),
            reduces: true,
            script: None,
        };
        let mut words = words;
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            match word.as_str() {
                "--databases" => arguments.databases = value()?.parse()?,
                "--steps" => arguments.steps = value()?.parse()?,
                "--seed" => arguments.seed = value()?.parse()?,
                "--dir" => arguments.dir = value()?.into(),
                "--python" => arguments.python = value()?,
                "--script" => arguments.script = Some(value()?.into()),
                "--whole" => arguments.reduces = false,
                "sqlite" | "duckdb" | "norec" | "tlp" => arguments.oracles.push(word),
                _ => {
                    return Err(format!(
                        "{word} is neither an oracle (sqlite, duckdb, norec, tlp) nor a flag"
                    )
                    .into());
                }
            }
        }
        Ok(arguments)
    }

    fn run(&self, oracle: &str, tally: &mut Tally) -> Result<()> {
        let plan = |language| Plan {
            language,
            seed: self.seed,
            databases: self.databases,
            steps: self.steps,
            dir: &self.dir,
            reduces: self.reduces,
        };
        let mut tell = |text: &str| println!("{text}");
        if let Some(script) = &self.script {
            let way = Way::new(&mut Random::new(self.seed));
            return match oracle {
                "sqlite" => script::run(script, way, &mut sqlite::Sqlite::new()?, tally, &mut tell),
                "duckdb" => {
                    script::run(script, way, &mut duckdb::DuckDb::new(&self.python)?, tally, &mut tell)
                }
                _ => Err(format!("{oracle} has queries of its own").into()),
            };
        }
        match oracle {
            "sqlite" => plan(Language::Narrow).run(&mut sqlite::Sqlite::new()?, tally, &mut tell),
            "duckdb" => plan(Language::Wide).run(&mut duckdb::DuckDb::new(&self.python)?, tally, &mut tell),
            "norec" => Oracle::NoRec.run(self.seed, self.databases, tally, &mut tell),
            _ => Oracle::Tlp.run(self.seed, self.databases, tally, &mut tell),
        }
    }
}

fn main() -> ExitCode {
    // They are told as differences.
    std::panic::set_hook(Box::new(|_| {}));
    let run = || -> Result<bool> {
        let arguments = Arguments::read(std::env::args().skip(1))?;
        let mut is_alike = true;
        for oracle in &arguments.oracles {
            let mut tally = Tally::default();
            arguments.run(oracle, &mut tally)?;
            println!("{oracle}: {}", tally.report());
            is_alike &= tally.differences.is_empty();
        }
        Ok(is_alike)
    };
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}
