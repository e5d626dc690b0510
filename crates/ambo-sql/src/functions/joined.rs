//! `list || list`: the elements of both; NULL where one is NULL, as `text || text`.
//!
//! The planner takes NULL for a list of nothing there.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, ListArray},
    buffer::NullBuffer,
    datatypes::DataType,
};
use datafusion::{
    common::Result,
    functions_nested::concat::array_concat_udf,
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Joined(Signature);

impl Joined {
    pub(crate) fn new() -> Self {
        Self(Signature::user_defined(Volatility::Immutable))
    }
}

impl ScalarUDFImpl for Joined {
    fn name(&self) -> &str {
        "||"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        array_concat_udf().inner().coerce_types(types)
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        array_concat_udf().inner().return_type(types)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let sides = args.args.iter().map(|side| side.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let nulls = NullBuffer::union_many(sides.iter().map(|side| side.nulls()));
        let joined: ArrayRef = array_concat_udf().invoke_with_args(args)?.to_array(rows)?;
        Ok(ColumnarValue::Array(match (nulls, joined.data_type()) {
            (Some(nulls), DataType::List(field)) => {
                let list = joined.as_list::<i32>();
                let (offsets, values) = (list.offsets().clone(), list.values().clone());
                Arc::new(ListArray::try_new(field.clone(), offsets, values, Some(nulls))?)
            }
            _ => joined,
        }))
    }
}
