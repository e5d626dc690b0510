//! `date_diff(unit, from, to)`, also called `datediff`: how many times a new year, month, day … begins behind `from` and up to `to`, as DuckDB has it.
//! Weeks begin on Monday.

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, AsArray, Int64Array},
    compute::{DatePart, binary, date_part, try_binary},
    datatypes::{DataType, Int64Type, TimeUnit, TimestampMicrosecondType},
    error::ArrowError,
};
use datafusion::{
    common::{Result, ScalarValue, arrow::compute::cast, exec_err, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

const UNITS: &str = "year, quarter, month, week, day, hour, minute, second, millisecond or microsecond";
const MOMENT: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);
const SECOND: i64 = 1_000_000;
const DAY: i64 = 24 * 60 * 60 * SECOND;

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
    let part = |part| {
        Ok::<_, datafusion::error::DataFusionError>(cast(&date_part(moments, part)?, &DataType::Int64)?)
    };
    let of_year = |in_year: i64, part_of: DatePart| {
        let (years, parts) = (part(DatePart::Year)?, part(part_of)?);
        let (years, parts) = (years.as_primitive::<Int64Type>(), parts.as_primitive::<Int64Type>());
        Ok(binary(years, parts, |year, part| year * in_year + part)?)
    };
    let unit = unit.to_lowercase();
    let unit = unit.strip_suffix('s').unwrap_or(&unit);
    // The first Monday is the fourth of January 1970.
    let (length, offset) = match unit {
        "year" => return Ok(part(DatePart::Year)?.as_primitive::<Int64Type>().clone()),
        "quarter" => return of_year(4, DatePart::Quarter),
        "month" => return of_year(12, DatePart::Month),
        "week" => (7 * DAY, 3 * DAY),
        "day" => (DAY, 0),
        "hour" => (60 * 60 * SECOND, 0),
        "minute" => (60 * SECOND, 0),
        "second" => (SECOND, 0),
        "millisecond" => (SECOND / 1000, 0),
        "microsecond" => (1, 0),
        _ => return exec_err!("date_diff: '{unit}' is no unit; there are {UNITS}"),
    };
    let moments = moments.as_primitive::<TimestampMicrosecondType>();
    Ok(moments.unary(|moment| (moment.saturating_add(offset)).div_euclid(length)))
}
