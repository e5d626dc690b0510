//! Moments and intervals added. Months and days are those of the calendar, so that a day may have 23 hours where clocks are put forward.

use std::sync::Arc;

use ambo::calendar::{Endless, date_of, days_of};
use arrow::{
    array::{Array, ArrayRef, AsArray, PrimitiveArray},
    compute::cast,
    datatypes::{DataType, Date32Type, Int64Type, IntervalMonthDayNano, TimestampMicrosecondType},
};
use datafusion::{
    common::{Result, exec_err},
    logical_expr::{
        ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
    },
};

use crate::value::null_without_type;

use super::{
    DAY, Zone,
    cast::zone_of,
    convert::{intervals, name_of},
};

/// A moment or a day with an interval added to it, or taken from it. Of a day there are only its days and months. REQUIRES: the moment is
/// in microseconds.
pub(super) fn sum(moment: Expr, interval: Expr, minus: bool, is_instant: bool) -> Expr {
    let volatility = if is_instant { Volatility::Stable } else { Volatility::Immutable };
    let signature = Signature::any(2, volatility);
    ScalarUDF::new_from_impl(IntervalSum { minus, signature }).call(vec![moment, interval])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct IntervalSum {
    minus: bool,
    signature: Signature,
}

impl ScalarUDFImpl for IntervalSum {
    fn name(&self) -> &str {
        if self.minus { "minus_interval" } else { "plus_interval" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types[0].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(null) = null_without_type(&args) {
            return Ok(null);
        }
        let of = |value: &ColumnarValue| value.to_array(args.number_rows);
        let (moments, intervals) = (of(&args.args[0])?, intervals(&of(&args.args[1])?)?);
        let sums: ArrayRef = match moments.data_type() {
            DataType::Date32 => {
                let days = moments.as_primitive::<Date32Type>();
                let pairs = days.iter().zip(&intervals);
                let sums = pairs.map(|(days, interval)| {
                    let (Some(days), Some(interval)) = (days, interval) else { return Ok(None) };
                    if days.is_endless() {
                        return Ok(Some(days));
                    }
                    let sum = self.signed(interval).and_then(|interval| later_day(days.into(), interval));
                    let sum = sum.and_then(|days| i32::try_from(days).ok()).filter(|days| !days.is_endless());
                    match sum {
                        None => self.beyond(&moments),
                        sum => Ok(sum),
                    }
                });
                Arc::new(sums.collect::<Result<PrimitiveArray<Date32Type>>>()?)
            }
            ty => {
                let zone = match ty {
                    DataType::Timestamp(_, Some(_)) => zone_of(&args.config_options),
                    _ => Zone::UTC,
                };
                let sums = moments.as_primitive::<TimestampMicrosecondType>().iter().zip(&intervals);
                let sums = sums.map(|(moment, interval)| {
                    let (Some(moment), Some(interval)) = (moment, interval) else { return Ok(None) };
                    match self.signed(interval).and_then(|interval| later(moment, interval, zone)) {
                        None => self.beyond(&moments),
                        sum => Ok(sum),
                    }
                });
                let sums = sums.collect::<Result<PrimitiveArray<TimestampMicrosecondType>>>()?;
                Arc::new(sums.with_data_type(ty.clone()))
            }
        };
        Ok(ColumnarValue::Array(sums))
    }
}

impl IntervalSum {
    fn signed(&self, interval: IntervalMonthDayNano) -> Option<IntervalMonthDayNano> {
        if !self.minus {
            return Some(interval);
        }
        let IntervalMonthDayNano { months, days, nanoseconds } = interval;
        Some(IntervalMonthDayNano::new(
            months.checked_neg()?,
            days.checked_neg()?,
            nanoseconds.checked_neg()?,
        ))
    }

    fn beyond<T>(&self, moments: &ArrayRef) -> Result<T> {
        exec_err!("a {} with an interval added to it is beyond its range", name_of(moments.data_type()))
    }
}

/// The day some months and days later. A month that has no such day ends with its last.
fn later_day(days: i64, interval: IntervalMonthDayNano) -> Option<i64> {
    let days = match interval.months {
        0 => days,
        months => {
            let (year, month, day) = date_of(days);
            let month = year * 12 + i64::from(month) - 1 + i64::from(months);
            let (year, month) = (month.div_euclid(12), month.rem_euclid(12) as u32 + 1);
            (day.min(28)..=day).rev().find_map(|day| days_of(year, month, day))?
        }
    };
    days.checked_add(interval.days.into())
}

/// The moment some months, days and microseconds later. One without end stays what it is.
pub(super) fn later(moment: i64, interval: IntervalMonthDayNano, zone: Zone) -> Option<i64> {
    if moment.is_endless() {
        return Some(moment);
    }
    let begin = match (interval.months, interval.days) {
        (0, 0) => moment,
        _ => {
            let local = zone.local(moment)?;
            let days = later_day(local.div_euclid(DAY), interval)?;
            zone.instant(days.checked_mul(DAY)?.checked_add(local.rem_euclid(DAY))?)?
        }
    };
    begin.checked_add(interval.nanoseconds / 1000).filter(|moment| !moment.is_endless())
}

/// Whether there is one without end among days or moments.
pub(super) fn has_endless(values: &ArrayRef) -> bool {
    match values.data_type() {
        DataType::Date32 => values.as_primitive::<Date32Type>().iter().flatten().any(Endless::is_endless),
        _ => values.as_primitive::<TimestampMicrosecondType>().iter().flatten().any(Endless::is_endless),
    }
}

/// A moment or a day, and an error for one without end: nothing is so long before it.
pub(super) fn with_end(value: Expr) -> Expr {
    let signature = Signature::any(1, Volatility::Immutable);
    ScalarUDF::new_from_impl(WithEnd(signature)).call(vec![value])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct WithEnd(Signature);

impl ScalarUDFImpl for WithEnd {
    fn name(&self) -> &str {
        "with_end"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types[0].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(null) = null_without_type(&args) {
            return Ok(null);
        }
        let values = args.args[0].to_array(args.number_rows)?;
        if has_endless(&values) {
            return exec_err!("infinity is not so and so long before or behind something");
        }
        Ok(ColumnarValue::Array(values))
    }
}

/// A day beyond the range of moments as the last one within: it is compared with moments as itself. A day without end is a moment without.
pub(super) fn day_in_range(day: Expr) -> Expr {
    let signature = Signature::any(1, Volatility::Immutable);
    ScalarUDF::new_from_impl(DayInRange(signature)).call(vec![day])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct DayInRange(Signature);

impl ScalarUDFImpl for DayInRange {
    fn name(&self) -> &str {
        "day_in_range"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Date32)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(null) = null_without_type(&args) {
            return Ok(null);
        }
        // What the planner asks whether a condition holds for NULL has no type.
        let days = cast(&args.args[0].to_array(args.number_rows)?, &DataType::Date32)?;
        let last = (i64::MAX / DAY - 1) as i32;
        let in_range = |day: i32| if day.is_endless() { day } else { day.clamp(-last, last) };
        let days = days.as_primitive::<Date32Type>().unary::<_, Date32Type>(in_range);
        Ok(ColumnarValue::Array(Arc::new(days)))
    }
}

/// A day at a time of it, as a moment.
pub(super) fn day_at_time(day: Expr, time: Expr) -> Expr {
    let signature = Signature::any(2, Volatility::Immutable);
    ScalarUDF::new_from_impl(DayAtTime(signature)).call(vec![day, time])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct DayAtTime(Signature);

impl ScalarUDFImpl for DayAtTime {
    fn name(&self) -> &str {
        "day_at_time"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(super::MOMENT)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(null) = null_without_type(&args) {
            return Ok(null);
        }
        let of = |value: &ColumnarValue| value.to_array(args.number_rows);
        let days = cast(&of(&args.args[0])?, &DataType::Date32)?;
        let times = cast(&of(&args.args[1])?, &DataType::Time64(arrow::datatypes::TimeUnit::Nanosecond))?;
        let times = cast(&times, &DataType::Int64)?;
        let pairs = days.as_primitive::<Date32Type>().iter().zip(times.as_primitive::<Int64Type>());
        let sums = pairs.map(|(day, time)| {
            let (Some(day), Some(time)) = (day, time) else { return Ok(None) };
            match i64::from(day).checked_mul(DAY).and_then(|begin| begin.checked_add(time / 1000)) {
                None => exec_err!("a date is beyond the range of timestamps"),
                moment => Ok(moment),
            }
        });
        Ok(ColumnarValue::Array(Arc::new(
            sums.collect::<Result<PrimitiveArray<TimestampMicrosecondType>>>()?,
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::times::SECOND;

    /// Keeps away: sums that are another day or another hour than on the calendar and the clock.
    #[test]
    fn months_and_days_are_those_of_the_calendar() {
        let day = |year, month, day| days_of(year, month, day).unwrap();
        let month = IntervalMonthDayNano::new(1, 0, 0);
        assert_eq!(later_day(day(2024, 1, 31), month), Some(day(2024, 2, 29)));
        assert_eq!(later_day(day(2023, 12, 31), month), Some(day(2024, 1, 31)));
        let year = IntervalMonthDayNano::new(-12, 0, 0);
        assert_eq!(later_day(day(2024, 2, 29), year), Some(day(2023, 2, 28)));
        // A day of 23 hours.
        let berlin = Zone::find("Europe/Berlin").unwrap();
        let noon = day(2024, 3, 30) * DAY + 11 * 3600 * SECOND;
        let next = |interval| later(noon, interval, berlin).map(|then| (then - noon) / (3600 * SECOND));
        assert_eq!(next(IntervalMonthDayNano::new(0, 1, 0)), Some(23));
        assert_eq!(next(IntervalMonthDayNano::new(0, 0, 24 * 3600 * 1_000_000_000)), Some(24));
        assert_eq!(later(i64::MAX - 1, month, Zone::UTC), None);
        assert_eq!(later(i64::MAX, month, Zone::UTC), Some(i64::MAX));
    }
}
