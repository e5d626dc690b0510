//! Rows by their primary key in tables whose rows are stored in the order of a sort key: through the index that is created with them.

use ambo_engine::{
    database::{IndexRange, IndexScan},
    id::TableId,
};

use crate::{Cursor, Datum, Error, Result, Row, Table, Transaction, moment::Moment, rows::fit_key};

impl Table {
    /// The index of the primary key.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is no primary key.
    pub(crate) fn primary_or_none(&self) -> Result<TableId> {
        self.primary().ok_or_else(|| self.has_no_primary_key())
    }

    pub(crate) fn has_no_primary_key(&self) -> Error {
        Error::Invalid(format!(
            "table \"{}\" has a sort key and no primary key; its rows are found by conditions",
            self.definition().name
        ))
    }

    /// Values of the first columns of the primary key.
    pub(crate) fn primary_prefix(&self, key: &[Datum]) -> Result<Row> {
        if key.len() > self.definition().primary_columns().len() {
            self.key_values(key)?;
        }
        fit_key(self, key)
    }
}

impl Transaction {
    /// The stored key of the row that these values of the primary key name. Where that is the stored key it is given whether or not there
    /// is such a row.
    pub(crate) fn stored_key(&self, table: &Table, key: &[Datum]) -> Result<Option<Vec<u8>>> {
        let Some(primary) = table.primary() else { return table.whole_key(key).map(Some) };
        let mut entries = self.inner().index_scan(primary, IndexRange::Equal(&table.key_values(key)?))?;
        Ok(entries.next_key()?.map(<[u8]>::to_vec))
    }
}

/// Rows in the order of their primary key, each looked up by its stored key.
pub(crate) struct PrimaryScan {
    entries: IndexScan,
    rows: Cursor,
}

impl PrimaryScan {
    /// The rows whose first columns of the primary key have these values. A serializable transaction has then read the whole table.
    pub(crate) fn new(table: &Table, key: &[Datum], moment: &Moment<'_>) -> Result<Self> {
        let values = table.primary_prefix(key)?;
        let entries = moment.index_scan(table.primary_or_none()?, IndexRange::Equal(&values))?;
        Ok(Self { entries, rows: moment.cursor_in(table.id(), &[], None)? })
    }

    pub(crate) fn rev(mut self) -> Self {
        self.entries = self.entries.rev();
        self
    }

    /// The next row, by its stored key and value.
    pub(crate) fn next_row(&mut self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let Some(key) = self.entries.next_key()?.map(<[u8]>::to_vec) else { return Ok(None) };
        if !self.rows.seek_exact(&key)? {
            return Err(self.entries.no_row(&key));
        }
        let value = self.rows.value()?.to_vec();
        Ok(Some((key, value)))
    }
}
