//! A value with the one NaN for each NaN in it, which are one value and many patterns of bits.

use arrow::{
    array::{Array, ArrayRef, AsArray, make_array},
    datatypes::{DataType, Float32Type, Float64Type},
};
use datafusion::{
    common::Result,
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

use super::one_zero::{changed, has_zeros, of_values};

/// Of lists, structs and maps, too.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct OneNan {
    signature: Signature,
}

impl OneNan {
    pub(crate) fn new() -> Self {
        Self { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for OneNan {
    fn name(&self) -> &str {
        "one_nan"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types[0].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        of_values(&args, with_one_nan)
    }
}

fn with_one_nan(values: &ArrayRef) -> Result<ArrayRef> {
    let is_done = match values.data_type() {
        DataType::Float64 => !values.as_primitive::<Float64Type>().values().iter().any(|x| x.is_nan()),
        DataType::Float32 => !values.as_primitive::<Float32Type>().values().iter().any(|x| x.is_nan()),
        ty => !has_zeros(ty),
    };
    if is_done {
        return Ok(values.clone());
    }
    let double = |x: f64| if x.is_nan() { f64::NAN } else { x };
    let real = |x: f32| if x.is_nan() { f32::NAN } else { x };
    Ok(make_array(changed(values.to_data(), double, real)?))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Float32Array, Float64Array, ListArray};

    use super::*;

    #[test]
    fn all_nans_have_the_bits_of_one() {
        let given: ArrayRef =
            Arc::new(Float64Array::from(vec![Some(-f64::NAN), None, Some(f64::NAN), Some(-0.0)]));
        let one = with_one_nan(&given).unwrap();
        let bits = |row: usize| one.as_primitive::<Float64Type>().value(row).to_bits();
        assert_eq!(
            (bits(0), bits(2), bits(3)),
            (f64::NAN.to_bits(), f64::NAN.to_bits(), (-0.0f64).to_bits())
        );
        assert!(one.is_null(1));

        let given: ArrayRef = Arc::new(Float32Array::from(vec![-f32::NAN, 1.0]));
        let one = with_one_nan(&given).unwrap();
        assert_eq!(one.as_primitive::<Float32Type>().value(0).to_bits(), f32::NAN.to_bits());

        let lists = ListArray::from_iter_primitive::<Float64Type, _, _>([Some([Some(-f64::NAN), Some(2.0)])]);
        let one = with_one_nan(&(Arc::new(lists) as ArrayRef)).unwrap();
        let values = one.as_list::<i32>().value(0);
        assert_eq!(values.as_primitive::<Float64Type>().value(0).to_bits(), f64::NAN.to_bits());
    }
}
