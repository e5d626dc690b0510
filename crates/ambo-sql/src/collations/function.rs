//! COLLATE as a function.

use std::sync::{Arc, LazyLock};

use ambo::arrow::collated;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::{
    common::{Result, plan_err},
    logical_expr::{
        ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
        Volatility, lit,
    },
};

use super::Collation;
use crate::times::is_text;

/// What COLLATE is called in plans: the text as it is, with a collation beside it.
pub(crate) const COLLATE: &str = "with_collation";

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Collate(Signature);

impl Collate {
    pub(crate) fn new() -> Self {
        Self(Signature::any(2, Volatility::Immutable))
    }
}

impl ScalarUDFImpl for Collate {
    fn name(&self) -> &str {
        COLLATE
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [DataType::Null, _] => Ok(DataType::Utf8),
            [text, _] if is_text(text) => Ok(text.clone()),
            [other, _] => plan_err!("COLLATE stands behind texts, and this is of type {other}"),
            _ => plan_err!("COLLATE has a text and a name"),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types: Vec<_> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let field = Field::new(self.name(), self.return_type(&types)?, true);
        let name =
            args.scalar_arguments.get(1).copied().flatten().and_then(|name| name.try_as_str().flatten());
        let Some(name) = name else { return plan_err!("COLLATE has the name of a collation behind it") };
        Ok(Arc::new(collated(field, name)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        args.args[0].cast_to(args.return_field.data_type(), None)
    }
}

/// A text with a collation beside it.
pub(crate) fn collate(text: Expr, how: Collation) -> Expr {
    static FUNCTION: LazyLock<Arc<ScalarUDF>> =
        LazyLock::new(|| Arc::new(ScalarUDF::new_from_impl(Collate::new())));
    FUNCTION.call(vec![text, lit(how.to_string())])
}
