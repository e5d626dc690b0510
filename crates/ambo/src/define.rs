//! Changing what there is, at once or inside of a transaction.

use ambo_engine::database::CatalogEdit;

use crate::{Database, IndexDefinition, Result, Table, Transaction};

impl Database {
    /// Makes a change of schemas, tables, indexes or views, as a commit of its own.
    ///
    /// # Errors
    /// As [`Transaction::define`].
    pub fn define(&self, edit: &CatalogEdit) -> Result<()> {
        self.engine().define(edit).map(drop)
    }
}

/// # Changing definitions
///
/// What a transaction creates, changes and drops is seen by it alone until it commits, together with what it has written; a
/// [savepoint](Transaction::savepoint) and giving up take it back. [`Database::definitions`](crate::Database::definitions) says what it
/// sees. Two transactions that change different things do not disturb each other. Of those that change the same the second to commit gets
/// [`Error::Conflict`](crate::Error::Conflict).
impl Transaction {
    /// Makes a change of schemas, tables, indexes or views.
    ///
    /// # Errors
    /// [`Error::Exists`](crate::Error::Exists) and [`Error::NotFound`](crate::Error::NotFound) for names,
    /// [`Error::Invalid`](crate::Error::Invalid) for what cannot be: nothing has changed then.
    pub fn define(&mut self, edit: &CatalogEdit) -> Result<()> {
        self.inner_mut().define(edit).map(drop)
    }

    /// Creates an index over the rows that the transaction sees. Commits of others to the table wait until the transaction ends.
    ///
    /// Its entries are writes of the transaction, so a large table is better given an index by
    /// [`Database::create_index`](crate::Database::create_index), which keeps nobody waiting.
    ///
    /// # Errors
    /// As there; [`Error::Conflict`](crate::Error::Conflict) if others have written to the table since the transaction began.
    pub fn create_index(&mut self, index: &IndexDefinition) -> Result<()> {
        self.inner_mut().create_index(index).map(drop)
    }

    /// Makes a column refuse NULL. Commits of others to the table wait until the transaction ends.
    ///
    /// # Errors
    /// As [`Database::set_not_null`](crate::Database::set_not_null); [`Error::Conflict`](crate::Error::Conflict) if others have written to
    /// the table since the transaction began.
    pub fn set_not_null(&mut self, table: &str, column: &str) -> Result<()> {
        self.inner_mut().set_not_null(table, column)
    }

    /// Has commits of others to a table wait until the transaction ends: what it sees of the table stays true.
    ///
    /// # Errors
    /// [`Error::Conflict`](crate::Error::Conflict) if others have written to the table since the transaction began,
    /// [`Error::Lock`](crate::Error::Lock) after waiting in vain.
    pub fn hold(&mut self, table: &Table) -> Result<()> {
        self.inner_mut().hold(table.id())
    }

    /// Whether it has changed definitions.
    pub fn has_own_definitions(&self) -> bool {
        self.inner().has_own_definitions()
    }
}
