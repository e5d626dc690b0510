//! The workloads, and the frame in which they run: one process for each case, engine and repetition.

mod bigger;
mod bulk;
#[cfg(feature = "codecs")]
mod codecs;
#[cfg(feature = "codecs")]
mod columns;
mod durable;
mod kekskv;
#[cfg(feature = "codecs")]
mod keys;
mod lab;
mod open;
mod redbtable;
#[cfg(feature = "codecs")]
mod sheet;
#[cfg(feature = "codecs")]
mod space;
#[cfg(feature = "sql")]
mod sql;
#[cfg(feature = "codecs")]
mod tables;
#[cfg(feature = "codecs")]
mod texts;
mod ycsb;

use crate::engine::{Kind, Result};
use crate::options::Options;
use crate::results::Figure;
use crate::statistics::Summary;

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
    /// Codecs in memory, each beside the crates that do the same.
    Codecs,
    /// Tables with compressed keys or records.
    CompressedTables,
    /// Sizes and decoding of columns.
    Space,
    /// Column tables beside DuckDB and SQLite.
    Columns,
    /// SQL beside SQLite and DuckDB.
    Sql,
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
    pub const ALL: [Suite; 12] = [
        Suite::Kekskv,
        Suite::Bulk,
        Suite::Durable,
        Suite::Redbtable,
        Suite::Ycsb,
        Suite::Bigger,
        Suite::Open,
        Suite::Codecs,
        Suite::CompressedTables,
        Suite::Space,
        Suite::Columns,
        Suite::Sql,
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
            Suite::Codecs => "codecs",
            Suite::CompressedTables => "compressed-tables",
            Suite::Space => "space",
            Suite::Columns => "columns",
            Suite::Sql => "sql",
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
            Suite::Codecs => "Codecs in memory",
            Suite::CompressedTables => "Tables with compressed keys and records",
            Suite::Space => "Columns: size and decoding",
            Suite::Columns => "Column tables beside DuckDB and SQLite",
            Suite::Sql => "SQL beside SQLite and DuckDB",
        }
    }

    /// Whether the suite runs on engines, one after the other; in the others each case compares what it likes.
    pub fn has_engines(self) -> bool {
        !matches!(self, Suite::Codecs | Suite::CompressedTables | Suite::Space | Suite::Columns | Suite::Sql)
    }

    /// Whether a row of a suite without engines is plotted; all are in the tables.
    pub fn plots(self, row: &Summary) -> bool {
        match self {
            Suite::Space => row.key.workload.ends_with(": total"),
            Suite::Codecs => row.key.metric == "decode",
            Suite::CompressedTables => row.key.workload.starts_with("compressed-tables/keys:"),
            Suite::Columns => {
                let is_of = |group: &str| row.key.workload.starts_with(group);
                row.medians.len() > 1
                    && match row.key.metric.as_str() {
                        "rate" | "size" => true,
                        "p50" => is_of("columns/seeks"),
                        "time" => is_of("columns/lineitem"),
                        _ => false,
                    }
            }
            _ => true,
        }
    }

    /// Whether this program was built with what the suite compares.
    pub fn is_built(self) -> bool {
        #[allow(clippy::needless_bool, reason = "the branches are constants of the features that are built")]
        if self.has_engines() {
            cfg!(feature = "stores")
        } else if self == Suite::Sql {
            cfg!(feature = "sql")
        } else {
            cfg!(feature = "codecs")
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
            Suite::Codecs => &[("integers", &[1]), ("records", &[1]), ("columns", &[1]), ("bitmaps", &[1])],
            Suite::CompressedTables => &[
                ("dense", &[1]),
                ("clustered", &[1]),
                ("random", &[1]),
                ("texts", &[1]),
                ("sparse", &[1]),
                ("log", &[1]),
            ],
            Suite::Space => {
                &[("lineitem", &[1]), ("orders", &[1]), ("flights", &[1]), ("doubles", &[1]), ("words", &[1])]
            }
            Suite::Columns => &[
                ("wide", &[2]),
                ("random-upserts", &[2]),
                ("uuids", &[2]),
                ("changes", &[2]),
                ("day", &[2]),
                ("mixed", &[2]),
                ("lineitem", &[2]),
                ("seeks", &[2]),
            ],
            Suite::Sql => {
                &[("points", &[1]), ("bank", &[1, 8]), ("scans", &[2]), ("tpch", &[2]), ("tpcds", &[2])]
            }
        };
        let with_threads = |&(name, threads): &(&'static str, &'static [usize])| {
            threads.iter().map(move |&threads| Case { suite: self, name, threads })
        };
        cases.iter().flat_map(with_threads).collect()
    }
}

impl Case {
    /// Records in the data set unless the user says otherwise.
    pub fn records(self) -> u64 {
        match self.suite {
            Suite::CompressedTables => 10_000_000,
            Suite::Codecs => 131_072,
            Suite::Space => 1_000_000,
            #[cfg(feature = "codecs")]
            Suite::Columns => columns::records(self),
            #[cfg(feature = "sql")]
            Suite::Sql => sql::records(self),
            _ => 5_000_000,
        }
    }
}

/// Measures a case in this process.
pub fn run(case: Case, kind: Kind, options: &Options) -> Result<Vec<Figure>> {
    if !case.suite.has_engines() {
        return run_codecs(case, options);
    }
    let mut lab = Lab::new(case, kind, options)?;
    match case.suite {
        Suite::Kekskv => kekskv::run(&mut lab)?,
        Suite::Redbtable => redbtable::run(&mut lab)?,
        Suite::Ycsb => ycsb::run(&mut lab)?,
        Suite::Bigger => bigger::run(&mut lab)?,
        Suite::Durable => durable::run(&mut lab)?,
        Suite::Bulk => bulk::run(&mut lab)?,
        Suite::Open => open::run(&mut lab)?,
        Suite::Codecs | Suite::CompressedTables | Suite::Space | Suite::Columns | Suite::Sql => {
            unreachable!("suites without engines")
        }
    }
    Ok(lab.finish())
}

#[cfg(feature = "codecs")]
fn run_codecs(case: Case, options: &Options) -> Result<Vec<Figure>> {
    let mut sheet = sheet::Sheet::new(case, options)?;
    match case.suite {
        Suite::Codecs => codecs::run(&mut sheet)?,
        Suite::CompressedTables => tables::run(&mut sheet)?,
        Suite::Columns => columns::run(&mut sheet)?,
        #[cfg(feature = "sql")]
        Suite::Sql => sql::run(&mut sheet)?,
        _ => space::run(&mut sheet)?,
    }
    Ok(sheet.finish())
}

#[cfg(not(feature = "codecs"))]
fn run_codecs(case: Case, _: &Options) -> Result<Vec<Figure>> {
    Err(format!("{}: this program was built without the feature `codecs`", case.suite.name()).into())
}
