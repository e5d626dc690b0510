//! What is known of a table without looking at its rows.

use ambo_engine::scan::{Filter, Test};

use crate::{Datum, Result, Snapshot, Table, TableStatistics, Transaction};

impl Snapshot {
    /// A value that at least so many rows are no greater than (`from_last`: no less than) in a column (its place in the definition), as the
    /// leaves of an index with postings in files say; none if they do not.
    ///
    /// # Errors
    /// Damage of the index.
    pub fn bound_of_first(
        &self,
        table: &Table,
        (column, from_last): (usize, bool),
        rows: u64,
    ) -> Result<Option<Datum>> {
        self.inner().bound_of_first(table.id(), (column, from_last), rows)
    }
}

impl Table {
    /// Statistics of the table as it is now: how many rows, and of each column NULLs, least and greatest value, how many different ones;
    /// each exact, or a bound or estimate that says so. Takes microseconds for most tables, some milliseconds at most.
    ///
    /// ```
    /// use ambo::{Figure, Storage, TableDefinition, Type};
    /// # let dir = tempfile::tempdir()?;
    /// # let db = ambo::Database::open(dir.path())?;
    /// let t = TableDefinition::new("t").column("id", Type::I64).column_nullable("size", Type::I32);
    /// let t = db.create_table(t.primary_key(&["id"]).storage(Storage::Column))?;
    /// for id in 0..100i64 {
    ///     t.insert_row(&[id.into(), (id as i32 % 7).into()])?;
    /// }
    /// db.compact()?;
    /// let exact = |value| Some(Figure { value, is_exact: true });
    /// let statistics = t.statistics()?;
    /// assert_eq!(statistics.rows, Figure { value: 100, is_exact: true });
    /// assert_eq!(statistics.columns[0].distinct, exact(100));
    /// assert_eq!(statistics.columns[1].max, Some(Figure { value: 6i32.into(), is_exact: true }));
    /// assert_eq!(t.database().snapshot().sample_distinct(&t, 1)?, Some(7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn statistics(&self) -> Result<TableStatistics> {
        self.database().snapshot().statistics(self)
    }
}

macro_rules! statistics {
    ($($view:ident: $what:literal),*) => {$(
        impl $view {
            #[doc = concat!("As [`Table::statistics`], ", $what, ".")]
            pub fn statistics(&self, table: &Table) -> Result<TableStatistics> {
                self.inner().statistics(table.id())
            }

            /// How many rows answer a question about a column (its place in the definition), and of how many, as leaves of an index with
            /// postings in files say: microseconds. Rows that are newer than segments are not among them, deleted ones are, and of many
            /// segments some are asked. None if no index says it.
            ///
            /// # Errors
            /// [`Error::Invalid`](crate::Error::Invalid) if there is no such column, or a constant does not fit it; damage.
            pub fn count_answers(&self, table: &Table, column: usize, test: &Test) -> Result<Option<(u64, u64)>> {
                self.inner().count_answers(table.id(), &Filter { column, test: test.clone() })
            }

            /// About how many different values a column (its place in the definition) has, from a sample of its blocks: a few milliseconds.
            /// It is remembered, and among the statistics, until the table has grown or shrunk by a tenth. None if nothing is compacted,
            /// and in a table of other storage than column.
            ///
            /// # Errors
            /// [`Error::Invalid`](crate::Error::Invalid) if there is no such column.
            pub fn sample_distinct(&self, table: &Table, column: usize) -> Result<Option<u64>> {
                self.inner().sample_distinct(table.id(), column)
            }
        }
    )*};
}

statistics!(
    Snapshot: "at this moment",
    Transaction: "with what the transaction wrote; in a serializable one nothing is exact, for it is no read that is checked"
);
