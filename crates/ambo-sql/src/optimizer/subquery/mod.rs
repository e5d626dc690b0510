//! Queries within expressions, and LATERAL.
//!
//! The planner (DataFusion 55) turns subqueries into joins by taking conditions with columns from outside up to where the join will be.
//! That is right for what is in [`simple`]. Of the rest it refuses some, and answers wrongly what must not pass the operators between: a
//! count of no rows, LIMIT, OFFSET, windows. NULL in `NOT IN` is another thing that it does not know everywhere. So, before the planner's
//! optimizer:
//!
//! 1. [`meaning`]: IN, ANY and ALL become EXISTS, with NULL where it is not known.
//! 2. What is simple is left to the planner.
//! 3. Other queries are computed for each combination of values that the columns from outside have ([`domain`]): that table is joined to
//!    the query's tables and taken up, operator by operator ([`dependent`]); then the result is joined to the rows ([`rows`]). That is how
//!    all correlated queries can be done without a loop (Neumann and Kemper, Unnesting Arbitrary Queries, BTW 2015).
//!
//! | query | value |
//! |---|---|
//! | `(SELECT …)` | that of its row, NULL without one, an error with two ([`only_one`]) |
//! | `EXISTS (SELECT …)` | whether a row is there |
//! | `LATERAL (SELECT …)` | its rows |

mod dependent;
mod domain;
mod grouping_sets;
mod meaning;
mod names;
mod only_one;
mod operator;
mod outer_aggregates;
mod pairs;
mod rows;
mod simple;

use datafusion::{
    common::{
        Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{
        Expr, LogicalPlan, Subquery,
        expr::{Exists, InSubquery, SetComparison},
    },
    optimizer::AnalyzerRule,
};

use names::Names;
use outer_aggregates::refuse_outer_aggregates;

/// See the module. To be run when the types of all expressions are known.
#[derive(Debug)]
pub(crate) struct Subqueries;

impl AnalyzerRule for Subqueries {
    fn name(&self) -> &str {
        "subqueries"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        refuse_outer_aggregates(&plan)?;
        Ok(unnested(plan, &Names::default())?.data)
    }
}

/// The plan, its subqueries first.
fn unnested(plan: LogicalPlan, names: &Names) -> Result<Transformed<LogicalPlan>> {
    if !has_queries(&plan)? {
        return Ok(Transformed::no(plan));
    }
    plan.transform_up(|node| {
        // What a subquery below is may be NULL, which the planner does not know yet.
        let node = node.recompute_schema()?;
        let inner = node.map_expressions(|expr| expr.transform_up(|expr| within(expr, names)))?;
        inner.transform_data(|node| operator::unnested(node, names))
    })
}

fn has_queries(plan: &LogicalPlan) -> Result<bool> {
    plan.exists(|node| Ok(matches!(node, LogicalPlan::Subquery(_)) || operator::has_queries(node)?))
}

/// A subquery whose own subqueries are unnested.
fn within(expr: Expr, names: &Names) -> Result<Transformed<Expr>> {
    let Some(query) = subquery_of(&expr) else { return Ok(Transformed::no(expr)) };
    let plan = unnested(query.subquery.as_ref().clone(), names)?;
    Ok(match plan.transformed {
        true => Transformed::yes(with_subquery(expr, subquery(plan.data))),
        false => Transformed::no(expr),
    })
}

/// The subquery that an expression is, or compares with.
fn subquery_of(expr: &Expr) -> Option<&Subquery> {
    match expr {
        Expr::ScalarSubquery(query) => Some(query),
        Expr::Exists(of) => Some(&of.subquery),
        Expr::InSubquery(of) => Some(&of.subquery),
        Expr::SetComparison(of) => Some(&of.subquery),
        _ => None,
    }
}

/// The same expression of another subquery.
fn with_subquery(expr: Expr, subquery: Subquery) -> Expr {
    match expr {
        Expr::ScalarSubquery(_) => Expr::ScalarSubquery(subquery),
        Expr::Exists(of) => Expr::Exists(Exists { subquery, ..of }),
        Expr::InSubquery(of) => Expr::InSubquery(InSubquery { subquery, ..of }),
        Expr::SetComparison(of) => Expr::SetComparison(SetComparison { subquery, ..of }),
        other => other,
    }
}

/// Whether there is a subquery in an expression.
fn has_query(expr: &Expr) -> Result<bool> {
    expr.exists(|expr| Ok(subquery_of(expr).is_some()))
}

/// A subquery that knows its columns from outside.
fn subquery(plan: LogicalPlan) -> Subquery {
    let outer_ref_columns = plan.all_out_ref_exprs();
    Subquery { subquery: plan.into(), outer_ref_columns, spans: Default::default() }
}
