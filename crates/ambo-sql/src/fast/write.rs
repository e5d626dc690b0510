//! Running fast statements that write.

use std::{collections::VecDeque, ops::Bound, time::SystemTime};

use ambo::{Bounds, Compare, Datum, Read, Row, Transaction};

use super::{
    condition::{Answer, Condition},
    moment::{Assigned, Given},
    plan::{Action, FastPlan, Insert, KeyBounds, Lookup, OnConflict, Output, Search, Update},
};
use crate::{Error, Result, Rows, rows::Source};

/// Fewer rows than these are deleted one by one.
const RANGE_ROWS_MIN: u64 = 1000;

/// What stops a statement in the middle: an error, or that it is one for the planner after all.
pub(super) enum Stop {
    Planner,
    /// The row is not meant.
    Unfit,
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<ambo::Error> for Stop {
    fn from(error: ambo::Error) -> Self {
        Self::Error(error.into())
    }
}

/// What a statement that writes has done.
#[derive(Default)]
pub(crate) struct Done {
    pub affected: u64,
    /// What it hands out of its rows.
    pub returned: VecDeque<Row>,
}

impl From<u64> for Done {
    fn from(affected: u64) -> Self {
        Self { affected, returned: VecDeque::new() }
    }
}

impl Done {
    fn hand_out(&mut self, output: &Output, row: Row, params: &[Datum]) -> Result<(), Stop> {
        self.returned.push_back(output.row(row, params).ok_or(Stop::Planner)?);
        Ok(())
    }

    /// The rows of the plan that did it.
    pub(crate) fn rows(self, plan: &FastPlan) -> Rows<'static> {
        match plan.returning() {
            None => Rows::done(plan.tag(), Some(self.affected)),
            Some(output) => Rows::new(output.schema.clone(), Source::Values(self.returned))
                .with_tag(plan.tag(), Some(self.affected)),
        }
    }
}

impl FastPlan {
    /// Whether it writes.
    pub(crate) fn writes(&self) -> bool {
        !matches!(self.action, Action::Read { .. } | Action::Range(_) | Action::Count { .. })
    }

    /// Of what kind the statement is.
    fn tag(&self) -> &'static str {
        match self.action {
            Action::Insert(_) => "INSERT",
            Action::Update(_) => "UPDATE",
            Action::Delete { .. } | Action::DeleteRange(_) => "DELETE",
            Action::Read { .. } | Action::Range(_) | Action::Count { .. } => "SELECT",
        }
    }

    /// Runs a statement that writes. `None`: it is one for the planner after all, and whatever was done so far has to be taken back.
    pub(crate) fn write(
        &self,
        transaction: &mut Transaction,
        params: &[Datum],
        now: impl FnOnce() -> SystemTime,
    ) -> Result<Option<Done>> {
        let now = match self.has_moments {
            true => now().duration_since(SystemTime::UNIX_EPOCH).ok(),
            false => None,
        };
        let given = Given { params, now };
        let done = match &self.action {
            Action::Insert(insert) => self.insert(transaction, insert, given),
            Action::Update(update) => self.update(transaction, update, given),
            Action::Delete { search, returning } => {
                self.delete(transaction, search, returning.as_ref(), params)
            }
            Action::DeleteRange(bounds) => self.delete_range(transaction, bounds, params).map(Done::from),
            Action::Read { .. } | Action::Range(_) | Action::Count { .. } => Err(Stop::Planner),
        };
        match done {
            Ok(done) => Ok(Some(done)),
            Err(Stop::Planner) => Ok(None),
            Err(Stop::Unfit) => Ok(Some(Done::default())),
            Err(Stop::Error(error)) => Err(error),
        }
    }

    fn insert(&self, transaction: &mut Transaction, insert: &Insert, given: Given<'_>) -> Result<Done, Stop> {
        let mut done = Done::default();
        let columns = self.table.definition().columns.iter();
        let defaults: Row = columns.map(|column| column.default.clone().unwrap_or(Datum::Null)).collect();
        for values in &insert.rows {
            let mut row = defaults.clone();
            for (column, value) in insert.columns.iter().zip(values) {
                let value = value.value(&[], given).ok_or(Stop::Planner)?;
                row[*column] = self.put(*column, value).ok_or(Stop::Planner)?;
            }
            self.check(&insert.checks, &row)?;
            done.affected += match &insert.conflict {
                OnConflict::Refuse => {
                    let number = transaction.insert_row(&self.table, &row)?;
                    if let Some(output) = &insert.returning {
                        self.number(&mut row, number)?;
                        done.hand_out(output, row, given.params)?;
                    }
                    1
                }
                OnConflict::Ignore => u64::from(transaction.insert_or_ignore(&self.table, &row)?),
                OnConflict::Replace => {
                    transaction.insert_or_replace(&self.table, &row)?;
                    1
                }
                OnConflict::Update(sets) => {
                    let mut stop = None;
                    let done = transaction.insert_or_update(&self.table, &row, &mut |there, new| {
                        let both = [&there[..], new].concat();
                        let set = self.set(there, &both, sets, given);
                        let checked = set.and_then(|()| self.check(&insert.checks, there));
                        checked.map_err(|why| stop_with(&mut stop, why))
                    });
                    taken(done, stop)?;
                    1
                }
            };
        }
        Ok(done)
    }

    /// Gives a row the number that it was put in with, if a column of it has it.
    fn number(&self, row: &mut Row, number: Option<u64>) -> Result<(), Stop> {
        let definition = self.table.definition();
        let key = definition.primary_columns().first().copied().filter(|&key| definition.numbers_itself(key));
        if let (Some(number), Some(key)) = (number, key) {
            let number = i64::try_from(number).ok().and_then(|number| self.put(key, Datum::I64(number)));
            row[key] = number.ok_or(Stop::Planner)?;
        }
        Ok(())
    }

    fn update(&self, transaction: &mut Transaction, update: &Update, given: Given<'_>) -> Result<Done, Stop> {
        let params = given.params;
        let Update { search, sets, checks, returning } = update;
        let mut done = Done::default();
        let Some(key) = self.key(transaction, &search.lookup, params)? else { return Ok(done) };
        let (mut stop, mut after) = (None, None);
        let is_there = transaction.update_row(&self.table, &key, &mut |row| {
            let before = row.clone();
            let meant = self.meant(search, row, params);
            let set = meant.and_then(|()| self.set(row, &before, sets, given));
            let checked = set.and_then(|()| self.check(checks, row));
            after = returning.is_some().then(|| row.clone());
            checked.map_err(|why| stop_with(&mut stop, why))
        });
        done.affected = u64::from(taken(is_there, stop)?);
        if let (Some(output), Some(row)) = (returning, after) {
            done.hand_out(output, row, params)?;
        }
        Ok(done)
    }

    fn delete(
        &self,
        transaction: &mut Transaction,
        search: &Search,
        returning: Option<&Output>,
        params: &[Datum],
    ) -> Result<Done, Stop> {
        let mut done = Done::default();
        let Some(key) = self.key(transaction, &search.lookup, params)? else { return Ok(done) };
        if !search.rest.is_empty() || returning.is_some() {
            let Some(row) = transaction.get_row(&self.table, &key)? else { return Ok(done) };
            self.meant(search, &row, params)?;
            if let Some(output) = returning {
                done.hand_out(output, row, params)?;
            }
        }
        done.affected = u64::from(transaction.delete_row(&self.table, &key)?);
        Ok(done)
    }

    /// Whether it deletes a range of keys, which others who write in the range may put off.
    pub(crate) fn deletes_range(&self) -> bool {
        matches!(self.action, Action::DeleteRange(_))
    }

    /// Deletes a range of many keys as such; of few the rows are deleted one by one, for scans go around ranges.
    fn delete_range(
        &self,
        transaction: &mut Transaction,
        bounds: &KeyBounds,
        params: &[Datum],
    ) -> Result<u64, Stop> {
        if !transaction.takes_range(&self.table)? {
            return Err(Stop::Planner);
        }
        let Some(range) = self.range(bounds, params)? else { return Ok(0) };
        let rows = transaction.count(&self.table, range.clone())?;
        if rows < RANGE_ROWS_MIN {
            return Err(Stop::Planner);
        }
        transaction.delete_range(&self.table, range)?;
        Ok(rows)
    }

    /// The range that bounds mean; none if no row can be in it.
    pub(super) fn range(&self, bounds: &KeyBounds, params: &[Datum]) -> Result<Option<Bounds>, Stop> {
        let columns = self.table.definition().primary_columns();
        let KeyBounds { prefix, bounds } = bounds;
        let prefix = self.values(columns.iter(), prefix, params).ok_or(Stop::Planner)?;
        let keys = |values: &[Datum]| -> Result<(Vec<u8>, Option<Vec<u8>>), Stop> {
            match self.table.keys_of_prefix(values)? {
                (Bound::Included(lower), Bound::Excluded(upper)) => Ok((lower, Some(upper))),
                (Bound::Included(lower), Bound::Unbounded) => Ok((lower, None)),
                _ => Err(Stop::Planner),
            }
        };
        let (mut lower, mut upper) = keys(&prefix)?;
        for (compare, value) in bounds {
            let column = &columns[prefix.len()];
            let value = self.values(std::iter::once(column), std::slice::from_ref(value), params);
            let value = value.ok_or(Stop::Planner)?;
            if value[0].is_null() {
                return Ok(None);
            }
            let (first, behind) = keys(&[&prefix[..], &value].concat())?;
            let (from, to) = match compare {
                Compare::Equal => (Some(first), behind),
                Compare::GreaterEqual => (Some(first), None),
                Compare::Less => (None, Some(first)),
                Compare::LessEqual => (None, behind),
                Compare::Greater => match behind {
                    Some(behind) => (Some(behind), None),
                    None => return Ok(None),
                },
                Compare::NotEqual => return Err(Stop::Planner),
            };
            lower = from.map_or(lower.clone(), |from| from.max(lower));
            upper = match (upper, to) {
                (Some(upper), Some(to)) => Some(upper.min(to)),
                (upper, to) => upper.or(to),
            };
        }
        if prefix.iter().any(Datum::is_null) || upper.as_ref().is_some_and(|upper| *upper <= lower) {
            return Ok(None);
        }
        Ok(Some((Bound::Included(lower), upper.map_or(Bound::Unbounded, Bound::Excluded))))
    }

    fn meant(&self, search: &Search, row: &Row, params: &[Datum]) -> Result<(), Stop> {
        match search.fits(self.table.definition(), row, params) {
            Some(true) => Ok(()),
            Some(false) => Err(Stop::Unfit),
            None => Err(Stop::Planner),
        }
    }

    /// Whether a row may be: the planner says of those that may not what is wrong with them.
    fn check(&self, checks: &[Condition], row: &Row) -> Result<(), Stop> {
        let may_be = |check: &Condition| {
            matches!(check.answer(self.table.definition(), row, &[]), Answer::True | Answer::Null)
        };
        checks.iter().all(may_be).then_some(()).ok_or(Stop::Planner)
    }

    /// Sets columns of `row` to values of `from`.
    fn set(
        &self,
        row: &mut Row,
        from: &[Datum],
        sets: &[(usize, Assigned)],
        given: Given<'_>,
    ) -> Result<(), Stop> {
        for (column, value) in sets {
            let value = value.value(from, given).ok_or(Stop::Planner)?;
            row[*column] = self.put(*column, value).ok_or(Stop::Planner)?;
        }
        Ok(())
    }

    /// The key of the row that is looked up; `None` if there is none.
    fn key(
        &self,
        transaction: &Transaction,
        lookup: &Lookup,
        params: &[Datum],
    ) -> Result<Option<Vec<Datum>>, Stop> {
        let columns = self.table.definition().primary_columns();
        let key = match lookup {
            Lookup::Key(values) => self.values(columns.iter(), values, params).ok_or(Stop::Planner)?,
            Lookup::Unique(index, values) => {
                let values = self.values(index.columns().iter(), values, params).ok_or(Stop::Planner)?;
                if values.iter().any(Datum::is_null) {
                    return Ok(None);
                }
                let Some(row) = transaction.index_rows(index, &values)?.next().transpose()? else {
                    return Ok(None);
                };
                columns.iter().map(|&column| row[column].clone()).collect()
            }
            Lookup::Keys(_) | Lookup::Prefix { .. } => return Err(Stop::Planner),
        };
        Ok((!key.iter().any(Datum::is_null)).then_some(key))
    }
}

/// Leaves the reason where it is found behind the store, which is given an error of its own.
fn stop_with(stop: &mut Option<Stop>, why: Stop) -> ambo::Error {
    *stop = Some(why);
    ambo::Error::Cancelled
}

fn taken<T>(done: ambo::Result<T>, stop: Option<Stop>) -> Result<T, Stop> {
    match (done, stop) {
        (Err(_), Some(why)) => Err(why),
        (done, _) => Ok(done?),
    }
}
