//! Tables of 64-bit integers that are computed from the row's number, for Ambo and as Parquet for the others.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use ::parquet::arrow::ArrowWriter;
use ambo::{ColumnBuffer, Database, LoadOptions, Storage, Table, TableDefinition, Type};
use ambo_codec::column::ColumnSlice;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};

use super::THREADS;
use crate::engine::Result;

/// Rows that a thread makes at a time.
const TURN_ROWS: u64 = 1 << 20;
const BATCH_ROWS: u64 = 1 << 16;

/// A table; the first column is its key and ascends.
pub struct Integers<F> {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows.
    pub rows: u64,
    /// The value of a row in a column.
    pub value: F,
}

impl<F: Fn(u64, usize) -> i64 + Sync> Integers<F> {
    /// A table with columns `c0`, `c1`, …
    pub fn new(columns: usize, rows: u64, value: F) -> Self {
        Integers { columns: (0..columns).map(|i| format!("c{i}")).collect(), rows, value }
    }

    /// The columns of an SQL definition.
    pub fn sql_columns(&self, key: &str) -> String {
        let columns = self.columns.iter().enumerate();
        let columns = columns.map(|(i, name)| format!("{name} BIGINT{}", if i == 0 { key } else { "" }));
        columns.collect::<Vec<_>>().join(", ")
    }

    /// Creates an empty column table.
    pub fn create(&self, db: &Database, name: &str) -> Result<Table> {
        let mut definition = TableDefinition::new(name);
        for column in &self.columns {
            definition = definition.column(column, Type::I64);
        }
        Ok(db.create_table(definition.primary_key(&[&self.columns[0]]).storage(Storage::Column))?)
    }

    /// Loads all rows; returns the seconds. Computing the values is part of them.
    pub fn load(&self, table: &Table) -> Result<f64> {
        let start = Instant::now();
        let load = table.load(LoadOptions { threads: THREADS, ..LoadOptions::default() })?;
        let next = AtomicU64::new(0);
        let work = || -> Result<()> {
            loop {
                let first = next.fetch_add(TURN_ROWS, Ordering::Relaxed);
                if first >= self.rows {
                    return Ok(());
                }
                let mut writer = load.writer();
                let mut at = first;
                while at < (first + TURN_ROWS).min(self.rows) {
                    let end = (at + BATCH_ROWS).min(self.rows);
                    let columns = (0..self.columns.len()).map(|column| {
                        let mut buffer = ColumnBuffer::new(Type::I64);
                        buffer.extend(ColumnSlice::I64(&self.values(at..end, column)), None)?;
                        Ok(buffer)
                    });
                    writer.push(columns.collect::<Result<_>>()?)?;
                    at = end;
                }
                writer.finish()?;
            }
        };
        std::thread::scope(|scope| {
            let others: Vec<_> =
                (1..THREADS).map(|_| scope.spawn(|| work().map_err(|error| error.to_string()))).collect();
            work()?;
            for other in others {
                other.join().map_err(|_| "a loading thread panicked")??;
            }
            Result::Ok(())
        })?;
        let loaded = load.finish()?.rows;
        if loaded != self.rows {
            return Err(format!("{loaded} of {} rows were loaded", self.rows).into());
        }
        Ok(start.elapsed().as_secs_f64())
    }

    /// Writes all rows to a Parquet file.
    pub fn write_parquet(&self, path: &Path) -> Result<()> {
        let mut writer = None;
        let mut at = 0;
        while at < self.rows {
            let end = (at + BATCH_ROWS).min(self.rows);
            let columns = self.columns.iter().enumerate().map(|(column, name)| {
                (name.as_str(), Arc::new(Int64Array::from(self.values(at..end, column))) as ArrayRef)
            });
            let batch = RecordBatch::try_from_iter(columns)?;
            if writer.is_none() {
                writer = Some(ArrowWriter::try_new(File::create(path)?, batch.schema(), None)?);
            }
            if let Some(writer) = &mut writer {
                writer.write(&batch)?;
            }
            at = end;
        }
        writer.ok_or("no rows")?.close()?;
        Ok(())
    }

    fn values(&self, rows: std::ops::Range<u64>, column: usize) -> Vec<i64> {
        rows.map(|row| (self.value)(row, column)).collect()
    }
}
