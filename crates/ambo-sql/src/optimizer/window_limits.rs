//! LIMIT goes below one window, not below two.
//!
//! Below windows whose frames are rows the planner (DataFusion 55) sorts only so many rows as the LIMIT above leaves and the frames look
//! ahead. Of windows over windows it adds nothing up: it takes the greatest number of one of them. So it sees only plans in which no window
//! is above another.

use std::sync::Arc;

use datafusion::{
    common::{
        Result,
        config::ConfigOptions,
        tree_node::{TreeNode, TreeNodeRecursion},
    },
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ExecutionPlan,
        windows::{BoundedWindowAggExec, WindowAggExec},
    },
};

/// The planner's rule for plans that it is right about.
#[derive(Debug)]
pub(super) struct WindowLimits(pub(super) Arc<dyn PhysicalOptimizerRule + Send + Sync>);

impl PhysicalOptimizerRule for WindowLimits {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut windows = 0;
        plan.apply(|plan| {
            windows += usize::from(plan.is::<BoundedWindowAggExec>() || plan.is::<WindowAggExec>());
            Ok(if windows > 1 { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        if windows > 1 { Ok(plan) } else { self.0.optimize(plan, options) }
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}
