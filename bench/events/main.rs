//! The suite `events`: records of network flows, conditions on them by each evaluator, UQI, and aggregates that are asked again.
//!
//! ```text
//! ambo-events predicates [--rows 20000000] [--runs 5] [--case 0 --evaluator bytecode]
//! ambo-events uqi [--rows 10000000] [--runs 5] [--dir DIR]
//! ambo-events again [--rows 20000000] [--runs 5] [--dir DIR]
//! ```
#![allow(clippy::print_stdout, reason = "a program for the terminal")]
#![allow(clippy::disallowed_methods, reason = "real time and real files are what is measured")]

mod again;
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
        "again" => again::run(&settings),
        _ => Err("which case? predicates, uqi or again".into()),
    }
}

/// The seconds of processor time that this process has had.
fn processor_time() -> f64 {
    let clock = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    clock.tv_sec as f64 + clock.tv_nsec as f64 / 1e9
}

/// What the quickest of some runs takes, and what the last one said.
struct Taken<T> {
    /// Seconds of all processors together: what other programs do meanwhile is not in it.
    processor: f64,
    /// Seconds on the wall.
    wall: f64,
    said: T,
}

fn quickest<T>(runs: usize, mut act: impl FnMut() -> T) -> Taken<T> {
    let (mut processor, mut wall) = (f64::INFINITY, f64::INFINITY);
    let mut one = || {
        let (start, before) = (Instant::now(), processor_time());
        let said = act();
        processor = processor.min(processor_time() - before);
        wall = wall.min(start.elapsed().as_secs_f64());
        said
    };
    let mut said = one();
    for _ in 1..runs.max(1) {
        said = one();
    }
    Taken { processor, wall, said }
}
