//! Bulk loads of sorted rows.

use ambo_engine::database;

use crate::{Result, Table};

/// A bulk load under way. Dropped before `finish`, it never was. See [`Table::bulk_load`].
pub struct BulkLoad {
    inner: database::BulkLoad,
    table: Table,
}

impl BulkLoad {
    pub(crate) fn new(table: &Table) -> Result<Self> {
        let inner = table.database().engine().bulk_load(table.id())?;
        Ok(Self { inner, table: table.clone() })
    }

    /// Adds a row behind all others.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the key is not greater than the one before, or it is not a row that the table allows.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.table.check_stored(key, value)?;
        self.inner.push(key, value)
    }

    /// Rows added so far.
    pub fn rows(&self) -> u64 {
        self.inner.rows()
    }

    /// Publishes the rows. They replace rows of the same keys. Returns how many there are.
    ///
    /// # Errors
    /// [`Error::Conflict`](crate::Error::Conflict) if others kept writing to the table.
    pub fn finish(self) -> Result<u64> {
        self.inner.finish()
    }
}
