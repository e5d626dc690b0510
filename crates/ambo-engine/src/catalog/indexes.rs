//! Indexes among the tables of the catalog.

use std::sync::Arc;

use ambo_types::{Error, Result, id::TableId, names};

use super::{
    Catalog, CatalogChange, IndexDefinition, IndexKind, IndexOf, Storage, TableDefinition, qualify,
    table_change,
};

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

    /// The columns of a table that have bitmap indexes, by their places in its definition.
    pub fn bitmap_columns(&self, table: TableId) -> impl Iterator<Item = usize> + '_ {
        let indexes = self.indexes_of(table).filter_map(|(_, definition)| definition.index.as_ref());
        indexes.filter(|index| index.kind == IndexKind::Bitmap).map(|index| index.columns[0])
    }

    /// The indexes of a table whose postings are in files: id, places of the columns in its definition, whether a row stands under each.
    pub fn posting_indexes(&self, table: TableId) -> impl Iterator<Item = (TableId, &[usize], bool)> {
        self.indexes_of(table).filter_map(|(id, definition)| {
            let index = definition.index.as_ref().filter(|index| index.kind.has_postings())?;
            Some((id, &index.columns[..], index.kind == IndexKind::Br64Any))
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

    /// Gives an index another name in its schema.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Exists`] if something has the name.
    pub fn rename_index(&mut self, from: &str, to: &str) -> Result<CatalogChange> {
        let (id, definition, _) = self.find_index(from)?;
        let mut definition = (**definition).clone();
        definition.name = qualify(to)?;
        self.require_free(&definition.name)?;
        let change = table_change(id, Some(&definition));
        self.remove_table(id);
        self.put_table(id, definition);
        Ok(change)
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

    /// Adds the index by which rows of a new table are found by their primary key, if it has a sort key and a primary key. It is ready, for
    /// the table is empty.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such table.
    pub fn create_primary_index(&mut self, table: TableId) -> Result<Option<(TableId, CatalogChange)>> {
        let of = self.tables.get(&table).ok_or_else(|| Error::NotFound(format!("table {table}")))?.clone();
        if !of.has_sort_key() || of.has_hidden_key() {
            return Ok(None);
        }
        let index = IndexOf {
            table,
            columns: of.primary_columns().to_vec(),
            kind: IndexKind::Ordered,
            unique: true,
            ready: true,
        };
        let definition = index.definition(&self.primary_index_name(&of.name), &of)?;
        let id = self.fresh_id()?;
        let change = table_change(id, Some(&definition));
        self.put_table(id, definition);
        debug_assert!(self.primary_index(table).is_some_and(|(primary, _)| primary == id));
        Ok(Some((id, change)))
    }

    /// A free name for the index by which rows of a table of that name are found by their primary key.
    pub(super) fn primary_index_name(&self, table: &str) -> String {
        let (schema, table) = table.split_once('.').expect("qualified names have a dot");
        let short = &table[..table.floor_char_boundary(names::NAME_BYTES_MAX - 30)];
        let numbered = (2u64..).map(|number| format!("{schema}.{short}_primary_{number}"));
        let mut candidates = std::iter::once(format!("{schema}.{short}_primary")).chain(numbered);
        candidates.find(|name| !self.by_name.contains_key(name)).expect("there are more numbers than names")
    }

    /// The index by which rows of a table are found by their primary key, if they are not stored by it: the oldest that can.
    pub fn primary_index(&self, table: TableId) -> Option<(TableId, &Arc<TableDefinition>)> {
        let of = self.tables.get(&table).filter(|of| of.has_sort_key() && !of.has_hidden_key())?;
        self.indexes_of(table).find(|(_, definition)| {
            let index = definition.index.as_ref().expect("an index");
            let can = index.unique && index.ready && index.kind == IndexKind::Ordered;
            can && index.columns == of.primary_columns()
        })
    }

    /// Gives a table another storage, and its indexes that which goes with it. Only a checkpoint says so, not the log.
    ///
    /// # Errors
    /// As [`Catalog::set_storage`].
    pub fn set_storage_of_all(&mut self, table: TableId, storage: Storage) -> Result<()> {
        let indexes: Vec<_> = self.indexes_of(table).map(|(id, _)| id).collect();
        self.set_storage(table, storage)?;
        indexes.into_iter().try_for_each(|index| self.set_storage(index, storage.of_indexes()))
    }

    /// Checks that a table's indexes are possible with a storage.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a bitmap index, in memory or in files, of a table that is to be no column table.
    pub fn check_storage(&self, table: TableId, storage: Storage) -> Result<()> {
        let is_by_positions = |of: &IndexOf| !of.kind.has_entries();
        let mut indexes = self.indexes_of(table);
        match indexes.find(|(_, definition)| definition.index.as_ref().is_some_and(is_by_positions)) {
            Some((_, index)) if !storage.traits().bitmap_indexes => Err(Error::Invalid(format!(
                "the table has the {} index \"{}\", which tables of storage {} cannot have; drop it first",
                index.index.as_ref().map_or("", |of| of.kind.name()),
                index.name,
                storage.name()
            ))),
            _ => Ok(()),
        }
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

    /// An index that has not the entries of all rows, whatever its definition says. Returns whether it said that it had.
    pub fn index_unready(&mut self, id: TableId) -> bool {
        let Some(mut definition) = self.tables.get(&id).map(|definition| (**definition).clone()) else {
            return false;
        };
        match &mut definition.index {
            Some(index) if index.ready => index.ready = false,
            _ => return false,
        }
        self.put_table(id, definition);
        true
    }

    /// Removes an index.
    pub fn drop_index(&mut self, name: &str) -> Result<(TableId, CatalogChange)> {
        let (id, definition, of) = self.find_index(name)?;
        if self.primary_index(of.table).is_some_and(|(primary, _)| primary == id) {
            return Err(Error::Invalid(format!(
                "index \"{}\" keeps the primary key of table \"{}\", whose rows have another order; it goes with the table",
                definition.name, self.tables[&of.table].name
            )));
        }
        self.remove_table(id);
        Ok((id, table_change(id, None)))
    }
}
