//! Rows by conditions: reading, changing and deleting them.

use std::sync::Arc;

use ambo_engine::database::{FoundRows, Replaced, RowFormat};

use crate::{
    BulkChange, Datum, Read, Result, Row, Select, Snapshot, Table, Transaction,
    bulk_change::FewOrBulk,
    rows::{fit, fit_row},
};

/// An iterator over rows that fit the filters of a [`Select`], in no order that is promised.
pub struct MatchingRows<'a> {
    found: FoundRows<'a>,
    format: Arc<RowFormat>,
}

impl<'a> MatchingRows<'a> {
    fn new(found: FoundRows<'a>, select: &Select) -> Self {
        Self { found, format: select.table().format().clone() }
    }

    /// How the rows are looked for: by which index, by several, in a range of keys, by a scan of columns, or among all.
    pub fn path(&self) -> String {
        self.found.path()
    }
}

impl Iterator for MatchingRows<'_> {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        let row = self.found.next_row().transpose()?;
        Some(row.and_then(|(key, row)| self.format.decode(&key, &row)))
    }
}

impl Select {
    /// The whole rows that fit the filters, in a table of any storage: found by the key or by indexes where these leave out most rows; in a
    /// column table otherwise by a scan of the columns that are filtered by, which bitmap indexes help.
    ///
    /// ```
    /// use ambo::{Compare, IndexDefinition, TableDefinition, Test, Type};
    /// let db = ambo::Database::in_memory()?;
    /// let t = TableDefinition::new("t").column("id", Type::I64).column("town", Type::Utf8).column("size", Type::I64);
    /// let t = db.create_table(t.primary_key(&["id"]))?;
    /// for id in 0..1000i64 {
    ///     t.insert_row(&[id.into(), format!("town {}", id % 100).into(), (id % 7).into()])?;
    /// }
    /// db.create_index(&IndexDefinition::new("by_town", "t", &["town"]))?;
    /// let equal = |value: ambo::Datum| Test::Compare(Compare::Equal, value);
    /// let small = t.select(&[])?.filter("town", equal("town 5".into()))?.filter("size", equal(1.into()))?;
    /// assert_eq!(small.rows()?.path(), "index \"main.by_town\"");
    /// assert_eq!(small.rows()?.count(), 1);
    /// assert_eq!(small.delete()?, 1);
    /// assert_eq!(small.rows()?.count(), 0);
    /// # Ok::<(), ambo::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if a constant does not fit its column.
    pub fn rows(&self) -> Result<MatchingRows<'static>> {
        let snapshot = self.table().database().engine().snapshot();
        let plan = self.plan_in(snapshot.catalog())?;
        let found = snapshot.into_rows(self.table().id(), &plan.filters)?;
        Ok(MatchingRows::new(found, self))
    }

    /// Changes the rows that fit the filters, all or none. Returns how many. After a conflict `change` is called again. Many rows of a
    /// column table are changed in bulk ([`Table::bulk_change`]), as long as they keep their keys.
    pub fn update(&self, mut change: impl FnMut(&mut Row) -> Result<()>) -> Result<u64> {
        self.table().definition().check_updates()?;
        self.retry_few_or_bulk(BulkChange::Update, &mut change, |tx, done, change| match done {
            FewOrBulk::Few(rows) => tx.update_rows(self.table(), rows, change),
            FewOrBulk::Done(updated) => Ok(updated),
            FewOrBulk::Moves => tx.update_where(self, change),
        })
    }

    /// Deletes the rows that fit the filters, all or none. Returns how many. Many rows of a column table are deleted in bulk
    /// ([`Table::bulk_change`]).
    pub fn delete(&self) -> Result<u64> {
        self.retry_few_or_bulk(BulkChange::Delete, &mut |_| Ok(()), |tx, done, _| match done {
            FewOrBulk::Few(rows) => tx.delete_rows(self.table(), &rows),
            FewOrBulk::Done(deleted) => Ok(deleted),
            FewOrBulk::Moves => tx.delete_where(self),
        })
    }
}

impl Snapshot {
    /// As [`Select::rows`], at this moment.
    pub fn rows_where(&self, select: &Select) -> Result<MatchingRows<'_>> {
        let plan = select.plan_in(self.inner().catalog())?;
        let found = self.inner().find_rows(select.table().id(), &plan.filters)?;
        Ok(MatchingRows::new(found, select))
    }
}

/// A row as it is stored: key and rest.
pub(crate) type Stored = (Vec<u8>, Vec<u8>);

impl Table {
    /// The key of a row as it is stored. `number` is that of the row, in a table without a primary key or with several rows of a key;
    /// elsewhere it does not matter.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for values that do not fit.
    pub fn stored_key(&self, row: &[Datum], number: u64) -> Result<Vec<u8>> {
        self.format().encode_key(&fit_row(self, row)?, number)
    }

    /// As [`Table::stored_key`], from the values of the key's columns, in the order of the key.
    pub fn stored_key_of(&self, key: &[Datum], number: u64) -> Result<Vec<u8>> {
        let definition = self.definition();
        let columns = definition.key.iter().map(|&index| &definition.columns[index]);
        let fitted = columns.zip(key).map(|(column, value)| fit(self, &column.name, column.kind, value));
        self.format().encode_key_values(&fitted.collect::<Result<Row>>()?, number)
    }
}

/// Changes of rows of a table, as if all at once: values that are unique may change hands. See [`Transaction::change_rows`].
#[must_use = "rows that move are not there before `finish`"]
pub struct RowChanges<'a> {
    transaction: &'a mut Transaction,
    table: &'a Table,
    is_indexed: bool,
    /// The columns of each unique index.
    unique: Vec<Vec<usize>>,
    /// Rows that left their place and have not come to another yet.
    moved: Vec<Moved>,
    changed: u64,
}

enum Moved {
    To(Stored),
    /// Behind the other rows of its key, of which there may be several.
    Behind(Row),
}

impl RowChanges<'_> {
    /// Makes of the row `old`, which is stored under `key`, the row `new`. REQUIRES: `old` is the row as this transaction sees it.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for values that do not fit their columns.
    pub fn update(&mut self, key: Vec<u8>, old: &[Datum], new: &[Datum]) -> Result<()> {
        self.update_over(key, old, new, None)
    }

    /// As [`RowChanges::update`]; `stored` is the old row as it is stored, for a handle that may be older than columns of the table.
    fn update_over(
        &mut self,
        key: Vec<u8>,
        old: &[Datum],
        new: &[Datum],
        stored: Option<&[u8]>,
    ) -> Result<()> {
        let (table, format) = (self.table, self.table.format());
        table.definition().check_updates()?;
        let (old, new) = (fit_row(table, old)?, fit_row(table, new)?);
        table.check_row(&new)?;
        let number = format.number_of(&key).filter(|_| format.ends_in_number()).unwrap_or(0);
        let new_key = format.encode_key(&new, number)?;
        let bytes = match stored {
            Some(stored) => format.encode_row_over(&new, stored)?,
            None => format.encode_row(&new)?,
        };
        let before = if self.is_indexed && stored.is_none() { Some(format.encode_row(&old)?) } else { None };
        let replaced = stored.or(before.as_deref()).map_or(Replaced::Unknown, Replaced::Row);
        self.changed += 1;
        let gives_up = |columns: &Vec<usize>| columns.iter().any(|&column| old[column] != new[column]);
        if new_key == key && !self.unique.iter().any(gives_up) {
            return self.transaction.inner_mut().put_over(table.id(), &key, &bytes, replaced);
        }
        // It goes from its place first: so no row is in the way of another that is changed, too.
        self.transaction.inner_mut().delete_over(table.id(), &key, replaced)?;
        self.moved.push(match table.definition().duplicates && new_key != key {
            true => Moved::Behind(new.into_owned()),
            false => Moved::To((new_key, bytes)),
        });
        Ok(())
    }

    /// Deletes the row that is stored under `key`.
    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.changed += 1;
        self.transaction.delete(self.table, key)
    }

    /// Puts the rows that moved to their places. Returns how many rows were changed or deleted.
    ///
    /// # Errors
    /// [`Error::Exists`](crate::Error::Exists) if two rows had a key, or the values of a unique index, then.
    pub fn finish(self) -> Result<u64> {
        for moved in self.moved {
            match moved {
                Moved::Behind(row) => self.transaction.insert_row(self.table, &row).map(drop)?,
                Moved::To((key, row)) => {
                    if self.transaction.get(self.table, &key)?.is_some() {
                        return Err(crate::Error::Exists(format!(
                            "a row with the key that another is changed to, in table \"{}\"",
                            self.table.definition().name
                        )));
                    }
                    let inner = self.transaction.inner_mut();
                    inner.put_over(self.table.id(), &key, &row, Replaced::Nothing)?;
                }
            }
        }
        Ok(self.changed)
    }
}

impl Transaction {
    /// Begins to change rows of a table, one after the other and yet as if all at once. After an error some of them are changed:
    /// roll back to a [`Transaction::savepoint`] from before, or altogether.
    ///
    /// ```
    /// use ambo::{TableDefinition, Type};
    /// let db = ambo::Database::in_memory()?;
    /// let t = TableDefinition::new("t").column("id", Type::I64).column("name", Type::Utf8).primary_key(&["id"]);
    /// let t = db.create_table(t)?;
    /// let rows: [[ambo::Datum; 2]; 2] = [[1i64.into(), "one".into()], [2i64.into(), "two".into()]];
    /// rows.iter().try_for_each(|row| t.insert_row(row).map(drop))?;
    /// // Each gets the key of the other.
    /// let mut tx = db.begin()?;
    /// let mut changes = tx.change_rows(&t);
    /// for (row, id) in rows.iter().zip([2i64, 1]) {
    ///     changes.update(t.stored_key(row, 0)?, row, &[id.into(), row[1].clone()])?;
    /// }
    /// assert_eq!(changes.finish()?, 2);
    /// tx.commit()?;
    /// assert_eq!(t.get_row(&[1i64.into()])?.unwrap()[1], "two".into());
    /// # Ok::<(), ambo::Error>(())
    /// ```
    pub fn change_rows<'a>(&'a mut self, table: &'a Table) -> RowChanges<'a> {
        let indexes: Vec<_> = table.indexes().iter().filter_map(|name| table.index(name).ok()).collect();
        let unique = indexes.iter().filter(|index| index.is_unique()).map(|index| index.columns().to_vec());
        let (unique, is_indexed) = (unique.collect(), !indexes.is_empty());
        RowChanges { transaction: self, table, is_indexed, unique, moved: Vec::new(), changed: 0 }
    }

    /// As [`Select::rows`], with what this transaction wrote.
    pub fn rows_where(&self, select: &Select) -> Result<MatchingRows<'_>> {
        let plan = select.plan_in(self.inner().catalog())?;
        let found = self.inner().find_rows(select.table().id(), &plan.filters)?;
        Ok(MatchingRows::new(found, select))
    }

    /// Deletes the rows that fit the filters of `select`. Returns how many.
    ///
    /// # Errors
    /// After an error nothing of it is done.
    pub fn delete_where(&mut self, select: &Select) -> Result<u64> {
        let rows = self.stored_where(select)?;
        self.delete_rows(select.table(), &rows)
    }

    fn delete_rows(&mut self, table: &Table, rows: &[Stored]) -> Result<u64> {
        table.check_delete()?;
        self.all_or_none(|tx| {
            for (key, row) in rows {
                tx.inner_mut().delete_over(table.id(), key, Replaced::Row(row))?;
            }
            Ok(rows.len() as u64)
        })
    }

    /// Changes the rows that fit the filters of `select`, as if all at once: values that are unique may change hands. Returns how many.
    ///
    /// # Errors
    /// [`Error::Exists`](crate::Error::Exists) if two rows had a key, or the values of a unique index, then. After an error nothing of it
    /// is done.
    pub fn update_where(
        &mut self,
        select: &Select,
        change: &mut dyn FnMut(&mut Row) -> Result<()>,
    ) -> Result<u64> {
        select.table().definition().check_updates()?;
        let rows = self.stored_where(select)?;
        self.update_rows(select.table(), rows, change)
    }

    fn update_rows(
        &mut self,
        table: &Table,
        rows: Vec<Stored>,
        change: &mut dyn FnMut(&mut Row) -> Result<()>,
    ) -> Result<u64> {
        self.all_or_none(|tx| {
            let mut changes = tx.change_rows(table);
            for (key, bytes) in rows {
                let old = table.format().decode(&key, &bytes)?;
                let mut new = old.clone();
                change(&mut new)?;
                changes.update_over(key, &old, &new, Some(&bytes))?;
            }
            changes.finish()
        })
    }

    fn stored_where(&self, select: &Select) -> Result<Vec<Stored>> {
        let plan = select.plan_in(self.inner().catalog())?;
        let mut found = self.inner().find_rows(select.table().id(), &plan.filters)?;
        std::iter::from_fn(|| found.next_row().transpose()).collect()
    }

    /// Takes back what `act` wrote if it fails.
    pub(crate) fn all_or_none<R>(&mut self, act: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        let before = self.savepoint();
        let result = act(self);
        if result.is_err() {
            self.rollback_to(before)?;
        }
        result
    }
}
