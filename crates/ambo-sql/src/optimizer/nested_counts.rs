//! What statistics tell of an aggregation is not told of one further below.
//!
//! Aggregates without groups are often known without looking at rows. Of an aggregation in two steps the planner (DataFusion 55) looks for
//! its first step among all operators below it; where that cannot be known, for it has FILTER, it goes on to the first step of another
//! aggregation below, and puts the row of that in the place of this one's. The query fails, for the names differ. So plans in which it
//! could are left as they are.

use std::{iter::successors, sync::Arc};

use datafusion::{
    common::{Result, config::ConfigOptions, tree_node::TreeNode},
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ExecutionPlan,
        aggregates::{AggregateExec, AggregateInputMode},
    },
};

use super::PhysicalRule;

/// The rule that knows aggregates, for plans in which it takes none for another.
#[derive(Debug)]
pub(super) struct WithOwnSteps(pub PhysicalRule);

impl PhysicalOptimizerRule for WithOwnSteps {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match plan.exists(|plan| Ok(is_taken_for_another(plan)))? {
            true => Ok(plan),
            false => self.0.optimize(plan, config),
        }
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// Whether it is the last step of an aggregation with FILTER, and a first step without is further below.
fn is_taken_for_another(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let mode = |step: &AggregateExec| step.mode().input_mode();
    let is_last =
        |step: &AggregateExec| step.group_expr().is_empty() && mode(step) == AggregateInputMode::Partial;
    if !plan.downcast_ref::<AggregateExec>().is_some_and(is_last) {
        return false;
    }
    let below = successors(only_child(plan), |plan| only_child(plan));
    let mut first_steps = below
        .filter_map(|plan| plan.downcast_ref::<AggregateExec>())
        .filter(|step| step.group_expr().is_empty() && mode(step) == AggregateInputMode::Raw);
    let has_filter = |step: &AggregateExec| step.filter_expr().iter().any(Option::is_some);
    first_steps.next().is_some_and(has_filter) && first_steps.any(|step| !has_filter(step))
}

fn only_child(plan: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    match plan.children()[..] {
        [child] => Some(child),
        _ => None,
    }
}
