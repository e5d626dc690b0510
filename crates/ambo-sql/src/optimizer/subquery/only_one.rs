//! `only_one(value, rows)`: the value, if it is that of one row or of none.

use std::sync::Arc;

use arrow::{
    array::AsArray,
    datatypes::{DataType, Int64Type},
};
use datafusion::{
    common::{Result, exec_err},
    logical_expr::{
        ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
    },
};

/// An error where `rows` is more than one. It stands behind the join to the rows that ask, so that what nobody asks for is no error.
pub(super) fn only_one(value: Expr, rows: Expr) -> Expr {
    Arc::new(ScalarUDF::new_from_impl(OnlyOne(Signature::any(2, Volatility::Immutable))))
        .call(vec![value, rows])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OnlyOne(Signature);

impl ScalarUDFImpl for OnlyOne {
    fn name(&self) -> &str {
        "only_one"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(arguments[0].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.args[1].to_array(args.number_rows)?;
        if rows.as_primitive::<Int64Type>().iter().flatten().any(|rows| rows > 1) {
            return exec_err!("Scalar subquery returned more than one row");
        }
        Ok(args.args[0].clone())
    }
}
