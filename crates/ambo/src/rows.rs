//! Rows of typed columns.

use std::{borrow::Cow, sync::Arc};

use ambo_engine::database::{IndexRange, Replaced, RowFormat};

use crate::{
    Datum, Error, Read, Result, Table, TableDefinition, Transaction, Type, moment::Moment,
    primary::PrimaryScan, range::Bounds, scan::RangeRows,
};

/// A row: a value for each column, in the order of the definition.
pub type Row = Vec<Datum>;

/// An iterator over the rows of a typed table, in key order.
pub struct Rows {
    source: RowSource,
    format: Arc<RowFormat>,
}

enum RowSource {
    Range(RangeRows),
    /// Rows by their primary key, where they are stored in another order.
    Index(PrimaryScan),
}

impl Rows {
    pub(crate) fn new(rows: RangeRows, table: &Table) -> Self {
        Self { source: RowSource::Range(rows), format: table.format().clone() }
    }

    pub(crate) fn by_index(scan: PrimaryScan, table: &Table) -> Self {
        Self { source: RowSource::Index(scan), format: table.format().clone() }
    }

    /// The same rows from the last to the first. To be called before the first step.
    #[must_use]
    pub fn rev(mut self) -> Self {
        self.source = match self.source {
            RowSource::Range(rows) => RowSource::Range(rows.rev()),
            RowSource::Index(scan) => RowSource::Index(scan.rev()),
        };
        self
    }
}

impl Iterator for Rows {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        let row = match &mut self.source {
            RowSource::Range(rows) => {
                rows.next().transpose()?.and_then(|(key, row)| self.format.decode(key, row))
            }
            RowSource::Index(scan) => {
                scan.next_row().transpose()?.and_then(|(key, row)| self.format.decode(&key, &row))
            }
        };
        Some(row)
    }
}

/// The stored key of a row, the row in its columns' types, and the number if one was given to it.
type Placed<'a> = (Vec<u8>, Cow<'a, [Datum]>, Option<u64>);

/// A row with each value in its column's type, as far as that loses nothing. Most rows are that already.
pub(crate) fn fit_row<'a>(table: &Table, row: &'a [Datum]) -> Result<Cow<'a, [Datum]>> {
    let definition = table.definition();
    if row.len() != definition.columns.len() {
        return Err(Error::Invalid(format!(
            "table \"{}\" has {} columns, the row has {} values",
            definition.name,
            definition.columns.len(),
            row.len()
        )));
    }
    let columns = || definition.columns.iter().zip(row);
    let fitted = match columns().all(|(column, value)| value.is_null() || value.as_ref().is_of(column.kind)) {
        true => Cow::Borrowed(row),
        false => {
            let fitted = columns().map(|(column, value)| fit(table, &column.name, column.kind, value));
            Cow::Owned(fitted.collect::<Result<_>>()?)
        }
    };
    check_meaning(definition, &fitted)?;
    Ok(fitted)
}

/// Holds a row to what its columns mean.
///
/// # Errors
/// [`Error::Invalid`] with the column and what is wrong with its value.
pub(crate) fn check_meaning(definition: &TableDefinition, row: &[Datum]) -> Result<()> {
    definition.columns.iter().zip(row).try_for_each(|(column, value)| {
        column.check(value.as_ref()).map_err(|what| {
            Error::Invalid(format!("column \"{}\" of table \"{}\": {what}", column.name, definition.name))
        })
    })
}

/// Values of the primary key's columns, or of the first of them, each in its column's type.
pub(crate) fn fit_key(table: &Table, key: &[Datum]) -> Result<Row> {
    let definition = table.definition();
    let columns = definition.primary_columns().iter().map(|&index| &definition.columns[index]);
    columns.zip(key).map(|(column, value)| fit(table, &column.name, column.kind, value)).collect()
}

pub(crate) fn fit(table: &Table, column: &str, kind: Type, value: &Datum) -> Result<Datum> {
    if value.is_null() {
        return Ok(Datum::Null);
    }
    value.clone().fit(kind).map_err(|error| {
        Error::Invalid(format!("column \"{column}\" of table \"{}\": {error}", table.definition().name))
    })
}

impl Table {
    /// Adds a row; returns the number that it was given where the table numbers its rows (a hidden row number, or an
    /// auto-increment key that was NULL).
    ///
    /// ```
    /// use ambo::{Datum, TableDefinition, Type};
    /// let db = ambo::Database::in_memory()?;
    /// let notes = TableDefinition::new("notes").column("id", Type::I64).column_nullable("text", Type::Utf8);
    /// let notes = db.create_table(notes.primary_key(&["id"]).auto_increment())?;
    /// assert_eq!(notes.insert_row(&[Datum::Null, "first".into()])?, Some(1));
    /// assert_eq!(notes.get_row(&[1i64.into()])?.unwrap()[1], "first".into());
    /// # Ok::<(), ambo::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Exists`] if there is a row with its key; [`Error::Invalid`] for values that do not fit their columns.
    pub fn insert_row(&self, row: &[Datum]) -> Result<Option<u64>> {
        self.retry(|tx| tx.insert_row(self, row))
    }

    /// Adds a row, or replaces the one with its key.
    pub fn upsert_row(&self, row: &[Datum]) -> Result<()> {
        self.retry(|tx| tx.upsert_row(self, row))
    }

    /// The row with this key.
    pub fn get_row(&self, key: &[Datum]) -> Result<Option<Row>> {
        Read::get_row(self.database(), self, key)
    }

    /// Deletes the row with this key. Returns whether there was one.
    pub fn delete_row(&self, key: &[Datum]) -> Result<bool> {
        self.retry(|tx| tx.delete_row(self, key))
    }

    /// All rows, in key order: that of the sort key, if the table has one.
    pub fn rows(&self) -> Result<Rows> {
        Read::rows_prefix(self.database(), self, &[])
    }

    /// The rows whose first columns of the primary key have these values, in its order.
    pub fn rows_prefix(&self, key: &[Datum]) -> Result<Rows> {
        if self.definition().has_sort_key() {
            let now = Moment::Now(self.database().engine()).pinned();
            return Ok(Rows::by_index(PrimaryScan::new(self, key, &now)?, self));
        }
        Read::rows_prefix(self.database(), self, key)
    }

    /// How many rows have these values in the first columns of their primary key.
    pub fn count_prefix(&self, key: &[Datum]) -> Result<u64> {
        if self.definition().has_sort_key() {
            let range = self.primary_prefix(key)?;
            let snapshot = self.database().engine().snapshot();
            return snapshot.index_count(self.primary_or_none()?, IndexRange::Equal(&range));
        }
        self.count(self.prefix(key)?)
    }

    /// Runs `act` in transactions until it meets no conflict.
    pub(crate) fn retry<R>(&self, mut act: impl FnMut(&mut Transaction) -> Result<R>) -> Result<R> {
        loop {
            let mut tx = self.database().begin()?;
            match act(&mut tx).and_then(|result| tx.commit().map(|()| result)) {
                Err(Error::Conflict(_)) => {}
                done => return done,
            }
        }
    }

    /// The stored key of the one row that these key values name, in a table without a sort key.
    pub(crate) fn whole_key(&self, key: &[Datum]) -> Result<Vec<u8>> {
        if self.definition().has_sort_key() {
            return Err(self.has_no_primary_key());
        }
        if self.definition().has_hidden_key() {
            let number = match key {
                [number] => number.as_ref().as_u64(),
                _ => None,
            };
            let number = number.ok_or_else(|| {
                Error::Invalid(format!(
                    "table \"{}\" has no key; its rows are named by their number",
                    self.definition().name
                ))
            })?;
            return self.format().encode_key_values(&[], number);
        }
        if self.definition().duplicates {
            return Err(Error::Invalid(format!(
                "table \"{}\" may have several rows of one key; use rows_prefix or the methods on duplicates",
                self.definition().name
            )));
        }
        self.format().encode_key_values(&self.key_values(key)?, 0)
    }

    pub(crate) fn key_values(&self, key: &[Datum]) -> Result<Row> {
        let wanted = self.definition().primary_columns().len();
        if key.len() != wanted {
            return Err(Error::Invalid(format!(
                "the key of table \"{}\" has {wanted} columns, {} values were given",
                self.definition().name,
                key.len()
            )));
        }
        fit_key(self, key)
    }

    /// The primary key's columns of a row.
    pub(crate) fn key_of(&self, row: &[Datum]) -> Row {
        self.definition().primary_columns().iter().map(|&index| row[index].clone()).collect()
    }

    /// The keys as bytes, in a range for [`Table::delete_range`] and the like, of rows whose first columns of the primary key have these
    /// values. REQUIRES: the table has no sort key, or these are values of its columns.
    pub fn keys_of_prefix(&self, key: &[Datum]) -> Result<Bounds> {
        self.prefix(key)
    }

    pub(crate) fn prefix(&self, key: &[Datum]) -> Result<Bounds> {
        if key.len() > self.definition().key.len() {
            self.key_values(key)?;
        }
        let (lower, upper) = self.format().key_prefix(&fit_key(self, key)?)?;
        let upper = upper.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
        Ok((std::ops::Bound::Included(lower), upper))
    }
}

impl Transaction {
    /// As [`Table::insert_row`], in this transaction.
    pub fn insert_row(&mut self, table: &Table, row: &[Datum]) -> Result<Option<u64>> {
        if table.definition().duplicates {
            return self.insert_duplicate(table, row, crate::Place::Last).map(|()| None);
        }
        let (key, row, number) = self.place(table, row)?;
        if number.is_none() && self.get(table, &key)?.is_some() {
            let shown = |&place: &usize| table.definition().columns[place].shown(row[place].as_ref());
            let values: Vec<_> = table.definition().primary_columns().iter().map(shown).collect();
            return Err(Error::Exists(format!(
                "a row with the key ({}) in table \"{}\"",
                values.join(", "),
                table.definition().name
            )));
        }
        let value = table.format().encode_row(&row)?;
        self.inner_mut().put_over(table.id(), &key, &value, Replaced::Nothing)?;
        Ok(number)
    }

    /// As [`Table::upsert_row`], in this transaction.
    pub fn upsert_row(&mut self, table: &Table, row: &[Datum]) -> Result<()> {
        if table.definition().duplicates {
            return Err(Error::Invalid(format!(
                "table \"{}\" may have several rows of one key, so none is the one to replace",
                table.definition().name
            )));
        }
        let (key, row, _) = self.place(table, row)?;
        let value = table.format().encode_row(&row)?;
        if table.primary().is_some()
            && let Some(there) = self.stored_key(table, &table.key_of(&row))?
            && there != key
        {
            return self.all_or_none(|tx| {
                tx.delete(table, &there)?;
                tx.inner_mut().put(table.id(), &key, &value)
            });
        }
        self.inner_mut().put(table.id(), &key, &value)
    }

    /// As [`Table::delete_row`], in this transaction.
    pub fn delete_row(&mut self, table: &Table, key: &[Datum]) -> Result<bool> {
        table.check_delete()?;
        let Some(key) = self.stored_key(table, key)? else { return Ok(false) };
        let Some(row) = self.get(table, &key)? else { return Ok(false) };
        self.inner_mut().delete_over(table.id(), &key, Replaced::Row(&row))?;
        Ok(true)
    }

    /// The stored key of a row, the row with its number filled in, and the number if one was given to it.
    fn place<'a>(&mut self, table: &Table, row: &'a [Datum]) -> Result<Placed<'a>> {
        let mut row = fit_row(table, row)?;
        let definition = table.definition();
        if definition.has_hidden_key() {
            table.check_row(&row)?;
            let number = table.take_row_number()?;
            return Ok((table.format().encode_key(&row, number)?, row, Some(number)));
        }
        let mut number = None;
        if definition.auto_increment {
            let index = definition.primary_columns()[0];
            let column = &definition.columns[index];
            if row[index].is_null() {
                let next = table.take_row_number()?;
                row.to_mut()[index] = Datum::U64(next).fit(column.kind).map_err(|_| {
                    Error::Invalid(format!(
                        "column \"{}\" of table \"{}\" has no more numbers",
                        column.name, definition.name
                    ))
                })?;
                number = Some(next);
            } else if let Some(used) = row[index].as_ref().as_u64() {
                table.note_row_number(used)?;
            }
        }
        table.check_row(&row)?;
        Ok((table.format().encode_key(&row, 0)?, row, number))
    }
}
