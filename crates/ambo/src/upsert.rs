//! Writing a row that may be there already, and changing rows.

use ambo_engine::database::Replaced;

use crate::{Datum, Error, Read, Result, Row, Table, Transaction};

impl Table {
    /// Adds a row, unless one with its key, or with its values in a unique index, is there. Returns whether it was added.
    ///
    /// ```
    /// use ambo::{TableDefinition, Type};
    /// let db = ambo::Database::in_memory()?;
    /// let t = TableDefinition::new("t").column("id", Type::I64).column("n", Type::I64).primary_key(&["id"]);
    /// let t = db.create_table(t)?;
    /// assert!(t.insert_or_ignore(&[1.into(), 10.into()])?);
    /// assert!(!t.insert_or_ignore(&[1.into(), 20.into()])?);
    /// // Or makes the best of both.
    /// t.insert_or_update(&[1.into(), 5.into()], |old, new| {
    ///     old[1] = (old[1].as_ref().as_i64().unwrap() + new[1].as_ref().as_i64().unwrap()).into();
    ///     Ok(())
    /// })?;
    /// assert_eq!(t.get_row(&[1.into()])?.unwrap()[1], 15i64.into());
    /// # Ok::<(), ambo::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] for values that do not fit their columns.
    pub fn insert_or_ignore(&self, row: &[Datum]) -> Result<bool> {
        self.retry(|tx| tx.insert_or_ignore(self, row))
    }

    /// Adds a row in the place of those with its key, or with its values in a unique index. Returns how many gave way.
    pub fn insert_or_replace(&self, row: &[Datum]) -> Result<u64> {
        self.retry(|tx| tx.insert_or_replace(self, row))
    }

    /// Adds a row; if there is one with its key, `update` changes that instead: it is given the row that is there and the new one. Returns
    /// whether the row was added. After a conflict `update` is called again.
    pub fn insert_or_update(
        &self,
        row: &[Datum],
        mut update: impl FnMut(&mut Row, &[Datum]) -> Result<()>,
    ) -> Result<bool> {
        self.retry(|tx| tx.insert_or_update(self, row, &mut update))
    }

    /// Changes the row of a key. Returns whether there is one. After a conflict `change` is called again.
    pub fn update_row(&self, key: &[Datum], mut change: impl FnMut(&mut Row) -> Result<()>) -> Result<bool> {
        self.retry(|tx| tx.update_row(self, key, &mut change))
    }
}

impl Transaction {
    /// As [`Table::insert_or_ignore`], in this transaction.
    pub fn insert_or_ignore(&mut self, table: &Table, row: &[Datum]) -> Result<bool> {
        match self.insert_row(table, row) {
            Ok(_) => Ok(true),
            Err(Error::Exists(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The row, with its stored key, that has the key of `row`; with an index, that has its values in that.
    ///
    /// # Errors
    /// [`Error::Invalid`] for values that do not fit their columns.
    pub fn find_same(
        &self,
        table: &Table,
        row: &[Datum],
        index: Option<&crate::Index>,
    ) -> Result<Option<(Vec<u8>, Row)>> {
        let row = crate::rows::fit_row(table, row)?;
        let Some(index) = index else {
            let key = table.key_of(&row);
            if key.is_empty() || key.iter().any(Datum::is_null) || table.definition().duplicates {
                return Ok(None);
            }
            let Some(stored) = self.stored_key(table, &key)? else { return Ok(None) };
            let Some(bytes) = self.get(table, &stored)? else { return Ok(None) };
            let there = table.format().decode(&stored, &bytes)?;
            return Ok(Some((stored, there)));
        };
        let values = index.values_of(&row);
        match values.iter().any(Datum::is_null) {
            true => Ok(None),
            false => self.index_rows(index, &values)?.next_whole(),
        }
    }

    /// As [`Table::insert_or_replace`], in this transaction.
    pub fn insert_or_replace(&mut self, table: &Table, row: &[Datum]) -> Result<u64> {
        self.all_or_none(|tx| tx.replace_all(table, row))
    }

    fn replace_all(&mut self, table: &Table, row: &[Datum]) -> Result<u64> {
        let row = crate::rows::fit_row(table, row)?;
        let mut replaced = 0;
        for index in table.indexes() {
            let index = table.index(&index)?;
            if !index.is_unique() {
                continue;
            }
            let values = index.values_of(&row);
            if values.iter().any(Datum::is_null) {
                continue;
            }
            if let Some(key) = self.index_rows(&index, &values)?.next_key()? {
                self.delete(table, &key)?;
                replaced += 1;
            }
        }
        // A key that is NULL is given a number, which no row has.
        if table.definition().has_hidden_key() || table.key_of(&row).iter().all(Datum::is_null) {
            self.insert_row(table, &row)?;
            return Ok(replaced);
        }
        let there = self.get_row(table, &table.key_of(&row))?.is_some();
        self.upsert_row(table, &row)?;
        Ok(replaced + u64::from(there))
    }

    /// As [`Table::insert_or_update`], in this transaction.
    pub fn insert_or_update(
        &mut self,
        table: &Table,
        row: &[Datum],
        update: &mut dyn FnMut(&mut Row, &[Datum]) -> Result<()>,
    ) -> Result<bool> {
        let row = crate::rows::fit_row(table, row)?;
        let key = table.key_of(&row);
        let is_numbered = key.is_empty() || key.iter().any(Datum::is_null);
        if !is_numbered && self.update_row(table, &key, &mut |there| update(there, &row))? {
            return Ok(false);
        }
        self.insert_row(table, &row)?;
        Ok(true)
    }

    /// As [`Table::update_row`], in this transaction.
    pub fn update_row(
        &mut self,
        table: &Table,
        key: &[Datum],
        change: &mut dyn FnMut(&mut Row) -> Result<()>,
    ) -> Result<bool> {
        table.definition().check_updates()?;
        let Some(stored) = self.stored_key(table, key)? else { return Ok(false) };
        let Some(bytes) = self.get(table, &stored)? else { return Ok(false) };
        let mut row = table.format().decode(&stored, &bytes)?;
        change(&mut row)?;
        let row = crate::rows::fit_row(table, &row)?;
        table.check_row(&row)?;
        let number = table.format().number_of(&stored).filter(|_| table.definition().has_hidden_key());
        let moved = table.format().encode_key(&row, number.unwrap_or(0))?;
        let value = table.format().encode_row_over(&row, &bytes)?;
        if moved == stored {
            self.inner_mut().put_over(table.id(), &stored, &value, Replaced::Row(&bytes))?;
            return Ok(true);
        }
        if self.get(table, &moved)?.is_some() {
            return Err(Error::Exists(format!(
                "a row with the key that the row is changed to, in table \"{}\"",
                table.definition().name
            )));
        }
        // The row goes from its old place first, so that it is not in its own way in unique indexes.
        self.all_or_none(|tx| {
            tx.inner_mut().delete_over(table.id(), &stored, Replaced::Row(&bytes))?;
            tx.inner_mut().put_over(table.id(), &moved, &value, Replaced::Nothing)
        })?;
        Ok(true)
    }
}
