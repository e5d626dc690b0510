//! `sqrt(x)` and `power(x, y)` as IEEE 754 has them: `sqrt(-1)` is NaN and `power(0, -1)` infinite, as `ln(-1)` and `1e0 / 0` are.
//!
//! The planner's are errors there, and its `power(b, log(b, x))` is x also where the logarithm of x is NaN.

use std::sync::Arc;

use arrow::{
    array::AsArray,
    compute::{binary, unary},
    datatypes::{DataType, Float32Type, Float64Type},
};
use datafusion::{
    common::{Result, exec_err},
    functions::math,
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature},
};

use crate::value::returned;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Root(Arc<ScalarUDF>);

impl Root {
    pub(crate) fn new() -> Self {
        Self(math::sqrt())
    }
}

impl ScalarUDFImpl for Root {
    fn name(&self) -> &str {
        "sqrt"
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.0.return_type(types)
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [of] = &args.args[..] else { return exec_err!("sqrt() has one argument") };
        let is_one = matches!(of, ColumnarValue::Scalar(_));
        let of = of.to_array(if is_one { 1 } else { args.number_rows })?;
        let roots = match of.data_type() {
            DataType::Float32 => {
                Arc::new(unary::<_, _, Float32Type>(of.as_primitive::<Float32Type>(), f32::sqrt)) as _
            }
            _ => Arc::new(unary::<_, _, Float64Type>(of.as_primitive::<Float64Type>(), f64::sqrt)) as _,
        };
        returned(roots, is_one)
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Power(Arc<ScalarUDF>);

impl Power {
    pub(crate) fn new() -> Self {
        Self(math::power())
    }
}

impl ScalarUDFImpl for Power {
    fn name(&self) -> &str {
        "power"
    }

    fn aliases(&self) -> &[String] {
        self.0.aliases()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [base, exponent] = &args.args[..] else { return exec_err!("power() has two arguments") };
        let are_one = [base, exponent].iter().all(|of| matches!(of, ColumnarValue::Scalar(_)));
        let rows = if are_one { 1 } else { args.number_rows };
        let (base, exponent) = (base.to_array(rows)?, exponent.to_array(rows)?);
        let (base, exponent) = (base.as_primitive::<Float64Type>(), exponent.as_primitive::<Float64Type>());
        let powers = binary::<_, _, _, Float64Type>(base, exponent, f64::powf)?;
        returned(Arc::new(powers), are_one)
    }
}
