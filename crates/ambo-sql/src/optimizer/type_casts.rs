//! Casts to the type of another expression, or to one that is named, are casts.
//!
//! The planner makes them casts when it simplifies expressions, behind the rules that say what casts do: `cast_to_type(1.5, 1)` cut.

use datafusion::{
    common::tree_node::{Transformed, TreeNode},
    logical_expr::{
        Expr,
        simplify::{ExprSimplifyResult, SimplifyContext},
    },
};

use super::expressions::ExpressionRule;

const NAMES: [&str; 4] = ["cast_to_type", "try_cast_to_type", "arrow_cast", "arrow_try_cast"];

pub(super) const TYPE_CASTS: ExpressionRule = ExpressionRule {
    name: "type_casts",
    wanted: |expr| matches!(expr, Expr::ScalarFunction(function) if NAMES.contains(&function.name())),
    change: |expr, schema, _| {
        let context = SimplifyContext::builder().with_schema(schema.clone().into()).build();
        expr.transform_up(|expr| match expr {
            Expr::ScalarFunction(function) if NAMES.contains(&function.name()) => {
                let func = function.func.clone();
                Ok(match func.simplify(function.args, &context)? {
                    ExprSimplifyResult::Simplified(cast) => Transformed::yes(cast),
                    ExprSimplifyResult::Original(args) => Transformed::no(func.call(args)),
                })
            }
            expr => Ok(Transformed::no(expr)),
        })
    },
};
