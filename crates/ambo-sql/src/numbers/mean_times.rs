//! `avg` of moments, times of a day and intervals. A mean of intervals is divided as PostgreSQL does it: what is left of months is days,
//! what is left of days is hours.

use std::sync::Arc;

use ambo::calendar::Endless;
use arrow::{
    array::{ArrayRef, AsArray},
    compute::cast,
    datatypes::{
        DataType, Decimal128Type, Field, FieldRef, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
        IntervalUnit, TimeUnit, UInt64Type,
    },
};
use datafusion::{
    common::{Result, ScalarValue, exec_datafusion_err, exec_err},
    logical_expr::{Accumulator, function::StateFieldsArgs, utils::format_state_name},
};

const NAMES: [&str; 4] = ["count", "months", "days", "rest"];
const DAYS_OF_MONTH: i128 = 30;
const NANOSECONDS_OF_DAY: i128 = 24 * 60 * 60 * 1_000_000_000;

/// Whether the mean of a type is one of these.
pub(super) fn is_time(ty: &DataType) -> bool {
    matches!(ty, DataType::Timestamp(..) | DataType::Time64(_) | DataType::Time32(_) | DataType::Interval(_))
}

/// What is handed on: how many there were, and their sum.
pub(super) fn state_fields(args: &StateFieldsArgs<'_>) -> Vec<FieldRef> {
    let field = |(nth, part): (usize, &str)| {
        let ty = if nth == 0 { DataType::UInt64 } else { DataType::Decimal128(38, 0) };
        Arc::new(Field::new(format_state_name(args.name, part), ty, true)) as FieldRef
    };
    NAMES.into_iter().enumerate().map(field).collect()
}

/// Months, days, and nanoseconds or what the type counts in.
type Parts = [i128; 3];

#[derive(Debug)]
pub(super) struct MeanTime {
    ty: DataType,
    count: u64,
    sum: Parts,
}

impl MeanTime {
    pub(super) fn new(ty: DataType) -> Self {
        Self { ty, count: 0, sum: Parts::default() }
    }

    fn each(&self, array: &ArrayRef, act: &mut dyn FnMut(Parts)) -> Result<()> {
        if matches!(self.ty, DataType::Interval(_)) {
            let intervals = cast(array, &DataType::Interval(IntervalUnit::MonthDayNano))?;
            for of in intervals.as_primitive::<IntervalMonthDayNanoType>().iter().flatten() {
                act([of.months.into(), of.days.into(), of.nanoseconds.into()]);
            }
            return Ok(());
        }
        let numbers = cast(&cast(array, &self.ty)?, &DataType::Int64)?;
        for number in numbers.as_primitive::<Int64Type>().iter().flatten() {
            if matches!(self.ty, DataType::Timestamp(..)) && number.is_endless() {
                return exec_err!("avg: infinity is no moment that others are before or behind");
            }
            act([0, 0, number.into()]);
        }
        Ok(())
    }

    fn mean(&self) -> Option<Parts> {
        let count = i128::from(self.count);
        let [months, days, rest] = self.sum;
        if !matches!(self.ty, DataType::Interval(_)) {
            let (whole, left) = (rest.div_euclid(count), rest.rem_euclid(count));
            return Some([0, 0, whole + i128::from(2 * left >= count)]);
        }
        let of_months = months % count * DAYS_OF_MONTH;
        let of_days = days % count + of_months % count;
        let nanoseconds = rest / count + (rest % count + of_days.checked_mul(NANOSECONDS_OF_DAY)?) / count;
        Some([months / count, days / count + of_months / count, nanoseconds])
    }
}

impl Accumulator for MeanTime {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        let (mut count, mut sum) = (self.count, self.sum);
        self.each(&columns[0], &mut |parts| {
            count += 1;
            (0..3).for_each(|nth| sum[nth] += parts[nth]);
        })?;
        (self.count, self.sum) = (count, sum);
        Ok(())
    }

    fn retract_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        let (mut count, mut sum) = (self.count, self.sum);
        self.each(&columns[0], &mut |parts| {
            count -= 1;
            (0..3).for_each(|nth| sum[nth] -= parts[nth]);
        })?;
        (self.count, self.sum) = (count, sum);
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if self.count == 0 {
            return ScalarValue::try_from(&self.ty);
        }
        let beyond = || exec_datafusion_err!("the mean of intervals is beyond their range");
        let [months, days, rest] = self.mean().ok_or_else(beyond)?;
        let rest = i64::try_from(rest).map_err(|_| beyond())?;
        if !matches!(self.ty, DataType::Interval(_)) {
            return ScalarValue::Int64(Some(rest)).cast_to(&self.ty);
        }
        let part = |number: i128| i32::try_from(number).map_err(|_| beyond());
        // Microseconds are what intervals are shown in.
        let interval = IntervalMonthDayNano::new(part(months)?, part(days)?, rest - rest % 1000);
        Ok(ScalarValue::IntervalMonthDayNano(Some(interval)))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let part = |number: i128| ScalarValue::Decimal128(Some(number), 38, 0);
        Ok(std::iter::once(self.count.into()).chain(self.sum.map(part)).collect())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.count += states[0].as_primitive::<UInt64Type>().iter().flatten().sum::<u64>();
        for (sum, state) in self.sum.iter_mut().zip(&states[1..]) {
            *sum += state.as_primitive::<Decimal128Type>().iter().flatten().sum::<i128>();
        }
        Ok(())
    }
}

/// The type of the mean of times of a type.
pub(super) fn mean_type(ty: &DataType) -> DataType {
    match ty {
        DataType::Time32(_) | DataType::Time64(_) => DataType::Time64(TimeUnit::Nanosecond),
        DataType::Interval(_) => DataType::Interval(IntervalUnit::MonthDayNano),
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Microsecond, zone.clone()),
        other => other.clone(),
    }
}
