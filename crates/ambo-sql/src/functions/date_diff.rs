//! `date_diff(unit, from, to)`, also called `datediff`: how many times a new year, month, day … begins behind `from` and up to `to`, as
//! DuckDB has it. Weeks begin on Monday. `date_sub(unit, from, to)`, also called `datesub`: how many whole units lie between them.

use std::sync::Arc;

use ambo::calendar::Endless;
use arrow::{
    array::{AsArray, Int64Array, PrimitiveArray},
    compute::try_binary,
    datatypes::{DataType, TimestampMicrosecondType},
    error::ArrowError,
};
use datafusion::{
    common::{Result, ScalarValue, exec_err, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

use crate::times::{MOMENT, Unit, units_begun, units_between};

const UNITS: &str = "year, quarter, month, week, day, hour, minute, second, millisecond or microsecond";

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct DateDiff {
    name: &'static str,
    /// Whether only whole units count.
    is_whole: bool,
    signature: Signature,
    aliases: Vec<String>,
}

impl DateDiff {
    pub(super) fn all() -> [Self; 2] {
        [("date_diff", "datediff"), ("date_sub", "datesub")].map(|(name, alias)| Self {
            name,
            is_whole: name == "date_sub",
            signature: Signature::user_defined(Volatility::Immutable),
            aliases: vec![alias.to_owned()],
        })
    }
}

impl ScalarUDFImpl for DateDiff {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [_, _, _] => Ok(vec![DataType::Utf8, MOMENT, MOMENT]),
            _ => plan_err!("{0} has a unit and two moments: {0}('day', from, to)", self.name),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [ColumnarValue::Scalar(ScalarValue::Utf8(Some(unit))), from, to] = &args.args[..] else {
            return exec_err!("{}: the unit is to be a constant: {UNITS}", self.name);
        };
        let Some(unit) = Unit::named(unit) else {
            return exec_err!("{}: '{unit}' is no unit; there are {UNITS}", self.name);
        };
        let (from, to) = (moments(from, args.number_rows)?, moments(to, args.number_rows)?);
        let between: Int64Array = try_binary(&from, &to, |from, to| {
            let between = match self.is_whole {
                true => units_between(unit, from, to),
                false => units_begun(unit, to).checked_sub(units_begun(unit, from)),
            };
            between.ok_or_else(|| {
                ArrowError::ComputeError(format!("{}: the moments are too far apart", self.name))
            })
        })?;
        Ok(ColumnarValue::Array(Arc::new(between)))
    }
}

/// Moments; NULL is infinity, too.
fn moments(of: &ColumnarValue, rows: usize) -> Result<PrimitiveArray<TimestampMicrosecondType>> {
    let moments = of.to_array(rows)?;
    let moments = moments.as_primitive::<TimestampMicrosecondType>();
    Ok(moments.unary_opt(|moment| (!moment.is_endless()).then_some(moment)))
}
