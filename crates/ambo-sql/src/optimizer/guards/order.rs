//! Terms that cannot fail come before those that can.
//!
//! The planner puts terms that cost little first, whether they can fail or not, and computes what stands in several places beforehand if
//! one of them is evaluated for all rows: the first term of AND and OR is, the others are not.

use datafusion::{
    common::{
        DFSchema, Result,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{
        Expr, LogicalPlan, Operator,
        utils::{merge_schema, split_binary_owned},
    },
    optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule},
};

use super::failing::{by_failing, can_fail, is_sorted};
use crate::optimizer::map_named;

/// See the module. To be run before common subexpressions are looked for.
#[derive(Debug)]
pub(in crate::optimizer) struct SafeTermsFirst;

impl OptimizerRule for SafeTermsFirst {
    fn name(&self) -> &str {
        "safe_terms_first"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if plan.inputs().is_empty() {
            return Ok(Transformed::no(plan));
        }
        let schema = merge_schema(&plan.inputs());
        map_named(plan, |expr| Ok(can_fail(expr, &schema)), |expr| sorted(expr, &schema))
    }
}

fn sorted(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let op = match &expr {
        Expr::BinaryExpr(binary) if matches!(binary.op, Operator::And | Operator::Or) => binary.op,
        _ => return expr.map_children(|part| sorted(part, schema)),
    };
    let mut changed = false;
    let mut terms = Vec::new();
    for term in split_binary_owned(expr.clone(), op) {
        let term = sorted(term, schema)?;
        changed |= term.transformed;
        terms.push(term.data);
    }
    if is_sorted(&terms, schema)? {
        return Ok(if changed { Transformed::yes(joined(terms, op)) } else { Transformed::no(expr) });
    }
    let (safe, failing) = by_failing(terms, schema);
    Ok(Transformed::yes(joined(safe.into_iter().chain(failing).collect(), op)))
}

/// The terms under one operator, which there is at least one of.
pub(super) fn joined(terms: Vec<Expr>, op: Operator) -> Expr {
    let join = |left: Expr, right: Expr| if op == Operator::And { left.and(right) } else { left.or(right) };
    terms.into_iter().reduce(join).unwrap_or_else(|| datafusion::logical_expr::lit(op == Operator::And))
}
