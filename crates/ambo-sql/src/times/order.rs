//! Intervals as numbers by which they are compared: a month is thirty days, a day is 24 hours, as in PostgreSQL. The planner compares
//! months, then days, then the rest.

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, Decimal128Array},
    datatypes::{DataType, Decimal128Type},
};
use datafusion::{
    common::Result,
    logical_expr::{
        ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
    },
};

use super::{
    convert::{intervals, length},
    is_interval,
};

/// The number of an interval or a duration.
pub(crate) fn ordered(interval: Expr) -> Expr {
    let signature = Signature::any(1, Volatility::Immutable);
    ScalarUDF::new_from_impl(IntervalOrder(signature)).call(vec![interval])
}

/// Intervals as the numbers by which they are compared; other values as they are.
pub(crate) fn lengths(array: &ArrayRef) -> Result<ArrayRef> {
    if !is_interval(array.data_type()) {
        return Ok(array.clone());
    }
    let numbers: Decimal128Array = intervals(array)?.unary::<_, Decimal128Type>(length);
    Ok(Arc::new(numbers.with_data_type(NUMBER)))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct IntervalOrder(Signature);

const NUMBER: DataType = DataType::Decimal128(38, 0);

impl ScalarUDFImpl for IntervalOrder {
    fn name(&self) -> &str {
        "length_of_interval"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(NUMBER)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(ColumnarValue::Array(lengths(&args.args[0].to_array(args.number_rows)?)?))
    }
}
