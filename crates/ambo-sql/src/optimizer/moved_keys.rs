//! Columns are not taken for keys because a key stood in their place.
//!
//! The planner (DataFusion 55) knows that the columns by which an aggregation groups are a key of its rows, by their places, and leaves out
//! of ORDER BY what comes behind a key. An operator that hands out other columns, or in another order, keeps those places if it has as many
//! columns: in `SELECT rank() OVER (ORDER BY total), total` above `GROUP BY name` the rank is at the place of the name. So below such
//! operators the keys are forgotten.

use std::sync::Arc;

use datafusion::{
    common::{
        Constraint, Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode},
    },
    physical_expr::{PhysicalExpr, expressions::Column},
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ExecutionPlan, ExecutionPlanProperties,
        aggregates::{AggregateExec, AggregateInputMode},
        execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions},
        projection::ProjectionExec,
    },
};

use super::pass_on::{Known, PassOn};

/// See the module. To be run before anything is sorted.
#[derive(Debug)]
pub(super) struct MovedKeys;

impl PhysicalOptimizerRule for MovedKeys {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(plan.transform_up(without_moved_keys)?.data)
    }

    fn name(&self) -> &str {
        "MovedKeys"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn without_moved_keys(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let [input] = plan.children()[..] else { return Ok(Transformed::no(plan)) };
    let mut keys = input.equivalence_properties().constraints().iter().flat_map(|key| match key {
        Constraint::PrimaryKey(places) | Constraint::Unique(places) => places,
    });
    if !keys.any(|place| is_moved(&plan, input, *place)) {
        return Ok(Transformed::no(plan));
    }
    let forgotten: Arc<dyn ExecutionPlan> = Arc::new(PassOn::new(input.clone(), Known::AllButKeys)?);
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    Ok(Transformed::yes(plan.replace_children(vec![forgotten], options)?))
}

/// Whether a column of the input is not at its place in what an operator hands out.
fn is_moved(plan: &Arc<dyn ExecutionPlan>, input: &Arc<dyn ExecutionPlan>, place: usize) -> bool {
    let is_there =
        |expr: &dyn PhysicalExpr| expr.downcast_ref::<Column>().is_some_and(|column| column.index() == place);
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        return !projection.expr().get(place).is_some_and(|one| is_there(&*one.expr));
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        // Groups that were begun are ended where they are.
        return aggregate.mode().input_mode() == AggregateInputMode::Raw
            && !aggregate.group_expr().expr().get(place).is_some_and(|(expr, _)| is_there(&**expr));
    }
    // A filter that leaves columns out.
    plan.schema().fields().len() < input.schema().fields().len()
}
