//! What is known of the rows of a scan before it is run, for those who choose between plans.

use std::sync::{Arc, OnceLock};

use ambo::{Compare, Datum, Select, Snapshot, Table, TableStatistics, Test};
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics, stats::Precision};

use crate::{
    logical::{BIT, GEOMETRY, UUID, UUID_LEN, is_enum},
    value::{self, scalar},
};

/// The share of rows that a condition leaves of which nothing is known.
pub(crate) const UNKNOWN_SHARE: f64 = 0.2;

/// What is known of a table at a moment; looked up once.
pub(crate) struct Figures {
    view: Arc<Snapshot>,
    table: Table,
    known: OnceLock<Option<TableStatistics>>,
}

impl Figures {
    pub(super) fn new(view: Arc<Snapshot>, table: Table) -> Arc<Self> {
        Arc::new(Self { view, table, known: OnceLock::new() })
    }

    /// `None` if it cannot be read: the scan itself will say why.
    pub(crate) fn get(&self) -> Option<&TableStatistics> {
        self.known.get_or_init(|| self.view.statistics(&self.table).ok()).as_ref()
    }

    /// How many different values a column has: as known, from a sample, or so many as lie between the least and the greatest.
    pub(crate) fn distinct(&self, column: usize) -> Option<f64> {
        let known = self.get()?;
        let of = known.columns.get(column)?;
        let sampled = || self.view.sample_distinct(&self.table, column).ok().flatten();
        if let Some(distinct) = of.distinct.map(|figure| figure.value).or_else(sampled) {
            return Some(distinct as f64);
        }
        let (min, max) = (number(&of.min.as_ref()?.value)?, number(&of.max.as_ref()?.value)?);
        Some((max - min + 1.0).min(known.rows.value as f64))
    }

    /// How many of how many rows answer a question about a column, as the leaves of an index say. What is wrong with it the scan itself
    /// will say.
    pub(super) fn counted(&self, column: usize, test: &Test) -> Option<(u64, u64)> {
        self.view.count_answers(&self.table, column, test).ok().flatten()
    }

    /// The share of rows that a condition leaves: as an index says, or if values are spread evenly.
    pub(crate) fn share(&self, column: usize, test: &Test) -> f64 {
        let Some(known) = self.get() else { return UNKNOWN_SHARE };
        if let Some((answers, rows @ 1..)) = self.counted(column, test) {
            return answers as f64 / rows as f64;
        }
        let one = || self.distinct(column).map_or(0.1, |distinct| 1.0 / distinct.max(1.0));
        share(known, column, test, one)
    }
}

fn number(value: &Datum) -> Option<f64> {
    match value {
        Datum::Date32(days) => Some(f64::from(*days)),
        Datum::Timestamp(micros) | Datum::TimestampTz(micros) => Some(*micros as f64),
        value => value.as_ref().as_f64(),
    }
}

/// Statistics of what a scan hands out. They are exact only where the figures are those of this moment and nothing is filtered.
pub(super) fn statistics(figures: &Figures, select: &Select, schema: &SchemaRef) -> Statistics {
    let Some(known) = figures.get() else { return Statistics::new_unknown(schema) };
    let share: f64 = select.filters().map(|(column, test)| figures.share(column, test)).product();
    let is_whole = select.filters().next().is_none();
    let rows = known.rows.value as usize;
    let num_rows = match (is_whole, known.rows.is_exact) {
        (true, true) => Precision::Exact(rows),
        (true, false) => Precision::Inexact(rows),
        (false, _) => Precision::Inexact(((rows as f64 * share) as usize).max(1)),
    };
    let mut bytes = 0;
    let mut columns = Vec::new();
    for (&column, field) in select.columns_read().iter().zip(schema.fields()) {
        bytes += field.data_type().primitive_width().unwrap_or(24);
        let Some(known) = known.columns.get(column) else {
            columns.push(ColumnStatistics::new_unknown());
            continue;
        };
        let precision = |value: ScalarValue, is_exact: bool| match is_exact && is_whole {
            true => Precision::Exact(value),
            false => Precision::Inexact(value),
        };
        let bound = |figure: &Option<ambo::Figure<Datum>>| match figure {
            Some(figure) => match bound_of(&figure.value, field.data_type()) {
                Some(value) => precision(value, figure.is_exact),
                None => Precision::Absent,
            },
            None => Precision::Absent,
        };
        // Where it is not known the planner takes every value for another, and a join for as small as its smaller side.
        let distinct = figures.distinct(column).map_or(Precision::Absent, |distinct| {
            Precision::Inexact((distinct as usize).min(*num_rows.get_value().unwrap_or(&usize::MAX)))
        });
        columns.push(ColumnStatistics {
            null_count: match known.nulls.is_exact && is_whole {
                true => Precision::Exact(known.nulls.value as usize),
                false => Precision::Inexact(known.nulls.value as usize),
            },
            min_value: bound(&known.min),
            max_value: bound(&known.max),
            distinct_count: distinct,
            ..ColumnStatistics::new_unknown()
        });
    }
    let total_byte_size = num_rows.multiply(&Precision::Inexact(bytes));
    Statistics { num_rows, total_byte_size, column_statistics: columns }
}

/// The least or the greatest value of a column as one of its type in statements; none where stored values are in another order.
pub(super) fn bound_of(value: &Datum, ty: &DataType) -> Option<ScalarValue> {
    match (value, ty) {
        (Datum::Binary(bytes), &UUID) => Some(ScalarValue::FixedSizeBinary(UUID_LEN, Some(bytes.clone()))),
        (Datum::Binary(bytes), &BIT) => Some(ScalarValue::LargeBinary(Some(bytes.clone()))),
        (Datum::Binary(bytes), &GEOMETRY) => Some(ScalarValue::BinaryView(Some(bytes.clone()))),
        (Datum::Binary(_), ty) if !ty.is_binary() => None,
        (Datum::U16(_), ty) if is_enum(ty) => {
            ScalarValue::try_from_array(&value::array(ty, std::iter::once(value)).ok()?, 0).ok()
        }
        (value, ty) => scalar(value).cast_to(ty).ok(),
    }
}

/// As [`Figures::share`]; `one` is the share of rows with one value.
fn share(known: &TableStatistics, column: usize, test: &Test, one: impl Fn() -> f64) -> f64 {
    let Some(of) = known.columns.get(column) else { return UNKNOWN_SHARE };
    let bounds = || {
        let (min, max) = (number(&of.min.as_ref()?.value)?, number(&of.max.as_ref()?.value)?);
        (max > min).then_some((min, max - min))
    };
    // The share of values below one.
    let below = |value: &Datum| {
        let (min, width) = bounds()?;
        Some(((number(value)? - min) / width).clamp(0.0, 1.0))
    };
    let nulls = of.nulls.value as f64 / (known.rows.value.max(1) as f64);
    match test {
        Test::Compare(Compare::Equal, _) => one(),
        Test::Compare(Compare::NotEqual, _) => 1.0 - one(),
        Test::Compare(Compare::Less | Compare::LessEqual, value) => below(value).unwrap_or(UNKNOWN_SHARE),
        Test::Compare(Compare::Greater | Compare::GreaterEqual, value) => {
            below(value).map_or(UNKNOWN_SHARE, |below| 1.0 - below)
        }
        Test::Between(low, high) => match (below(low), below(high)) {
            (Some(low), Some(high)) => (high - low).max(one()),
            _ => UNKNOWN_SHARE,
        },
        Test::In(values) => (one() * values.len() as f64).min(1.0),
        Test::Prefix(_) | Test::Contains(_) | Test::Like(_) => 0.1,
        Test::Among(_) => UNKNOWN_SHARE,
        Test::Not(other) => (1.0 - nulls - share(known, column, other, one)).max(0.0),
        Test::IsNull => nulls,
        Test::IsNotNull => 1.0 - nulls,
    }
}
