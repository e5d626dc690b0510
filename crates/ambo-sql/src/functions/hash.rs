//! `hash(x, …)`: a number of 64 bits that is the same for the same values, to deal rows out by.
//!
//! It is the 64 bits of XXH3 over what Arrow's row format has of the values, whole numbers as BIGINT and numbers with a point as DOUBLE, so
//! that numbers that are equal in one of these have one hash.

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, UInt64Array},
    compute::cast,
    datatypes::DataType,
    row::{RowConverter, SortField},
};
use datafusion::{
    common::{Result, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};
use twox_hash::XxHash3_64;

use crate::times::is_text;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct HashOf(Signature);

impl HashOf {
    pub(super) fn new() -> Self {
        Self(Signature::variadic_any(Volatility::Immutable))
    }
}

/// The type whose values are hashed.
fn hashed(ty: &DataType) -> DataType {
    match ty {
        DataType::Null => DataType::Utf8,
        ty if is_text(ty) => DataType::Utf8,
        ty if ty.is_signed_integer() => DataType::Int64,
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => DataType::Int64,
        DataType::Float16 | DataType::Float32 => DataType::Float64,
        ty => ty.clone(),
    }
}

impl ScalarUDFImpl for HashOf {
    fn name(&self) -> &str {
        "hash"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [] => plan_err!("hash has a value, or several"),
            _ => Ok(DataType::UInt64),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns = args.args.iter().map(|value| {
            let array = value.to_array(args.number_rows)?;
            Ok(one_zero(cast(&array, &hashed(array.data_type()))?))
        });
        let columns: Vec<ArrayRef> = columns.collect::<Result<_>>()?;
        let fields = columns.iter().map(|column| SortField::new(column.data_type().clone())).collect();
        let rows = RowConverter::new(fields)?.convert_columns(&columns)?;
        let hashes: UInt64Array = rows.iter().map(|row| Some(XxHash3_64::oneshot(row.as_ref()))).collect();
        Ok(ColumnarValue::Array(Arc::new(hashes)))
    }
}

/// Both zeros of doubles are equal.
fn one_zero(array: ArrayRef) -> ArrayRef {
    use arrow::{array::AsArray, datatypes::Float64Type};
    match array.data_type() {
        DataType::Float64 => Arc::new(
            array.as_primitive::<Float64Type>().unary::<_, Float64Type>(|x| if x == 0.0 { 0.0 } else { x }),
        ),
        _ => array,
    }
}
