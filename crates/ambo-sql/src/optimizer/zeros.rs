//! 0.0 and -0.0 are one value.
//!
//! They are equal, and one group, but aggregates with DISTINCT or ORDER BY, windows and the keys of hash joins tell them apart. `x + 0.0` is the
//! same for both.

use datafusion::{
    common::{
        DFSchema, Result,
        tree_node::{Transformed, TreeNode},
    },
    error::DataFusionError,
    logical_expr::{BinaryExpr, Expr, ExprSchemable, Join, LogicalPlan, Operator, lit},
    optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule},
    scalar::ScalarValue,
};

use super::expressions::ExpressionRule;

pub(super) const ZEROS: ExpressionRule = ExpressionRule {
    name: "zeros",
    wanted: |expr| matches!(expr, Expr::AggregateFunction(_) | Expr::WindowFunction(_)),
    change: |expr, schema, _| expr.transform_up(|expr| with_one_zero(expr, schema)),
};

fn with_one_zero(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    Ok(match expr {
        Expr::AggregateFunction(mut function) => {
            let params = &mut function.params;
            let sorts = params.order_by.iter_mut().map(|sort| &mut sort.expr);
            let is_changed = match params.distinct {
                true => unify_all(params.args.iter_mut().chain(sorts), schema)?,
                // Behind the last one, nothing says which of equal rows is first.
                false => unify_all(sorts.rev().skip(1), schema)?,
            };
            Transformed::new_transformed(Expr::AggregateFunction(function), is_changed)
        }
        Expr::WindowFunction(mut function) => {
            let params = &mut function.params;
            let sorts = params.order_by.iter_mut().map(|sort| &mut sort.expr);
            let is_changed = unify_all(params.partition_by.iter_mut().chain(sorts), schema)?;
            Transformed::new_transformed(Expr::WindowFunction(function), is_changed)
        }
        expr => Transformed::no(expr),
    })
}

/// Makes both zeros of expressions one; whether one of them has two.
fn unify_all<'e>(mut exprs: impl Iterator<Item = &'e mut Expr>, schema: &DFSchema) -> Result<bool> {
    exprs.try_fold(false, |is_changed, expr| Ok(unify(expr, schema)? | is_changed))
}

/// Makes both zeros one; whether the expression is one that has two.
fn unify(expr: &mut Expr, schema: &DFSchema) -> Result<bool> {
    let data_type = expr.get_type(schema)?;
    if !data_type.is_floating() {
        return Ok(false);
    }
    let zero = lit(ScalarValue::new_zero(&data_type)?);
    if matches!(expr, Expr::BinaryExpr(BinaryExpr { op: Operator::Plus, right, .. }) if **right == zero) {
        return Ok(false);
    }
    *expr = std::mem::take(expr) + zero;
    Ok(true)
}

/// Makes both zeros of keys of joins one. To be run when all keys are found.
#[derive(Debug)]
pub(super) struct ZeroKeys;

impl OptimizerRule for ZeroKeys {
    fn name(&self) -> &str {
        "zero_keys"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Join(mut join) = plan else { return Ok(Transformed::no(plan)) };
        let Join { on, left, right, .. } = &mut join;
        let is_changed = on.iter_mut().try_fold(false, |is_changed, (of_left, of_right)| {
            let left = unify(of_left, left.schema())?;
            Ok::<_, DataFusionError>(unify(of_right, right.schema())? | left | is_changed)
        })?;
        Ok(Transformed::new_transformed(LogicalPlan::Join(join), is_changed))
    }
}
