//! What is computed for rows that a filter or a limit leaves is not computed before it.
//!
//! The planner takes projections down below filters and sorts if fewer columns come out of them, whatever they compute: `SELECT y, x / y …
//! WHERE y <> 0` divides before it filters. So those that can fail are not shown to that rule.

use std::sync::Arc;

use datafusion::{
    common::{
        Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode},
    },
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ExecutionPlan, coalesce_partitions::CoalescePartitionsExec, filter::FilterExec,
        projection::ProjectionExec, repartition::RepartitionExec,
        sorts::sort_preserving_merge::SortPreservingMergeExec,
    },
};

use super::failing::is_risky;
use crate::optimizer::{
    PhysicalRule,
    pass_on::{Known, PassOn},
};

/// The rule that takes projections down, over plans that keep those which can fail where they are.
#[derive(Debug)]
pub(in crate::optimizer) struct WithFixedProjections(pub PhysicalRule);

impl PhysicalOptimizerRule for WithFixedProjections {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.0.optimize(plan.transform_up(fixed)?.data, config)?.transform_up(freed).map(|freed| freed.data)
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

fn fixed(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let Some(projection) = plan.downcast_ref::<ProjectionExec>() else { return Ok(Transformed::no(plan)) };
    if !leaves_rows(projection.input()) {
        return Ok(Transformed::no(plan));
    }
    let schema = projection.input().schema();
    let mut fails = false;
    for one in projection.expr() {
        fails |= is_risky(&one.expr, &schema)?;
    }
    if !fails {
        return Ok(Transformed::no(plan));
    }
    let kept = Arc::new(PassOn::new(projection.input().clone(), Known::All)?);
    Ok(Transformed::yes(Arc::new(ProjectionExec::try_new(projection.expr().iter().cloned(), kept)?)))
}

/// Whether not all rows come out of an operator, or of one that only shares them out or brings them together.
fn leaves_rows(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let hands_on = plan.is::<SortPreservingMergeExec>()
        || plan.is::<CoalescePartitionsExec>()
        || plan.is::<RepartitionExec>();
    plan.is::<FilterExec>()
        || plan.fetch().is_some()
        || (hands_on && plan.children().into_iter().any(leaves_rows))
}

fn freed(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    Ok(match plan.downcast_ref::<PassOn>() {
        Some(kept) if kept.knows_all() => Transformed::yes(kept.input().clone()),
        _ => Transformed::no(plan),
    })
}
