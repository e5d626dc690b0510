//! Barriers that filters do not pass on their way down.
//!
//! The planner's rule takes a filter below an aggregation if all columns of the filter are among its groups (DataFusion 55). That is wrong
//! where an aggregation has a row without groups, which does not go when the rows below go: in one of all rows, where the filter has no
//! column, because it was put on a constant (`WHERE x = 1` above an outer join whose side with x is known to be empty), and in ROLLUP, CUBE
//! and GROUPING SETS. It is wrong, too, where groups have another value each time they are computed. And a filter without columns would go
//! into a query whose rows are shared (`once`), although it is of one of the readers alone. So a limit of all rows is put between filters
//! and such plans, which no filter passes.

use std::sync::Arc;

use datafusion::{
    common::{
        Result,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{Aggregate, Expr, Limit, LogicalPlan, lit},
    optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule},
};

/// See the module. To be run before the rule that takes filters down.
#[derive(Debug)]
pub(super) struct Barriers;

impl OptimizerRule for Barriers {
    fn name(&self) -> &str {
        "barriers"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        None
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        guarded(plan, false)
    }
}

/// `is_below` says whether a filter may come down to the plan.
fn guarded(plan: LogicalPlan, is_below: bool) -> Result<Transformed<LogicalPlan>> {
    let goes_on = match &plan {
        LogicalPlan::Filter(_) | LogicalPlan::Join(_) => true,
        LogicalPlan::Limit(_) => false,
        _ => is_below,
    };
    let guarded = plan.map_children(|child| guarded(child, goes_on))?;
    let refuses = is_below
        && match &guarded.data {
            LogicalPlan::Aggregate(aggregate) => refuses(aggregate)?,
            LogicalPlan::Extension(_) => true,
            _ => false,
        };
    if !refuses {
        return Ok(guarded);
    }
    guarded.transform_data(|plan| Ok(Transformed::yes(behind_barrier(plan))))
}

fn behind_barrier(plan: LogicalPlan) -> LogicalPlan {
    LogicalPlan::Limit(Limit { skip: None, fetch: Some(Box::new(lit(i64::MAX))), input: Arc::new(plan) })
}

/// Whether filters must not go below an aggregation even if its groups have their columns.
fn refuses(aggregate: &Aggregate) -> Result<bool> {
    let is_other = |expr: &Expr| Ok(matches!(expr, Expr::GroupingSet(_)) || expr.is_volatile_node());
    if aggregate.group_expr.is_empty() {
        return Ok(true);
    }
    for group in &aggregate.group_expr {
        if group.exists(is_other)? {
            return Ok(true);
        }
    }
    Ok(false)
}
