//! What a cast to a type with JSON in it holds values to: `CAST(x AS JSON[])` is a list of texts, each of which has to be JSON.

use ambo::{DatumRef, Logical, Part, arrow::to_stored};
use arrow::{
    array::{Array, ArrayRef, AsArray, BooleanArray},
    compute::nullif,
    datatypes::DataType,
};
use datafusion::{
    common::{Result, ScalarValue, exec_err, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

use crate::{error::outer, parse::parse_type, statement::declared, user_types::UserTypes, value::returned};

/// The values of the first argument, which are of the type that the second one names.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct JsonParts {
    is_strict: bool,
    signature: Signature,
}

impl JsonParts {
    pub(super) fn all() -> [Self; 2] {
        [true, false].map(|is_strict| Self { is_strict, signature: Signature::any(2, Volatility::Immutable) })
    }

    /// Values of which those that are none of the type are NULL, where that is no error.
    fn checked(&self, values: &ArrayRef, logical: &Logical) -> Result<ArrayRef> {
        let stored = to_stored(values).map_err(outer)?;
        let Some(stored) = stored.as_binary_opt::<i32>() else { return Ok(values.clone()) };
        let mut are_wrong = Vec::with_capacity(stored.len());
        for value in stored {
            let checked = value.map_or(Ok(()), |value| logical.check(DatumRef::Binary(value)));
            match checked {
                Err(what) if self.is_strict => return exec_err!("CAST: {what}"),
                checked => are_wrong.push(checked.is_err()),
            }
        }
        Ok(nullif(values, &BooleanArray::from(are_wrong))?)
    }
}

impl ScalarUDFImpl for JsonParts {
    fn name(&self) -> &str {
        if self.is_strict { "json_parts" } else { "try_json_parts" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types[0].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let ColumnarValue::Scalar(ScalarValue::Utf8(Some(name))) = &args.args[1] else {
            return plan_err!("{} takes the name of a type", self.name());
        };
        let types = UserTypes::default();
        let part = parse_type(name).and_then(|ty| declared(&ty, &types)).map_err(outer)?;
        let is_one = matches!(args.args[0], ColumnarValue::Scalar(_));
        let values = args.args[0].to_array(if is_one { 1 } else { args.number_rows })?;
        match part {
            Part::Logical(logical) => returned(self.checked(&values, &logical)?, is_one),
            Part::Plain(_) => Ok(args.args[0].clone()),
        }
    }
}
