//! Intervals as numbers by which they are compared: a month is thirty days, a day is 24 hours, as in PostgreSQL. The planner compares
//! months, then days, then the rest.

use std::sync::Arc;

use arrow::{
    array::Decimal128Array,
    datatypes::{DataType, Decimal128Type},
};
use datafusion::{
    common::Result,
    logical_expr::{
        ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
    },
};

use super::convert::{intervals, length};

/// The number of an interval or a duration.
pub(super) fn ordered(interval: Expr) -> Expr {
    let signature = Signature::any(1, Volatility::Immutable);
    ScalarUDF::new_from_impl(IntervalOrder(signature)).call(vec![interval])
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
        let array = intervals(&args.args[0].to_array(args.number_rows)?)?;
        let numbers: Decimal128Array = array.unary::<_, Decimal128Type>(length);
        Ok(ColumnarValue::Array(Arc::new(numbers.with_data_type(NUMBER))))
    }
}
