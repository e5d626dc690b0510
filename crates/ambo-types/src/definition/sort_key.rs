//! Sort keys: rows in the order of other columns than those of the primary key.
//!
//! The stored key of such a table is the columns of the sort key, and behind them those of the primary key that are not among them, or the
//! hidden row number: so rows lie in the order of the sort key, whatever the storage, and stored keys are unique. That no two rows have the
//! same primary key, and where the row of one is, is known by a unique index that is created with the table.

use super::TableDefinition;

/// The columns by which rows are sorted, where they are not the primary key's.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct SortKey {
    /// Columns of the sort key.
    pub columns: Vec<usize>,
    /// Columns of the primary key, in its order; none if it is the hidden row number.
    pub primary: Vec<usize>,
}

impl TableDefinition {
    /// Keeps rows in the order of these columns, which are never NULL, and of the primary key where they are equal. Scans by conditions on
    /// them skip the groups of segments that have none of the rows.
    ///
    /// ```
    /// use ambo_types::{Storage, TableDefinition};
    /// use ambo_codec::Type;
    /// let events = TableDefinition::new("events")
    ///     .column("id", Type::I64)
    ///     .column("day", Type::Date32)
    ///     .primary_key(&["id"])
    ///     .sort_key(&["day"])
    ///     .storage(Storage::Column);
    /// events.validate()?;
    /// assert_eq!((events.sort_columns(), events.primary_columns()), (&[1][..], &[0][..]));
    /// # Ok::<(), ambo_types::Error>(())
    /// ```
    #[must_use]
    pub fn sort_key(mut self, names: &[&str]) -> Self {
        let primary = self.primary_columns().to_vec();
        let mut columns = Vec::new();
        for name in names {
            match self.column_index(name) {
                Some(index) => columns.push(index),
                None => self.unknown_key = Some((*name).to_owned()),
            }
        }
        self.sorted = (!columns.is_empty()).then_some(SortKey { columns, primary });
        self.derive_key();
        self
    }

    /// Sets the columns of the primary key.
    pub(super) fn set_primary(&mut self, primary: Vec<usize>) {
        match &mut self.sorted {
            None => self.key = primary,
            Some(sorted) => sorted.primary = primary,
        }
        self.derive_key();
    }

    /// Closes the gap that a column leaves which is part of no key.
    pub(super) fn sorted_without(&mut self, index: usize) {
        if let Some(SortKey { columns, primary }) = &mut self.sorted {
            columns
                .iter_mut()
                .chain(primary)
                .filter(|column| **column > index)
                .for_each(|column| *column -= 1);
        }
    }

    /// The stored key that follows from sort key and primary key.
    fn derive_key(&mut self) {
        if let Some(SortKey { columns, primary }) = &self.sorted {
            let behind = primary.iter().filter(|column| !columns.contains(column));
            self.key = columns.iter().chain(behind).copied().collect();
            if self.key == *primary {
                // The primary key sorts rows that way by itself.
                self.sorted = None;
            }
        }
    }

    /// The columns of the primary key, in its order; none if it is a hidden row number. With duplicates, those that several rows may have
    /// alike.
    pub fn primary_columns(&self) -> &[usize] {
        self.sorted.as_ref().map_or(&self.key, |sorted| &sorted.primary)
    }

    /// The columns of the sort key; none if rows are in the order of the primary key.
    pub fn sort_columns(&self) -> &[usize] {
        self.sorted.as_ref().map_or(&[], |sorted| &sorted.columns)
    }

    /// Whether rows are in another order than that of the primary key, and are found by an index.
    pub fn has_sort_key(&self) -> bool {
        self.sorted.is_some()
    }

    /// What is wrong with the sort key, if anything.
    pub(super) fn check_sort_key(&self) -> Result<(), String> {
        let Some(SortKey { columns, primary }) = &self.sorted else { return Ok(()) };
        if columns.is_empty() || columns.iter().chain(primary).any(|column| *column >= self.columns.len()) {
            return Err("a sort key without columns, or of columns that are not there".into());
        }
        let name = |column: &usize| &self.columns[*column].name;
        for (what, key) in [("sort key", columns), ("primary key", primary)] {
            if let Some(twice) = (1..key.len()).find(|at| key[..*at].contains(&key[*at])) {
                return Err(format!("column \"{}\" is twice in the {what}", name(&key[twice])));
            }
        }
        if let Some(column) = columns.iter().find(|column| self.columns[**column].nullable) {
            return Err(format!("column \"{}\" is part of the sort key, so it cannot be NULL", name(column)));
        }
        if self.duplicates || self.raw || self.index.is_some() {
            return Err(
                "a sort key and duplicate keys, or a sort key of a plain key-value table, are not possible"
                    .into(),
            );
        }
        let mut derived = self.clone();
        derived.derive_key();
        match derived.key == self.key && derived.sorted.is_some() {
            true => Ok(()),
            false => Err("its stored key does not follow from sort key and primary key".into()),
        }
    }
}
