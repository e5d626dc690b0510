//! Rows of the application into a table: in the open transaction, or as a transaction or a bulk load of their own.

use crate::{Connection, Error, ErrorKind, Result, Source, names::quoted, sources::Reader};

/// What rows that are ingested are to a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IngestMode {
    /// A new table, which must not be there.
    Create,
    /// More rows of a table, which must be there.
    Append,
    /// A new table, instead of the one that is there.
    Replace,
    /// More rows of a table, which is made if it is not there.
    CreateAppend,
}

/// What the rows are called in the statement that takes them.
const ROWS: &str = "\u{1}ingested";

impl Connection {
    /// Puts the rows of a reader into a table, all or none: columns are found by their names, those that the reader lacks have their
    /// defaults. Returns how many rows. Outside of a transaction many rows go into a column table as a bulk load. `options` are those
    /// behind the columns of a CREATE TABLE, such as `STORAGE = memory`, for a table that is made.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ambo_sql::IngestMode;
    /// use arrow::array::{Int64Array, RecordBatch, RecordBatchIterator};
    ///
    /// let db = ambo_sql::Database::in_memory()?;
    /// let numbers = Arc::new(Int64Array::from(vec![1, 2, 3]));
    /// let batch = RecordBatch::try_from_iter([("n", numbers as _)])?;
    /// let rows = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
    /// let ingested = db.connect().ingest("numbers", Box::new(rows), IngestMode::Create, "")?;
    /// assert_eq!((ingested, db.table("numbers")?.len()?), (3, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As those of INSERT and CREATE TABLE AS. After [`ErrorKind::Conflict`] the same rows may be given again.
    pub fn ingest(&mut self, table: &str, rows: Reader, mode: IngestMode, options: &str) -> Result<u64> {
        let parts: Vec<_> = table.splitn(2, '.').map(str::to_owned).collect();
        let name = parts.iter().map(|part| quoted(part)).collect::<Vec<_>>().join(".");
        let is_there = match mode {
            IngestMode::Append => true,
            IngestMode::Create | IngestMode::Replace => false,
            IngestMode::CreateAppend => self.has_relation(&parts)?,
        };
        if is_there && !options.is_empty() && mode == IngestMode::Append {
            return Err(Error::new(
                ErrorKind::Invalid,
                "options are for tables that are made, not for rows to append",
            ));
        }
        let statement = match mode {
            _ if is_there => format!("INSERT INTO {name} BY NAME SELECT * FROM \"{ROWS}\""),
            IngestMode::Replace => {
                format!("CREATE OR REPLACE TABLE {name} {options} AS SELECT * FROM \"{ROWS}\"")
            }
            _ => format!("CREATE TABLE {name} {options} AS SELECT * FROM \"{ROWS}\""),
        };
        let written = self.run_with(ROWS, Source::Once(rows), &statement)?;
        Ok(written.affected().unwrap_or(0))
    }
}
