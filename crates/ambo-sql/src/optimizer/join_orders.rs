//! The order of the rows of a join is that of one side alone.
//!
//! The planner (DataFusion 55) says that rows of a hash join come in the order of its probe side and, where that leaves two rows equal, in
//! the order of its other side (apache/datafusion#25052). Equal rows of the probe side need not be one row: each of them finds all its
//! partners before the next does. So the side of which a table is made is said to be in no order. Merge joins, which have the same fault,
//! are planned nowhere.

use std::sync::Arc;

use datafusion::{
    common::{
        JoinType, Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode},
    },
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ExecutionPlan,
        execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions},
        joins::HashJoinExec,
    },
};

use super::pass_on::{Known, PassOn};

/// See the module. To be run when it is known which side a table is made of, and before anything is sorted.
#[derive(Debug)]
pub(super) struct JoinOrders;

impl PhysicalOptimizerRule for JoinOrders {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(plan.transform_up(without_order)?.data)
    }

    fn name(&self) -> &str {
        "JoinOrders"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn without_order(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let is_continued = |join: &HashJoinExec| matches!(join.join_type(), JoinType::Inner | JoinType::Right);
    if !plan.downcast_ref::<HashJoinExec>().is_some_and(is_continued) {
        return Ok(Transformed::no(plan));
    }
    let mut children: Vec<_> = plan.children().into_iter().cloned().collect();
    // Also where it has no order yet: what it needs sorted below gets sorted later.
    children[0] = Arc::new(PassOn::new(children[0].clone(), Known::AllButOrder)?);
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    Ok(Transformed::yes(plan.replace_children(children, options)?))
}
