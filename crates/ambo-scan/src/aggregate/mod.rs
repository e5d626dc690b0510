//! Aggregates of a scan, with groups or without, computed on what is stored.
//!
//! An [`AggregatePlan`] is compiled once ([`plan`]): expressions become steps, each of which is there once ([`program`]), and what is
//! kept of each group becomes accumulators. Each thread then takes morsels ([`worker`]):
//!
//! 1. Without groups, counts, sums, minima and maxima of columns are asked of the encoded blocks, or their directory.
//! 2. Else the groups of some thousand rows are numbered ([`groups`]): numbers of dictionary entries, or differences of integers
//!    from the least, of all columns are put together to one number; only where there are no such numbers, or too many, are
//!    values hashed.
//! 3. Steps are computed a chunk at a time, so that they stay in the processor's cache ([`evaluate`]); in 64 bits where the bounds of the
//!    blocks prove that nothing overflows, else in 128 with a look at each result.
//! 4. Values are added to arrays by the number of their group ([`local`]), and these, once for each group and some thousand rows, to a hash
//!    table by the values that make the group ([`key_form`]; text by its number, [`text_numbers`]), for each block numbers groups in its
//!    own way ([`table`]). Where some thousand rows have almost as many groups, steps 2 and 4 are left out for those that follow: rows are
//!    added to the table one by one ([`direct`]).
//!
//! Where all that is asked follows from the values of one column and how many rows have each, an index may give these instead of rows
//! ([`counted`]).
//!
//! Tables of all threads are merged at the end, with those that are kept of rows that were seen before ([`PartialGroups`]). The result does
//! not depend on which rows are in which table: whole numbers are added exactly, and doubles, which are added up for some thousand rows
//! first, exactly from there on ([`FloatSum`](crate::FloatSum)).
//!
//! (Dictionary codes as indexes of dense arrays: as in SingleStore, MonetDB/X100 and others. Groups that do not count are one group
//! more, so that loops do not branch.)

mod counted;
mod direct;
mod evaluate;
mod expression;
mod groups;
mod key_form;
mod key_list;
mod keys;
mod local;
mod order;
mod plan;
mod program;
mod rows;
mod table;
mod text_numbers;
mod worker;

use ambo_codec::{Type, Value};
use ambo_types::Result;

pub use counted::{CountedColumn, ValueCounts};
pub use expression::{Aggregate, Expression};
pub use plan::AggregatePlan;
pub(super) use program::exact;

use crate::morsel::Morsel;
use plan::Compiled;
use table::Table;
use worker::Worker;

/// A plan that is ready for the morsels of a scan.
#[derive(Debug)]
pub struct Aggregation {
    compiled: Compiled,
}

/// The result of an aggregation.
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    /// The types of the columns: those that were grouped by, and then the aggregates.
    pub types: Vec<Type>,
    /// A row for each group, in the order of the columns that were grouped by. Without such columns exactly one row.
    pub rows: Vec<Vec<Value>>,
}

/// What some rows come to, from which the result of these and others follows.
#[derive(Debug)]
pub struct PartialGroups(Table);

/// One thread's part of the work.
pub struct Aggregator<'a> {
    worker: Worker<'a>,
}

impl Aggregation {
    /// Prepares a plan for a projection with columns of these types, each of which may be NULL or not.
    ///
    /// # Errors
    /// [`Error::Invalid`](ambo_types::Error::Invalid): a column that is not there, or arithmetic that cannot be done.
    pub fn new(plan: &AggregatePlan, columns: &[Type], nullable: &[bool]) -> Result<Self> {
        Ok(Self { compiled: Compiled::new(plan, columns, nullable)? })
    }

    /// Whether nothing is asked but how many rows there are.
    pub fn asks_rows_only(&self) -> bool {
        self.compiled.key.is_none() && self.compiled.accumulators.is_empty()
    }

    /// The column of whose values, and how many rows have each, the result follows; none if it takes more.
    pub fn counted(&self) -> Option<CountedColumn> {
        self.compiled.counted()
    }

    /// The result for so many rows. REQUIRES: nothing else is asked.
    pub fn finish_rows(&self, rows: u64) -> Result<Groups> {
        assert!(self.asks_rows_only(), "nothing is asked but how many rows there are");
        let mut part = self.begin();
        part.worker.table.add_rows(std::iter::once((0, rows)));
        self.finish(vec![part])
    }

    /// Begins one thread's part.
    pub fn begin(&self) -> Aggregator<'_> {
        Aggregator { worker: Worker::new(&self.compiled) }
    }

    /// Puts all parts together, by as many threads.
    ///
    /// # Errors
    /// A sum that a decimal of 38 digits cannot hold.
    pub fn finish(&self, parts: Vec<Aggregator<'_>>) -> Result<Groups> {
        let threads = parts.len();
        let mut tables = parts.into_iter().map(|part| part.worker.table);
        let mut table = tables.next().unwrap_or_else(|| self.begin().worker.table);
        tables.try_for_each(|other| table.merge(&other, &self.compiled))?;
        let rows = table.finish(&self.compiled, threads)?;
        assert!(
            self.compiled.key.is_some() || rows.len() == 1,
            "without columns to group by there is one group"
        );
        Ok(Groups { types: self.compiled.types.clone(), rows })
    }
}

impl Aggregator<'_> {
    /// Adds the selected rows of a morsel of the scan.
    ///
    /// # Errors
    /// Overflow; a damaged block.
    pub fn add(&mut self, morsel: &Morsel<'_>) -> Result<()> {
        self.worker.add(morsel)
    }

    /// Adds rows by the values that they have in the column that is counted.
    ///
    /// # Errors
    /// Values that are none of that column.
    pub fn add_counts(&mut self, counts: ValueCounts) -> Result<()> {
        self.worker.add_counts(counts)
    }

    /// Adds what other rows come to, by an aggregation of the same plan and types.
    ///
    /// # Errors
    /// Overflow.
    pub fn add_partial(&mut self, partial: &PartialGroups) -> Result<()> {
        self.worker.table.merge(&partial.0, self.worker.compiled)
    }

    /// What the rows so far come to.
    pub fn into_partial(self) -> PartialGroups {
        let mut table = self.worker.table;
        table.seal();
        PartialGroups(table)
    }
}

impl PartialGroups {
    /// Bytes of memory that it takes.
    pub fn bytes(&self) -> usize {
        self.0.bytes_taken()
    }
}
