//! A value with 0.0 for each -0.0 in it, which are one value and two patterns of bits.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayData, ArrayRef, AsArray, make_array},
    datatypes::{DataType, Float32Type, Float64Type},
};
use datafusion::{
    common::{Result, ScalarValue},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

/// Of lists, structs and maps, too.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct OneZero {
    signature: Signature,
}

impl OneZero {
    pub(crate) fn new() -> Self {
        Self { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for OneZero {
    fn name(&self) -> &str {
        "one_zero"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types[0].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        of_values(&args, with_one_zero)
    }
}

/// A function of arrays of the argument, which is an array or one value.
pub(super) fn of_values(
    args: &ScalarFunctionArgs,
    change: fn(&ArrayRef) -> Result<ArrayRef>,
) -> Result<ColumnarValue> {
    let is_one = matches!(args.args[0], ColumnarValue::Scalar(_));
    let values = args.args[0].to_array(if is_one { 1 } else { args.number_rows })?;
    let changed = change(&values)?;
    Ok(match is_one {
        true => ColumnarValue::Scalar(ScalarValue::try_from_array(&changed, 0)?),
        false => ColumnarValue::Array(changed),
    })
}

/// Whether there may be zeros of two kinds in values of a type.
pub(crate) fn has_zeros(ty: &DataType) -> bool {
    match ty {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => has_zeros(item.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_zeros(field.data_type())),
        DataType::Dictionary(_, values) => has_zeros(values),
        ty => ty.is_floating(),
    }
}

/// The values with 0.0 for each -0.0 in them.
pub(super) fn with_one_zero(values: &ArrayRef) -> Result<ArrayRef> {
    match has_zeros(values.data_type()) {
        // Adding zero makes one zero of two.
        true => Ok(make_array(changed(values.to_data(), |x| x + 0.0, |x| x + 0.0)?)),
        false => Ok(values.clone()),
    }
}

/// Values of which each double and real, also within others, is another one.
pub(super) fn changed(data: ArrayData, double: fn(f64) -> f64, real: fn(f32) -> f32) -> Result<ArrayData> {
    let values = || make_array(data.clone());
    let floats: ArrayRef = match data.data_type() {
        DataType::Float64 => Arc::new(values().as_primitive::<Float64Type>().unary::<_, Float64Type>(double)),
        DataType::Float32 => Arc::new(values().as_primitive::<Float32Type>().unary::<_, Float32Type>(real)),
        ty if has_zeros(ty) => {
            let parts = data.child_data().iter().cloned().map(|part| changed(part, double, real));
            let parts = parts.collect::<Result<_>>()?;
            return Ok(data.into_builder().child_data(parts).build()?);
        }
        _ => return Ok(data),
    };
    Ok(floats.to_data())
}
