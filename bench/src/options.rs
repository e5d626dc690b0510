//! The command line.

use std::path::PathBuf;

use crate::engine::{Kind, Result};
use crate::workload::{Case, Suite};

/// What the program prints when asked for help.
pub const HELP: &str = "\
ambo-bench: comparisons of Ambo with other engines, codecs and formats

  ambo-bench [run] [FLAGS]     run suites, write SUITE.json, print tables, draw plots
  ambo-bench report [FLAGS]    print tables and draw plots from the SUITE.json files

  --suite LIST      of kekskv, redbtable, ycsb, bigger, durable, bulk, open (built with the feature `stores`),
                    codecs, compressed-tables, space, columns (with the feature `codecs`), sql (with the feature `sql`);
                    default: all that are built
  --case NAME       only this case of the suites (default: all)
  --engines LIST    of ambo, rocksdb, lmdb, redb, fjall, sqlite (default: all)
  --threads LIST    only cases with these numbers of threads (default: all)
  --records N       records in the data set; k and M are understood (default: 5M; compressed-tables: 10M; codecs: 128k; space: 1M;
                    columns: as suits the case)
  --scale N         scale factor of TPC-H in space, columns and sql (default: 1)
  --runs N          repetitions; tables show medians (default: 3)
  --seconds N       limit of a timed phase that only reads or mixes (default: 10)
  --load-seconds N  limit of a timed load; the rest is loaded untimed (default: 180)
  --cache-mib N     cache of every engine (default: 1024, or 1.5 times the data if that is more)
  --buffer-mib N    write buffers of every engine (default: 512)
  --warm-mib N      memory touched before each process, so that none pays for what the host took back (default: 4096)
  --timeout N       seconds after which a process is ended and reported (default: 1800)
  --wrap COMMAND    a command put before each measured process, such as one that limits its memory
  --dir DIR         where the stores go; a real disk, or durable commits mean nothing (default: target/bench-data)
  --results DIR     where SUITE.json files, their pages and plots/ are (default: bench/results)
  --add             keep figures in SUITE.json of engines and cases that are not run now
";

/// The command line, parsed.
#[derive(Debug, Clone)]
pub struct Options {
    /// Suites to run or to report.
    pub suites: Vec<Suite>,
    /// Engines to run.
    pub engines: Vec<Kind>,
    /// Only cases with these numbers of threads; empty means all.
    pub threads: Vec<usize>,
    /// Records in the data set; none: as many as suits the suite.
    pub records: Option<u64>,
    /// Scale factor of TPC-H.
    pub scale: f64,
    /// Repetitions.
    pub runs: usize,
    /// Limit of a timed phase that reads or mixes.
    pub seconds: u64,
    /// Limit of a timed load.
    pub load_seconds: u64,
    /// Cache of every engine; none: chosen by the data.
    pub cache_mib: Option<usize>,
    /// Write buffers of every engine.
    pub buffer_mib: usize,
    /// Memory that is touched before each process, in MiB.
    pub warm_mib: usize,
    /// Seconds after which a process is ended.
    pub timeout: u64,
    /// A command before each measured process.
    pub wrap: Vec<String>,
    /// Where the stores go.
    pub dir: PathBuf,
    /// Where SUITE.json files, their pages and plots are.
    pub results: PathBuf,
    /// Whether figures that are not measured now stay in the file.
    pub add: bool,
    /// For a measured process: the case, the repetition, and the file for its figures.
    pub child: Child,
}

/// What a measured process is told; the case may also be chosen by the user.
#[derive(Debug, Clone, Default)]
pub struct Child {
    /// The case's name; empty: all.
    pub case: String,
    /// The repetition.
    pub run: usize,
    /// The file for the figures.
    pub out: PathBuf,
    /// Where data that were fetched or generated once are kept from run to run.
    pub inputs: PathBuf,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            suites: Suite::ALL.into_iter().filter(|suite| suite.is_built()).collect(),
            engines: Kind::built().to_vec(),
            threads: Vec::new(),
            records: None,
            scale: 1.0,
            runs: 3,
            seconds: 10,
            load_seconds: 180,
            cache_mib: None,
            buffer_mib: 512,
            warm_mib: 4096,
            timeout: 1800,
            wrap: Vec::new(),
            dir: PathBuf::from("target/bench-data"),
            results: PathBuf::from("bench/results"),
            add: false,
            child: Child::default(),
        }
    }
}

impl Options {
    /// Records in the data set of a case.
    pub fn records_of(&self, case: Case) -> u64 {
        self.records.unwrap_or(case.records())
    }

    /// Parses flags.
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Options> {
        let mut options = Options::default();
        let mut arguments = arguments;
        while let Some(flag) = arguments.next() {
            if flag == "--add" {
                options.add = true;
                continue;
            }
            let value = arguments.next().ok_or_else(|| format!("{flag} needs a value"))?;
            options.set(&flag, &value)?;
        }
        Ok(options)
    }

    fn set(&mut self, flag: &str, value: &str) -> Result<()> {
        match flag {
            "--suite" => self.suites = list(value, Suite::named)?,
            "--engines" => self.engines = list(value, Kind::named)?,
            "--threads" => self.threads = list(value, |v| v.parse().ok())?,
            "--records" => self.records = Some(number(value)?.max(1000)),
            "--scale" => self.scale = value.parse().map_err(|error| format!("{value}: {error}"))?,
            "--runs" => self.runs = number(value)?.max(1) as usize,
            "--seconds" => self.seconds = number(value)?.max(1),
            "--load-seconds" => self.load_seconds = number(value)?.max(1),
            "--cache-mib" => self.cache_mib = Some(number(value)? as usize),
            "--warm-mib" => self.warm_mib = number(value)? as usize,
            "--buffer-mib" => self.buffer_mib = number(value)?.max(64) as usize,
            "--timeout" => self.timeout = number(value)?,
            "--wrap" => self.wrap = value.split_whitespace().map(str::to_owned).collect(),
            "--dir" => self.dir = value.into(),
            "--results" => self.results = value.into(),
            "--case" => self.child.case = value.into(),
            "--run" => self.child.run = number(value)? as usize,
            "--inputs" => self.child.inputs = value.into(),
            "--out" => self.child.out = value.into(),
            _ => return Err(format!("unknown flag {flag}; --help lists them").into()),
        }
        Ok(())
    }
}

fn list<T>(value: &str, named: impl Fn(&str) -> Option<T>) -> Result<Vec<T>> {
    value.split(',').map(|name| named(name).ok_or_else(|| format!("unknown name {name}").into())).collect()
}

/// A whole number, with k for thousands and M for millions.
fn number(value: &str) -> Result<u64> {
    let (digits, factor) = match value.chars().last() {
        Some('k') => (&value[..value.len() - 1], 1000),
        Some('M') => (&value[..value.len() - 1], 1_000_000),
        _ => (value, 1),
    };
    Ok(digits.parse::<u64>().map_err(|error| format!("{value}: {error}"))? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_understood_or_refused() {
        // Keeps away: a misspelt flag that is ignored, so that something else is measured than was asked for.
        let parse = |text: &str| Options::parse(text.split(' ').map(str::to_owned));
        let options =
            parse("--records 2M --engines lmdb,redb --threads 1,16 --suite ycsb --add").expect("flags");
        assert_eq!(options.records, Some(2_000_000));
        assert_eq!(options.engines, [Kind::Lmdb, Kind::Redb]);
        assert_eq!(options.threads, [1, 16]);
        assert_eq!(options.suites, [Suite::Ycsb]);
        assert!(options.add);
        assert!(parse("--recrods 5").is_err());
        assert!(parse("--engines oracle").is_err());
        assert!(parse("--records").is_err());
    }
}
