//! `epoch_ms(x)`, `epoch_us(x)`, `epoch_ns(x)`: whole milliseconds, microseconds or nanoseconds since 1970 of a moment or day, since
//! midnight of a time, and of an interval, whose months have 30 days. `epoch_ms` of a number is the moment so many milliseconds after 1970.

use std::sync::Arc;

use ambo::calendar::Endless;
use arrow::{
    array::{Array, ArrayRef, AsArray, Int64Array},
    compute::cast,
    datatypes::{DataType, Int64Type, IntervalUnit, TimeUnit},
};
use datafusion::{
    common::{Result, exec_datafusion_err, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

use super::{super::convert::intervals, as_given, micros, moment_type};
use crate::times::{DAY, MOMENT, Zone, converted, is_interval, is_text};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Epoch {
    name: &'static str,
    /// How many units a millisecond has.
    of_milli: i64,
    signature: Signature,
}

impl Epoch {
    pub(super) fn all() -> [Self; 3] {
        let of = |name, of_milli| Self {
            name,
            of_milli,
            signature: Signature::user_defined(Volatility::Immutable),
        };
        [of("epoch_ms", 1), of("epoch_us", 1000), of("epoch_ns", 1_000_000)]
    }

    /// Whether an argument of a type is a number of milliseconds.
    fn is_number(&self, ty: &DataType) -> bool {
        self.of_milli == 1 && ty.is_numeric()
    }
}

impl ScalarUDFImpl for Epoch {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [of] = types else { return plan_err!("{} has one moment", self.name) };
        Ok(vec![match of {
            ty if self.is_number(ty) => DataType::Int64,
            DataType::Time32(_) | DataType::Time64(_) => DataType::Time64(TimeUnit::Nanosecond),
            ty if is_interval(ty) => DataType::Interval(IntervalUnit::MonthDayNano),
            DataType::Date32 => DataType::Date32,
            ty if matches!(ty, DataType::Timestamp(..)) || is_text(ty) || ty.is_null() => moment_type(ty),
            other => {
                return plan_err!(
                    "{} is of a moment, a day, a time or an interval, not of {other}",
                    self.name
                );
            }
        }])
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(if self.is_number(&types[0]) { MOMENT } else { DataType::Int64 })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let array = match &args.args[0] {
            ColumnarValue::Scalar(scalar) => scalar.to_array()?,
            ColumnarValue::Array(array) => array.clone(),
        };
        let beyond = || exec_datafusion_err!("{}: the result is beyond the range of its type", self.name);
        if array.data_type() == &DataType::Int64 {
            let moments = array
                .as_primitive::<Int64Type>()
                .try_unary::<_, Int64Type, _>(|of| of.checked_mul(1000).ok_or_else(beyond))?;
            return as_given(cast(&moments, &MOMENT)?, &args.args[0]);
        }
        let nanos = |nanos: i128| match self.of_milli {
            1_000_000 => i64::try_from(nanos).map_err(|_| beyond()),
            of_milli => {
                i64::try_from(nanos.div_euclid(i128::from(1_000_000 / of_milli))).map_err(|_| beyond())
            }
        };
        let all: Vec<Option<i128>> = match array.data_type() {
            DataType::Interval(_) => {
                let length = |of: arrow::datatypes::IntervalMonthDayNano| {
                    (i128::from(of.months) * 30 + i128::from(of.days)) * i128::from(DAY) * 1000
                        + i128::from(of.nanoseconds)
                };
                intervals(&array)?.iter().map(|of| of.map(length)).collect()
            }
            DataType::Time64(_) => {
                let of_day = cast(&array, &DataType::Int64)?;
                of_day.as_primitive::<Int64Type>().iter().map(|of| of.map(i128::from)).collect()
            }
            _ => {
                let moments: ArrayRef = match array.data_type() {
                    DataType::Date32 => converted(&array, &MOMENT, Zone::UTC, true)?,
                    _ => array.clone(),
                };
                let finite = |of: &i64| !of.is_endless();
                micros(&moments).iter().map(|of| of.filter(finite).map(|of| i128::from(of) * 1000)).collect()
            }
        };
        let numbers = all.into_iter().map(|of| of.map(nanos).transpose()).collect::<Result<Int64Array>>()?;
        as_given(Arc::new(numbers), &args.args[0])
    }
}
