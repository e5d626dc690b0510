//! `nextafter(x, y)`: the number next to x on the way to y, of the reals where both are reals, else of the doubles.

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, AsArray, PrimitiveArray},
    compute::binary,
    datatypes::{DataType, Float32Type, Float64Type},
};
use datafusion::{
    common::{Result, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

use crate::value::{null_without_type, returned};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct NextAfter(Signature);

impl NextAfter {
    pub(super) fn new() -> Self {
        Self(Signature::user_defined(Volatility::Immutable))
    }
}

impl ScalarUDFImpl for NextAfter {
    fn name(&self) -> &str {
        "nextafter"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [DataType::Float32, DataType::Float32] => Ok(types.to_vec()),
            [x, y] if [x, y].iter().all(|ty| ty.is_numeric() || ty.is_null()) => {
                Ok(vec![DataType::Float64; 2])
            }
            _ => plan_err!("nextafter has a number, and one that says the direction"),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types[0].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(null) = null_without_type(&args) {
            return Ok(null);
        }
        let is_one = args.args.iter().all(|value| matches!(value, ColumnarValue::Scalar(_)));
        let rows = if is_one { 1 } else { args.number_rows };
        let [x, y] = [args.args[0].to_array(rows)?, args.args[1].to_array(rows)?];
        let next: ArrayRef = match x.data_type() {
            DataType::Float32 => {
                let sides = (x.as_primitive::<Float32Type>(), y.as_primitive::<Float32Type>());
                let next: PrimitiveArray<Float32Type> = binary(sides.0, sides.1, libm::nextafterf)?;
                Arc::new(next)
            }
            _ => {
                let sides = (x.as_primitive::<Float64Type>(), y.as_primitive::<Float64Type>());
                let next: PrimitiveArray<Float64Type> = binary(sides.0, sides.1, libm::nextafter)?;
                Arc::new(next)
            }
        };
        returned(next, is_one)
    }
}
