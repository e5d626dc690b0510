//! Which subqueries the planner joins rightly: those whose conditions with columns from outside mean the same above all operators over
//! them, and have their columns under the same names there (not so above a query in FROM), which are not those of the columns from outside
//! (as in `x.k IN (SELECT x.k FROM t AS x WHERE x.k = y.b)`: taken up, both are `x.k`).

use datafusion::{
    common::{Column, DFSchema, Result, tree_node::TreeNode},
    logical_expr::{
        Aggregate, BinaryExpr, Distinct, Expr, JoinType, LogicalPlan, Operator, utils::split_conjunction,
    },
};

use super::has_query;

/// As EXISTS or IN in a condition over rows of a schema.
pub(super) fn is_filter(query: &LogicalPlan, schema: &DFSchema) -> Result<bool> {
    Ok(is_next_to(query, schema) && is_apart(query)? && passes(query, false)?)
}

/// With columns from outside, as a value over rows of a schema, in a condition or the list of a SELECT: an aggregate of all rows.
pub(super) fn is_value(query: &LogicalPlan, schema: &DFSchema) -> Result<bool> {
    Ok(is_next_to(query, schema)
        && is_apart(query)?
        && match aggregate_of(query) {
            Some(aggregate) => aggregate.group_expr.is_empty() && passes(&aggregate.input, true)?,
            None => false,
        })
}

pub(super) fn is_correlated(query: &LogicalPlan) -> bool {
    !query.all_out_ref_exprs().is_empty()
}

/// Whether a query is of one row, whatever there is.
pub(super) fn is_one_row(query: &LogicalPlan) -> bool {
    aggregate_of(query).is_some_and(|aggregate| aggregate.group_expr.is_empty())
}

/// Whether all columns from outside are of that schema, none from further out.
fn is_next_to(query: &LogicalPlan, schema: &DFSchema) -> bool {
    let is_here =
        |expr: &Expr| matches!(expr, Expr::OuterReferenceColumn(_, column) if schema.has_column(column));
    query.all_out_ref_exprs().iter().all(is_here)
}

/// Whether conditions with columns from outside have no column of their own that is called like one of those.
fn is_apart(query: &LogicalPlan) -> Result<bool> {
    let outside = query.all_out_ref_exprs();
    let is_outside = |own: &&Column| {
        outside.iter().any(|expr| match expr {
            Expr::OuterReferenceColumn(_, column) => {
                column.name == own.name && table_of(column) == table_of(own)
            }
            _ => false,
        })
    };
    let mixes = query.exists(|node| {
        let LogicalPlan::Filter(filter) = node else { return Ok(false) };
        let parts = split_conjunction(&filter.predicate);
        Ok(parts.iter().any(|part| !is_inner(part) && part.column_refs().iter().any(&is_outside)))
    })?;
    Ok(!mixes)
}

fn table_of(column: &Column) -> Option<&str> {
    column.relation.as_ref().map(|table| table.table())
}

/// The aggregate whose rows a query computes values from, one by one.
fn aggregate_of(query: &LogicalPlan) -> Option<&Aggregate> {
    match query {
        LogicalPlan::Projection(projection) if projection.expr.iter().all(is_inner) => {
            aggregate_of(&projection.input)
        }
        LogicalPlan::Aggregate(aggregate) if expressions_are_inner(query) => Some(aggregate),
        _ => None,
    }
}

/// Whether conditions with columns from outside mean the same above the plan; above an aggregation that has their columns among its
/// groups, if it is below one.
fn passes(plan: &LogicalPlan, is_below_aggregate: bool) -> Result<bool> {
    if !is_correlated(plan) {
        return Ok(true);
    }
    Ok(match plan {
        LogicalPlan::Filter(filter) => {
            for part in split_conjunction(&filter.predicate) {
                if !is_inner(part) && (has_query(part)? || is_below_aggregate && equality(part).is_none()) {
                    return Ok(false);
                }
            }
            passes(&filter.input, is_below_aggregate)?
        }
        LogicalPlan::Join(join) if join.join_type == JoinType::Inner && expressions_are_inner(plan) => {
            passes(&join.left, is_below_aggregate)? && passes(&join.right, is_below_aggregate)?
        }
        LogicalPlan::Projection(projection) if expressions_are_inner(plan) => {
            passes(&projection.input, is_below_aggregate)?
        }
        LogicalPlan::Distinct(Distinct::All(input)) => passes(input, is_below_aggregate)?,
        LogicalPlan::Aggregate(aggregate) if expressions_are_inner(plan) => {
            let is_plain = |group: &Expr| !matches!(group, Expr::GroupingSet(_));
            let has_groups = !aggregate.group_expr.is_empty() && aggregate.group_expr.iter().all(is_plain);
            has_groups && !is_below_aggregate && passes(&aggregate.input, true)?
        }
        _ => false,
    })
}

/// `column = what is the same for all rows`: the column, and the other side.
pub(super) fn equality(condition: &Expr) -> Option<(&Column, &Expr)> {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = condition else { return None };
    match (left.as_ref(), right.as_ref()) {
        (Expr::Column(column), other) | (other, Expr::Column(column)) if other.column_refs().is_empty() => {
            Some((column, other))
        }
        _ => None,
    }
}

fn is_inner(expr: &Expr) -> bool {
    !expr.contains_outer()
}

fn expressions_are_inner(plan: &LogicalPlan) -> bool {
    !plan.contains_outer_reference()
}
