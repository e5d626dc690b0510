//! Loads of column tables.

use std::sync::Arc;

use ambo_engine::database::ColumnLoad;

use crate::{ColumnBuffer, Error, LoadOptions, Loaded, Result, Table, check::RowChecks};

/// A load of a column table under way: any number of threads bring rows as columns, which become segments at once. Dropped before
/// [`Load::finish`], it never was.
///
/// ```
/// use ambo::{ColumnBuffer, LoadOptions, Storage, TableDefinition, Type};
/// let db = ambo::Database::in_memory()?;
/// let points = TableDefinition::new("points").column("x", Type::I64).column("y", Type::F64);
/// let points = db.create_table(points.primary_key(&["x"]).storage(Storage::Column))?;
/// let load = points.load(LoadOptions::default())?;
/// let mut writer = load.writer();
/// let (mut x, mut y) = (ColumnBuffer::new(Type::I64), ColumnBuffer::new(Type::F64));
/// for n in (0..1000i64).rev() {
///     x.push(n.into())?;
///     y.push((n as f64 / 2.0).into())?;
/// }
/// writer.push(vec![x, y])?;
/// writer.finish()?;
/// assert_eq!(load.finish()?.rows, 1000);
/// assert_eq!(points.get_row(&[7i64.into()])?.unwrap()[1], 3.5.into());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Load {
    load: ColumnLoad,
    table: Table,
    /// What rows are held to that are there when it is finished; none if they go.
    checks: Option<Arc<RowChecks>>,
}

/// Takes the rows of one thread of a [`Load`]. Of two rows with the same key the one in the writer that was made first counts as the
/// first.
pub struct LoadWriter {
    writer: ambo_engine::database::LoadWriter,
    table: Table,
    checks: Option<Arc<RowChecks>>,
}

impl Table {
    /// Begins a load, of a column table. It is one commit when it is finished: all rows or none, durable, unseen by older snapshots.
    /// Transactions that began before that and write to the table meet a conflict.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for a table of other storage, or one with several rows of a key.
    pub fn load(&self, options: LoadOptions) -> Result<Load> {
        self.check_columns()?;
        let load = self.database().engine().column_load(self.id(), options)?;
        Ok(Load::new(self, load, self.checks()?))
    }

    /// That this handle knows all columns of the table.
    pub(crate) fn check_columns(&self) -> Result<()> {
        let there = self.database().engine().current();
        let own = self.format().definition();
        if there.catalog.table(self.id()).is_some_and(|there| !there.has_columns_of(own)) {
            return Err(crate::Error::Invalid(format!(
                "table \"{}\" has other columns than this handle of it knows; take a new one",
                own.name
            )));
        }
        Ok(())
    }
}

impl Load {
    pub(crate) fn new(table: &Table, load: ColumnLoad, checks: Option<Arc<RowChecks>>) -> Self {
        Self { load, table: table.clone(), checks }
    }

    /// A writer, for one thread. Each is to be finished before the load is.
    pub fn writer(&self) -> LoadWriter {
        LoadWriter { writer: self.load.writer(), table: self.table.clone(), checks: self.checks.clone() }
    }

    /// Rows that writers have taken so far, for whoever watches.
    pub fn rows(&self) -> u64 {
        self.load.rows()
    }

    /// Publishes the rows: from now on they are there, and stay.
    ///
    /// # Errors
    /// [`Error::Exists`](crate::Error::Exists) with a key that is there already, or twice in the load, if that is refused;
    /// [`Error::Cancelled`](crate::Error::Cancelled). After any error there is nothing of the load.
    pub fn finish(self) -> Result<Loaded> {
        self.load.finish()
    }

    /// The same, with an object that is in the catalog from the same moment on.
    pub(crate) fn finish_telling(self, told: ambo_engine::catalog::Object) -> Result<Loaded> {
        self.load.finish_telling(Some(told))
    }
}

impl LoadWriter {
    /// Takes rows: a buffer for each column of the table, in its order.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for values that the table cannot have, with row and column.
    pub fn push(&mut self, columns: Vec<ColumnBuffer>) -> Result<()> {
        let all: Vec<usize> = (0..self.table.definition().columns.len()).collect();
        self.check_meaning(&all, &columns, self.rows() + 1)?;
        self.check_columns(&columns, self.rows() + 1)?;
        self.writer.push(columns)
    }

    /// Takes the rows of an Arrow batch, whose columns have the names of the table's.
    ///
    /// # Errors
    /// As [`LoadWriter::push`].
    #[cfg(feature = "arrow")]
    pub fn push_batch(&mut self, batch: &arrow_array::RecordBatch) -> Result<()> {
        self.push_batch_numbered(batch, self.writer.rows() + 1)
    }

    /// As [`LoadWriter::push_batch`], the first of the rows being number `first` in messages.
    #[cfg(feature = "arrow")]
    pub fn push_batch_numbered(&mut self, batch: &arrow_array::RecordBatch, first: u64) -> Result<()> {
        let columns = crate::arrow::buffers(self.table.definition(), batch, first)?;
        self.check_columns(&columns, first)?;
        self.writer.push_numbered(columns, first)
    }

    /// Holds rows to the checks of the table; of rows to be deleted only keys are given.
    pub(crate) fn check_columns(&self, columns: &[ColumnBuffer], first: u64) -> Result<()> {
        match &self.checks {
            Some(checks) => checks.check_columns(columns, first),
            None => Ok(()),
        }
    }

    /// Holds columns, by their places in the table, to what they mean. Those that are made of Arrow's are what they are to be.
    pub(crate) fn check_meaning(&self, places: &[usize], columns: &[ColumnBuffer], first: u64) -> Result<()> {
        let definition = self.table.definition();
        for (column, buffer) in places.iter().map(|place| &definition.columns[*place]).zip(columns) {
            if column.logical.is_none() || buffer.ty() != column.kind {
                continue;
            }
            for row in 0..buffer.len() {
                let value = buffer.get(row).map_err(|error| Error::Invalid(error.to_string()))?;
                column.check(value).map_err(|what| {
                    Error::Invalid(format!("row {}: column \"{}\": {what}", first + row as u64, column.name))
                })?;
            }
        }
        Ok(())
    }

    pub(crate) fn inner_mut(&mut self) -> &mut ambo_engine::database::LoadWriter {
        &mut self.writer
    }

    /// The table that it writes to.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// How many rows it has taken.
    pub fn rows(&self) -> u64 {
        self.writer.rows()
    }

    /// Writes what is left. A writer that is dropped without keeps the whole load from being finished.
    pub fn finish(self) -> Result<()> {
        self.writer.finish()
    }
}
