//! Windows find the order by which they divide their rows.
//!
//! A window with a frame to the end of its partition tells partitions apart by the order of the rows, in which it looks for each of its keys when it is
//! made. Keys that were constant when the plan was put in order need no sorting; when rows of one row each were joined, shared out and merged again, the planner (DataFusion 55) does
//! not know any more that they were, and the statement fails. Such windows get their rows sorted.

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
        windows::{WindowAggExec, get_ordered_partition_by_indices},
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
    let Some(window) = plan.downcast_ref::<WindowAggExec>() else { return Ok(Transformed::no(plan)) };
    let keys = window.window_expr()[0].partition_by();
    if get_ordered_partition_by_indices(keys, window.input())?.len() == keys.len() {
        return Ok(Transformed::no(plan));
    }
    let required =
        plan.required_input_ordering().swap_remove(0).expect("a window by keys asks for their order");
    let sort = SortExec::new(LexOrdering::from(required.into_single()), window.input().clone());
    let several = window.input().output_partitioning().partition_count() > 1;
    let sorted = Arc::new(sort.with_preserve_partitioning(several));
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    Ok(Transformed::yes(plan.replace_children(vec![sorted], options)?))
}
