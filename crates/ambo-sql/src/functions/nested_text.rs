//! What a cast of a list, struct or map to a text does: the text that results show.
//!
//! The planner's has NULL as nothing in it, so that `[1, NULL]` and `[1, '']` are one, and other times than elsewhere.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::{
    common::{Result, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

use crate::nested::nested_texts;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct NestedText(Signature);

impl NestedText {
    pub(crate) fn new() -> Self {
        Self(Signature::any(1, Volatility::Immutable))
    }
}

impl ScalarUDFImpl for NestedText {
    fn name(&self) -> &str {
        "nested_text"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = &args.args[..] else { return plan_err!("nested_text has one argument") };
        let texts = nested_texts(&value.to_array(args.number_rows)?)?;
        Ok(ColumnarValue::Array(Arc::new(texts)))
    }
}
