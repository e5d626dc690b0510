//! `age(to, from)`: the time between two moments in months, days, and the rest, as PostgreSQL has it; `age(from)` is up to today
//! (`planner/functions.rs`).
//!
//! The fields are subtracted one by one; where days are missing, the month of the earlier moment is taken into days.

use std::sync::Arc;

use ambo::calendar::Endless;
use arrow::{
    array::{AsArray, IntervalMonthDayNanoArray},
    datatypes::{DataType, IntervalMonthDayNano, IntervalUnit, TimeUnit, TimestampMicrosecondType},
};
use datafusion::{
    common::{Result, exec_err, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

const MOMENT: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);
const DAY: i64 = 24 * 60 * 60 * 1_000_000;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Age(Signature);

impl Age {
    pub(super) fn new() -> Self {
        Self(Signature::user_defined(Volatility::Immutable))
    }
}

impl ScalarUDFImpl for Age {
    fn name(&self) -> &str {
        "age"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [_, _] => Ok(vec![MOMENT; 2]),
            _ => plan_err!("age has one moment, or two: age(to, from)"),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Interval(IntervalUnit::MonthDayNano))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let moments = |value: &ColumnarValue| value.to_array(args.number_rows);
        let (to, from) = (moments(&args.args[0])?, moments(&args.args[1])?);
        let (to, from) =
            (to.as_primitive::<TimestampMicrosecondType>(), from.as_primitive::<TimestampMicrosecondType>());
        let ages = to.iter().zip(from).map(|(to, from)| {
            let (Some(to), Some(from)) = (to, from) else { return Ok(None) };
            // No interval is without end.
            if to.is_endless() || from.is_endless() {
                return Ok(None);
            }
            match age(to, from) {
                None => exec_err!("age: an interval is too long"),
                age => Ok(age),
            }
        });
        let ages = ages.collect::<Result<IntervalMonthDayNanoArray>>()?;
        Ok(ColumnarValue::Array(Arc::new(ages)))
    }
}

/// `None`: more than an interval can hold.
fn age(to: i64, from: i64) -> Option<IntervalMonthDayNano> {
    let sign = if to < from { -1 } else { 1 };
    let (earlier, later) = (Moment::of(to.min(from)), Moment::of(to.max(from)));
    let mut time = later.time - earlier.time;
    let mut days = later.day - earlier.day;
    let mut months = later.month - earlier.month;
    if time < 0 {
        (time, days) = (time + DAY, days - 1);
    }
    if days < 0 {
        (days, months) = (days + days_in(earlier.month), months - 1);
    }
    let narrow = |number: i64| i32::try_from(sign * number).ok();
    Some(IntervalMonthDayNano::new(narrow(months)?, narrow(days)?, sign * time * 1000))
}

/// Microseconds since 1970 began, as the fields of a calendar.
struct Moment {
    /// Since year 0 began.
    month: i64,
    /// Of the month, from 1 on.
    day: i64,
    /// Microseconds of the day.
    time: i64,
}

impl Moment {
    /// Howard Hinnant, chrono-Compatible Low-Level Date Algorithms, civil_from_days: years begin in March, so that leap days are the last
    /// ones.
    fn of(moment: i64) -> Self {
        let days = moment.div_euclid(DAY) + 719_468;
        let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        Self { month: (era * 400 + year) * 12 + month + 2, day, time: moment.rem_euclid(DAY) }
    }
}

/// The days of a month, of those since year 0 began.
fn days_in(month: i64) -> i64 {
    let year = month.div_euclid(12);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month.rem_euclid(12) {
        1 => 28 + i64::from(is_leap),
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    }
}
