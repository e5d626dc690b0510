//! `time_bucket(width, moment [, origin or offset])`: the beginning of the interval of a width that a moment is in. Intervals of months
//! begin at 2000-01-01, others at 2000-01-03, a Monday, as long as no origin is said; an offset moves them. A time of day is one of
//! 1970-01-01.

use std::sync::Arc;

use ambo::calendar::{date_of, days_of};
use arrow::{
    array::{Array, ArrayRef, AsArray, PrimitiveArray},
    datatypes::{
        DataType, IntervalMonthDayNano, IntervalUnit, Time64NanosecondType, TimeUnit,
        TimestampMicrosecondType,
    },
};
use datafusion::{
    common::{Result, exec_datafusion_err, exec_err, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

use super::{super::convert::intervals, super::sum::later, bin::begin, micros, moment_type};
use crate::times::{DAY, MOMENT, Zone, converted, is_interval};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct TimeBucket(Signature);

impl TimeBucket {
    pub(super) fn new() -> Self {
        Self(Signature::user_defined(Volatility::Immutable))
    }
}

impl ScalarUDFImpl for TimeBucket {
    fn name(&self) -> &str {
        "time_bucket"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let interval = DataType::Interval(IntervalUnit::MonthDayNano);
        let kept = |ty: &DataType| match ty {
            DataType::Date32 => DataType::Date32,
            DataType::Time32(_) | DataType::Time64(_) => DataType::Time64(TimeUnit::Nanosecond),
            ty => moment_type(ty),
        };
        match types {
            [_, moment] => Ok(vec![interval, kept(moment)]),
            [_, moment, by] if is_interval(by) => Ok(vec![interval.clone(), kept(moment), interval]),
            [_, moment, _] => Ok(vec![interval, kept(moment), kept(moment)]),
            _ => plan_err!("time_bucket has a width, a moment, and perhaps an origin or an offset"),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types[1].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let of = |value: &ColumnarValue| value.to_array(args.number_rows);
        let (widths, moments) = (intervals(&of(&args.args[0])?)?, of(&args.args[1])?);
        let as_moments = |array: &ArrayRef| -> Result<ArrayRef> {
            Ok(match array.data_type() {
                DataType::Date32 => converted(array, &MOMENT, Zone::UTC, true)?,
                DataType::Time64(_) => {
                    let times = array.as_primitive::<Time64NanosecondType>();
                    let moments: PrimitiveArray<TimestampMicrosecondType> =
                        times.unary(|nanos| nanos.div_euclid(1000));
                    Arc::new(moments)
                }
                _ => array.clone(),
            })
        };
        let starts = as_moments(&moments)?;
        let third = args.args.get(2).map(of).transpose()?;
        let offsets = match &third {
            Some(third) if is_interval(third.data_type()) => Some(intervals(third)?),
            _ => None,
        };
        let origins = match &third {
            Some(third) if offsets.is_none() => Some(as_moments(third)?),
            _ => None,
        };
        let bucket = |row: usize| -> Result<Option<i64>> {
            let column = micros(&starts);
            if widths.is_null(row)
                || column.is_null(row)
                || offsets.as_ref().is_some_and(|of| of.is_null(row))
            {
                return Ok(None);
            }
            let width = widths.value(row);
            if width.months <= 0 && width.days <= 0 && width.nanoseconds <= 0 {
                return exec_err!("time_bucket: the width is more than nothing");
            }
            let origin = match &origins {
                Some(origins) if origins.is_null(row) => return Ok(None),
                // Months begin on their first day.
                Some(origins) if width.months != 0 => {
                    let (year, month, _) = date_of(micros(origins).value(row).div_euclid(DAY));
                    days_of(year, month, 1).unwrap_or_default() * DAY
                }
                Some(origins) => micros(origins).value(row),
                None => usual_origin(width),
            };
            let offset = offsets.as_ref().map(|offsets| offsets.value(row));
            let moved = |moment: i64, by: Option<IntervalMonthDayNano>| match by {
                Some(by) => later(moment, by, Zone::UTC),
                None => Some(moment),
            };
            let back = offset.map(|by| IntervalMonthDayNano::new(-by.months, -by.days, -by.nanoseconds));
            let begun = match moved(column.value(row), back) {
                Some(moment) => begin(moment, width, origin)?,
                None => None,
            };
            let begun = begun.and_then(|begun| moved(begun, offset));
            begun.map(Some).ok_or_else(|| {
                exec_datafusion_err!("time_bucket: the beginning is beyond the range of timestamps")
            })
        };
        let buckets =
            (0..starts.len()).map(bucket).collect::<Result<PrimitiveArray<TimestampMicrosecondType>>>()?;
        Ok(ColumnarValue::Array(match moments.data_type() {
            DataType::Time64(_) => {
                let times: PrimitiveArray<Time64NanosecondType> =
                    buckets.unary(|moment| moment.rem_euclid(DAY) * 1000);
                Arc::new(times)
            }
            // Infinity is a day, too.
            DataType::Date32 => {
                let moments: ArrayRef = Arc::new(buckets);
                converted(&moments, &DataType::Date32, Zone::UTC, true)?
            }
            ty => Arc::new(buckets.with_data_type(ty.clone())),
        }))
    }
}

/// Where intervals of a width begin: months on the first of a month, weeks on a Monday.
fn usual_origin(width: IntervalMonthDayNano) -> i64 {
    let day = if width.months != 0 { 1 } else { 3 };
    days_of(2000, 1, day).unwrap_or_default() * DAY
}
