//! `current_setting(name)`: a setting, as SHOW shows it; `current_query()`: the text of the statement.

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, AsArray, StringArray},
    compute::cast,
    datatypes::DataType,
};
use datafusion::{
    common::{Result, ScalarValue, exec_err},
    logical_expr::{
        ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
    },
};

use crate::value::returned;

/// See the module.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct CurrentSetting {
    /// Names and values at the moment of the statement.
    settings: Vec<(&'static str, String)>,
    signature: Signature,
}

impl CurrentSetting {
    pub(crate) fn function(settings: Vec<(&'static str, String)>) -> ScalarUDF {
        let one_text = TypeSignature::Exact(vec![DataType::Utf8]);
        let signature = Signature::new(one_text, Volatility::Stable);
        ScalarUDF::new_from_impl(Self { settings, signature })
    }

    fn value(&self, name: &str) -> Result<&str> {
        let found = self.settings.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        match found {
            Some((_, value)) => Ok(value),
            None => {
                let known: Vec<_> = self.settings.iter().map(|(known, _)| *known).collect();
                exec_err!("there is no setting \"{name}\"; there are {}", known.join(", "))
            }
        }
    }
}

impl ScalarUDFImpl for CurrentSetting {
    fn name(&self) -> &str {
        "current_setting"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_one = matches!(args.args[0], ColumnarValue::Scalar(_));
        let names =
            cast(&args.args[0].to_array(if is_one { 1 } else { args.number_rows })?, &DataType::Utf8)?;
        let values =
            names.as_string::<i32>().iter().map(|name| name.map(|name| self.value(name)).transpose());
        let values: ArrayRef = Arc::new(values.collect::<Result<StringArray>>()?);
        returned(values, is_one)
    }
}

/// The text of the statement that is run; NULL where it is one of several in a text.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct CurrentQuery {
    text: Option<String>,
    signature: Signature,
}

impl CurrentQuery {
    pub(crate) fn function(text: Option<&str>) -> ScalarUDF {
        let signature = Signature::nullary(Volatility::Stable);
        ScalarUDF::new_from_impl(Self { text: text.map(str::to_owned), signature })
    }
}

impl ScalarUDFImpl for CurrentQuery {
    fn name(&self) -> &str {
        "current_query"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(ColumnarValue::Scalar(ScalarValue::Utf8(self.text.clone())))
    }
}
