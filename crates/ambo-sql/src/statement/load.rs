//! Any number of rows in bulk, all or nothing and not part of a transaction: rows of a query or of files loaded into a column table, and
//! rows of one changed or deleted.
//!
//! A transaction keeps what it writes in memory, and has a limit. Statements of many rows that are transactions of their own go this way
//! where they can, so they have none.

use std::sync::{Arc, Mutex, PoisonError};

use ambo::{BULK_PATIENCE, BULK_ROWS, BulkChange, Duplicates, LoadOptions, Snapshot, Table};
use datafusion::common::ScalarValue;

use super::{
    incoming::{Batches, complete},
    returning::Written,
    rules::Rules,
};
use crate::{
    Connection, Result, Rows,
    connection::{Work, attempts_max},
    foreign_keys::has_references,
    wait::Interrupter,
};

/// What rows are to a table.
pub(super) enum Meaning {
    /// New ones.
    New(Duplicates),
    /// Its own as they are to be, or the keys of those that are to go, as they were read at a moment.
    Change(BulkChange, Arc<Snapshot>),
}

/// Rows to be written.
pub(super) struct Bulk {
    pub table: Table,
    pub meaning: Meaning,
    /// Whole rows of the table, or what tells rows apart.
    pub batches: Batches,
}

impl Bulk {
    /// New rows with values for some columns of a table, maybe from a file.
    pub(super) fn new(
        table: Table,
        rules: Arc<Rules>,
        columns: Vec<usize>,
        batches: Batches,
        file: Option<String>,
    ) -> Self {
        let definition = Arc::new(table.definition().clone());
        let mut rows = 0;
        let whole = batches.map(move |batch| {
            let whole = complete(&definition, &rules, &columns, &batch?, rows + 1, file.as_deref())?;
            rows += whole.num_rows() as u64;
            Ok(whole)
        });
        Self { table, meaning: Meaning::New(Duplicates::Refuse), batches: Box::new(whole) }
    }

    /// Whether a table takes loads of rows with values for these columns. Numbers that a table gives to its key are given one by one.
    pub(super) fn is_for(table: &Table, columns: &[usize]) -> bool {
        let definition = table.definition();
        let are_given = |column| !definition.numbers_itself(column) || columns.contains(&column);
        table.takes_bulk_changes()
            && !has_references(definition)
            && (0..definition.columns.len()).all(are_given)
    }

    /// Writes the rows. Returns how many were.
    pub(super) fn run(self, connection: &Connection) -> Result<u64> {
        let (progress, interrupter) = (connection.progress().clone(), connection.interrupter());
        // Errors of the reader are told as they are, not in the words of the load.
        let failure = Mutex::new(None);
        let mut rows = 0;
        let batches = self.batches.map(|batch| {
            let batch = interrupter.check().and(batch).map_err(|error| {
                *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                "see above"
            })?;
            rows += batch.num_rows() as u64;
            progress.report(rows);
            Ok::<_, &str>(batch)
        });
        let options = LoadOptions {
            threads: connection.engine().options.threads,
            cancel: interrupter.flag(),
            ..LoadOptions::default()
        };
        let written = match &self.meaning {
            Meaning::New(duplicates) => {
                let options = LoadOptions { duplicates: *duplicates, ..options };
                self.table.load_batches(batches, options)
            }
            Meaning::Change(what, since) => self.table.change_batches(*what, since, batches, options),
        };
        if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let written = written?;
        Ok(match self.meaning {
            // Each was written, and those of the same key again.
            Meaning::New(Duplicates::KeepLast) => written.rows + written.left_out,
            Meaning::New(_) | Meaning::Change(BulkChange::Update, _) => written.rows,
            Meaning::Change(BulkChange::Delete, _) => written.replaced,
        })
    }
}

/// Whether there are many rows. Those that are read to know that come first again.
pub(super) fn are_many(batches: &mut Batches) -> Result<bool> {
    let (mut rows, mut waiting) = (0, Vec::new());
    while rows < BULK_ROWS {
        let Some(batch) = batches.next() else { break };
        let batch = batch?;
        rows += batch.num_rows();
        waiting.push(batch);
    }
    let rest = std::mem::replace(batches, Box::new(std::iter::empty()));
    *batches = Box::new(waiting.into_iter().map(Ok).chain(rest));
    Ok(rows >= BULK_ROWS)
}

/// What came of a statement that writes.
pub(super) enum Outcome {
    Written(Written),
    /// Nothing yet.
    Bulk(Bulk),
}

/// Runs a statement that writes, again as long as others are in the way of its rows and it may be tried again.
pub(super) fn write(
    connection: &mut Connection,
    params: &[ScalarValue],
    tag: &'static str,
    mut act: impl FnMut(&mut Work<'_>) -> Result<Outcome>,
) -> Result<Rows<'static>> {
    let (mut attempts, mut held) = (0, None);
    loop {
        let written = connection.write(params, &mut |work: &mut Work<'_>| {
            let outcome = act(work)?;
            if matches!(outcome, Outcome::Written(_)) {
                // The transaction would wait for it.
                held = None;
            }
            Ok(outcome)
        });
        let (error, table) = match written? {
            Outcome::Written(written) => return Ok(written.rows(tag)),
            Outcome::Bulk(bulk) => {
                let table = bulk.table.clone();
                match bulk.run(connection) {
                    Ok(rows) => return Ok(Rows::done(tag, Some(rows))),
                    Err(error) => (error, table),
                }
            }
        };
        attempts += 1;
        if attempts >= attempts_max(&error) {
            return Err(error);
        }
        if attempts == BULK_PATIENCE {
            held = Some(table.hold()?);
        }
        let interrupter: Interrupter = connection.interrupter();
        interrupter.check()?;
    }
}
