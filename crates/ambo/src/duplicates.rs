//! Several rows of one key, in an order that the writer chooses.
//!
//! The stored key of such a row ends in an order number (u64). Rows are put between others by taking a number between theirs; when there
//! is none left, the rows of that key are numbered anew, in the same transaction.

use bytes::Bytes;

use crate::{Datum, Error, Read, Result, Row, Table, Transaction, rows::fit_row};

/// Where among the rows of its key a new row goes. Positions count from zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Before all others.
    First,
    /// Behind all others.
    Last,
    /// Before the row at this position.
    Before(u64),
    /// Behind the row at this position.
    After(u64),
}

/// The number of the first row of a key, and the distance to the next: so many halvings before rows are numbered anew.
const MIDDLE: u64 = 1 << 63;
const GAP: u64 = 1 << 32;

impl Transaction {
    /// Adds a row among those of its key.
    ///
    /// ```
    /// use ambo::{Place, TableDefinition, Type};
    /// let db = ambo::Database::in_memory()?;
    /// let t = TableDefinition::new("t").column("k", Type::I64).column("v", Type::Utf8).primary_key(&["k"]);
    /// let t = db.create_table(t.duplicates())?;
    /// let mut tx = db.begin()?;
    /// for (v, place) in [("b", Place::Last), ("a", Place::First), ("c", Place::After(1))] {
    ///     tx.insert_duplicate(&t, &[1.into(), v.into()], place)?;
    /// }
    /// tx.commit()?;
    /// let values: Vec<_> = t.rows_prefix(&[1.into()])?.map(|row| Ok(row?[1].to_string())).collect::<ambo::Result<_>>()?;
    /// assert_eq!(values, ["a", "b", "c"]);
    /// # Ok::<(), ambo::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no row at the position; [`Error::Invalid`] if the table has unique keys.
    pub fn insert_duplicate(&mut self, table: &Table, row: &[Datum], place: Place) -> Result<()> {
        require_duplicates(table)?;
        let row = fit_row(table, row)?;
        table.check_row(&row)?;
        let key: Row = table.definition().key.iter().map(|&index| row[index].clone()).collect();
        let number = match self.number_between(table, &key, place)? {
            Some(number) => number,
            None => {
                self.renumber(table, &key)?;
                self.number_between(table, &key, place)?.ok_or_else(|| {
                    Error::Invalid(format!(
                        "a key of table \"{}\" has too many rows",
                        table.definition().name
                    ))
                })?
            }
        };
        let value = table.format().encode_row(&row)?;
        let stored = table.format().encode_key(&row, number)?;
        self.inner_mut().put(table.id(), &stored, &value)
    }

    /// The row at a position among those of a key.
    pub fn duplicate_at(&self, table: &Table, key: &[Datum], position: u64) -> Result<Option<Row>> {
        require_duplicates(table)?;
        let mut rows = self.rows_prefix(table, key)?;
        rows.nth(usize::try_from(position).unwrap_or(usize::MAX)).transpose()
    }

    /// Deletes the row at a position among those of a key. Returns whether there was one.
    pub fn delete_duplicate(&mut self, table: &Table, key: &[Datum], position: u64) -> Result<bool> {
        require_duplicates(table)?;
        let stored = self.stored_keys(table, key)?;
        match usize::try_from(position).ok().and_then(|position| stored.get(position)) {
            Some((stored, _)) => self.delete(table, stored).map(|()| true),
            None => Ok(false),
        }
    }

    /// How many rows a key has.
    pub fn count_duplicates(&self, table: &Table, key: &[Datum]) -> Result<u64> {
        require_duplicates(table)?;
        self.count(table, table.prefix(key)?)
    }

    /// Stored keys and order numbers of the rows of a key.
    fn stored_keys(&self, table: &Table, key: &[Datum]) -> Result<Vec<(Bytes, u64)>> {
        self.scan(table, table.prefix(key)?)?
            .map(|row| {
                let (stored, _) = row?;
                let number = table.format().number_of(&stored).ok_or_else(|| {
                    Error::Invalid(format!(
                        "a stored key of table \"{}\" has no order number",
                        table.definition().name
                    ))
                })?;
                Ok((stored, number))
            })
            .collect()
    }

    /// An unused order number at the place; `None` if its neighbours leave none.
    fn number_between(&self, table: &Table, key: &[Datum], place: Place) -> Result<Option<u64>> {
        let edge = |scan: crate::Scan| -> Result<Option<u64>> {
            let mut scan = scan;
            Ok(scan.next().transpose()?.and_then(|(stored, _)| table.format().number_of(&stored)))
        };
        let scan = || self.scan(table, table.prefix(key)?);
        // The ends need no list of all rows.
        match place {
            Place::Last => Ok(edge(scan()?.rev())?.map_or(Some(MIDDLE), |last| last.checked_add(GAP))),
            Place::First => Ok(edge(scan()?)?.map_or(Some(MIDDLE), |first| first.checked_sub(GAP))),
            Place::Before(position) | Place::After(position) => {
                let numbers = self.stored_keys(table, key)?;
                let at =
                    usize::try_from(position).ok().filter(|at| *at < numbers.len()).ok_or_else(|| {
                        Error::NotFound(format!(
                            "row {position} of a key with {} rows in \"{}\"",
                            numbers.len(),
                            table.definition().name
                        ))
                    })?;
                let behind = if matches!(place, Place::After(_)) { at + 1 } else { at };
                let low = behind.checked_sub(1).map(|before| numbers[before].1);
                let high = numbers.get(behind).map(|(_, number)| *number);
                Ok(match (low, high) {
                    (Some(low), Some(high)) => (high - low > 1).then(|| low + (high - low) / 2),
                    (Some(low), None) => low.checked_add(GAP),
                    (None, Some(high)) => high.checked_sub(GAP),
                    (None, None) => Some(MIDDLE),
                })
            }
        }
    }

    /// Spreads the numbers of a key's rows evenly around the middle.
    fn renumber(&mut self, table: &Table, key: &[Datum]) -> Result<()> {
        let rows: Vec<_> = self.scan(table, table.prefix(key)?)?.collect::<Result<_>>()?;
        let start = MIDDLE - GAP * (rows.len() as u64 / 2);
        for (stored, _) in &rows {
            self.delete(table, stored)?;
        }
        for (index, (stored, value)) in rows.iter().enumerate() {
            let row = table.format().decode(stored, value)?;
            let stored = table.format().encode_key(&row, start + GAP * index as u64)?;
            self.put(table, &stored, value)?;
        }
        Ok(())
    }
}

fn require_duplicates(table: &Table) -> Result<()> {
    match table.definition().duplicates {
        true => Ok(()),
        false => Err(Error::Invalid(format!("table \"{}\" has unique keys", table.definition().name))),
    }
}
