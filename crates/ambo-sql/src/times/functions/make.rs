//! `make_date(year, month, day)`, `make_timestamp(year, month, day, hour, minute, second)`, and `make_timestamptz` with a zone behind them
//! or that of the session; of one number, the days or microseconds since 1970. `make_time(hour, minute, second)`.

use std::sync::Arc;

use ambo::calendar::{Endless, days_of};
use arrow::{
    array::{Array, ArrayRef, AsArray, PrimitiveArray},
    datatypes::{
        DataType, Date32Type, Float64Type, Int64Type, Time64NanosecondType, TimeUnit,
        TimestampMicrosecondType,
    },
};
use datafusion::{
    common::{Result, exec_err, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

use super::at_zone::known;
use crate::times::{DAY, MOMENT, SECOND, cast::zone_of, instant};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct MakeDate {
    signature: Signature,
}

impl MakeDate {
    pub(super) fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for MakeDate {
    fn name(&self) -> &str {
        "make_date"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types.len() {
            count @ (1 | 3) => Ok(vec![DataType::Int64; count]),
            _ => plan_err!("make_date has a year, a month and a day, or days since 1970"),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Date32)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let given = args.args.iter().map(|value| value.to_array(args.number_rows));
        let given = given.collect::<Result<Vec<_>>>()?;
        let date = |row: usize| {
            if given.iter().any(|array| array.is_null(row)) {
                return Ok(None);
            }
            let day = match given.len() {
                1 => Some(number(&given, 0, row)),
                _ => day(&given, row),
            };
            match day.and_then(|day| i32::try_from(day).ok()).filter(|day| !day.is_endless()) {
                Some(day) => Ok(Some(day)),
                None => exec_err!("make_date: there is no such date"),
            }
        };
        let dates: PrimitiveArray<Date32Type> = (0..args.number_rows).map(date).collect::<Result<_>>()?;
        Ok(ColumnarValue::Array(Arc::new(dates)))
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct MakeTimestamp {
    zoned: bool,
    signature: Signature,
}

impl MakeTimestamp {
    pub(super) fn new(zoned: bool) -> Self {
        let volatility = if zoned { Volatility::Stable } else { Volatility::Immutable };
        Self { zoned, signature: Signature::user_defined(volatility) }
    }
}

impl ScalarUDFImpl for MakeTimestamp {
    fn name(&self) -> &str {
        if self.zoned { "make_timestamptz" } else { "make_timestamp" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let name = self.name();
        if !(matches!(types.len(), 1 | 6) || self.zoned && types.len() == 7) {
            return plan_err!(
                "{name} has a year, a month, a day, an hour, a minute and seconds, or microseconds since 1970"
            );
        }
        let all = (0..types.len()).map(|place| match place {
            5 => DataType::Float64,
            6 => DataType::Utf8,
            _ => DataType::Int64,
        });
        Ok(all.collect())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(if self.zoned { instant() } else { MOMENT })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let given = args.args.iter().map(|value| value.to_array(args.number_rows));
        let given = given.collect::<Result<Vec<_>>>()?;
        let zone = zone_of(&args.config_options);
        let moment = |row: usize| {
            if given.iter().any(|array| array.is_null(row)) {
                return Ok(None);
            }
            if given.len() == 1 {
                let moment = number(&given, 0, row);
                return match moment.is_endless() {
                    true => exec_err!("{}: the moment is beyond the range of timestamps", self.name()),
                    false => Ok(Some(moment)),
                };
            }
            let Some(local) = local(&given, row) else {
                return exec_err!("{}: there is no such date or time", self.name());
            };
            let moment = match given.get(6) {
                Some(zones) => known(zones.as_string::<i32>().value(row))?.instant(local),
                None if self.zoned => zone.instant(local),
                None => Some(local),
            };
            match moment {
                None => exec_err!("{}: the moment is beyond the range of timestamps", self.name()),
                moment => Ok(moment),
            }
        };
        let moments: PrimitiveArray<TimestampMicrosecondType> =
            (0..args.number_rows).map(moment).collect::<Result<_>>()?;
        let ty = if self.zoned { instant() } else { MOMENT };
        Ok(ColumnarValue::Array(Arc::new(moments.with_data_type(ty))))
    }
}

/// `make_time(hour, minute, second)`, with parts of seconds.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct MakeTime {
    signature: Signature,
}

impl MakeTime {
    pub(super) fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for MakeTime {
    fn name(&self) -> &str {
        "make_time"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types.len() {
            3 => Ok(vec![DataType::Int64, DataType::Int64, DataType::Float64]),
            _ => plan_err!("make_time has an hour, a minute and seconds"),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Time64(TimeUnit::Nanosecond))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let given = args.args.iter().map(|value| value.to_array(args.number_rows));
        let given = given.collect::<Result<Vec<_>>>()?;
        let time = |row: usize| {
            if given.iter().any(|array| array.is_null(row)) {
                return Ok(None);
            }
            match time_of_day(&given, 0, row) {
                Some(time) => Ok(Some(time * 1000)),
                None => exec_err!("make_time: there is no such time"),
            }
        };
        let times: PrimitiveArray<Time64NanosecondType> =
            (0..args.number_rows).map(time).collect::<Result<_>>()?;
        Ok(ColumnarValue::Array(Arc::new(times)))
    }
}

fn number(given: &[ArrayRef], place: usize, row: usize) -> i64 {
    given[place].as_primitive::<Int64Type>().value(row)
}

/// The day of a year, a month and a day, as days since 1970. A year before 1 is one BC; there is none that is 0.
fn day(given: &[ArrayRef], row: usize) -> Option<i64> {
    let number = |place| number(given, place, row);
    let year = match number(0) {
        0 => return None,
        year if year < 0 => year + 1,
        year => year,
    };
    days_of(year, u32::try_from(number(1)).ok()?, u32::try_from(number(2)).ok()?)
}

/// What a clock shows that shows these.
fn local(given: &[ArrayRef], row: usize) -> Option<i64> {
    let (days, time) = (day(given, row)?, time_of_day(given, 3, row)?);
    days.checked_mul(DAY)?.checked_add(time)
}

/// The microseconds of a day of an hour, a minute and seconds, which are there from a place on.
fn time_of_day(given: &[ArrayRef], from: usize, row: usize) -> Option<i64> {
    let [hour, minute] = [0, 1].map(|place| number(given, from + place, row));
    let seconds = given[from + 2].as_primitive::<Float64Type>().value(row);
    let in_range = (0..=24).contains(&hour) && (0..60).contains(&minute) && (0.0..=60.0).contains(&seconds);
    in_range
        .then(|| (hour * 60 + minute) * 60 * SECOND + (seconds * SECOND as f64).round() as i64)
        .filter(|time| *time <= DAY)
}
