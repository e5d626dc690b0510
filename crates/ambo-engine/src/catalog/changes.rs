//! Changes of a table that touch no row.

use std::sync::Arc;

use ambo_types::{Enum, Error, Result, StoredIn, id::TableId, names};

use super::{Catalog, CatalogChange, Check, Column, TableDefinition, table_change};

/// A change of a table's definition. Several are made at once or not at all.
///
/// ```
/// use ambo_engine::catalog::{Column, TableChange};
/// use ambo_codec::Type;
/// let changes = [
///     TableChange::AddColumn(Column::new("gate", Type::Utf8).nullable()),
///     TableChange::rename_column("delay", "delay_minutes"),
/// ];
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum TableChange {
    /// Adds a column behind the others. Rows that are there read its default, or NULL.
    AddColumn(Column),
    /// Drops a column.
    DropColumn(String),
    /// Gives a column another name.
    RenameColumn {
        /// What it is called.
        from: String,
        /// What it is to be called.
        to: String,
    },
    /// Gives enums, which columns know by their name, these labels in the place of theirs, of which none went and none moved.
    SetEnum(Arc<Enum>),
    /// Lets a column be NULL.
    DropNotNull(String),
    /// Sets what SQL inserts where no value of a column is given.
    SetDefaultExpression {
        /// The column.
        column: String,
        /// An SQL expression; none for NULL.
        expression: Option<String>,
    },
    /// Sets the comment of a column.
    SetColumnComment {
        /// The column.
        column: String,
        /// What is said about it.
        comment: Option<String>,
    },
    /// Sets the comment of the table.
    SetComment(Option<String>),
    /// Adds a condition, which SQL has found true of all rows.
    AddCheck(Check),
    /// Drops the condition of this name.
    DropCheck(String),
}

/// The longest default of a column that is added: whole groups of rows are made of it in memory.
pub const DEFAULT_BYTES_MAX: usize = 4096;

impl TableChange {
    /// [`TableChange::RenameColumn`].
    pub fn rename_column(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self::RenameColumn { from: from.into(), to: to.into() }
    }
}

impl Catalog {
    /// Makes changes of a table, one after the other.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the table, a column or a check; [`Error::Exists`] for a name that is taken; [`Error::Invalid`] for what
    /// cannot be, which names what is in the way.
    pub fn change_table(
        &mut self,
        name: &str,
        wanted: &[TableChange],
    ) -> Result<(TableId, Vec<CatalogChange>)> {
        let (id, old) = self.find(name)?;
        let old = old.clone();
        let mut table = (*old).clone();
        for change in wanted {
            self.change(id, &mut table, change)?;
        }
        table.validate()?;
        debug_assert!(keeps_rows(&old, &table), "rows are read as they were written");
        let mut changes = vec![table_change(id, Some(&table))];
        for (index, definition) in self.moved_indexes(id, &old, &table) {
            changes.push(table_change(index, Some(&definition)));
            self.put_table(index, definition);
        }
        self.put_table(id, table);
        Ok((id, changes))
    }

    /// The place of a column of a table.
    ///
    /// # Errors
    /// [`Error::NotFound`], with the nearest name there is.
    pub fn column(&self, table: &str, column: &str) -> Result<usize> {
        column_of(self.find(table)?.1, column)
    }

    /// Notes that a column is never NULL.
    ///
    /// # Errors
    /// [`Error::NotFound`] if it, or the table, is gone.
    pub(crate) fn set_not_null(&mut self, id: TableId, stored: StoredIn) -> Result<CatalogChange> {
        let gone = || Error::NotFound("the column, or its table, was dropped meanwhile".into());
        let mut table = (**self.tables.get(&id).ok_or_else(gone)?).clone();
        let column = table.column_in(stored).ok_or_else(gone)?;
        self.refuse_indexed(id, &table, column, "cannot change whether it may be NULL")?;
        table.columns[column].nullable = false;
        table.validate()?;
        let change = table_change(id, Some(&table));
        self.put_table(id, table);
        Ok(change)
    }

    fn change(&self, id: TableId, table: &mut TableDefinition, change: &TableChange) -> Result<()> {
        match change {
            TableChange::AddColumn(column) => add_column(table, column.clone()),
            TableChange::DropColumn(name) => {
                let index = column_of(table, name)?;
                self.refuse_drop(id, table, index)?;
                if table.columns[index].generated().is_some() {
                    let check = TableDefinition::generated_check(name);
                    table.checks.retain(|of| of.name != check);
                }
                table.drop_column_at(index);
                debug_assert!(table.column_index(name).is_none(), "what is dropped has no name any more");
                Ok(())
            }
            TableChange::RenameColumn { from, to } => {
                let index = column_of(table, from)?;
                if from != to && table.column_index(to).is_some() {
                    return Err(taken(table, to));
                }
                table.columns[index].name.clone_from(to);
                Ok(())
            }
            TableChange::SetEnum(of) => set_enum(table, of),
            TableChange::DropNotNull(name) => {
                let index = column_of(table, name)?;
                if !table.columns[index].nullable && !table.key.contains(&index) {
                    self.refuse_indexed(id, table, index, "cannot change whether it may be NULL")?;
                }
                table.columns[index].nullable = true;
                Ok(())
            }
            TableChange::SetDefaultExpression { column, expression } => {
                let index = column_of(table, column)?;
                table.columns[index].default_expression.clone_from(expression);
                Ok(())
            }
            TableChange::SetColumnComment { column, comment } => {
                let index = column_of(table, column)?;
                table.columns[index].comment.clone_from(comment);
                Ok(())
            }
            TableChange::SetComment(comment) => {
                table.comment.clone_from(comment);
                Ok(())
            }
            TableChange::AddCheck(check) => {
                if table.checks.iter().any(|other| other.name == check.name) {
                    let name = &check.name;
                    return Err(Error::Exists(format!("check \"{name}\" of table \"{}\"", table.name)));
                }
                table.checks.push(check.clone());
                Ok(())
            }
            TableChange::DropCheck(name) => {
                let index = table.checks.iter().position(|check| check.name == *name).ok_or_else(|| {
                    let what = format!("check of table \"{}\"", table.name);
                    let known = table.checks.iter().map(|check| &check.name);
                    Error::NotFound(names::not_found(&what, name, known))
                })?;
                table.checks.remove(index);
                Ok(())
            }
        }
    }

    /// Refuses to drop a column that something else needs.
    fn refuse_drop(&self, id: TableId, table: &TableDefinition, index: usize) -> Result<()> {
        let name = &table.columns[index].name;
        let refuse =
            |why: &str| Err(Error::Invalid(format!("column \"{name}\" of table \"{}\" {why}", table.name)));
        if table.is_raw() {
            return refuse("belongs to a plain key-value table, which has these two columns");
        }
        if table.key.contains(&index) {
            return refuse("is part of the primary key, so it cannot be dropped");
        }
        if table.columns.len() == 1 {
            return refuse("is the only one; drop the table");
        }
        self.refuse_indexed(id, table, index, "cannot be dropped")
    }

    /// Refuses what an index over a column does not allow.
    fn refuse_indexed(&self, id: TableId, table: &TableDefinition, index: usize, what: &str) -> Result<()> {
        // Indexes know the columns of the definition that is in force.
        let stored = table.stored_in(index);
        let place = self.tables[&id].column_in(stored);
        let over = |of: &super::IndexOf| place.is_some_and(|place| of.columns.contains(&place));
        let found = self.indexes_of(id).find(|(_, index)| index.index.as_ref().is_some_and(over));
        match found {
            None => Ok(()),
            Some((_, definition)) => Err(Error::Invalid(format!(
                "column \"{}\" of table \"{}\" {what}: index \"{}\" is over it; drop the index first",
                table.columns[index].name, table.name, definition.name
            ))),
        }
    }

    /// The indexes of a table whose columns have other places in its new definition.
    fn moved_indexes(
        &self,
        id: TableId,
        old: &TableDefinition,
        new: &TableDefinition,
    ) -> Vec<(TableId, TableDefinition)> {
        let mut moved = Vec::new();
        for (index, definition) in self.indexes_of(id) {
            let mut definition = (**definition).clone();
            let of = definition.index.as_mut().expect("an index");
            let place = |column: &usize| {
                new.column_in(old.stored_in(*column)).expect("columns of indexes are not dropped")
            };
            let columns: Vec<_> = of.columns.iter().map(place).collect();
            if columns != of.columns {
                of.columns = columns;
                moved.push((index, definition));
            }
        }
        moved
    }
}

fn set_enum(table: &mut TableDefinition, of: &Arc<Enum>) -> Result<()> {
    for column in &mut table.columns {
        let Some(logical) = &column.logical else { continue };
        let known = logical.enums().into_iter().filter(|known| known.name == of.name);
        if let Some(other) = known.into_iter().find(|known| !of.labels.starts_with(&known.labels)) {
            return Err(Error::Invalid(format!(
                "column \"{}\" of table \"{}\" has values of {other}, whose labels are to stay",
                column.name, table.name
            )));
        }
        column.logical = Some(logical.with_enum(of));
    }
    Ok(())
}

/// Whether what is stored of a row is of the types that it was, unless its column was dropped.
fn keeps_rows(old: &TableDefinition, new: &TableDefinition) -> bool {
    let mut columns = old.columns.iter().enumerate();
    columns.all(|(place, column)| {
        let there = new.column_in(old.stored_in(place));
        there.is_none_or(|there| new.columns[there].kind == column.kind)
    })
}

fn taken(table: &TableDefinition, column: &str) -> Error {
    Error::Exists(format!("column \"{column}\" of table \"{}\"", table.name))
}

/// The place of a column in a definition.
fn column_of(table: &TableDefinition, name: &str) -> Result<usize> {
    table.column_index(name).ok_or_else(|| {
        let what = format!("column of table \"{}\"", table.name);
        let known = table.columns.iter().map(|column| &column.name);
        Error::NotFound(names::not_found(&what, name, known))
    })
}

fn add_column(table: &mut TableDefinition, mut column: Column) -> Result<()> {
    if table.is_raw() {
        return Err(Error::Invalid(format!(
            "table \"{}\" is a plain key-value table, which has two columns and no more",
            table.name
        )));
    }
    if table.column_index(&column.name).is_some() {
        return Err(taken(table, &column.name));
    }
    if !column.nullable && column.default.is_none() {
        return Err(Error::Invalid(format!(
            "column \"{}\" is added to table \"{}\" as NOT NULL and has no default value for the rows that are there",
            column.name, table.name
        )));
    }
    if let Some(default) = column.default.take() {
        let fitting = default
            .fit(column.kind)
            .map_err(|error| Error::Invalid(format!("the default of column \"{}\": {error}", column.name)))?;
        if let Some(bytes) = fitting.as_ref().as_bytes()
            && bytes.len() > DEFAULT_BYTES_MAX
        {
            return Err(Error::Invalid(format!(
                "the default of column \"{}\" has {} bytes; all rows that are there read it, and {DEFAULT_BYTES_MAX} are possible",
                column.name,
                bytes.len()
            )));
        }
        column.default = Some(fitting);
    }
    table.columns.push(column);
    let last = table.columns.len() - 1;
    debug_assert_eq!(
        table.column_in(table.stored_in(last)),
        Some(last),
        "a column is found where it is stored"
    );
    Ok(())
}

#[cfg(test)]
mod tests;
