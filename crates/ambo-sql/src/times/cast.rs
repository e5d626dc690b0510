//! A cast from or to a time as a function, so that it is computed as is said in `convert`, wherever the planner computes it.

use arrow::datatypes::DataType;
use datafusion::{
    common::{Result, ScalarValue, config::ConfigOptions},
    logical_expr::{
        ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
        interval_arithmetic::Interval,
        preimage::PreimageResult,
        simplify::SimplifyContext,
        sort_properties::{ExprProperties, SortProperties},
    },
};

use super::{DAY, MOMENT, Zone, converted, instant, is_text};
use crate::{error::type_in_sql, value::returned};

/// See the module.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct TimeCast {
    name: String,
    to: DataType,
    /// Whether what does not fit is an error, or NULL.
    strict: bool,
    signature: Signature,
}

/// An expression of type `from` as one of type `to`. REQUIRES: `converts(from, to)`.
pub(super) fn cast_to(expr: Expr, from: &DataType, to: &DataType, strict: bool) -> Expr {
    let to = match to {
        DataType::Timestamp(_, None) => MOMENT,
        DataType::Timestamp(_, Some(_)) => instant(),
        to => to.clone(),
    };
    if *from == to {
        return expr;
    }
    let is_instant = |ty: &DataType| matches!(ty, DataType::Timestamp(_, Some(_)));
    let volatility = match is_instant(from) || is_instant(&to) {
        true => Volatility::Stable,
        false => Volatility::Immutable,
    };
    let verb = if strict { "cast" } else { "try_cast" };
    let what = if is_text(&to) { "text".to_owned() } else { type_in_sql(&to) };
    let cast =
        TimeCast { name: format!("{verb}_to_{what}"), to, strict, signature: Signature::any(1, volatility) };
    ScalarUDF::new_from_impl(cast).call(vec![expr])
}

/// The zone of the session.
pub(super) fn zone_of(options: &ConfigOptions) -> Zone {
    options.execution.time_zone.as_deref().and_then(Zone::find).unwrap_or(Zone::UTC)
}

impl ScalarUDFImpl for TimeCast {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.to.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let zone = zone_of(&args.config_options);
        match &args.args[0] {
            ColumnarValue::Array(array) => {
                Ok(ColumnarValue::Array(converted(array, &self.to, zone, self.strict)?))
            }
            ColumnarValue::Scalar(scalar) => {
                let cast = converted(&scalar.to_array()?, &self.to, zone, self.strict)?;
                returned(cast, true)
            }
        }
    }

    /// A comparison of a day's begin with the begin of a day is one of days.
    fn preimage(&self, args: &[Expr], value: &Expr, info: &SimplifyContext) -> Result<PreimageResult> {
        let ([day], Expr::Literal(ScalarValue::TimestampMicrosecond(Some(moment), None), _)) = (args, value)
        else {
            return Ok(PreimageResult::None);
        };
        if moment % DAY != 0 || info.get_data_type(day)? != DataType::Date32 {
            return Ok(PreimageResult::None);
        }
        // The last day is the one without end.
        let days = i32::try_from(moment / DAY).ok().filter(|day| *day > i32::MIN && *day < i32::MAX - 1);
        let Some(days) = days else { return Ok(PreimageResult::None) };
        let [low, high] = [days, days + 1].map(|days| ScalarValue::Date32(Some(days)));
        let interval = Box::new(Interval::try_new(low, high)?);
        Ok(PreimageResult::Range { expr: day.clone(), interval })
    }

    /// Days and their begins are in one order.
    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        let [day] = inputs else { return Ok(SortProperties::Unordered) };
        let is_day = day.range.data_type() == DataType::Date32 && self.to == MOMENT && self.strict;
        Ok(if is_day { day.sort_properties } else { SortProperties::Unordered })
    }
}
