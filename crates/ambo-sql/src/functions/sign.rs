//! `sign(x)`: -1, 0 or 1 as BIGINT; NULL of NULL and of NaN.

use std::sync::Arc;

use arrow::{
    array::{AsArray, Int64Array},
    datatypes::{DataType, Float64Type},
};
use datafusion::{
    common::{Result, arrow::compute::cast},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Sign(Signature);

impl Sign {
    pub(super) fn new() -> Self {
        Self(Signature::numeric(1, Volatility::Immutable))
    }
}

impl ScalarUDFImpl for Sign {
    fn name(&self) -> &str {
        "sign"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        // No number becomes zero, or gets the other sign, as a double.
        let numbers = cast(&args.args[0].to_array(args.number_rows)?, &DataType::Float64)?;
        let sign = |number: f64| number.partial_cmp(&0.0).map(|order| order as i64);
        let signs = numbers.as_primitive::<Float64Type>().iter().map(|number| number.and_then(sign));
        Ok(ColumnarValue::Array(Arc::new(signs.collect::<Int64Array>())))
    }
}
