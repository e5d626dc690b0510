//! Reading columns of a column table.

use std::{borrow::Cow, sync::Arc};

use ambo_engine::{
    catalog::Catalog,
    database::{ScanPlan, TableScan},
    scan::{Filter, Test},
};

use crate::{Error, Read, Result, Table};

/// Which columns of a column table to read, and of which rows.
///
/// ```
/// use ambo::{Compare, Database, Storage, Sum, TableDefinition, Test, Type};
/// # let dir = tempfile::tempdir()?;
/// # let db = Database::open(dir.path())?;
/// let sales = db.create_table(
///     TableDefinition::new("sales")
///         .column("id", Type::I64)
///         .column("amount", Type::I32)
///         .primary_key(&["id"])
///         .storage(Storage::Column),
/// )?;
/// for id in 1..=100i64 {
///     sales.upsert_row(&[id.into(), (id as i32 * 10).into()])?;
/// }
/// let large = sales.select(&["amount"])?.filter("amount", Test::Compare(Compare::Greater, 900.into()))?;
/// let scan = large.scan()?;
/// assert_eq!(scan.count(1)?, 10);
/// assert_eq!(scan.sum(0, 1)?, Some(Sum::Integer(9550)));
///
/// // Or with one's own eyes, a few thousand rows at a time, by two threads.
/// let most = scan.fold(2, || 0, |most, morsel| {
///     let mut amounts = Vec::<i32>::new();
///     morsel.values(0, &mut amounts)?;
///     *most = amounts.into_iter().fold(*most, i32::max);
///     Ok(())
/// })?;
/// assert_eq!(most.into_iter().max(), Some(1000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Select {
    table: Table,
    plan: ScanPlan,
}

impl Select {
    pub(crate) fn new(table: &Table, columns: &[&str]) -> Result<Self> {
        let columns = columns.iter().map(|name| column(table, name)).collect::<Result<_>>()?;
        Ok(Self {
            table: table.clone(),
            plan: ScanPlan { columns, filters: Vec::new(), ..ScanPlan::default() },
        })
    }

    /// Leaves out the rows whose value in a column answers `test` with no. What leaves fewest rows should come first.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the table has no such column.
    pub fn filter(mut self, name: &str, test: Test) -> Result<Self> {
        self.plan.filters.push(Filter { column: column(&self.table, name)?, test });
        Ok(self)
    }

    /// Leaves out rows that answer none of these questions with yes, where an index says so. Others may be left: ask them as well.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the table has no such column.
    pub fn either(mut self, filters: Vec<(String, Test)>) -> Result<Self> {
        let filter = |(name, test): (String, Test)| Ok(Filter { column: column(&self.table, &name)?, test });
        let filters = filters.into_iter().map(filter).collect::<Result<_>>()?;
        self.plan.either.push(filters);
        Ok(self)
    }

    /// The names of the indexes with postings in files that its conditions are asked of.
    ///
    /// # Errors
    /// As of a scan.
    pub fn postings(&self) -> Result<Vec<String>> {
        let version = self.table.database().engine().current();
        version.asked_postings(self.table.id(), &*self.plan_in(&version.catalog)?)
    }

    /// The same rows, with columns by their places in the definition.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a place where no column is.
    pub fn columns(mut self, columns: &[usize]) -> Result<Self> {
        let definition = self.table.definition();
        let known = definition.columns.len() + usize::from(definition.is_numbered());
        if let Some(column) = columns.iter().find(|column| **column >= known) {
            return Err(Error::Invalid(format!("table \"{}\" has no column {column}", definition.name)));
        }
        self.plan.columns = columns.to_vec();
        Ok(self)
    }

    /// That the constants of all filters fit their columns, whatever the table's storage.
    ///
    /// # Errors
    /// [`Error::Invalid`] that says which one does not.
    pub fn check(&self) -> Result<()> {
        let definition = self.table.definition();
        for Filter { column, test } in &self.plan.filters {
            let column = &definition.columns[*column];
            test.clone().fit(column.kind).map_err(|error| {
                Error::Invalid(format!(
                    "column \"{}\" of table \"{}\": {error}",
                    column.name, definition.name
                ))
            })?;
        }
        Ok(())
    }

    /// The places of the columns that are read.
    pub fn columns_read(&self) -> &[usize] {
        &self.plan.columns
    }

    /// What is asked of which columns, by their places.
    pub fn filters(&self) -> impl Iterator<Item = (usize, &Test)> {
        self.plan.filters.iter().map(|filter| (filter.column, &filter.test))
    }

    /// The filters in words.
    pub fn describe(&self) -> String {
        let definition = self.table.definition();
        let filter = |filter: &Filter| format!("{} {}", definition.columns[filter.column].name, filter.test);
        self.plan.filters.iter().map(filter).collect::<Vec<_>>().join(", ")
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Prepares a scan of what is committed now.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the table is not of storage column, or a constant does not fit its column.
    pub fn scan(&self) -> Result<TableScan> {
        self.table.database().scan_columns(self)
    }

    pub(crate) fn column(&self, name: &str) -> Result<usize> {
        column(&self.table, name)
    }

    pub(crate) fn with_plan(&self, plan: ScanPlan) -> Self {
        Self { table: self.table.clone(), plan }
    }

    /// The plan with the places that the columns have in this catalog: the table may have others than when the handle was made.
    ///
    /// # Errors
    /// [`Error::NotFound`] if one of them was dropped, or is not there yet.
    pub(crate) fn plan_in(&self, catalog: &Catalog) -> Result<Cow<'_, ScanPlan>> {
        let own = self.table.format().definition();
        let Some(there) = catalog.table(self.table.id()).filter(|there| !Arc::ptr_eq(there, own)) else {
            return Ok(Cow::Borrowed(&self.plan));
        };
        let place = |column: usize| {
            if column == own.columns.len() {
                // The number of a row stands behind all columns.
                return Ok(there.columns.len());
            }
            there.column_in(own.stored_in(column)).ok_or_else(|| {
                let (column, table) = (&own.columns[column].name, &there.name);
                Error::NotFound(format!("column \"{column}\" of table \"{table}\" at that moment"))
            })
        };
        let mut plan = self.plan.clone();
        for column in &mut plan.columns {
            *column = place(*column)?;
        }
        for filter in plan.filters.iter_mut().chain(plan.either.iter_mut().flatten()) {
            filter.column = place(filter.column)?;
        }
        Ok(Cow::Owned(plan))
    }

    /// The plan, with columns by their places in the handle's definition.
    pub(crate) fn plan(&self) -> &ScanPlan {
        &self.plan
    }
}

pub(crate) fn column(table: &Table, name: &str) -> Result<usize> {
    let definition = table.definition();
    definition.column_index(name).ok_or_else(|| {
        let names: Vec<_> = definition.columns.iter().map(|column| column.name.as_str()).collect();
        Error::NotFound(format!(
            "column \"{name}\" of table \"{}\"; it has {}",
            definition.name,
            names.join(", ")
        ))
    })
}
