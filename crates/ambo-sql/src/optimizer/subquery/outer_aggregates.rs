//! Refuses aggregates of a query around in a subquery.
//!
//! An aggregate belongs to the query whose columns it is of (SQL:2016 part 2, 6.10): `SELECT (SELECT max(t.a)) FROM t` has one row. The
//! planner computes it over the rows of the subquery.

use datafusion::{
    common::{
        Result, plan_err,
        tree_node::{TreeNode, TreeNodeRecursion},
    },
    logical_expr::{Expr, LogicalPlan},
};

/// An error where an aggregate has columns, and all of them are from outside.
pub(super) fn refuse_outer_aggregates(plan: &LogicalPlan) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Aggregate(aggregate) = node {
            aggregate.aggr_expr.iter().try_for_each(check)?;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

fn check(expr: &Expr) -> Result<()> {
    expr.apply(|expr| {
        let Expr::AggregateFunction(function) = expr else { return Ok(TreeNodeRecursion::Continue) };
        let args = &function.params.args;
        let outer = args.iter().find_map(first_outer);
        if let Some(outer) = outer
            && args.iter().all(|arg| arg.column_refs().is_empty())
        {
            let name = function.func.name();
            return plan_err!(
                "{name}() of {outer} stands in a subquery, but {outer} is a column of the query around it, whose rows it would be computed of; write {name}() in that query, or give it a column of the subquery, too"
            );
        }
        Ok(TreeNodeRecursion::Jump)
    })?;
    Ok(())
}

/// The first column from outside in an expression.
fn first_outer(expr: &Expr) -> Option<String> {
    let mut first = None;
    let _ = expr.apply(|expr| {
        if let Expr::OuterReferenceColumn(_, column) = expr {
            first = Some(column.flat_name());
            return Ok(TreeNodeRecursion::Stop);
        }
        Ok(TreeNodeRecursion::Continue)
    });
    first
}
