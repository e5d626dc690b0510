//! Tables with compressed keys or records, through Ambo's public interface. The codecs are the contenders, tables
//! without one among them.

mod keys;
mod log;
mod sparse;
mod texts;

use std::path::Path;
use std::time::Instant;

use ambo::{Database, IntegerCodec, Options, RecordCodec, TableDefinition};

use super::sheet::Sheet;
use crate::contender::UNCOMPRESSED;
use crate::engine::Result;
use crate::measure::processor_time;

/// Cache of a database, unless the user says otherwise: everything that is settled fits.
const CACHE_MIB: usize = 2048;
/// Memory for rows that are not settled. A table is settled once, when it is full, so that the phases stay apart.
const DELTA_MIB: usize = 4096;

/// What is said on the command line as records is what the key tables have; others have larger rows.
const RECORDS_PER_TEXT: u64 = 1000;
const RECORDS_PER_LOGGED: u64 = 50;
/// At the default, the 1.05 million rows of the seed.
const RECORDS_PER_SPARSE: f64 = 10.0 / 1.05;

pub(super) fn run(sheet: &mut Sheet) -> Result<()> {
    match sheet.case.name {
        "texts" => {
            sheet.records = (sheet.records / RECORDS_PER_TEXT).max(100);
            texts::run(sheet)
        }
        "log" => {
            sheet.records = (sheet.records / RECORDS_PER_LOGGED).max(100);
            log::run(sheet)
        }
        "sparse" => {
            sheet.records = ((sheet.records as f64 / RECORDS_PER_SPARSE) as u64).max(100);
            sparse::run(sheet)
        }
        _ => keys::run(sheet),
    }
}

/// How a table is compressed.
#[derive(Debug, Clone, Copy, Default)]
struct Compression {
    keys: Option<IntegerCodec>,
    records: Option<RecordCodec>,
}

impl Compression {
    /// The name in the figures.
    fn name(self) -> &'static str {
        match (self.keys, self.records) {
            (Some(codec), _) => codec.name(),
            (None, Some(codec)) => codec.name(),
            (None, None) => UNCOMPRESSED,
        }
    }

    /// The definition with these options.
    fn of(self, definition: TableDefinition) -> TableDefinition {
        definition.key_compression(self.keys).record_compression(self.records)
    }
}

/// An empty database. The log is a table's option; where there is one, commits do not wait for the disk.
fn open(sheet: &Sheet, dir: &Path) -> Result<Database> {
    if dir.exists() {
        std::fs::remove_dir_all(dir)?;
    }
    Ok(options(sheet).open(dir)?)
}

fn options(sheet: &Sheet) -> Options {
    Options::new()
        .cache_bytes(sheet.options.cache_mib.unwrap_or(CACHE_MIB) << 20)
        .memtable_bytes(DELTA_MIB << 20)
        .sync(ambo::Sync::Off)
        .background_merge(false)
}

/// The contenders, beginning with another one in each repetition, so that a disturbance falls on all.
fn turns<T: Clone>(contenders: &[T], run: usize) -> impl Iterator<Item = T> {
    let first = run.saturating_sub(1) % contenders.len();
    contenders.iter().cloned().cycle().skip(first).take(contenders.len()).collect::<Vec<_>>().into_iter()
}

/// Seconds on processors that some work takes in all threads, and what it returns: what other processes do meanwhile
/// does not count, and it is what upscaledb's figures are.
fn processor_timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(f64, T)> {
    let start = processor_time();
    let result = work()?;
    Ok(((processor_time() - start).as_secs_f64(), result))
}

/// Seconds that some work takes, and what it returns.
fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(f64, T)> {
    let start = Instant::now();
    let result = work()?;
    Ok((start.elapsed().as_secs_f64(), result))
}
