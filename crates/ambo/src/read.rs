//! Reading, at whatever moment: what is committed now, what a snapshot shows, what a transaction sees.

use std::ops::Bound;

use crate::{
    Cursor, Database, Datum, Groups, Index, IndexRows, KeyRange, PartialsUsed, Query, Result, Row, Rows,
    Scan, Select, Snapshot, Table, TableScan, Transaction, Value,
    moment::Moment,
    primary::PrimaryScan,
    range::{half_open, prefix_bounds},
    scan::RangeRows,
    sum::sum_of_keys,
};

/// What can be read, in one way for all: a [`Database`] (what is committed when the method is called), a [`Snapshot`] (what was committed
/// at its moment) and a [`Transaction`] (what it found, and what it wrote itself).
///
/// ```
/// use ambo::{Database, Read, Result, Table};
///
/// fn total(of: &impl Read, table: &Table) -> Result<u64> {
///     of.scan(table, ..)?.map(|row| row.map(|(_, value)| u64::from(value[0]))).sum()
/// }
///
/// let db = Database::in_memory()?;
/// let t = db.key_value("t")?;
/// t.put(b"a", &[3])?;
/// let before = db.snapshot();
/// let mut tx = db.begin()?;
/// tx.put(&t, b"b", &[4])?;
/// assert_eq!((total(&db, &t)?, total(&before, &t)?, total(&tx, &t)?), (3, 3, 7));
/// # Ok::<(), ambo::Error>(())
/// ```
///
/// Nobody else can implement it. What a serializable transaction reads by it counts as read.
pub trait Read: sealed::View {
    /// The value of a key.
    fn get(&self, table: &Table, key: &[u8]) -> Result<Option<Value>> {
        self.view().get(table.id(), key)
    }

    /// The rows of a range in key order. A transaction may go on writing meanwhile; the scan shows what it had written before.
    fn scan(&self, table: &Table, range: impl KeyRange) -> Result<Scan> {
        self.view().scan(table.id(), range.into_bounds())
    }

    /// The rows whose keys begin with `prefix`.
    fn scan_prefix(&self, table: &Table, prefix: impl AsRef<[u8]>) -> Result<Scan> {
        self.view().scan(table.id(), prefix_bounds(prefix.as_ref()))
    }

    /// A cursor over a table, which lends rows without copying. A serializable transaction has then read the whole table.
    fn cursor(&self, table: &Table) -> Result<Cursor> {
        self.view().cursor_in(table.id(), &[], None)
    }

    /// How many rows a range has. Records are not read; once the table is compacted, neither are most keys.
    fn count(&self, table: &Table, range: impl KeyRange) -> Result<u64> {
        let (lower, upper) = half_open(range.into_bounds());
        self.view().count(table.id(), lower.as_deref(), upper.as_deref())
    }

    /// The sum of the keys of a range. See [`Table::sum_keys`].
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the key is not one integer.
    fn sum_keys(&self, table: &Table, range: impl KeyRange) -> Result<i128> {
        let (lower, upper) = half_open(range.into_bounds());
        sum_of_keys(table.definition(), || {
            self.view().sum_keys(table.id(), lower.as_deref(), upper.as_deref())
        })
    }

    /// The row with this primary key.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for values that do not fit the key's columns.
    fn get_row(&self, table: &Table, key: &[Datum]) -> Result<Option<Row>> {
        let view = self.view();
        let Some(primary) = table.primary() else {
            let key = table.whole_key(key)?;
            let row = view.get(table.id(), &key)?;
            return row.map(|row| table.format().decode(&key, &row)).transpose();
        };
        let found = view.index_get(primary, table.id(), &table.key_values(key)?)?;
        found.map(|(key, row)| table.format().decode(&key, &row)).transpose()
    }

    /// The rows whose first columns of the primary key have these values; with no values, all rows, in the order of [`Table::rows`].
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for values that do not fit the key's columns.
    fn rows_prefix(&self, table: &Table, key: &[Datum]) -> Result<Rows> {
        let view = self.view().pinned();
        if table.definition().has_sort_key() && !key.is_empty() {
            return Ok(Rows::by_index(PrimaryScan::new(table, key, &view)?, table));
        }
        let bounds = if key.is_empty() { (..).into_bounds() } else { table.prefix(key)? };
        Ok(Rows::new(RangeRows::new(view.cursor_of(table.id(), &bounds)?, bounds), table))
    }

    /// The first row whose columns of an index have these values. See [`Index::get`].
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for values that do not fit, or too few for a hash index.
    fn index_get(&self, index: &Index, values: &[Datum]) -> Result<Option<Row>> {
        index.get_in(&self.view(), values)
    }

    /// The rows that an index finds: those whose first columns of it have these values. See [`Index::rows`].
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for values that do not fit, or too few for a hash index.
    fn index_rows(&self, index: &Index, values: &[Datum]) -> Result<IndexRows<'_>> {
        index.rows_in(self.view(), values)
    }

    /// The rows between two bounds on the first columns of an ordered index. See [`Index::range`].
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for a hash index, and for values that do not fit.
    fn index_range(
        &self,
        index: &Index,
        lower: Bound<&[Datum]>,
        upper: Bound<&[Datum]>,
    ) -> Result<IndexRows<'_>> {
        index.range_in(self.view(), lower, upper)
    }

    /// Prepares a scan of columns.
    ///
    /// # Errors
    /// As [`Select::scan`].
    fn scan_columns(&self, select: &Select) -> Result<TableScan> {
        let view = self.view().pinned();
        view.scan_columns(select.table().id(), &*select.plan_in(&view.catalog())?)
    }

    /// Runs a query by so many threads.
    ///
    /// # Errors
    /// As [`Query::run`].
    fn aggregate(&self, query: &Query, threads: usize) -> Result<Groups> {
        Ok(self.aggregate_told(query, threads)?.0)
    }

    /// The same, with how many segments it was put together of, and of how many of them nothing was read.
    ///
    /// # Errors
    /// As [`Query::run`].
    fn aggregate_told(&self, query: &Query, threads: usize) -> Result<(Groups, PartialsUsed)> {
        query.run_on(&self.scan_columns(query.select())?, threads)
    }
}

impl Read for Database {}
impl Read for Snapshot {}
impl Read for Transaction {}

mod sealed {
    use super::{Database, Moment, Snapshot, Transaction};

    /// What is seen.
    pub trait View {
        fn view(&self) -> Moment<'_>;
    }

    impl View for Database {
        fn view(&self) -> Moment<'_> {
            Moment::Now(self.engine())
        }
    }

    impl View for Snapshot {
        fn view(&self) -> Moment<'_> {
            Moment::Snapshot(self.inner())
        }
    }

    impl View for Transaction {
        fn view(&self) -> Moment<'_> {
            Moment::Transaction(self.inner())
        }
    }
}
