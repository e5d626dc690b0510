//! Checks of a table, held to by every way in that is not SQL's.
//!
//! A check is kept as SQL text. What compares columns with constants or with each other is understood here (`parse`) and evaluated as
//! SQL does (`condition`); a row of a table with another check is refused, because only SQL can say whether it may be there.

mod condition;
mod parse;
mod rows;

use std::sync::Arc;

use ambo_engine::catalog::TableDefinition;

use crate::{ColumnBuffer, Datum, DatumRef, Error, Result, Table};
use condition::Condition;
pub(crate) use rows::check_rows;

/// Begins the check of a table that another refers to.
const REFERRER: &str = "REFERENCED BY ";

/// The checks of a table as one handle of it knows them.
#[derive(Debug)]
pub(crate) struct RowChecks {
    /// The table as it is called, and its columns as the handle knows them.
    definition: Arc<TableDefinition>,
    checks: Vec<RowCheck>,
}

#[derive(Debug)]
struct RowCheck {
    name: String,
    text: String,
    /// None if only SQL can evaluate it.
    condition: Option<Condition>,
}

impl RowChecks {
    /// The checks of `current`, over the columns of `own`; none if there are none.
    pub(crate) fn new(own: &Arc<TableDefinition>, current: &TableDefinition) -> Option<Arc<Self>> {
        if current.checks.is_empty() {
            return None;
        }
        let check = |check: &crate::Check| RowCheck {
            name: check.name.clone(),
            text: check.expression.clone(),
            condition: parse::condition(&check.expression, own),
        };
        let checks = current.checks.iter().map(check).collect();
        Some(Arc::new(Self { definition: own.clone(), checks }))
    }

    /// # Errors
    /// [`Error::Invalid`] with the check that forbids the row, or that only SQL can evaluate.
    pub(crate) fn check(&self, row: &[Datum]) -> Result<()> {
        self.check_values(&|column| Ok(row[column].as_ref()))
    }

    /// As [`RowChecks::check`], of rows as columns, whose first has the number `first` in messages.
    pub(crate) fn check_columns(&self, columns: &[ColumnBuffer], first: u64) -> Result<()> {
        if columns.len() != self.definition.columns.len() {
            // Refused with a better word by whoever takes the columns.
            return Ok(());
        }
        let rows = columns.iter().map(ColumnBuffer::len).min().unwrap_or(0);
        for row in 0..rows {
            self.check_values(&|column| {
                columns[column].get(row).map_err(|error| Error::Invalid(error.to_string()))
            })
            .map_err(|error| match error {
                Error::Invalid(what) => Error::Invalid(format!("row {}: {what}", first + row as u64)),
                other => other,
            })?;
        }
        Ok(())
    }

    fn check_values<'a>(&self, value: &impl Fn(usize) -> Result<DatumRef<'a>>) -> Result<()> {
        for check in &self.checks {
            let Some(condition) = &check.condition else {
                return Err(Error::Invalid(format!(
                    "check \"{}\" of table \"{}\" can be evaluated by SQL only: {}; write the row with SQL",
                    check.name, self.definition.name, check.text
                )));
            };
            // Where it is NULL the row is allowed (SQL:2016 part 2, 4.23.3.4).
            if condition.answer(value)? == Some(false) {
                return Err(Error::Invalid(format!(
                    "check \"{}\" of table \"{}\" forbids the row: {}",
                    check.name, self.definition.name, check.text
                )));
            }
        }
        Ok(())
    }

    /// # Errors
    /// [`Error::Invalid`]: rows of another table may refer to one that is deleted.
    pub(crate) fn check_delete(&self) -> Result<()> {
        match self.checks.iter().find(|check| check.text.starts_with(REFERRER)) {
            None => Ok(()),
            Some(check) => Err(Error::Invalid(format!(
                "rows of table \"{}\" are deleted by SQL only, which looks at those that refer to them: {}",
                self.definition.name, check.text
            ))),
        }
    }

    /// Why a row must not be there, as far as that can be told here.
    pub(crate) fn problem(&self, row: &[Datum]) -> Result<Option<String>> {
        for check in &self.checks {
            if let Some(condition) = &check.condition
                && condition.answer(&|column: usize| Ok(row[column].as_ref()))? == Some(false)
            {
                return Ok(Some(format!("check \"{}\" forbids it: {}", check.name, check.text)));
            }
        }
        Ok(None)
    }
}

impl Table {
    /// The same table for a caller who holds rows to its checks, as SQL does: writes through this handle do not.
    #[doc(hidden)]
    #[must_use]
    pub fn checked_by_caller(self) -> Self {
        self.without_checks()
    }

    /// The checks that only SQL can evaluate: [`Database::check`](crate::Database::check) passes them by, and rows come only through SQL.
    pub fn checks_for_sql(&self) -> Vec<crate::Check> {
        let own = self.format().definition();
        let is_unknown = |check: &&crate::Check| parse::condition(&check.expression, own).is_none();
        own.checks.iter().filter(is_unknown).cloned().collect()
    }

    /// Holds a row to the checks of the table as they are now.
    pub(crate) fn check_row(&self, row: &[Datum]) -> Result<()> {
        match self.checks()? {
            Some(checks) => checks.check(row),
            None => Ok(()),
        }
    }

    /// Refuses to delete rows to which others may refer.
    pub(crate) fn check_delete(&self) -> Result<()> {
        match self.checks()? {
            Some(checks) => checks.check_delete(),
            None => Ok(()),
        }
    }

    /// Holds a stored row, which may be anything, to the columns and checks of the table.
    pub(crate) fn check_stored(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let definition = self.definition();
        if definition.is_raw() {
            return Ok(());
        }
        let row = self.format().decode(key, value).map_err(|error| {
            Error::Invalid(format!(
                "key and value are not a row of table \"{}\": {error}; use the methods on rows",
                definition.name
            ))
        })?;
        let refuses = |(column, value): (&crate::Column, &Datum)| value.is_null() && !column.nullable;
        if let Some((column, _)) = definition.columns.iter().zip(&row).find(|pair| refuses(*pair)) {
            return Err(Error::Invalid(format!(
                "NULL in column \"{}\" of table \"{}\", which is NOT NULL",
                column.name, definition.name
            )));
        }
        crate::rows::check_meaning(definition, &row)?;
        self.check_row(&row)
    }
}
