//! Bulk loads of column tables: rows of a query or of files straight into segments, all or nothing, not part of a transaction.

use std::sync::{Arc, Mutex, PoisonError};

use ambo::{LoadOptions, Storage, Table};
use arrow::array::RecordBatch;

use super::{
    incoming::{Batches, complete},
    rules::Rules,
};
use crate::{Connection, Error, Result};

/// Rows with values for some columns of a table, to be loaded.
pub(super) struct Bulk {
    pub table: Table,
    pub rules: Arc<Rules>,
    pub columns: Vec<usize>,
    pub batches: Batches,
    /// The file that they are from.
    pub file: Option<String>,
}

impl Bulk {
    /// Whether a table takes loads of rows with values for these columns. Numbers that a table gives to its key are given one by one.
    pub(super) fn is_for(table: &Table, columns: &[usize]) -> bool {
        let definition = table.definition();
        definition.storage == Storage::Column
            && !definition.duplicates
            && (0..definition.columns.len())
                .all(|column| !definition.numbers_itself(column) || columns.contains(&column))
    }

    /// Loads the rows. Returns how many.
    pub(super) fn load(self, connection: &Connection) -> Result<u64> {
        let definition = Arc::new(self.table.definition().clone());
        let (columns, file, of_table, rules) = (self.columns, self.file, definition, self.rules);
        let (progress, interrupter) = (connection.progress().clone(), connection.interrupter());
        let mut rows = 0;
        let whole = self.batches.map(move |batch| {
            interrupter.check()?;
            let batch = batch?;
            let whole = complete(&of_table, &rules, &columns, &batch, rows + 1, file.as_deref())?;
            rows += whole.num_rows() as u64;
            progress.report(rows);
            Ok::<RecordBatch, Error>(whole)
        });
        // Errors of the reader are told as they are, not in the words of the load.
        let failure = Mutex::new(None);
        let batches = whole.map(|batch| {
            batch.map_err(|error| {
                *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                "see above"
            })
        });
        let threads = connection.engine().options.threads;
        let loaded = self.table.load_batches(batches, LoadOptions { threads, ..LoadOptions::default() });
        if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        Ok(loaded?.rows)
    }
}
