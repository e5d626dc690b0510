//! `error(text)`: the error of that text, where it is computed; NULL of NULL.

use arrow::{array::AsArray, datatypes::DataType};
use datafusion::{
    common::{Result, ScalarValue, exec_err, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Failure(Signature);

impl Failure {
    /// It is computed where it stands, and nowhere before.
    pub(super) fn new() -> Self {
        Self(Signature::user_defined(Volatility::Volatile))
    }
}

impl ScalarUDFImpl for Failure {
    fn name(&self) -> &str {
        "error"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [_] => Ok(vec![DataType::Utf8]),
            _ => plan_err!("error has one text"),
        }
    }

    /// It may stand for a value of any type.
    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Null)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let texts = args.args[0].to_array(args.number_rows)?;
        match texts.as_string::<i32>().iter().flatten().next() {
            Some(text) => exec_err!("{text}"),
            None => Ok(ColumnarValue::Scalar(ScalarValue::Null)),
        }
    }
}
