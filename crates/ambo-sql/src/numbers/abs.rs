//! `abs(x)`: of the least integer of a type there is none.

use std::sync::Arc;

use arrow::{
    array::ArrayRef,
    datatypes::{DataType, FieldRef, Int8Type, Int16Type, Int32Type, Int64Type},
};
use datafusion::{
    common::Result,
    functions::math,
    logical_expr::{
        ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
        sort_properties::{ExprProperties, SortProperties},
    },
};

use super::{kernel::map, range_error};
use crate::value::returned;

/// Of integers; other numbers are the planner's.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Abs(Arc<ScalarUDF>);

impl Abs {
    pub(crate) fn new() -> Self {
        Self(math::abs())
    }
}

/// `None`: not a signed integer.
fn of_integers(array: &ArrayRef) -> Option<Result<ArrayRef>> {
    macro_rules! by_type {
        ($($ty:ident $arrow:ident),*) => {
            match array.data_type() {
                $(DataType::$ty => map::<$arrow, $arrow>(array, |number| {
                    let size = number.checked_abs().ok_or_else(|| {
                        range_error(format!("abs({number})"), &DataType::$ty)
                    })?;
                    Ok(Some(size))
                }),)*
                _ => return None,
            }
        };
    }
    Some(by_type!(Int8 Int8Type, Int16 Int16Type, Int32 Int32Type, Int64 Int64Type))
}

impl ScalarUDFImpl for Abs {
    fn name(&self) -> &str {
        "abs"
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.0.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.0.return_field_from_args(args)
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        self.0.output_ordering(inputs)
    }

    fn is_strict(&self) -> bool {
        self.0.is_strict()
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (array, is_one) = match &args.args[0] {
            ColumnarValue::Array(array) => (array.clone(), false),
            ColumnarValue::Scalar(scalar) => (scalar.to_array()?, true),
        };
        match of_integers(&array) {
            Some(sizes) => returned(sizes?, is_one),
            None => self.0.invoke_with_args(args),
        }
    }
}
