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

/// Such a function of one argument that the planner takes for another value each time, so that it is computed where it stands.
pub(crate) fn fixed(name: impl Into<String>) -> ScalarUDF {
    let signature = Signature::any(1, Volatility::Volatile);
    ScalarUDF::new_from_impl(Identity { name: name.into(), signature, stays: true })
}

/// Whether a function is one of these.
pub(crate) fn is_identity(function: &ScalarUDF) -> bool {
    function.inner().downcast_ref::<Identity>().is_some()
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
