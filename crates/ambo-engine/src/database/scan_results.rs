//! What scans of column tables make of the rows that they select: sums, bounds, groups.

use ambo_codec::{Value, column::Sum};
use ambo_scan::{
    AggregatePlan, Aggregation, Aggregator, CountedColumn, Groups, Identity, Morsel, PartialGroups,
    ValueCounts,
};
use ambo_types::{Error, Result};

use super::{
    scan::TableScan,
    scan_partials::{PartialStates, PartialsUsed},
};

/// Groups and their aggregates.
struct Aggregates<'a>(&'a Aggregation);

impl<'a> PartialStates for Aggregates<'a> {
    type State = Aggregator<'a>;
    type Kept = PartialGroups;

    fn begin(&self) -> Result<Aggregator<'a>> {
        Ok(self.0.begin())
    }

    fn add(&self, state: &mut Aggregator<'a>, _: usize, morsel: &Morsel<'_>) -> Result<()> {
        state.add(morsel)
    }

    fn counted(&self) -> Option<CountedColumn> {
        self.0.counted()
    }

    fn add_counts(&self, state: &mut Aggregator<'a>, counts: ValueCounts) -> Result<()> {
        state.add_counts(counts)
    }

    fn add_kept(&self, state: &mut Aggregator<'a>, kept: &PartialGroups) -> Result<()> {
        state.add_partial(kept)
    }

    fn keep(&self, state: Aggregator<'a>) -> (PartialGroups, usize) {
        let partial = state.into_partial();
        let bytes = partial.bytes();
        (partial, bytes)
    }
}

impl TableScan {
    /// The sum of the selected rows' values at a place of the projection, in units of the last digit if they are decimals; none if no
    /// row has a value.
    ///
    /// # Errors
    /// [`Error::Invalid`] if they are no numbers, or 128 bits cannot hold the sum.
    pub fn sum(&self, place: usize, threads: usize) -> Result<Option<Sum>> {
        let sums = self.fold(
            threads,
            || None,
            |sum: &mut Option<Sum>, morsel| {
                if morsel.count(place)? > 0 {
                    *sum = Some(add(*sum, morsel.sum(place)?)?);
                }
                Ok(())
            },
        )?;
        sums.into_iter().flatten().try_fold(None, |sum, part| add(sum, part).map(Some))
    }

    /// Aggregates of the selected rows. The plan's columns are places of the projection. What segments come to is kept for the next time.
    ///
    /// # Errors
    /// [`Error::Invalid`]: a plan that does not fit the columns, or a result that 128 bits cannot hold.
    pub fn aggregate(&self, plan: &AggregatePlan, threads: usize) -> Result<Groups> {
        self.aggregate_told(plan, threads).map(|(groups, _)| groups)
    }

    /// The same, with how many segments it was put together of.
    ///
    /// # Errors
    /// As [`TableScan::aggregate`].
    pub fn aggregate_told(&self, plan: &AggregatePlan, threads: usize) -> Result<(Groups, PartialsUsed)> {
        let columns = self.types();
        let aggregation = Aggregation::new(plan, &columns, self.nullable())?;
        if aggregation.asks_rows_only() && (self.rows_known().is_some() || self.is_counted()) {
            return Ok((aggregation.finish_rows(self.count(threads)?)?, PartialsUsed::default()));
        }
        let columns = columns.into_iter().zip(self.nullable().iter().copied());
        let identity = Identity::new("aggregate").and_columns(columns).and_plan(plan);
        let (parts, used) = self.fold_partials(threads, identity, &Aggregates(&aggregation))?;
        Ok((aggregation.finish(parts)?, used))
    }

    /// The least and the greatest of the selected rows' values at a place of the projection, in the type that blocks have them in
    /// (`docs/formats/columns.md`): text as bytes, dates as integers, decimals in units of the last digit. None if no row has a value.
    pub fn min_max(&self, place: usize, threads: usize) -> Result<Option<(Value, Value)>> {
        let bounds = self.fold(
            threads,
            || None,
            |bounds, morsel| {
                *bounds = widest(bounds.take(), morsel.min_max(place)?);
                Ok(())
            },
        )?;
        Ok(bounds.into_iter().fold(None, widest))
    }
}

fn add(sum: Option<Sum>, part: Sum) -> Result<Sum> {
    match (sum, part) {
        (None, part) => Ok(part),
        (Some(Sum::Integer(a)), Sum::Integer(b)) => a
            .checked_add(b)
            .map(Sum::Integer)
            .ok_or_else(|| Error::Invalid("a sum that 128 bits cannot hold".into())),
        (Some(Sum::Float(a)), Sum::Float(b)) => Ok(Sum::Float(a + b)),
        (Some(_), _) => unreachable!("the values of one column are of one type"),
    }
}

type Bounds = Option<(Value, Value)>;

fn widest(a: Bounds, b: Bounds) -> Bounds {
    let (Some((a_low, a_high)), Some((b_low, b_high))) = (&a, &b) else { return a.or(b) };
    let low = if a_low.as_ref().compare(b_low.as_ref()).is_le() { a_low } else { b_low };
    let high = if a_high.as_ref().compare(b_high.as_ref()).is_ge() { a_high } else { b_high };
    Some((low.clone(), high.clone()))
}
