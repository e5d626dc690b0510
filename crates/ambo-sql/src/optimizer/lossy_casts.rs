//! Casts that round stay where they are compared.
//!
//! The planner takes a cast off a column by which a literal is compared, and casts the literal instead: `CAST(d AS INT) = 2` becomes `d = 2.00`. That is
//! right only of casts that keep every value; so it is not shown those of decimals that round.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::{
    common::{
        DFSchema, Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{
        ColumnarValue, Expr, ExprSchemable, LogicalPlan, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
        Signature, Volatility,
    },
    optimizer::AnalyzerRule,
};

use super::expressions::changed;

#[derive(Debug)]
pub(super) struct LossyCasts;

impl AnalyzerRule for LossyCasts {
    fn name(&self) -> &str {
        "lossy_casts"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let is_cast = |expr: &Expr| matches!(expr, Expr::Cast(_) | Expr::TryCast(_));
        changed(plan, is_cast, |expr, schema, _| expr.transform_up(|expr| kept(expr, schema)))
    }
}

fn kept(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let (from, to) = match &expr {
        Expr::Cast(cast) => (cast.expr.get_type(schema)?, cast.field.data_type()),
        Expr::TryCast(cast) => (cast.expr.get_type(schema)?, cast.field.data_type()),
        _ => return Ok(Transformed::no(expr)),
    };
    Ok(match (scale_of(&from), scale_of(to)) {
        (Some(from), Some(to)) if to < from => {
            let rounded = ScalarUDF::new_from_impl(Rounded(Signature::any(1, Volatility::Immutable)));
            Transformed::yes(Arc::new(rounded).call(vec![expr]))
        }
        _ => Transformed::no(expr),
    })
}

/// Places behind the point that numbers of an exact type have.
fn scale_of(data_type: &DataType) -> Option<i8> {
    match data_type {
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => Some(*scale),
        data_type => data_type.is_integer().then_some(0),
    }
}

/// `rounded(x)` is x.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Rounded(Signature);

impl ScalarUDFImpl for Rounded {
    fn name(&self) -> &str {
        "rounded"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(arguments[0].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(args.args[0].clone())
    }
}
