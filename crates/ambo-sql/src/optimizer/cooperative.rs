//! Operators let others run, also joins without keys.
//!
//! A statement that is interrupted ends where its operators let other tasks run. The planner sees to that at leaves and exchanges, but only
//! within tasks of tokio (`yielding`); ours see to it everywhere, as those do that a recursive query asks anew in each round. A cross join
//! or a join by any condition makes billions of rows of one batch of each side without asking a leaf for more, so its own rows count, too.

use std::sync::Arc;

use datafusion::{
    common::{
        Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode},
    },
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ExecutionPlan,
        coop::CooperativeExec,
        joins::{CrossJoinExec, NestedLoopJoinExec},
        memory::LazyMemoryExec,
        work_table::WorkTableExec,
    },
};

use super::pass_on::{Known, PassOn};

/// See the module.
#[derive(Debug)]
pub(super) struct CooperativeJoins;

impl PhysicalOptimizerRule for CooperativeJoins {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let wrap = |plan: Arc<dyn ExecutionPlan>| {
            if let Some(cooperative) = plan.downcast_ref::<CooperativeExec>() {
                return Ok(Transformed::yes(handed_on(cooperative.input().clone())?));
            }
            let is_meant = plan.is::<CrossJoinExec>() || plan.is::<NestedLoopJoinExec>();
            Ok(match is_meant || is_trusted(&plan) {
                true => Transformed::yes(handed_on(plan)?),
                false => Transformed::no(plan),
            })
        };
        Ok(plan.transform_up(wrap)?.data)
    }

    fn name(&self) -> &str {
        "CooperativeJoins"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether it is a leaf that only lets others run within tasks of tokio.
fn is_trusted(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<WorkTableExec>() || plan.is::<LazyMemoryExec>()
}

fn handed_on(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    Ok(Arc::new(PassOn::new(plan, Known::All)?))
}
