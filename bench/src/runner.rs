//! Runs each case, engine and repetition in a process of its own; suites of codecs have no engines, and all that they
//! compare runs in the process of the case.
//!
//! Peak memory, processor time and written bytes are then the engine's alone, and a crash or an endless
//! loop of one engine is a row in the results, not the end of the suite.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::engine::{Kind, Result};
use crate::options::Options;
use crate::results::{self, Figure, Machine};
use crate::workload::{self, Case, Suite};

/// How often the runner looks whether a process has ended.
const POLL: Duration = Duration::from_millis(50);

/// Runs the suites that were asked for and writes their files.
pub fn run(options: &Options) -> Result<()> {
    for &suite in &options.suites {
        let path = options.results.join(format!("{}.json", suite.name()));
        let mut figures = Vec::new();
        if options.add && path.exists() {
            figures = results::read(&path)?;
        }
        for run in 1..=options.runs {
            for case in cases(suite, options) {
                // Engines follow each other within a case, and another one begins in each repetition: a
                // disturbance of the machine then falls on all, not on one.
                let engines: Vec<Option<Kind>> = if suite.has_engines() {
                    options.engines.iter().copied().map(Some).collect()
                } else {
                    vec![None]
                };
                for turn in 0..engines.len() {
                    let kind = engines[(turn + run - 1) % engines.len()];
                    let fresh = one(case, kind, run, options)?;
                    replace(&mut figures, &fresh);
                    figures.extend(fresh);
                    results::write(&path, &figures)?;
                }
            }
        }
    }
    Ok(())
}

fn cases(suite: Suite, options: &Options) -> Vec<Case> {
    let wanted = |case: &Case| {
        (options.threads.is_empty() || options.threads.contains(&case.threads))
            && (options.child.case.is_empty() || options.child.case == case.name)
    };
    suite.cases().into_iter().filter(wanted).collect()
}

/// Drops old figures that new ones stand for.
fn replace(figures: &mut Vec<Figure>, fresh: &[Figure]) {
    figures.retain(|old| {
        !fresh.iter().any(|new| {
            (&old.workload, &old.engine, old.threads, &old.metric, old.run)
                == (&new.workload, &new.engine, new.threads, &new.metric, new.run)
        })
    });
}

/// Runs one process; its failure becomes a figure.
fn one(case: Case, kind: Option<Kind>, run: usize, options: &Options) -> Result<Vec<Figure>> {
    let name = kind.map_or(case.name, Kind::name);
    let dir = options.dir.join(format!("{}-{name}-{}", case.suite.name(), std::process::id()));
    let out = dir.with_extension("figures");
    fs::create_dir_all(&options.dir)?;
    remove(&dir)?;
    warm_memory(options.warm_mib);
    let start = Instant::now();
    let status = wait(spawn(case, kind, run, options, &dir, &out)?, options.timeout);
    let figures = match status {
        Ok(status) if status.success() => results::read(&out),
        Ok(status) => Err(format!("ended with {status}").into()),
        Err(error) => Err(error),
    };
    let figures = figures.unwrap_or_else(|error| vec![failure(case, kind, run, options, &error.to_string())]);
    remove(&dir)?;
    remove(&out)?;
    let seconds = start.elapsed().as_secs_f64();
    let outcome = figures.iter().find_map(|figure| figure.failure.as_deref()).unwrap_or("done");
    eprintln!(
        "{} {} {} threads, {name}, run {run}: {outcome} in {seconds:.1} s",
        case.suite.name(),
        case.name,
        case.threads,
    );
    Ok(figures)
}

/// Touches memory and gives it back, so that each process finds memory that the machine has at hand. On a virtual machine the first touch
/// of a page that the host has taken back costs microseconds, and whoever ran first would pay for all.
fn warm_memory(mib: usize) {
    const PAGE: usize = 4096;
    let mut memory: Vec<u8> = Vec::with_capacity(mib << 20);
    for page in memory.spare_capacity_mut().chunks_mut(PAGE) {
        page[0].write(1);
    }
    std::hint::black_box(&mut memory);
}

fn remove(path: &Path) -> Result<()> {
    if path.is_dir() {
        fs::remove_dir_all(path)?;
    } else if path.exists() {
        fs::remove_file(path)?;
    }
    Ok(())
}

fn spawn(
    case: Case,
    kind: Option<Kind>,
    run: usize,
    options: &Options,
    dir: &Path,
    out: &Path,
) -> Result<Child> {
    let program = std::env::current_exe()?.display().to_string();
    let mut words = options.wrap.clone();
    words.push(program);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).arg("child");
    command.args(["--suite", case.suite.name(), "--case", case.name]);
    if let Some(kind) = kind {
        command.args(["--engines", kind.name()]);
    }
    command.args(["--threads", &case.threads.to_string(), "--run", &run.to_string()]);
    command.args(["--records", &options.records_of(case).to_string()]);
    command.args(["--scale", &options.scale.to_string(), "--seconds", &options.seconds.to_string()]);
    command.arg("--inputs").arg(options.dir.join("inputs"));
    command.args(["--load-seconds", &options.load_seconds.to_string()]);
    command.args(["--buffer-mib", &options.buffer_mib.to_string()]);
    if let Some(mib) = options.cache_mib {
        command.args(["--cache-mib", &mib.to_string()]);
    }
    command.arg("--dir").arg(dir).arg("--out").arg(out).stdin(Stdio::null());
    Ok(command.spawn()?)
}

/// Waits for a process, and ends it after the timeout.
fn wait(mut child: Child, timeout: u64) -> Result<ExitStatus> {
    let deadline = Instant::now() + Duration::from_secs(timeout);
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        std::thread::sleep(POLL);
    }
    child.kill()?;
    child.wait()?;
    Err(format!("not done after {timeout} s").into())
}

fn failure(case: Case, kind: Option<Kind>, run: usize, options: &Options, reason: &str) -> Figure {
    Figure {
        workload: format!("{}/{}", case.suite.name(), case.name),
        engine: kind.map_or(case.name, Kind::name).into(),
        threads: case.threads,
        metric: "failure".into(),
        unit: String::new(),
        value: 0.0,
        run,
        records: options.records_of(case),
        machine: Machine::here(&options.dir),
        failure: Some(reason.to_owned()),
    }
}

/// The measured process: one case on one engine.
pub fn child(options: &Options) -> Result<()> {
    let (case, kind) = case_of(options)?;
    let figures = workload::run(case, kind, options)?;
    results::write(&options.child.out, &figures)
}

/// The case and engine that a process of the runner is told.
pub fn case_of(options: &Options) -> Result<(Case, Kind)> {
    let (Some(&suite), Some(&kind)) = (options.suites.first(), options.engines.first()) else {
        return Err("a measured process needs a suite and an engine".into());
    };
    let threads = options.threads.first().copied();
    let fits = |case: &Case| case.name == options.child.case && threads.is_none_or(|t| t == case.threads);
    let case = suite.cases().into_iter().find(fits);
    Ok((case.ok_or_else(|| format!("{} has no case {}", suite.name(), options.child.case))?, kind))
}
