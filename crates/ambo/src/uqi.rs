//! UQI: aggregates of a table's keys and records in the manner of upscaledb's query interface.
//!
//! [`Database::uqi`] computes one, [`Database::uqi_range`] of a part of a table. [`Plugins`] are functions and predicates of others: of the
//! program's own, or of libraries.
//!
//! ```text
//! [DISTINCT] function "(" input ["," input] ")" FROM (DATABASE number | table) [WHERE condition] [LIMIT number] [";"]
//! ```

use std::thread;

pub use ambo_query::uqi::{
    AMBO_UQI_ABI, Aggregate, AggregatePlugin, AmboBytes, AmboUqiBatch, AmboUqiInput, AmboUqiPlugin,
    AmboUqiResult, Batch, Input, Plugins, PredicatePlugin, RowTest, Statement, Stream, Target, UpsPlugin,
    UqiResult,
};

use ambo_query::uqi::Prepared;

use crate::{Cursor, Database, Error, KeyRange, Read, Result, Seek, moment::Moment, range::half_open};

impl Database {
    /// Computes a query of what a view shows: the database itself, a snapshot, or a transaction with what it has written. By as many
    /// threads as there are processors.
    ///
    /// ```
    /// let db = ambo::Database::in_memory()?;
    /// let counts = db.typed::<u32, u64>("counts")?;
    /// for number in 1..=100 {
    ///     counts.put(number, u64::from(number % 7))?;
    /// }
    /// let sum = |text: &str| db.uqi(&db, text).map(|result| result.single());
    /// assert_eq!(sum("SUM($key) FROM counts")?, Some(5050u64.into()));
    /// assert_eq!(sum("count($key) from counts where $record = 6 and $key > 50")?, Some(7u64.into()));
    ///
    /// let top = db.uqi(&db, "TOP($record) FROM counts LIMIT 3")?;
    /// let records: Vec<_> = (0..top.rows()).map(|row| top.records.value(row).to_value()).collect();
    /// assert_eq!(records, [6u64.into(), 6u64.into(), 6u64.into()]);
    ///
    /// db.uqi_plugins().register_predicate("even", |key: ambo::DatumRef<'_>| key.as_u64().is_some_and(|key| key % 2 == 0))?;
    /// assert_eq!(sum("SUM($key) FROM counts WHERE even($key)")?, Some(2550u64.into()));
    /// # Ok::<(), ambo::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`]: a text that is no query, input that a function does not take, a result that does not fit.
    /// [`Error::NotFound`] for the table, a column or a function.
    pub fn uqi(&self, view: &impl Read, text: &str) -> Result<UqiResult> {
        self.uqi_between(view, text, ..)
    }

    /// The same of the rows of a range of stored keys.
    ///
    /// # Errors
    /// As [`Database::uqi`].
    pub fn uqi_between(&self, view: &impl Read, text: &str, range: impl KeyRange) -> Result<UqiResult> {
        let (lower, upper) = half_open(range.into_bounds());
        self.run_uqi(&view.view(), text, |_, _| Ok((lower, upper)))
    }

    /// The same of the rows from that which `begin` stands on to that before `end`, or to the last. `begin` then stands where `end` does,
    /// or nowhere: a program goes on from there.
    ///
    /// ```
    /// use ambo::{Read, Seek};
    /// let db = ambo::Database::in_memory()?;
    /// let t = db.typed::<u64, u64>("t")?;
    /// for key in 0..1000 {
    ///     t.put(key, 1)?;
    /// }
    /// let now = db.snapshot();
    /// let (mut begin, mut end) = (now.cursor(t.table())?, now.cursor(t.table())?);
    /// begin.seek(Seek::First)?;
    /// let mut pages = Vec::new();
    /// while begin.is_valid() {
    ///     end.seek(Seek::Ge(begin.key()))?;
    ///     let there = (0..300).try_fold(true, |there, _| if there { end.next() } else { Ok(false) })?;
    ///     let page = db.uqi_range(&now, "SUM($record) FROM t", &mut begin, there.then_some(&end))?;
    ///     pages.push(page.single().unwrap());
    /// }
    /// assert_eq!(pages, [300u64.into(), 300u64.into(), 300u64.into(), 100u64.into()]);
    /// # Ok::<(), ambo::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Database::uqi`]; and [`Error::Invalid`] for a cursor of another table or another moment than the view's, for one that stands
    /// nowhere, and if `end` stands before `begin`.
    pub fn uqi_range(
        &self,
        view: &impl Read,
        text: &str,
        begin: &mut Cursor,
        end: Option<&Cursor>,
    ) -> Result<UqiResult> {
        let upper = end.map(|end| stands(end, "end")).transpose()?;
        let lower = stands(begin, "begin")?;
        if upper.as_ref().is_some_and(|upper| *upper < lower) {
            return Err(Error::Invalid("a range of UQI: `end` stands before `begin`".into()));
        }
        let bounds = (Some(lower), upper.clone());
        let cursors: Vec<_> = [Some(&*begin), end]
            .into_iter()
            .flatten()
            .map(|cursor| (cursor.table(), cursor.timestamp()))
            .collect();
        let result = self.run_uqi(&view.view(), text, |prepared, snapshot| {
            if cursors.iter().any(|(table, _)| *table != prepared.table()) {
                return Err(Error::Invalid(
                    "a range of UQI: the cursors are of another table than the query".into(),
                ));
            }
            if cursors.iter().any(|(_, moment)| *moment != snapshot.timestamp()) {
                return Err(Error::Invalid(
                    "a range of UQI: the cursors show another moment than the view".into(),
                ));
            }
            Ok(bounds)
        })?;
        match upper {
            Some(upper) => begin.seek(Seek::Ge(&upper))?,
            None => begin.seek(Seek::Last)? && begin.next()?,
        };
        Ok(result)
    }

    fn run_uqi(
        &self,
        moment: &Moment<'_>,
        text: &str,
        bounds: impl FnOnce(
            &Prepared,
            &ambo_engine::database::Snapshot,
        ) -> Result<(Option<Vec<u8>>, Option<Vec<u8>>)>,
    ) -> Result<UqiResult> {
        let (snapshot, plugins) = (moment.view(), self.uqi_plugins());
        let prepared = Prepared::new(plugins, &snapshot, text)?;
        moment.note_scan(prepared.table());
        let (lower, upper) = bounds(&prepared, &snapshot)?;
        let threads = thread::available_parallelism().map_or(1, usize::from);
        prepared.run(plugins, &snapshot, (lower.as_deref(), upper.as_deref()), threads)
    }
}

/// The key that a cursor stands on.
fn stands(cursor: &Cursor, name: &str) -> Result<Vec<u8>> {
    match cursor.is_valid() {
        true => Ok(cursor.key().to_vec()),
        false => Err(Error::Invalid(format!("a range of UQI: `{name}` stands on no row"))),
    }
}
