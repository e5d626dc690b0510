//! `date_bin(width, moment)`, `date_bin(width, moment, origin)`: the beginning of the interval that a moment is in, of those of one width
//! that begin at the origin, or at 1970-01-01 as long as nothing is said.

use std::sync::Arc;

use ambo::calendar::{Endless, date_of};
use arrow::{
    array::PrimitiveArray,
    datatypes::{DataType, IntervalMonthDayNano, IntervalUnit, TimestampMicrosecondType},
};
use datafusion::{
    common::{Result, exec_err, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

use super::{super::convert::intervals, super::sum::later, micros, moment_type};
use crate::times::{DAY, Zone};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct DateBin(Signature);

impl DateBin {
    pub(super) fn new() -> Self {
        Self(Signature::user_defined(Volatility::Immutable))
    }
}

impl ScalarUDFImpl for DateBin {
    fn name(&self) -> &str {
        "date_bin"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [_, moment, origin @ ..] = types else {
            return plan_err!("date_bin has a width, a moment and an origin: date_bin('15 minutes', t)");
        };
        if origin.len() > 1 {
            return plan_err!("date_bin has a width, a moment and an origin");
        }
        let moment = moment_type(moment);
        let width = DataType::Interval(IntervalUnit::MonthDayNano);
        Ok(std::iter::once(width).chain(std::iter::repeat_n(moment, types.len() - 1)).collect())
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types[1].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let of = |value: &ColumnarValue| value.to_array(args.number_rows);
        let (widths, moments) = (intervals(&of(&args.args[0])?)?, of(&args.args[1])?);
        let origins = args.args.get(2).map(of).transpose()?;
        let rows = micros(&moments).iter().zip(&widths).enumerate();
        let bins = rows.map(|(row, (moment, width))| {
            let origin = match &origins {
                None => Some(0),
                Some(origins) => micros(origins).iter().nth(row).flatten(),
            };
            let (Some(moment), Some(width), Some(origin)) = (moment, width, origin) else { return Ok(None) };
            match begin(moment, width, origin)? {
                None => exec_err!("date_bin: the beginning is beyond the range of timestamps"),
                begin => Ok(begin),
            }
        });
        let bins = bins.collect::<Result<PrimitiveArray<TimestampMicrosecondType>>>()?;
        Ok(ColumnarValue::Array(Arc::new(bins.with_data_type(moments.data_type().clone()))))
    }
}

/// Where the interval begins that a moment is in; `None` if that is beyond the range of timestamps.
pub(super) fn begin(moment: i64, width: IntervalMonthDayNano, origin: i64) -> Result<Option<i64>> {
    if moment.is_endless() {
        return Ok(Some(moment));
    }
    if origin.is_endless() {
        return exec_err!("date_bin: the origin is infinity, from where no bin begins");
    }
    if width.months != 0 {
        if width.days != 0 || width.nanoseconds != 0 || width.months < 0 {
            return exec_err!("date_bin: the width has months, or days and times, and is more than nothing");
        }
        return Ok(begin_of_months(moment, width.months.into(), origin));
    }
    let micros =
        i64::from(width.days).checked_mul(DAY).and_then(|of| of.checked_add(width.nanoseconds / 1000));
    match micros.filter(|micros| *micros > 0) {
        None => exec_err!("date_bin: the width is more than nothing"),
        Some(micros) => Ok(moment.checked_sub(origin).and_then(|since| {
            since.div_euclid(micros).checked_mul(micros).and_then(|since| since.checked_add(origin))
        })),
    }
}

fn begin_of_months(moment: i64, width: i64, origin: i64) -> Option<i64> {
    let months = |moment: i64| {
        let (year, month, _) = date_of(moment.div_euclid(DAY));
        year * 12 + i64::from(month)
    };
    let bins = (months(moment) - months(origin)).div_euclid(width);
    let at = |bins: i64| {
        let months = i32::try_from(bins.checked_mul(width)?).ok()?;
        later(origin, IntervalMonthDayNano::new(months, 0, 0), Zone::UTC)
    };
    let begin = at(bins)?;
    if begin > moment { at(bins - 1) } else { Some(begin) }
}
