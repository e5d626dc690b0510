//! What OFFSET leaves out is chosen by the order below it.
//!
//! The planner (DataFusion 55) takes a sort away that nothing above asks for, and OFFSET asks for nothing: of `SELECT … FROM (SELECT …
//! ORDER BY a OFFSET 3)` other rows are left out than the first three (apache/datafusion#23534). Where there is a LIMIT, too, the sort is
//! kept, for it has that limit. So a limit above a sort without one asks for its order.

use std::sync::Arc;

use datafusion::{
    common::{
        Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode},
    },
    physical_expr::{Distribution, OrderingRequirements},
    physical_optimizer::{PhysicalOptimizerRule, output_requirements::OutputRequirementExec},
    physical_plan::{
        ExecutionPlan, ExecutionPlanProperties,
        execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions},
        limit::GlobalLimitExec,
        projection::ProjectionExec,
        sorts::sort::SortExec,
    },
};

/// See the module. To be run before sorts are taken away; the planner's own rule takes away what asks.
#[derive(Debug)]
pub(super) struct OrderOfOffsets;

impl PhysicalOptimizerRule for OrderOfOffsets {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(plan.transform_up(asking)?.data)
    }

    fn name(&self) -> &str {
        "OrderOfOffsets"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn asking(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let Some(limit) = plan.downcast_ref::<GlobalLimitExec>() else { return Ok(Transformed::no(plan)) };
    match is_sorted_by_hand(limit.input()) {
        true => Ok(Transformed::yes(limited(limit, limit.input().clone())?)),
        false => Ok(Transformed::no(plan)),
    }
}

/// The rows of a plan that a limit leaves, in their order. Below a projection, which may have left out by what rows are sorted.
fn limited(limit: &GlobalLimitExec, plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let below = limited(limit, projection.input().clone())?;
        return plan
            .replace_children(vec![below], ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute));
    }
    let order = plan.output_ordering().cloned().map(OrderingRequirements::from);
    let asks = OutputRequirementExec::new(plan, order, Distribution::SinglePartition, None);
    Ok(Arc::new(GlobalLimitExec::new(Arc::new(asks), limit.skip(), limit.fetch())))
}

/// Whether the order of rows is that of an ORDER BY without a limit of its own.
fn is_sorted_by_hand(plan: &Arc<dyn ExecutionPlan>) -> bool {
    if let Some(sort) = plan.downcast_ref::<SortExec>() {
        return sort.fetch().is_none();
    }
    match plan.children()[..] {
        [input] => plan.maintains_input_order()[0] && is_sorted_by_hand(input),
        _ => false,
    }
}
