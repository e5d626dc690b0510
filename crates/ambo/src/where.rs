//! Rows by conditions: reading, changing and deleting them.

use std::sync::Arc;

use ambo_storage::database::{FoundRows, Replaced, RowFormat};

use crate::{Result, Row, Select, Snapshot, Table, Transaction, rows::fit_row};

/// An iterator over rows that fit the filters of a [`Select`], in no order that is promised.
pub struct MatchingRows<'a> {
    found: FoundRows<'a>,
    format: Arc<RowFormat>,
}

impl<'a> MatchingRows<'a> {
    fn new(found: FoundRows<'a>, select: &Select) -> Self {
        Self { found, format: select.table().format().clone() }
    }

    /// How the rows are looked for: by which index, by several, in a range of keys, or among all.
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
    /// The whole rows that fit the filters, in a table of any storage: found by the key or by indexes where these leave out most rows.
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

    /// Changes the rows that fit the filters, all or none. Returns how many. After a conflict `change` is called again.
    pub fn update(&self, mut change: impl FnMut(&mut Row) -> Result<()>) -> Result<u64> {
        self.table().retry(|tx| tx.update_where(self, &mut change))
    }

    /// Deletes the rows that fit the filters, all or none. Returns how many.
    pub fn delete(&self) -> Result<u64> {
        self.table().retry(|tx| tx.delete_where(self))
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
type Stored = (Vec<u8>, Vec<u8>);

impl Transaction {
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
        self.all_or_none(|tx| {
            for (key, row) in &rows {
                tx.inner_mut().delete_over(select.table().id(), key, Replaced::Row(row))?;
            }
            Ok(rows.len() as u64)
        })
    }

    /// Changes the rows that fit the filters of `select`, as if all at once: values that are unique may change hands. Returns how many.
    ///
    /// # Errors
    /// [`Error::Exists`](crate::Error::Exists) if two rows had a key, or the values of a unique index, then. After an error nothing of it is done.
    pub fn update_where(
        &mut self,
        select: &Select,
        change: &mut dyn FnMut(&mut Row) -> Result<()>,
    ) -> Result<u64> {
        let table = select.table();
        let mut changed: Vec<(Stored, Stored)> = Vec::new();
        for (key, bytes) in self.stored_where(select)? {
            let mut row = table.format().decode(&key, &bytes)?;
            change(&mut row)?;
            let row = fit_row(table, &row)?;
            let number = match table.format().ends_in_number() {
                true => table.format().number_of(&key).unwrap_or(0),
                false => 0,
            };
            let new =
                (table.format().encode_key(&row, number)?, table.format().encode_row_over(&row, &bytes)?);
            changed.push(((key, bytes), new));
        }
        self.all_or_none(|tx| tx.replace_stored(table, &changed))
    }

    fn replace_stored(&mut self, table: &Table, changed: &[(Stored, Stored)]) -> Result<u64> {
        // All go from their places first: so no row is in the way of another that is changed, too.
        for ((key, bytes), _) in changed {
            self.inner_mut().delete_over(table.id(), key, Replaced::Row(bytes))?;
        }
        for ((old, _), (key, row)) in changed {
            if key != old && self.get(table, key)?.is_some() {
                return Err(crate::Error::Exists(format!(
                    "a row with the key that another is changed to, in table \"{}\"",
                    table.definition().name
                )));
            }
            self.inner_mut().put_over(table.id(), key, row, Replaced::Unknown)?;
        }
        Ok(changed.len() as u64)
    }

    fn stored_where(&self, select: &Select) -> Result<Vec<Stored>> {
        let plan = select.plan_in(self.inner().catalog())?;
        let mut found = self.inner().find_rows(select.table().id(), &plan.filters)?;
        let mut rows = Vec::new();
        while let Some(row) = found.next_row()? {
            rows.push(row);
        }
        Ok(rows)
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
