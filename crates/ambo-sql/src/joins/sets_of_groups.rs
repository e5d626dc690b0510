//! GROUPING SETS, ROLLUP and CUBE group groups, not rows.
//!
//! The planner's operator puts each row into a group of each set: `ROLLUP (a, b, c, d)` does five times the work of GROUP BY. Here rows are
//! grouped by all columns of the sets once, and the groups, which are fewer, by the sets.
//!
//! (Gray et al.: Data cube, ICDE 1996, §5: super-aggregates of distributive and algebraic functions.)

use datafusion::{
    common::{Result, tree_node::Transformed},
    logical_expr::{Aggregate, Expr, LogicalPlan, LogicalPlanBuilder},
    optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule},
};

use super::{
    estimate,
    parts::{Parts, is_of_parts},
};

/// With fewer rows a second stage is not worth its planning.
const ROWS_LEAST: f64 = 10_000.0;
/// Two sets are worth a second stage with so many rows a group, more of them in any case.
const SHRINKING: f64 = 2.0;

/// The rule. See the module.
#[derive(Debug)]
pub(crate) struct SetsOfGroups;

impl OptimizerRule for SetsOfGroups {
    fn name(&self) -> &str {
        "sets_of_groups"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Aggregate(aggregate) = &plan else { return Ok(Transformed::no(plan)) };
        match in_stages(aggregate)? {
            Some(plan) => Ok(Transformed::yes(plan)),
            None => Ok(Transformed::no(plan)),
        }
    }
}

fn in_stages(aggregate: &Aggregate) -> Result<Option<LogicalPlan>> {
    let [group @ Expr::GroupingSet(sets)] = &aggregate.group_expr[..] else { return Ok(None) };
    let keys: Vec<Expr> = sets.distinct_expr().into_iter().cloned().collect();
    let is_plain = |expr: &Expr| matches!(expr, Expr::Column(_));
    // What is about parts is the second stage of another time.
    let is_done = aggregate.aggr_expr.iter().any(is_of_parts);
    if is_done || aggregate.aggr_expr.is_empty() || !keys.iter().all(is_plain) {
        return Ok(None);
    }
    let input = &aggregate.input;
    let rows = estimate::rows(input);
    let is_worth_it = match sets_in(group) {
        0 | 1 => false,
        2 => estimate::combinations(input, &keys) * SHRINKING <= rows,
        _ => true,
    };
    if rows < ROWS_LEAST || !is_worth_it {
        return Ok(None);
    }
    let mut parts = Parts::default();
    for expr in &aggregate.aggr_expr {
        let is_distinct = matches!(expr, Expr::AggregateFunction(function) if function.params.distinct);
        if is_distinct || expr.is_volatile() || parts.add(expr, input.schema())?.is_none() {
            return Ok(None);
        }
    }
    let groups = LogicalPlanBuilder::from(input.clone()).aggregate(keys.clone(), parts.first())?;
    // All columns of the sets, and the number of the set.
    let places: Vec<usize> = (0..=keys.len()).collect();
    parts.wholes(groups, vec![group.clone()], &places, aggregate).map(Some)
}

/// How many sets there are.
fn sets_in(group: &Expr) -> usize {
    use datafusion::logical_expr::GroupingSet::{Cube, GroupingSets, Rollup};
    match group {
        Expr::GroupingSet(Rollup(columns)) => columns.len() + 1,
        Expr::GroupingSet(Cube(columns)) => 1 << columns.len().min(20),
        Expr::GroupingSet(GroupingSets(sets)) => sets.len(),
        _ => 1,
    }
}
