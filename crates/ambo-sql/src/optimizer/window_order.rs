//! Windows find the order by which they divide their rows.
//!
//! Windows tell partitions apart by the order of the rows, in which they look for their keys when they are executed. Keys that were
//! constant when the plan was put in order need no sorting; when rows of one row each were joined, shared out and merged again, the planner
//! (DataFusion 55) does not know any more that they were, and the statement fails. Such windows get their rows sorted.

use std::sync::Arc;

use datafusion::{
    common::{
        Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode},
    },
    physical_expr::LexOrdering,
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ExecutionPlan, ExecutionPlanProperties,
        execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions},
        sorts::sort::SortExec,
        windows::{BoundedWindowAggExec, WindowAggExec, get_ordered_partition_by_indices},
    },
};

/// See the module. To be run when sorts are where they stay.
#[derive(Debug)]
pub(super) struct WindowOrder;

impl PhysicalOptimizerRule for WindowOrder {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(plan.transform_up(with_order)?.data)
    }

    fn name(&self) -> &str {
        "WindowOrder"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn with_order(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let (input, has_order) = if let Some(window) = plan.downcast_ref::<WindowAggExec>() {
        // One with a frame to the end of its partition takes what keys it finds for all that there are.
        let keys = window.window_expr()[0].partition_by();
        let found = get_ordered_partition_by_indices(keys, window.input())?;
        (window.input(), found.len() == keys.len())
    } else if let Some(window) = plan.downcast_ref::<BoundedWindowAggExec>() {
        (window.input(), window.partition_by_sort_keys().is_ok())
    } else {
        return Ok(Transformed::no(plan));
    };
    if has_order {
        return Ok(Transformed::no(plan));
    }
    let required =
        plan.required_input_ordering().swap_remove(0).expect("a window by keys asks for their order");
    // By what was no constant, as far as was known.
    let rows = match input.downcast_ref::<SortExec>() {
        Some(sort) if sort.fetch().is_none() => sort.input(),
        _ => input,
    };
    let sort = SortExec::new(LexOrdering::from(required.into_single()), rows.clone());
    let several = rows.output_partitioning().partition_count() > 1;
    let sorted = Arc::new(sort.with_preserve_partitioning(several));
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    Ok(Transformed::yes(plan.replace_children(vec![sorted], options)?))
}
