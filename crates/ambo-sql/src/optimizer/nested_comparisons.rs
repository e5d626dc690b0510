//! Comparisons of lists and structs that do not come from the planner's operators: BETWEEN, and ANY and ALL of a query.
//!
//! The operators become [`NestedOrder`] when a statement is planned (`planner/nested.rs`), for which NULL within is greater than all else.
//! The planner makes `x >= a AND x <= b` of BETWEEN itself, by which it is smaller: `[1, NULL] BETWEEN [1, 2] AND [2]` was false.

use datafusion::{
    common::{
        DFSchema, Result,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{Between, Expr, ExprSchemable, Operator, ScalarUDF, binary_expr},
};

use super::{expressions::ExpressionRule, zeros::unify};
use crate::functions::NestedOrder;

pub(super) const NESTED_COMPARISONS: ExpressionRule = ExpressionRule {
    name: "nested_comparisons",
    wanted: |expr| matches!(expr, Expr::Between(_)),
    change: |expr, schema, _| expr.transform_up(|expr| between(expr, schema)),
};

fn between(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::Between(Between { expr: value, negated, low, high }) = expr else {
        return Ok(Transformed::no(expr));
    };
    if !value.get_type(schema)?.is_nested() {
        return Ok(Transformed::no(Expr::Between(Between { expr: value, negated, low, high })));
    }
    let from = compared(value.as_ref().clone(), Operator::GtEq, *low, schema)?;
    let is_within = from.and(compared(*value, Operator::LtEq, *high, schema)?);
    Ok(Transformed::yes(if negated { Expr::Not(Box::new(is_within)) } else { is_within }))
}

/// `left operator right`, whatever they are; columns of both are those of `schema` or from outside.
pub(super) fn compared(left: Expr, operator: Operator, right: Expr, schema: &DFSchema) -> Result<Expr> {
    let order = NestedOrder::of(operator);
    match order {
        Some(order) if left.get_type(schema)?.is_nested() => {
            let mut sides = [left, right];
            for side in &mut sides {
                unify(side, schema)?;
            }
            Ok(ScalarUDF::new_from_impl(order).call(sides.into()))
        }
        _ => Ok(binary_expr(left, operator, right)),
    }
}
