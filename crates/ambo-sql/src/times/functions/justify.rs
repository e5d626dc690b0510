//! `justify_days(i)`, `justify_hours(i)` and `justify_interval(i)`, as PostgreSQL has them: thirty days become a month and 24 hours a day,
//! and all parts have one sign. `normalized_interval(i)` is DuckDB's, whose days and hours are never negative.

use std::sync::Arc;

use arrow::{
    array::{AsArray, IntervalMonthDayNanoArray},
    compute::cast,
    datatypes::{DataType, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit},
};
use datafusion::{
    common::{Result, exec_err, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

use crate::times::is_interval;

const INTERVAL: DataType = DataType::Interval(IntervalUnit::MonthDayNano);
const DAY: i128 = 24 * 60 * 60 * 1_000_000_000;
const MONTH: i128 = 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum What {
    Days,
    Hours,
    Both,
    NotNegative,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Justify {
    name: &'static str,
    what: What,
    signature: Signature,
}

impl Justify {
    pub(super) fn all() -> [Self; 4] {
        [
            ("justify_days", What::Days),
            ("justify_hours", What::Hours),
            ("justify_interval", What::Both),
            ("normalized_interval", What::NotNegative),
        ]
        .map(|(name, what)| Self {
            name,
            what,
            signature: Signature::user_defined(Volatility::Immutable),
        })
    }
}

impl ScalarUDFImpl for Justify {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [of] if is_interval(of) || of.is_null() => Ok(vec![INTERVAL]),
            _ => plan_err!("{} takes an interval", self.name),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(INTERVAL)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let given = cast(&args.args[0].to_array(args.number_rows)?, &INTERVAL)?;
        let made = given.as_primitive::<IntervalMonthDayNanoType>().iter().map(|interval| {
            let Some(interval) = interval else { return Ok(None) };
            match self.what.of(interval) {
                Some(made) => Ok(Some(made)),
                None => exec_err!("{}: there is no such interval", self.name),
            }
        });
        Ok(ColumnarValue::Array(Arc::new(made.collect::<Result<IntervalMonthDayNanoArray>>()?)))
    }
}

impl What {
    /// `None`: more than an interval can hold.
    fn of(self, interval: IntervalMonthDayNano) -> Option<IntervalMonthDayNano> {
        let mut months = i128::from(interval.months);
        let (mut days, mut nanos) = (i128::from(interval.days), i128::from(interval.nanoseconds));
        if self == Self::NotNegative {
            days += nanos.div_euclid(DAY);
            months += days.div_euclid(MONTH);
            (days, nanos) = (days.rem_euclid(MONTH), nanos.rem_euclid(DAY));
        }
        if matches!(self, Self::Hours | Self::Both) {
            days += nanos / DAY;
            nanos %= DAY;
        }
        if matches!(self, Self::Days | Self::Both) {
            months += days / MONTH;
            days %= MONTH;
        }
        // What stands behind has the sign of what stands before.
        if matches!(self, Self::Days | Self::Both) {
            let behind = if days != 0 || self == Self::Days { days } else { nanos };
            if months > 0 && behind < 0 {
                (months, days) = (months - 1, days + MONTH);
            } else if months < 0 && behind > 0 {
                (months, days) = (months + 1, days - MONTH);
            }
        }
        if matches!(self, Self::Hours | Self::Both) {
            if days > 0 && nanos < 0 {
                (days, nanos) = (days - 1, nanos + DAY);
            } else if days < 0 && nanos > 0 {
                (days, nanos) = (days + 1, nanos - DAY);
            }
        }
        Some(IntervalMonthDayNano {
            months: months.try_into().ok()?,
            days: days.try_into().ok()?,
            nanoseconds: nanos.try_into().ok()?,
        })
    }
}
