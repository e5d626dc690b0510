//! The relation below joins that the columns of an expression are of.

use std::sync::Arc;

use datafusion::{
    common::{
        Column, JoinType, Result, plan_err,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{Expr, Filter, Join, LogicalPlan, Projection},
};

/// A plan below joins, projections and conditions, and an expression over it.
pub(super) struct Relation<'p> {
    pub(super) plan: &'p LogicalPlan,
    pub(super) expr: Expr,
    /// Which input is to be taken at each node on the way.
    pub(super) path: Vec<usize>,
}

/// The relation of an expression over a plan of joins; `None` if its columns are of several, or it would be another one there: it is
/// computed of columns for which a join has NULL, where it has no row of the relation.
pub(super) fn relation<'p>(plan: &'p LogicalPlan, expr: &Expr) -> Result<Option<Relation<'p>>> {
    let (mut plan, mut expr, mut path) = (plan, expr.clone().unalias_nested().data, Vec::new());
    if expr.column_refs().is_empty() {
        return Ok(None);
    }
    loop {
        match plan {
            LogicalPlan::Join(join) => {
                let Some(side) = side_of(join, &expr) else { return Ok(None) };
                path.push(side);
                plan = if side == 0 { &join.left } else { &join.right };
            }
            LogicalPlan::Projection(of) => {
                expr = below(of, expr)?;
                path.push(0);
                plan = &of.input;
                if expr.column_refs().is_empty() {
                    return Ok(None);
                }
            }
            LogicalPlan::Filter(of) => {
                path.push(0);
                plan = &of.input;
            }
            _ if path.is_empty() => return Ok(None),
            _ => return Ok(Some(Relation { plan, expr, path })),
        }
    }
}

/// Which input of a join has all columns of an expression, which is the same there.
fn side_of(join: &Join, expr: &Expr) -> Option<usize> {
    use JoinType::{Full, Inner, Left, LeftAnti, LeftSemi, Right, RightAnti, RightSemi};
    let has = |side: &LogicalPlan| expr.column_refs().iter().all(|column| side.schema().has_column(column));
    let side = match (has(&join.left), has(&join.right)) {
        (true, false) => 0,
        (false, true) => 1,
        _ => return None,
    };
    let is_column = matches!(expr, Expr::Column(_));
    let is_same = match join.join_type {
        Inner => true,
        Left => side == 0 || is_column,
        Right => side == 1 || is_column,
        Full => is_column,
        LeftSemi | LeftAnti => side == 0,
        RightSemi | RightAnti => side == 1,
        _ => false,
    };
    is_same.then_some(side)
}

/// An expression over a projection as one over its input.
fn below(projection: &Projection, expr: Expr) -> Result<Expr> {
    let of_input = |expr: Expr| match &expr {
        Expr::Column(column) => {
            let place = projection.schema.index_of_column(column)?;
            Ok(Transformed::yes(projection.expr[place].clone().unalias_nested().data))
        }
        _ => Ok(Transformed::no(expr)),
    };
    // The children of what is put in are of the input already.
    Ok(expr.transform_up(of_input)?.data)
}

/// The plan with another one in the place of the relation at the end of a path, and a further column of that on all the way.
pub(super) fn with_relation(
    plan: &LogicalPlan,
    path: &[usize],
    column: &Column,
    make: &mut dyn FnMut(&LogicalPlan) -> Result<LogicalPlan>,
) -> Result<LogicalPlan> {
    let Some((side, path)) = path.split_first() else { return make(plan) };
    let mut input = |plan: &LogicalPlan| with_relation(plan, path, column, make).map(Arc::new);
    Ok(match plan {
        LogicalPlan::Join(join) => {
            let (left, right) = match side {
                0 => (input(&join.left)?, join.right.clone()),
                _ => (join.left.clone(), input(&join.right)?),
            };
            LogicalPlan::Join(Join::try_new(
                left,
                right,
                join.on.clone(),
                join.filter.clone(),
                join.join_type,
                join.join_constraint,
                join.null_equality,
                join.null_aware,
            )?)
        }
        LogicalPlan::Projection(of) => {
            let mut exprs = of.expr.clone();
            exprs.push(Expr::Column(column.clone()));
            LogicalPlan::Projection(Projection::try_new(exprs, input(&of.input)?)?)
        }
        LogicalPlan::Filter(of) => {
            LogicalPlan::Filter(Filter::try_new(of.predicate.clone(), input(&of.input)?)?)
        }
        other => return plan_err!("{} is no join of a path", other.display()),
    })
}
