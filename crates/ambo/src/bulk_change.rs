//! Any number of rows of a column table changed or deleted as one commit, with memory for few of them.

use crate::{
    BulkChange, ColumnBuffer, Error, Load, LoadOptions, LoadWriter, Result, Row, Select, Snapshot, Table,
};

/// From so many rows on a bulk change is the faster way.
const BULK_ROWS: usize = 32 << 10;

impl Table {
    /// Begins to change or delete rows of a column table that were read in `since`, any number of them: writers are given the rows as they are
    /// to be ([`LoadWriter::push_changed`]), and [`Load::finish`] makes it one commit. Keys stay as they are. No limit of transactions
    /// applies, and no memory is needed for each row.
    ///
    /// ```
    /// use ambo::{BulkChange, ColumnBuffer, LoadOptions, Storage, TableDefinition, Type};
    /// let db = ambo::Database::in_memory()?;
    /// let t = TableDefinition::new("t").column("id", Type::I64).column("v", Type::I64);
    /// let t = db.create_table(t.primary_key(&["id"]).storage(Storage::Column))?;
    /// (0..10i64).try_for_each(|id| t.insert_row(&[id.into(), 0i64.into()]).map(drop))?;
    ///
    /// let change = t.bulk_change(BulkChange::Delete, &db.snapshot(), LoadOptions::default())?;
    /// let mut writer = change.writer();
    /// let mut ids = ColumnBuffer::new(Type::I64);
    /// (0..10i64).filter(|id| id % 3 == 0).try_for_each(|id| ids.push(id.into()))?;
    /// writer.push_changed(vec![ids], None)?;
    /// writer.finish()?;
    /// assert_eq!(change.finish()?.replaced, 4);
    /// assert_eq!(t.len()?, 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Table::load`]. [`Load::finish`] ends with [`Error::Conflict`] if others have changed one of the rows since: nothing is changed then, and it
    /// is to be done again from a new snapshot.
    pub fn bulk_change(&self, what: BulkChange, since: &Snapshot, options: LoadOptions) -> Result<Load> {
        self.check_columns()?;
        let since = since.inner().clone();
        let change = self.database().engine().column_change(self.id(), what, since, options)?;
        Ok(Load::new(self, change))
    }

    /// A bulk change of the rows that all batches of a reader have, as [`Table::load_batches`] takes them. Of an update they have the
    /// columns of the table, of a deletion those of its key in the key's order; behind them the numbers of rows, where rows have one.
    ///
    /// # Errors
    /// As [`Table::bulk_change`]; an error of the reader is [`Error::Invalid`].
    #[cfg(feature = "arrow")]
    pub fn change_batches<E: std::fmt::Display>(
        &self,
        what: BulkChange,
        since: &Snapshot,
        batches: impl Iterator<Item = Result<arrow_array::RecordBatch, E>> + Send,
        options: LoadOptions,
    ) -> Result<crate::Loaded> {
        let (threads, memory) = (options.threads, options.memory_bytes);
        let places: Vec<usize> = match what {
            BulkChange::Update => (0..self.definition().columns.len()).collect(),
            BulkChange::Delete => self.definition().key.clone(),
        };
        self.bulk_change(what, since, options)?.take(batches, threads, memory, |writer, batch, first| {
            let definition = writer.table().definition();
            let columns = crate::arrow::buffers_of(definition, &places, batch, first)?;
            let numbered = definition.is_numbered();
            let numbers = numbered.then(|| crate::arrow::numbers(batch, first)).transpose()?;
            writer.inner_mut().push_changed(columns, numbers, first)
        })
    }
}

impl LoadWriter {
    /// Takes rows of a bulk change: of an update a buffer for each column of the table, of a deletion one for each column of the key, in its
    /// order; and the numbers of the rows, in a table without a primary key.
    ///
    /// # Errors
    /// [`Error::Invalid`] for values that the table cannot have, with row and column.
    pub fn push_changed(&mut self, columns: Vec<ColumnBuffer>, numbers: Option<ColumnBuffer>) -> Result<()> {
        let first = self.rows() + 1;
        self.inner_mut().push_changed(columns, numbers, first)
    }
}

impl Select {
    /// Changes or deletes the rows by a bulk change, if they are many and the table takes one. Returns how many; none if this is not the way, and nothing is
    /// changed then.
    pub(crate) fn change_in_bulk(
        &self,
        what: BulkChange,
        change: &mut dyn FnMut(&mut Row) -> Result<()>,
    ) -> Result<Option<u64>> {
        let definition = self.table().definition();
        if definition.storage != crate::Storage::Column || definition.duplicates {
            return Ok(None);
        }
        loop {
            match self.try_in_bulk(what, change) {
                Err(Error::Conflict(_)) => {}
                other => return other,
            }
        }
    }

    fn try_in_bulk(
        &self,
        what: BulkChange,
        change: &mut dyn FnMut(&mut Row) -> Result<()>,
    ) -> Result<Option<u64>> {
        let table = self.table();
        let since = self.table().database().snapshot();
        let plan = self.plan_in(since.inner().catalog())?;
        let mut found = since.inner().find_rows(table.id(), &plan.filters)?;
        let mut first = Vec::new();
        while first.len() < BULK_ROWS {
            match found.next_row()? {
                Some(row) => first.push(row),
                None => return Ok(None),
            }
        }
        let load = table.bulk_change(what, &since, LoadOptions::default())?;
        let mut writer = load.writer();
        let mut first = first.into_iter();
        let format = table.format();
        while let Some((key, stored)) = first.next().map_or_else(|| found.next_row(), |row| Ok(Some(row)))? {
            if what == BulkChange::Delete {
                writer.inner_mut().push_row(&key, &[])?;
                continue;
            }
            let mut row = format.decode(&key, &stored)?;
            change(&mut row)?;
            let number = format.number_of(&key).filter(|_| format.ends_in_number()).unwrap_or(0);
            if table.stored_key(&row, number)? != key {
                // Rows that move are changed by a transaction.
                return Ok(None);
            }
            let row = crate::rows::fit_row(table, &row)?;
            writer.inner_mut().push_row(&key, &format.encode_row_over(&row, &stored)?)?;
        }
        writer.finish()?;
        let done = load.finish()?;
        Ok(Some(if what == BulkChange::Delete { done.replaced } else { done.rows }))
    }
}
