//! Joins without keys can be left.
//!
//! A statement that is interrupted ends where its operators let other tasks run. The planner sees to that at leaves and exchanges. A cross
//! join or a join by any condition makes billions of rows of one batch of each side without asking a leaf for more, so its own rows count,
//! too.

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
    },
};

/// See the module.
#[derive(Debug)]
pub(super) struct CooperativeJoins;

impl PhysicalOptimizerRule for CooperativeJoins {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let wrap = |plan: Arc<dyn ExecutionPlan>| {
            let is_meant = plan.is::<CrossJoinExec>() || plan.is::<NestedLoopJoinExec>();
            Ok(match is_meant {
                true => Transformed::yes(Arc::new(CooperativeExec::new(plan)) as Arc<dyn ExecutionPlan>),
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
