//! Aggregates of columns, with groups or without.

use ambo_engine::{
    database::{ScanPlan, TableScan},
    scan::{self, AggregatePlan, Groups},
};

use crate::{PartialsUsed, Result, Select};

/// Arithmetic on columns, which are called by their names: `col("price") * (lit(1) - col("discount"))`.
pub type Expression = scan::Expression<String>;
/// What is computed of all rows, or of the rows of a group.
pub type Aggregate = scan::Aggregate<String>;

/// The value of a column.
pub fn col(name: impl Into<String>) -> Expression {
    Expression::Column(name.into())
}

/// The same value for each row.
pub fn lit(value: impl Into<crate::Datum>) -> Expression {
    Expression::constant(value)
}

/// A [`Select`] whose rows are put into groups.
#[derive(Clone)]
pub struct GroupBy {
    select: Select,
    columns: Vec<usize>,
}

/// Aggregates of the rows of a [`Select`], ready to run.
///
/// ```
/// use ambo::{Aggregate, Database, Datum, Storage, TableDefinition, Type, col, lit};
/// # let dir = tempfile::tempdir()?;
/// # let db = Database::open(dir.path())?;
/// let sales = db.create_table(
///     TableDefinition::new("sales")
///         .column("id", Type::I64)
///         .column("country", Type::Utf8)
///         .column("price", Type::decimal(12, 2)?)
///         .column("pieces", Type::I32)
///         .primary_key(&["id"])
///         .storage(Storage::Column),
/// )?;
/// let price = |cents| Datum::Decimal128 { unscaled: cents, scale: 2 };
/// for (id, country, cents, pieces) in [(1, "NO", 250, 4), (2, "PT", 100, 1), (3, "NO", 999, 2)] {
///     sales.upsert_row(&[Datum::I64(id), country.into(), price(cents), Datum::I32(pieces)])?;
/// }
/// let by_country = sales
///     .select(&[])?
///     .group_by(&["country"])?
///     .aggregate(&[
///         Aggregate::Rows,
///         Aggregate::sum(col("price") * col("pieces")),
///         Aggregate::max("pieces"),
///         Aggregate::average(col("pieces") + lit(1)),
///     ])?
///     .run(2)?;
/// assert_eq!(
///     by_country.rows,
///     [
///         vec!["NO".into(), Datum::I64(2), price(2998), Datum::I32(4), Datum::F64(4.0)],
///         vec!["PT".into(), Datum::I64(1), price(100), Datum::I32(1), Datum::F64(2.0)],
///     ]
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Query {
    select: Select,
    plan: AggregatePlan,
}

impl Select {
    /// Puts the rows into groups, one for each combination of values in these columns; NULL is a value here.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) if the table has no such column.
    pub fn group_by(&self, columns: &[&str]) -> Result<GroupBy> {
        let columns = columns.iter().map(|name| self.column(name)).collect::<Result<_>>()?;
        Ok(GroupBy { select: self.clone(), columns })
    }

    /// Computes these of all rows together.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) if the table has no such column.
    pub fn aggregate(&self, aggregates: &[Aggregate]) -> Result<Query> {
        self.group_by(&[])?.aggregate(aggregates)
    }
}

impl GroupBy {
    /// Computes these of each group.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) if the table has no such column.
    pub fn aggregate(self, aggregates: &[Aggregate]) -> Result<Query> {
        let Self { select, columns } = self;
        let mut read: Vec<usize> = Vec::new();
        let mut place = |column: usize| {
            read.iter().position(|known| *known == column).unwrap_or_else(|| {
                read.push(column);
                read.len() - 1
            })
        };
        let group_by = columns.into_iter().map(&mut place).collect();
        let mut name = |name: &String| select.column(name).map(&mut place);
        let aggregates =
            aggregates.iter().map(|aggregate| aggregate.rename(&mut name)).collect::<Result<_>>()?;
        let plan = AggregatePlan { group_by, aggregates };
        Ok(Query { select: select.reading(read), plan })
    }
}

impl Query {
    /// Runs it on what is committed now, by so many threads.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid): the table is not of storage column, arithmetic on what are no numbers, or a result that
    /// 128 bits cannot hold.
    pub fn run(&self, threads: usize) -> Result<Groups> {
        Ok(self.run_on(&self.select.scan()?, threads)?.0)
    }

    /// The name of the index with postings in files whose leaves say the result, as far as they are there and few rows are deleted or newer
    /// than segments; none if rows are looked at.
    ///
    /// # Errors
    /// As of [`Query::run`].
    pub fn counting_index(&self) -> Result<Option<String>> {
        let table = self.select.table();
        let version = table.database().engine().current();
        version.counting_index(table.id(), &*self.select.plan_in(&version.catalog)?, &self.plan)
    }

    pub(crate) fn run_on(&self, scan: &TableScan, threads: usize) -> Result<(Groups, PartialsUsed)> {
        scan.aggregate_told(&self.plan, threads)
    }

    pub(crate) fn select(&self) -> &Select {
        &self.select
    }
}

impl Select {
    /// The same rows, with other columns.
    fn reading(&self, columns: Vec<usize>) -> Self {
        let plan = ScanPlan { columns, filters: self.plan().filters.clone(), ..ScanPlan::default() };
        self.with_plan(plan)
    }
}
