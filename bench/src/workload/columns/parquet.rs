//! Loading a Parquet file into a column table: row groups in turns, by several threads, as `ambo load` does it.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use ambo::{Database, Load, LoadOptions, Storage, Table, arrow};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder};

use super::THREADS;
use crate::engine::Result;

const BATCH_ROWS: usize = 8192;
/// Rows of a turn, about: a segment's.
const TURN_ROWS: i64 = 900_000;

/// Creates a column table with the columns of a file, and loads the file. Returns table, rows and seconds until all is durable.
pub fn load(db: &Database, name: &str, key: &[&str], path: &Path) -> Result<(Table, u64, f64)> {
    let start = Instant::now();
    let metadata = ArrowReaderMetadata::load(&File::open(path)?, Default::default())?;
    let definition = arrow::definition(name, metadata.schema(), key)?;
    let table = db.create_table(definition.storage(Storage::Column))?;
    let load = table.load(LoadOptions { threads: THREADS, ..LoadOptions::default() })?;
    let groups = metadata.metadata().row_groups();
    let rows: i64 = groups.iter().map(|group| group.num_rows()).sum();
    let threads = THREADS as i64;
    let turns =
        (threads * (rows as u64).div_ceil((threads * TURN_ROWS) as u64) as i64).min(groups.len() as i64);
    let turns = Turns { path, metadata: &metadata, turns: turns as usize, next: AtomicUsize::new(0) };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..THREADS)
            .map(|_| scope.spawn(|| turns.work(&load).map_err(|error| error.to_string())))
            .collect();
        turns.work(&load)?;
        for other in others {
            other.join().map_err(|_| "a loading thread panicked")??;
        }
        Result::Ok(())
    })?;
    let rows = load.finish()?.rows;
    Ok((table, rows, start.elapsed().as_secs_f64()))
}

struct Turns<'a> {
    path: &'a Path,
    metadata: &'a ArrowReaderMetadata,
    turns: usize,
    next: AtomicUsize,
}

impl Turns<'_> {
    /// Takes turns until none is left.
    fn work(&self, load: &Load) -> Result<()> {
        loop {
            let turn = self.next.fetch_add(1, Ordering::Relaxed);
            if turn >= self.turns {
                return Ok(());
            }
            let groups = self.metadata.metadata().num_row_groups();
            let groups = turn * groups / self.turns..(turn + 1) * groups / self.turns;
            let file = File::open(self.path)?;
            let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone());
            let reader = reader.with_row_groups(groups.collect()).with_batch_size(BATCH_ROWS).build()?;
            let mut writer = load.writer();
            for batch in reader {
                writer.push_batch(&batch?)?;
            }
            writer.finish()?;
        }
    }
}
