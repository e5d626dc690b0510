//! Functions that are their first argument: they keep the planner from what it would do without them.

use arrow::datatypes::DataType;
use datafusion::{
    common::Result,
    logical_expr::{
        ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
        simplify::{ExprSimplifyResult, SimplifyContext},
    },
};

/// Such a function of so many arguments; unless it `stays`, the optimizer takes it away.
pub(crate) fn identity(name: impl Into<String>, arguments: usize, stays: bool) -> ScalarUDF {
    let signature = Signature::any(arguments, Volatility::Immutable);
    ScalarUDF::new_from_impl(Identity { name: name.into(), signature, stays })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Identity {
    name: String,
    signature: Signature,
    stays: bool,
}

impl ScalarUDFImpl for Identity {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(arguments[0].clone())
    }

    fn simplify(&self, mut args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        Ok(match self.stays {
            true => ExprSimplifyResult::Original(args),
            false => ExprSimplifyResult::Simplified(args.swap_remove(0)),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(args.args[0].clone())
    }
}
