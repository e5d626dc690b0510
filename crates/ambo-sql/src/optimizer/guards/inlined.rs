//! A query without FROM is the value that it selects.
//!
//! `(SELECT x / y)` with columns from outside would be a join with a table of all values that they have, computed for all of them, whatever
//! guards the query (`CASE WHEN y <> 0 THEN (SELECT x / y) END`). Queries with other values each time are left: they are computed once for
//! a statement.

use datafusion::{
    common::{
        DFSchema, Result,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{Expr, LogicalPlan},
};

use crate::optimizer::expressions::ExpressionRule;

pub(in crate::optimizer) const INLINED_VALUES: ExpressionRule = ExpressionRule {
    name: "inlined_values",
    wanted: |expr| matches!(expr, Expr::ScalarSubquery(_)),
    change: |expr, schema, _| expr.transform_up(|expr| inlined(expr, schema)),
};

fn inlined(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::ScalarSubquery(query) = &expr else { return Ok(Transformed::no(expr)) };
    let Some(value) = selected(&query.subquery) else { return Ok(Transformed::no(expr)) };
    let is_other = |part: &Expr| match part {
        Expr::OuterReferenceColumn(_, column) => !schema.has_column(column),
        Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_) => true,
        Expr::AggregateFunction(_) | Expr::WindowFunction(_) | Expr::Unnest(_) => true,
        part => part.is_volatile_node(),
    };
    if query.outer_ref_columns.is_empty() || value.exists(|part| Ok(is_other(part)))? {
        return Ok(Transformed::no(expr));
    }
    let value = value.clone().transform_up(|part| {
        Ok(match part {
            Expr::OuterReferenceColumn(_, column) => Transformed::yes(Expr::Column(column)),
            Expr::Alias(alias) => Transformed::yes(*alias.expr),
            part => Transformed::no(part),
        })
    })?;
    Ok(Transformed::yes(value.data))
}

/// What a query without FROM selects.
fn selected(plan: &LogicalPlan) -> Option<&Expr> {
    let LogicalPlan::Projection(projection) = plan else { return None };
    match (&*projection.input, &projection.expr[..]) {
        (LogicalPlan::EmptyRelation(empty), [value]) if empty.produce_one_row => Some(value),
        _ => None,
    }
}
