//! The rows of a query come in the order of its ORDER BY, whatever is computed above the sort.
//!
//! The planner (DataFusion 55) divides rows that are sorted among threads again where something above the sort is worth it, and
//! it is not known that there are few rows. Each part is in order, and what comes out is the parts as they come: `SELECT 100 / c
//! … ORDER BY k LIMIT 100000` was in the order of no column. So nothing is divided above the order that a query asks for.

use std::sync::Arc;

use datafusion::{
    common::{Result, config::ConfigOptions},
    physical_optimizer::{PhysicalOptimizerRule, output_requirements::OutputRequirementExec},
    physical_plan::{
        ExecutionPlan, Partitioning,
        execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions},
        repartition::RepartitionExec,
        scalar_subquery::ScalarSubqueryExec,
    },
};

/// See the module. To be run when rows are divided among threads, while the planner still marks the order that is asked for.
#[derive(Debug)]
pub(super) struct TopOrder;

impl PhysicalOptimizerRule for TopOrder {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(undivided(&plan)?.unwrap_or(plan))
    }

    fn name(&self) -> &str {
        "TopOrder"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The plan with nothing divided above the order that is asked for; None if none is.
fn undivided(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(asked) = plan.downcast_ref::<OutputRequirementExec>() {
        return Ok(asked.required_input_ordering()[0].is_some().then(|| plan.clone()));
    }
    // What has more inputs has its rows of the first.
    let mut children: Vec<_> = plan.children().into_iter().cloned().collect();
    let keeps_order = plan.maintains_input_order().first() == Some(&true);
    if !keeps_order || children.len() > 1 && !plan.is::<ScalarSubqueryExec>() {
        return Ok(None);
    }
    let Some(ordered) = undivided(&children[0])? else { return Ok(None) };
    let divides = plan.downcast_ref::<RepartitionExec>().map(RepartitionExec::partitioning);
    if let Some(Partitioning::RoundRobinBatch(_)) = divides {
        return Ok(Some(ordered));
    }
    children[0] = ordered;
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    Ok(Some(plan.clone().replace_children(children, options)?))
}
