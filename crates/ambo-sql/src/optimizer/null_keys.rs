//! Columns that may be NULL on both sides are keys of a join beside others.
//!
//! The planner makes a key of `a IS NOT DISTINCT FROM b` only where a join has no other, as all keys of a join treat NULL alike; beside
//! `a = b` it stays a condition, which is asked of all pairs that meet by the other keys: of n² pairs where these are all the same. Here
//! all become keys that take NULL for a value, and those by `=` get the condition that they are not NULL.

use datafusion::{
    common::{DFSchema, NullEquality, Result, tree_node::Transformed},
    logical_expr::{
        BinaryExpr, Expr, ExprSchemable, Join, LogicalPlan, Operator,
        utils::{can_hash, conjunction, split_conjunction_owned},
    },
    optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule},
};

/// See the module. To be run when all keys by `=` are found.
#[derive(Debug)]
pub(super) struct NullKeys;

impl OptimizerRule for NullKeys {
    fn name(&self) -> &str {
        "null_keys"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Join(join) => Ok(joined(join)?.update_data(LogicalPlan::Join)),
            plan => Ok(Transformed::no(plan)),
        }
    }
}

fn joined(mut join: Join) -> Result<Transformed<Join>> {
    let Some(filter) = join.filter.take_if(|_| !join.null_aware) else {
        return Ok(Transformed::no(join));
    };
    let (mut pairs, mut conditions) = (Vec::new(), Vec::new());
    for term in split_conjunction_owned(filter) {
        match null_pair(&term, join.left.schema(), join.right.schema()) {
            Some(pair) => pairs.push(pair),
            None => conditions.push(term),
        }
    }
    let is_changed = !pairs.is_empty();
    if is_changed && join.null_equality == NullEquality::NullEqualsNothing {
        for (left, right) in &join.on {
            if left.nullable(join.left.schema())? && right.nullable(join.right.schema())? {
                conditions.push(left.clone().is_not_null());
            }
        }
        join.null_equality = NullEquality::NullEqualsNull;
    }
    join.on.extend(pairs);
    join.filter = conjunction(conditions);
    Ok(Transformed::new_transformed(join, is_changed))
}

/// A column of each side that are equal or both NULL, the left one first.
fn null_pair(term: &Expr, left: &DFSchema, right: &DFSchema) -> Option<(Expr, Expr)> {
    let Expr::BinaryExpr(BinaryExpr { left: one, op: Operator::IsNotDistinctFrom, right: other }) = term
    else {
        return None;
    };
    let is_of =
        |expr: &Expr, side: &DFSchema| matches!(expr, Expr::Column(column) if side.has_column(column));
    let pair = match () {
        () if is_of(one, left) && is_of(other, right) => (one, other),
        () if is_of(other, left) && is_of(one, right) => (other, one),
        () => return None,
    };
    let types = (pair.0.get_type(left).ok()?, pair.1.get_type(right).ok()?);
    (types.0 == types.1 && can_hash(&types.0)).then(|| (pair.0.as_ref().clone(), pair.1.as_ref().clone()))
}
