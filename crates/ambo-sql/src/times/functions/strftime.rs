//! `strftime(moment, format)`, as DuckDB has it, or `strftime(format, moment)`, as SQLite has it, where it is not said which argument is
//! the format: neither has a `%`. Then the one that is not a text is the moment, and of two texts the second.

use std::sync::Arc;

use arrow::{
    array::{AsArray, StringArray},
    datatypes::DataType,
};
use datafusion::{
    common::{Result, plan_err},
    functions::datetime,
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

use crate::{functions::chrono_format, times::MOMENT, value::returned};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Strftime(Signature);

impl Strftime {
    pub(super) fn new() -> Self {
        Self(Signature::user_defined(Volatility::Immutable))
    }
}

/// Whether the first argument is the moment.
fn is_moment_first(types: &[DataType]) -> bool {
    matches!(types.first(), Some(DataType::Timestamp(..) | DataType::Date32))
}

impl ScalarUDFImpl for Strftime {
    fn name(&self) -> &str {
        "strftime"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [_, _] if is_moment_first(types) => Ok(vec![MOMENT, DataType::Utf8]),
            [_, _] => Ok(vec![DataType::Utf8, MOMENT]),
            _ => plan_err!("strftime has a moment and a format: strftime(t, '%Y-%m-%d')"),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let types: Vec<_> = args.args.iter().map(ColumnarValue::data_type).collect();
        if !is_moment_first(&types) {
            args.args.swap(0, 1);
            args.arg_fields.swap(0, 1);
        }
        let rows = args.number_rows;
        let is_one = matches!(args.args[1], ColumnarValue::Scalar(_));
        let formats = args.args[1].to_array(if is_one { 1 } else { rows })?;
        let formats: StringArray =
            formats.as_string::<i32>().iter().map(|format| format.map(chrono_format)).collect();
        args.args[1] = returned(Arc::new(formats), is_one)?;
        datetime::to_char().invoke_with_args(args)
    }
}
