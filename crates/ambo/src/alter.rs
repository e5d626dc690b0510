//! Changing what a table is; views.

use std::sync::Arc;

use crate::{CatalogEdit, Check, Column, Database, Result, TableChange, View};

/// # Changing columns
///
/// No row is rewritten, whatever the storage. A [`Table`](crate::Table) handle, and what was begun before (a transaction, a snapshot, a
/// scan), goes on with the columns that it knows: it writes no value of newer ones, keeps theirs where it changes a row, and of dropped
/// ones reads what is left. Get a new handle to see the change.
impl Database {
    /// Makes changes of a table, all of them at once or none.
    ///
    /// ```
    /// use ambo::{Column, TableChange, TableDefinition, Type};
    /// let db = ambo::Database::in_memory()?;
    /// let t = TableDefinition::new("t").column("id", Type::I64).column("x", Type::F64).primary_key(&["id"]);
    /// db.create_table(t)?.insert_row(&[1.into(), 2.5.into()])?;
    /// db.change_table("t", &[
    ///     TableChange::AddColumn(Column::new("unit", Type::Utf8).default_value("mm")),
    ///     TableChange::rename_column("x", "width"),
    ///     TableChange::SetComment(Some("parts".into())),
    /// ])?;
    /// let t = db.table("t")?;
    /// assert_eq!(t.definition().columns[1].name, "width");
    /// assert_eq!(t.get_row(&[1.into()])?.unwrap()[2], "mm".into());
    /// # Ok::<(), ambo::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) for the table, a column or a check; [`Error::Exists`](crate::Error::Exists) for a name
    /// that is taken; [`Error::Invalid`](crate::Error::Invalid) for what cannot be: it names what is in the way.
    pub fn change_table(&self, table: &str, changes: &[TableChange]) -> Result<()> {
        self.engine().change_table(table, changes)
    }

    /// Adds a column behind the others, at once, however many rows there are: they read its default value, or NULL.
    ///
    /// ```
    /// use ambo::{Column, Datum, TableDefinition, Type};
    /// let db = ambo::Database::in_memory()?;
    /// let t = TableDefinition::new("t").column("id", Type::I64).primary_key(&["id"]);
    /// db.create_table(t)?.insert_row(&[1.into()])?;
    /// db.add_column("t", Column::new("note", Type::Utf8).nullable())?;
    /// db.add_column("t", Column::new("stars", Type::I32).default_value(3))?;
    /// let row = db.table("t")?.get_row(&[1.into()])?.unwrap();
    /// assert_eq!(row, [1i64.into(), Datum::Null, 3i32.into()]);
    /// # Ok::<(), ambo::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Exists`](crate::Error::Exists), or [`Error::Invalid`](crate::Error::Invalid): a column that is NOT NULL has to have a
    /// default value.
    pub fn add_column(&self, table: &str, column: Column) -> Result<()> {
        self.change_table(table, &[TableChange::AddColumn(column)])
    }

    /// Drops a column, at once. Its values go from disk as rows are rewritten.
    ///
    /// ```
    /// use ambo::{TableDefinition, Type};
    /// let db = ambo::Database::in_memory()?;
    /// let t = TableDefinition::new("t").column("id", Type::I64).column("a", Type::I32).column("b", Type::I32);
    /// db.create_table(t.primary_key(&["id"]))?.insert_row(&[1.into(), 2.into(), 3.into()])?;
    /// db.drop_column("t", "a")?;
    /// assert_eq!(db.table("t")?.get_row(&[1.into()])?.unwrap(), [1i64.into(), 3i32.into()]);
    /// assert!(db.drop_column("t", "id").unwrap_err().to_string().contains("primary key"));
    /// # Ok::<(), ambo::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if it is the only column, part of the key, or in an index.
    pub fn drop_column(&self, table: &str, column: &str) -> Result<()> {
        self.change_table(table, &[TableChange::DropColumn(column.into())])
    }

    /// Gives a column another name. Expressions and queries that name it are text, which stays as it is.
    ///
    /// ```
    /// use ambo::{TableDefinition, Type};
    /// let db = ambo::Database::in_memory()?;
    /// let t = db.create_table(TableDefinition::new("t").column("a", Type::I64))?;
    /// db.rename_column("t", "a", "b")?;
    /// assert_eq!(db.table("t")?.definition().column_index("b"), Some(0));
    /// # Ok::<(), ambo::Error>(())
    /// ```
    pub fn rename_column(&self, table: &str, from: &str, to: &str) -> Result<()> {
        self.change_table(table, &[TableChange::rename_column(from, to)])
    }

    /// Makes a column refuse NULL, while the table is in use: all rows are looked at. A transaction that began before and writes to the
    /// table may fail with a conflict.
    ///
    /// ```
    /// use ambo::{Datum, TableDefinition, Type};
    /// let db = ambo::Database::in_memory()?;
    /// let t = TableDefinition::new("t").column("id", Type::I64).column_nullable("x", Type::F64).primary_key(&["id"]);
    /// let t = db.create_table(t)?;
    /// t.insert_row(&[1.into(), Datum::Null])?;
    /// assert!(db.set_not_null("t", "x").unwrap_err().to_string().contains("key (1)"));
    /// t.delete_row(&[1.into()])?;
    /// db.set_not_null("t", "x")?;
    /// assert!(t.insert_row(&[2.into(), Datum::Null]).is_err());
    /// db.drop_not_null("t", "x")?;
    /// t.insert_row(&[2.into(), Datum::Null])?;
    /// # Ok::<(), ambo::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with the key of a row that has NULL there, or for a column of an index: then nothing has
    /// changed.
    pub fn set_not_null(&self, table: &str, column: &str) -> Result<()> {
        self.engine().set_not_null(table, column)
    }

    /// Lets a column be NULL.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if it is part of the key, or in an index.
    pub fn drop_not_null(&self, table: &str, column: &str) -> Result<()> {
        self.change_table(table, &[TableChange::DropNotNull(column.into())])
    }

    /// Sets what SQL inserts where no value of a column is given; none for NULL. Rows that are there stay as they are.
    pub fn set_default_expression(&self, table: &str, column: &str, expression: Option<&str>) -> Result<()> {
        let expression = expression.map(str::to_owned);
        self.change_table(table, &[TableChange::SetDefaultExpression { column: column.into(), expression }])
    }

    /// Sets the comment of a table.
    pub fn set_comment(&self, table: &str, comment: Option<&str>) -> Result<()> {
        self.change_table(table, &[TableChange::SetComment(comment.map(str::to_owned))])
    }

    /// Sets the comment of a column.
    pub fn set_column_comment(&self, table: &str, column: &str, comment: Option<&str>) -> Result<()> {
        let comment = comment.map(str::to_owned);
        self.change_table(table, &[TableChange::SetColumnComment { column: column.into(), comment }])
    }

    /// Keeps a condition with a table. SQL holds rows to it, and is to find it true of all rows before.
    ///
    /// ```
    /// use ambo::{Check, TableDefinition, Type};
    /// let db = ambo::Database::in_memory()?;
    /// db.create_table(TableDefinition::new("t").column("x", Type::I64).check("small", "x < 10"))?;
    /// db.add_check("t", Check::new("positive", "x > 0"))?;
    /// db.drop_check("t", "small")?;
    /// assert_eq!(db.table("t")?.definition().checks, [Check::new("positive", "x > 0")]);
    /// # Ok::<(), ambo::Error>(())
    /// ```
    pub fn add_check(&self, table: &str, check: Check) -> Result<()> {
        self.change_table(table, &[TableChange::AddCheck(check)])
    }

    /// Drops the condition of this name.
    pub fn drop_check(&self, table: &str, name: &str) -> Result<()> {
        self.change_table(table, &[TableChange::DropCheck(name.into())])
    }
}

/// # Views
impl Database {
    /// Creates a view, a query with a name, which it shares with no table and no index. `replace`: in the place of a view of its name.
    ///
    /// ```
    /// use ambo::View;
    /// let db = ambo::Database::in_memory()?;
    /// db.create_view(View::new("late", "select * from flights where delay > 15"), false)?;
    /// db.rename_view("late", "late_flights")?;
    /// assert!(db.view("late_flights")?.query.starts_with("select"));
    /// assert!(db.table("late_flights").err().unwrap().to_string().contains("it is a view"));
    /// db.drop_view("late_flights")?;
    /// assert!(db.views().is_empty());
    /// # Ok::<(), ambo::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Exists`](crate::Error::Exists) for its name, [`Error::NotFound`](crate::Error::NotFound) for its schema.
    pub fn create_view(&self, view: View, replace: bool) -> Result<()> {
        self.define(&CatalogEdit::CreateView { view, replace })
    }

    /// Drops a view.
    pub fn drop_view(&self, name: &str) -> Result<()> {
        self.define(&CatalogEdit::DropView(name.into()))
    }

    /// Renames a view; the new name may be in another schema.
    pub fn rename_view(&self, from: &str, to: &str) -> Result<()> {
        self.define(&CatalogEdit::RenameView { from: from.into(), to: to.into() })
    }

    /// Sets the comment of a view.
    pub fn set_view_comment(&self, name: &str, comment: Option<&str>) -> Result<()> {
        self.define(&CatalogEdit::CommentView { name: name.into(), comment: comment.map(str::to_owned) })
    }

    /// The view of this name (`view` or `schema.view`).
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound), with the nearest name there is.
    pub fn view(&self, name: &str) -> Result<Arc<View>> {
        self.engine().current().catalog.find_view(name).cloned()
    }

    /// All views by name.
    pub fn views(&self) -> Vec<Arc<View>> {
        self.engine().current().catalog.views().cloned().collect()
    }
}
