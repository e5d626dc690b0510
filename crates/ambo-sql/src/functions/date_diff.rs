//! `date_diff(unit, from, to)`, also called `datediff`: how many times a new year, month, day … begins behind `from` and up to `to`, as
//! DuckDB has it. Weeks begin on Monday.

use std::sync::Arc;

use ambo::calendar::Endless;
use arrow::{
    array::{ArrayRef, AsArray, Int64Array},
    compute::try_binary,
    datatypes::{DataType, TimestampMicrosecondType},
    error::ArrowError,
};
use datafusion::{
    common::{Result, ScalarValue, exec_err, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

use crate::times::{MOMENT, Unit, units_begun};

const UNITS: &str = "year, quarter, month, week, day, hour, minute, second, millisecond or microsecond";

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct DateDiff {
    signature: Signature,
    aliases: Vec<String>,
}

impl DateDiff {
    pub(super) fn new() -> Self {
        Self {
            signature: Signature::user_defined(Volatility::Immutable),
            aliases: vec!["datediff".to_owned()],
        }
    }
}

impl ScalarUDFImpl for DateDiff {
    fn name(&self) -> &str {
        "date_diff"
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
            _ => plan_err!("date_diff has a unit and two moments: date_diff('day', from, to)"),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [ColumnarValue::Scalar(ScalarValue::Utf8(Some(unit))), from, to] = &args.args[..] else {
            return exec_err!("date_diff: the unit is to be a constant: {UNITS}");
        };
        let rows = args.number_rows;
        let (from, to) = (counted(unit, &from.to_array(rows)?)?, counted(unit, &to.to_array(rows)?)?);
        let between: Int64Array = try_binary(&from, &to, |from, to| {
            to.checked_sub(from).ok_or_else(|| {
                ArrowError::ComputeError("date_diff: the moments are too far apart".to_owned())
            })
        })?;
        Ok(ColumnarValue::Array(Arc::new(between)))
    }
}

/// How many units began since any fixed moment.
fn counted(unit: &str, moments: &ArrayRef) -> Result<Int64Array> {
    let Some(unit) = Unit::named(unit) else {
        return exec_err!("date_diff: '{unit}' is no unit; there are {UNITS}");
    };
    Ok(moments
        .as_primitive::<TimestampMicrosecondType>()
        .unary_opt(|moment| (!moment.is_endless()).then(|| units_begun(unit, moment))))
}
