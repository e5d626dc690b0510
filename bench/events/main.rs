//! The suite `events`: records of network flows, conditions on them by each evaluator, and UQI.
//!
//! ```text
//! ambo-events predicates [--rows 20000000] [--runs 5] [--case 0 --evaluator bytecode]
//! ambo-events uqi [--rows 10000000] [--runs 5] [--dir DIR]
//! ```
#![allow(clippy::print_stdout, reason = "a program for the terminal")]
#![allow(clippy::disallowed_methods, reason = "real time and real files are what is measured")]

mod flows;
mod predicates;
mod uqi;

use std::{path::PathBuf, time::Instant};

/// What a run is to do.
struct Settings {
    rows: Option<usize>,
    runs: usize,
    dir: PathBuf,
    /// One condition, by its place.
    case: Option<usize>,
    /// One evaluator, by the beginning of its name; from memory alone, so that `perf stat` sees nothing else.
    evaluator: Option<String>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap_or_default();
    let mut settings = Settings {
        rows: None,
        runs: 5,
        dir: PathBuf::from("target/bench-data/events"),
        case: None,
        evaluator: None,
    };
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "--rows" => settings.rows = Some(value.parse()?),
            "--runs" => settings.runs = value.parse()?,
            "--dir" => settings.dir = value.into(),
            "--case" => settings.case = Some(value.parse()?),
            "--evaluator" => settings.evaluator = Some(value),
            _ => {
                let known = "--rows, --runs, --dir, --case, --evaluator";
                return Err(format!("{name} is no option; there are {known}").into());
            }
        }
    }
    match what.as_str() {
        "predicates" => predicates::run(&settings),
        "uqi" => uqi::run(&settings),
        _ => Err("which case? predicates, or uqi".into()),
    }
}

/// The seconds that the quickest of some runs takes, and what the last one said.
fn quickest<T>(runs: usize, mut act: impl FnMut() -> T) -> (f64, T) {
    let mut least = f64::INFINITY;
    let mut one = || {
        let start = Instant::now();
        let said = act();
        least = least.min(start.elapsed().as_secs_f64());
        said
    };
    let mut said = one();
    for _ in 1..runs.max(1) {
        said = one();
    }
    (least, said)
}
