//! Intervals multiplied and divided, and moments rounded to some digits of a second.

use std::sync::Arc;

use ambo::calendar::Endless;
use arrow::{
    array::{ArrayRef, AsArray, IntervalMonthDayNanoArray, PrimitiveArray},
    compute::cast,
    datatypes::{DataType, Float64Type, IntervalMonthDayNano, IntervalUnit, TimestampMicrosecondType},
};
use datafusion::{
    common::{Result, exec_err, plan_err},
    logical_expr::{
        ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
    },
};

use super::{MOMENT, SECOND, convert::intervals, instant};
use crate::value::null_without_type;

const NANOS_PER_DAY: f64 = 86_400e9;

/// An interval multiplied by a number, or divided by it.
pub(super) fn scaled(interval: Expr, number: Expr, divided: bool) -> Expr {
    let signature = Signature::any(2, Volatility::Immutable);
    ScalarUDF::new_from_impl(Scaled { divided, signature }).call(vec![interval, number])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Scaled {
    divided: bool,
    signature: Signature,
}

impl ScalarUDFImpl for Scaled {
    fn name(&self) -> &str {
        if self.divided { "divided_interval" } else { "multiplied_interval" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Interval(IntervalUnit::MonthDayNano))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(null) = null_without_type(&args) {
            return Ok(null);
        }
        let of = |value: &ColumnarValue| value.to_array(args.number_rows);
        let intervals = intervals(&of(&args.args[0])?)?;
        let numbers = cast(&of(&args.args[1])?, &DataType::Float64)?;
        let pairs = intervals.iter().zip(numbers.as_primitive::<Float64Type>());
        let scaled = pairs.map(|(interval, number)| {
            let (Some(interval), Some(number)) = (interval, number) else { return Ok(None) };
            if self.divided && number == 0.0 {
                return exec_err!("an interval is divided by zero");
            }
            match times(interval, number, self.divided) {
                None => exec_err!("an interval is too long"),
                scaled => Ok(scaled),
            }
        });
        Ok(ColumnarValue::Array(Arc::new(scaled.collect::<Result<IntervalMonthDayNanoArray>>()?)))
    }
}

/// What is left of a month is days, thirty a month, and of a day it is time, as in PostgreSQL.
fn times(interval: IntervalMonthDayNano, number: f64, divided: bool) -> Option<IntervalMonthDayNano> {
    let by = |value: f64| if divided { value / number } else { value * number };
    let months = by(interval.months.into());
    // Thirty times a tenth is not three.
    let whole = |value: f64| ((value * 1e6).round() / 1e6).trunc();
    let days = by(interval.days.into());
    let rest = (months - whole(months)) * 30.0;
    let rest = (rest * 1e9).round() / 1e9;
    let all = whole(days) + rest.trunc();
    let time = by(interval.nanoseconds as f64) + (days - whole(days) + rest.fract()) * NANOS_PER_DAY;
    let time = (time / 1000.0).round() * 1000.0;
    let fits = |value: f64, most: f64| value.abs() <= most;
    let is_in_range = fits(months, i32::MAX.into()) && fits(all, i32::MAX.into()) && fits(time, 9.2e18);
    is_in_range.then(|| IntervalMonthDayNano::new(whole(months) as i32, all as i32, time as i64))
}

/// `round_moment(t, digits)`: a moment with so many digits of a second, as `timestamp(digits)` has them.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct RoundMoment(Signature);

impl RoundMoment {
    pub(super) fn new() -> Self {
        Self(Signature::user_defined(Volatility::Immutable))
    }
}

impl ScalarUDFImpl for RoundMoment {
    fn name(&self) -> &str {
        "round_moment"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [DataType::Timestamp(_, Some(_)), _] => Ok(vec![instant(), DataType::Int64]),
            [_, _] => Ok(vec![MOMENT, DataType::Int64]),
            _ => plan_err!("round_moment has a moment and a number of digits"),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types[0].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(null) = null_without_type(&args) {
            return Ok(null);
        }
        let moments = args.args[0].to_array(args.number_rows)?;
        let digits = args.args[1].to_array(args.number_rows)?;
        let digits = digits.as_primitive::<arrow::datatypes::Int64Type>();
        let pairs = moments.as_primitive::<TimestampMicrosecondType>().iter().zip(digits);
        let rounded = pairs.map(|(moment, digits)| {
            let (Some(moment), Some(digits)) = (moment, digits) else { return Ok(None) };
            if moment.is_endless() {
                return Ok(Some(moment));
            }
            let unit = SECOND / 10_i64.pow(digits.clamp(0, 6) as u32);
            match moment.checked_add(unit / 2) {
                Some(moment) => Ok(Some(moment.div_euclid(unit) * unit)),
                None => exec_err!("a moment is beyond the range of timestamps"),
            }
        });
        let rounded = rounded.collect::<Result<PrimitiveArray<TimestampMicrosecondType>>>()?;
        let rounded: ArrayRef = Arc::new(rounded.with_data_type(moments.data_type().clone()));
        Ok(ColumnarValue::Array(rounded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: parts of months and days that are lost or doubled.
    #[test]
    fn what_is_left_of_a_unit_is_of_the_next() {
        let of = IntervalMonthDayNano::new;
        let hour = 3_600_000_000_000;
        assert_eq!(times(of(1, 0, 0), 2.0, false), Some(of(2, 0, 0)));
        assert_eq!(times(of(1, 0, 0), 2.0, true), Some(of(0, 15, 0)));
        assert_eq!(times(of(1, 3, hour), 1.5, false), Some(of(1, 19, 12 * hour + hour * 3 / 2)));
        assert_eq!(times(of(1, 0, 0), 0.1, false), Some(of(0, 3, 0)));
        assert_eq!(times(of(-1, -1, 0), 0.5, false), Some(of(0, -15, -12 * hour)));
        assert_eq!(times(of(i32::MAX, 0, 0), 2.0, false), None);
    }
}
