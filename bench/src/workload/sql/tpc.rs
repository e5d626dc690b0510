//! The queries of a benchmark of TPC on column tables, warm, beside DuckDB.

use ambo::Sync;

use super::{check, open};
use crate::engine::Result;
use crate::measure::Usage;
use crate::workload::columns::{
    fastest, parquet,
    peer::{DUCKDB, Peer},
};
use crate::workload::sheet::Sheet;

/// A benchmark: its name, the directory of its tables, these with their keys, and its queries.
pub struct Tpc {
    pub name: &'static str,
    pub dir: &'static str,
    pub tables: &'static [(&'static str, &'static [&'static str])],
    pub queries: &'static [&'static str],
}

/// From this scale factor on DuckDB's memory is bounded.
const LARGE: f64 = 10.0;

impl Tpc {
    /// Loads the tables and asks all queries.
    ///
    /// # Errors
    /// The data is not there, or an answer has another number of rows than DuckDB's.
    pub fn run(&self, sheet: &mut Sheet) -> Result<()> {
        let scale = sheet.options.scale;
        let file = |table: &str| sheet.inputs.join(format!("{}-{scale}/{table}.parquet", self.dir));
        if let Some(missing) = self.tables.iter().map(|(table, _)| file(table)).find(|file| !file.exists()) {
            let (inputs, file) = (sheet.inputs.display(), missing);
            return Err(format!("no {}: run bench/sql/fetch.sh {inputs} {scale}", file.display()).into());
        }
        let db = open(sheet, self.dir, Sync::Off)?;
        let mut duckdb = Peer::start(sheet, DUCKDB, &format!("{}.duckdb", self.dir), false)?;
        if scale >= LARGE {
            // Both processes are on one machine.
            duckdb.run(&["set memory_limit = '8GB'"])?;
        }
        let mut rows = 0;
        for (table, key) in self.tables {
            let path = file(table);
            rows += parquet::load(&db, table, key, &path)?.1;
            let create = format!("create table {table} as select * from read_parquet('{}')", path.display());
            duckdb.run(&[&create])?;
        }
        duckdb.run(&["checkpoint"])?;
        sheet.records = rows;
        db.compact_due()?;
        let mut connection = db.connect();
        let mut sums = [0.0; 2];
        for (number, query) in self.queries.iter().enumerate() {
            let what = format!("{}, SF {scale}: Q{}", self.name, number + 1);
            let (ours, found) = fastest(|| {
                let mut rows = 0;
                for batch in connection.sql(query)?.batches() {
                    rows += batch?.num_rows();
                }
                Ok(rows)
            })?;
            let (_, theirs, answer) = duckdb.repeat(query)?;
            if found != answer.len() {
                return Err(format!("{what} has {found} rows, DuckDB's has {}", answer.len()).into());
            }
            sheet.figure(&what, "ambo", "time", "ms", ours * 1e3);
            sheet.figure(&what, DUCKDB, "time", "ms", theirs * 1e3);
            sheet.note(&format!("Q{}: {:.1} ms, DuckDB {:.1} ms", number + 1, ours * 1e3, theirs * 1e3));
            sums[0] += ours;
            sums[1] += theirs;
        }
        let what = format!("{}, SF {scale}: all queries", self.name);
        sheet.figure(&what, "ambo", "time", "ms", sums[0] * 1e3);
        sheet.figure(&what, DUCKDB, "time", "ms", sums[1] * 1e3);
        let memory = Usage::now().memory_peak_bytes as f64;
        sheet.figure(&what, "ambo", "peak memory", "MiB", memory / (1 << 20) as f64);
        drop(connection);
        check(&db)?;
        duckdb.close()?;
        Ok(())
    }
}
