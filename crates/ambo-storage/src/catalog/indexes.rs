//! Indexes among the tables of the catalog.

use std::sync::Arc;

use super::{
    Catalog, CatalogChange, IndexDefinition, IndexOf, TableDefinition, names, qualify, table_change,
};
use crate::{Error, Result, id::TableId};

impl Catalog {
    /// All indexes in the order of their ids.
    pub fn indexes(&self) -> impl Iterator<Item = (TableId, &Arc<TableDefinition>)> {
        self.all().filter(|(_, definition)| definition.index.is_some())
    }

    /// The indexes of a table in the order of their ids.
    pub fn indexes_of(&self, table: TableId) -> impl Iterator<Item = (TableId, &Arc<TableDefinition>)> {
        self.all().filter(move |(_, definition)| {
            definition.index.as_ref().is_some_and(|index| index.table == table)
        })
    }

    /// The index of this name (`index` or `schema.index`).
    ///
    /// # Errors
    /// [`Error::NotFound`], with the nearest name there is.
    pub fn find_index(&self, name: &str) -> Result<(TableId, &Arc<TableDefinition>, &IndexOf)> {
        let qualified = qualify(name)?;
        let found = self.by_name.get(&qualified).map(|id| (*id, &self.tables[id]));
        if let Some((id, definition)) = found
            && let Some(index) = &definition.index
        {
            return Ok((id, definition, index));
        }
        let known = self.indexes().map(|(_, definition)| &definition.name);
        Err(Error::NotFound(names::not_found("index", &qualified, known)))
    }

    /// Adds an index that is still to be built.
    ///
    /// # Errors
    /// [`Error::Exists`] for its name, [`Error::NotFound`] for its table or a column, [`Error::Invalid`] for what cannot be an index.
    pub fn create_index(&mut self, wanted: &IndexDefinition) -> Result<(TableId, CatalogChange)> {
        let (table, of) = self.find(&wanted.table)?;
        let definition = IndexOf::resolve(wanted, table, of)?.definition(&wanted.name, of)?;
        self.require_free(&definition.name)?;
        let id = self.fresh_id()?;
        let change = table_change(id, Some(&definition));
        self.put_table(id, definition);
        Ok((id, change))
    }

    /// Notes that an index has an entry for each row.
    ///
    /// # Errors
    /// [`Error::NotFound`] if it was dropped.
    pub fn index_ready(&mut self, id: TableId) -> Result<CatalogChange> {
        let mut definition = match self.tables.get(&id) {
            Some(definition) => (**definition).clone(),
            None => return Err(Error::NotFound("the index, or its table, was dropped".into())),
        };
        definition.index.as_mut().expect("an index").ready = true;
        let change = table_change(id, Some(&definition));
        self.put_table(id, definition);
        Ok(change)
    }

    /// Removes an index.
    pub fn drop_index(&mut self, name: &str) -> Result<(TableId, CatalogChange)> {
        let (id, ..) = self.find_index(name)?;
        self.remove_table(id);
        Ok((id, table_change(id, None)))
    }
}
