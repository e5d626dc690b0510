//! What is computed of rows is computed behind LIMIT, where it can fail.
//!
//! The values of a select list stand below the sort that LIMIT cuts off, so they are computed for rows that nobody gets to see. Those that
//! the order does not ask for are computed above both.

use datafusion::{
    common::{
        Column, Result,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{Expr, Limit, LogicalPlan, Projection, Sort},
};

use super::failing::may_fail;

/// The plan with LIMIT below what is computed, if it has a sort below it, and below that what can fail.
pub(super) fn computed_late(plan: &LogicalPlan) -> Result<Option<LogicalPlan>> {
    let (limit, sort) = match plan {
        LogicalPlan::Limit(limit) => match &*limit.input {
            LogicalPlan::Sort(sort) => (Some(limit), sort),
            _ => return Ok(None),
        },
        LogicalPlan::Sort(sort) if sort.fetch.is_some() => (None, sort),
        _ => return Ok(None),
    };
    let LogicalPlan::Projection(projection) = &*sort.input else { return Ok(None) };
    let below = projection.input.schema();
    if !projection.expr.iter().any(|expr| may_fail(expr, below)) {
        return Ok(None);
    }
    let mut keys = sort.expr.clone();
    for key in &mut keys {
        let Some(of_input) = in_terms_of_input(key.expr.clone(), projection)? else { return Ok(None) };
        key.expr = of_input;
    }
    let mut rows = LogicalPlan::Sort(Sort { expr: keys, input: projection.input.clone(), fetch: sort.fetch });
    if let Some(limit) = limit {
        rows = LogicalPlan::Limit(Limit { input: rows.into(), ..limit.clone() });
    }
    let (exprs, schema) = (projection.expr.clone(), projection.schema.clone());
    Ok(Some(LogicalPlan::Projection(Projection::try_new_with_schema(exprs, rows.into(), schema)?)))
}

/// An expression over a projection as one over its input; None if that can fail, for it would be computed twice.
fn in_terms_of_input(expr: Expr, projection: &Projection) -> Result<Option<Expr>> {
    let mut is_safe = true;
    let of_input = |column: &Column| {
        let place = projection.schema.maybe_index_of_column(column)?;
        Some(projection.expr[place].clone().unalias_nested().data)
    };
    let changed = expr.transform_up(|expr| {
        let Expr::Column(column) = &expr else { return Ok(Transformed::no(expr)) };
        match of_input(column) {
            Some(of_input) if !may_fail(&of_input, projection.input.schema()) && !of_input.is_volatile() => {
                Ok(Transformed::yes(of_input))
            }
            _ => {
                is_safe = false;
                Ok(Transformed::no(expr))
            }
        }
    })?;
    Ok(is_safe.then_some(changed.data))
}
