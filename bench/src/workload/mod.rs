//! The workloads, and the frame in which they run: one process for each case, engine and repetition.

mod bigger;
mod bulk;
mod durable;
mod kekskv;
mod lab;
mod open;
mod redbtable;
mod ycsb;

use crate::engine::{Kind, Result};
use crate::options::Options;
use crate::results::Figure;

pub use lab::Lab;
pub use open::fill;

/// A group of workloads that share a results file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    /// KeksDB's: 12-byte keys, 500-byte values, random order.
    Kekskv,
    /// The table in redb's README.
    Redbtable,
    /// YCSB A to F.
    Ycsb,
    /// Data four times as large as the cache.
    Bigger,
    /// Durable commits a second.
    Durable,
    /// Sorted bulk load.
    Bulk,
    /// Opening after a clean close and after a kill.
    Open,
}

/// What one process measures: a case of a suite, at a number of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// The suite.
    pub suite: Suite,
    /// The case within it.
    pub name: &'static str,
    /// Threads at work.
    pub threads: usize,
}

impl Suite {
    /// All suites, cheap ones last so that the important figures come first.
    pub const ALL: [Suite; 7] = [
        Suite::Kekskv,
        Suite::Bulk,
        Suite::Durable,
        Suite::Redbtable,
        Suite::Ycsb,
        Suite::Bigger,
        Suite::Open,
    ];

    /// The name on the command line and of the results file.
    pub fn name(self) -> &'static str {
        match self {
            Suite::Kekskv => "kekskv",
            Suite::Redbtable => "redbtable",
            Suite::Ycsb => "ycsb",
            Suite::Bigger => "bigger",
            Suite::Durable => "durable",
            Suite::Bulk => "bulk",
            Suite::Open => "open",
        }
    }

    /// The suite of that name.
    pub fn named(name: &str) -> Option<Suite> {
        Suite::ALL.into_iter().find(|suite| suite.name() == name)
    }

    /// What the suite is, in a line for people.
    pub fn title(self) -> &'static str {
        match self {
            Suite::Kekskv => "12-byte keys, 500-byte values, random order",
            Suite::Redbtable => "redb's README table: 24-byte keys, 150-byte values, every commit durable",
            Suite::Ycsb => "YCSB A to F: 1,000-byte values, zipfian (0.99)",
            Suite::Bigger => "Data four times the cache: 12-byte keys, 500-byte values",
            Suite::Durable => "Durable commits of one row: 16-byte keys, 100-byte values",
            Suite::Bulk => "Bulk load of sorted rows: 12-byte keys, 500-byte values",
            Suite::Open => "Opening: 12-byte keys, 500-byte values",
        }
    }

    /// The processes that the suite runs.
    pub fn cases(self) -> Vec<Case> {
        let cases: &[(&'static str, &[usize])] = match self {
            Suite::Kekskv => &[("log-off", &[1, 4, 16, 64]), ("log-on", &[1, 4, 16, 64])],
            Suite::Redbtable => &[("table", &[1])],
            Suite::Ycsb => &[("mix", &[1, 4])],
            Suite::Bigger => &[("mix", &[1, 4])],
            Suite::Durable => &[("commit", &[1, 8, 64])],
            Suite::Bulk => &[("sorted", &[1])],
            Suite::Open => &[("clean", &[1]), ("killed", &[1])],
        };
        let with_threads = |&(name, threads): &(&'static str, &'static [usize])| {
            threads.iter().map(move |&threads| Case { suite: self, name, threads })
        };
        cases.iter().flat_map(with_threads).collect()
    }
}

/// Measures a case in this process.
pub fn run(case: Case, kind: Kind, options: &Options) -> Result<Vec<Figure>> {
    let mut lab = Lab::new(case, kind, options)?;
    match case.suite {
        Suite::Kekskv => kekskv::run(&mut lab)?,
        Suite::Redbtable => redbtable::run(&mut lab)?,
        Suite::Ycsb => ycsb::run(&mut lab)?,
        Suite::Bigger => bigger::run(&mut lab)?,
        Suite::Durable => durable::run(&mut lab)?,
        Suite::Bulk => bulk::run(&mut lab)?,
        Suite::Open => open::run(&mut lab)?,
    }
    Ok(lab.finish())
}
