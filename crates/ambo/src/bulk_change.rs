//! Any number of rows of a column table changed or deleted as one commit, with memory for few of them.

use crate::{
    BulkChange, ColumnBuffer, Error, Load, LoadOptions, LoadWriter, Result, Row, Select, Snapshot, Table,
    TableHold, Transaction, rows::fit_row, r#where::Stored,
};

/// A bulk change that met others so many times holds its table.
pub const BULK_PATIENCE: u32 = 3;

/// From so many rows on a bulk change, or a load, is faster than a transaction.
pub const BULK_ROWS: usize = 32 << 10;

impl Table {
    /// Whether rows of this table can be changed by [`Table::bulk_change`]: it is stored by column, without several rows of a key.
    pub fn takes_bulk_changes(&self) -> bool {
        self.definition().storage.traits().by_column && !self.definition().duplicates
    }

    /// Begins to change or delete rows of a column table that were read in `since`, any number of them: writers are given the rows as they
    /// are to be ([`LoadWriter::push_changed`]), and [`Load::finish`] makes it one commit. Keys stay as they are. No limit of transactions
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
    /// As [`Table::load`]. [`Load::finish`] ends with [`Error::Conflict`](crate::Error::Conflict) if others have changed one of the rows
    /// since: nothing is changed then, and it is to be done again from a new snapshot.
    pub fn bulk_change(&self, what: BulkChange, since: &Snapshot, options: LoadOptions) -> Result<Load> {
        self.check_columns()?;
        let since = since.inner().clone();
        let change = self.database().engine().column_change(self.id(), what, since, options)?;
        let checks = match what {
            BulkChange::Delete => {
                self.check_delete()?;
                None
            }
            BulkChange::Update => {
                self.definition().check_updates()?;
                self.checks()?
            }
        };
        Ok(Load::new(self, change, checks))
    }

    /// Keeps commits of others to the table waiting, for the lock timeout at most, as long as the hold lives: for bulk changes that would
    /// never come to their end beside writers that do not rest. Snapshots that begin now see what was committed before. A transaction of
    /// the same thread waits, too, and in vain.
    ///
    /// # Errors
    /// [`Error::Lock`](crate::Error::Lock) if another holds the table for too long.
    pub fn hold(&self) -> Result<TableHold> {
        self.database().engine().hold_table(self.id())
    }

    /// A bulk change of the rows that all batches of a reader have, as [`Table::load_batches`] takes them. Of an update they have the
    /// columns of the table, of a deletion those of its key in the key's order; behind them the numbers of rows, where rows have one.
    ///
    /// # Errors
    /// As [`Table::bulk_change`]; an error of the reader is [`Error::Invalid`](crate::Error::Invalid).
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
            writer.check_columns(&columns, first)?;
            let numbered = definition.is_numbered();
            let numbers = numbered.then(|| crate::arrow::numbers(batch, first)).transpose()?;
            writer.inner_mut().push_changed(columns, numbers, first)
        })
    }
}

impl LoadWriter {
    /// Takes rows of a bulk change: of an update a buffer for each column of the table, of a deletion one for each column of the key, in
    /// its order; and the numbers of the rows, in a table without a primary key.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for values that the table cannot have, with row and column.
    pub fn push_changed(&mut self, columns: Vec<ColumnBuffer>, numbers: Option<ColumnBuffer>) -> Result<()> {
        let first = self.rows() + 1;
        let definition = self.table().definition();
        let of_key = columns.len() == definition.key.len() && columns.len() < definition.columns.len();
        let places = if of_key { definition.key.clone() } else { (0..definition.columns.len()).collect() };
        self.check_meaning(&places, &columns, first)?;
        self.check_columns(&columns, first)?;
        self.inner_mut().push_changed(columns, numbers, first)
    }
}

/// What became of the rows that a statement of its own is to change.
pub(crate) enum FewOrBulk {
    /// Nothing yet: these are all.
    Few(Vec<Stored>),
    /// So many were changed in bulk.
    Done(u64),
    /// Nothing: they are many, and a bulk change cannot give them the other keys that they are to have.
    Moves,
}

impl Select {
    /// As [`Table::retry`], with `act` on what became of the rows. Bulk changes that others are in the way of again and again come through.
    pub(crate) fn retry_few_or_bulk(
        &self,
        what: BulkChange,
        change: &mut dyn FnMut(&mut Row) -> Result<()>,
        mut act: impl FnMut(&mut Transaction, FewOrBulk, &mut dyn FnMut(&mut Row) -> Result<()>) -> Result<u64>,
    ) -> Result<u64> {
        let (mut attempts, mut held) = (0, None);
        self.table().retry(|tx| {
            attempts += 1;
            let done = self.few_or_bulk(tx, what, change);
            if attempts == BULK_PATIENCE && matches!(done, Err(Error::Conflict(_))) {
                held = Some(self.table().hold()?);
            }
            let done = done?;
            // What the transaction writes would wait for it.
            held = None;
            act(tx, done, change)
        })
    }

    /// Changes or deletes the rows by a bulk change, if they are many and the table takes one, as they are in `tx`, which has written
    /// nothing.
    pub(crate) fn few_or_bulk(
        &self,
        tx: &Transaction,
        what: BulkChange,
        change: &mut dyn FnMut(&mut Row) -> Result<()>,
    ) -> Result<FewOrBulk> {
        let table = self.table();
        let since = tx.view();
        let plan = self.plan_in(since.inner().catalog())?;
        let mut found = since.inner().find_rows(table.id(), &plan.filters)?;
        let few = if table.takes_bulk_changes() { BULK_ROWS } else { usize::MAX };
        let mut first = Vec::new();
        while first.len() < few {
            match found.next_row()? {
                Some(row) => first.push(row),
                None => return Ok(FewOrBulk::Few(first)),
            }
        }
        let load = table.bulk_change(what, &since, LoadOptions::default())?;
        let mut writer = load.writer();
        let rows = first.into_iter().map(Ok).chain(std::iter::from_fn(|| found.next_row().transpose()));
        for stored in rows {
            let (key, stored) = stored?;
            if what == BulkChange::Delete {
                writer.inner_mut().push_row(&key, &[])?;
                continue;
            }
            let Some(row) = changed(table, &key, &stored, change)? else { return Ok(FewOrBulk::Moves) };
            writer.inner_mut().push_row(&key, &row)?;
        }
        writer.finish()?;
        let done = load.finish()?;
        Ok(FewOrBulk::Done(if what == BulkChange::Delete { done.replaced } else { done.rows }))
    }
}

/// A stored row as `change` makes it; none if it is to have another key.
fn changed(
    table: &Table,
    key: &[u8],
    stored: &[u8],
    change: &mut dyn FnMut(&mut Row) -> Result<()>,
) -> Result<Option<Vec<u8>>> {
    let format = table.format();
    let mut row = format.decode(key, stored)?;
    change(&mut row)?;
    let number = format.number_of(key).filter(|_| format.ends_in_number()).unwrap_or(0);
    let row = fit_row(table, &row)?;
    table.check_row(&row)?;
    match format.encode_key(&row, number)? == key {
        true => format.encode_row_over(&row, stored).map(Some),
        false => Ok(None),
    }
}
