//! The rows that a transaction has changed since a moment in it.

use crate::{Result, Row, Savepoint, Table, Transaction};

/// A row that was written: what there was, and what there is.
#[derive(Clone, Debug)]
pub struct ChangedRow {
    /// Its values at the moment; none if it was not there.
    pub before: Option<Row>,
    /// Its values now; none if it is gone.
    pub after: Option<Row>,
}

impl Transaction {
    /// The rows of a table that this transaction has written since a savepoint, each once.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged) for what cannot be read.
    pub fn changed_rows(&self, table: &Table, since: Savepoint) -> Result<Vec<ChangedRow>> {
        let rows = self.inner().changed_since(table.id(), since)?;
        let row = |key: &[u8], value: Option<Vec<u8>>| {
            value.map(|value| table.format().decode(key, &value)).transpose()
        };
        rows.into_iter()
            .map(|of| Ok(ChangedRow { before: row(&of.key, of.before)?, after: row(&of.key, of.after)? }))
            .collect()
    }

    /// Whether this transaction has written to a table.
    pub fn has_written(&self, table: &Table) -> bool {
        self.inner().has_written(table.id())
    }
}
