//! `generate_series(from, to, step)` and `range` of moments: as lists, in microseconds.

use std::sync::Arc;

use ambo::calendar::Endless;
use arrow::{
    array::{Array, ListBuilder, PrimitiveBuilder},
    datatypes::{DataType, Field, TimestampMicrosecondType},
};
use datafusion::{
    common::{Result, exec_err},
    logical_expr::{
        ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
    },
};

use crate::value::null_without_type;

use super::{super::convert::intervals, super::convert::length, super::sum::later, micros, zone_for};

/// The moments from one to another, `step` apart; the last may be `inclusive`. REQUIRES: both are of one type of moments, in microseconds.
pub(in crate::times) fn series(from: Expr, to: Expr, step: Expr, inclusive: bool) -> Expr {
    let signature = Signature::any(3, Volatility::Immutable);
    ScalarUDF::new_from_impl(Series { inclusive, signature }).call(vec![from, to, step])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Series {
    inclusive: bool,
    signature: Signature,
}

impl ScalarUDFImpl for Series {
    fn name(&self) -> &str {
        if self.inclusive { "series_of_moments" } else { "range_of_moments" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(DataType::List(Arc::new(Field::new_list_field(types[0].clone(), true))))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(null) = null_without_type(&args) {
            return Ok(null);
        }
        let of = |value: &ColumnarValue| value.to_array(args.number_rows);
        let (from, to) = (of(&args.args[0])?, of(&args.args[1])?);
        let steps = intervals(&of(&args.args[2])?)?;
        let ty = from.data_type().clone();
        let zone = zone_for(&ty, &args);
        let values = PrimitiveBuilder::<TimestampMicrosecondType>::new().with_data_type(ty.clone());
        let mut lists =
            ListBuilder::new(values).with_field(Arc::new(Field::new_list_field(ty.clone(), true)));
        let (from, to) = (micros(&from), micros(&to));
        for row in 0..args.number_rows {
            if from.is_null(row) || to.is_null(row) || steps.is_null(row) {
                lists.append_null();
                continue;
            }
            let (mut moment, last, step) = (from.value(row), to.value(row), steps.value(row));
            if moment.is_endless() || last.is_endless() {
                return exec_err!("a series has no end where its bounds are infinity");
            }
            let way = length(step).signum();
            if way == 0 {
                return exec_err!("the step of a series is more or less than nothing");
            }
            let is_within = |moment: i64| match (way > 0, self.inclusive) {
                (true, true) => moment <= last,
                (true, false) => moment < last,
                (false, true) => moment >= last,
                (false, false) => moment > last,
            };
            while is_within(moment) {
                lists.values().append_value(moment);
                // Behind the range there is nothing more.
                let Some(next) = later(moment, step, zone) else { break };
                if (next > moment) != (way > 0) {
                    return exec_err!("the step of a series goes to and fro");
                }
                moment = next;
            }
            lists.append(true);
        }
        Ok(ColumnarValue::Array(Arc::new(lists.finish())))
    }
}
