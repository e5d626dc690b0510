//! Lambdas stay whole in the conditions of joins.
//!
//! The planner (DataFusion 55) computes what a condition says of one side below the join. A lambda is such a part for it, and what stood
//! there is a column, of which the function makes nothing: the query fails. So projections stay where they are in plans with such joins.

use std::sync::Arc;

use datafusion::{
    common::{
        Result,
        config::ConfigOptions,
        tree_node::{TreeNode, TreeNodeRecursion},
    },
    physical_expr::expressions::LambdaExpr,
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{ExecutionPlan, joins::NestedLoopJoinExec},
};

use super::PhysicalRule;

/// The rule that takes projections down, but for plans with lambdas in conditions of joins.
#[derive(Debug)]
pub(super) struct WithWholeLambdas(pub PhysicalRule);

impl PhysicalOptimizerRule for WithWholeLambdas {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if has_lambda(&plan)? { Ok(plan) } else { self.0.optimize(plan, config) }
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

fn has_lambda(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let mut found = false;
    plan.apply(|plan| {
        if let Some(filter) = plan.downcast_ref::<NestedLoopJoinExec>().and_then(NestedLoopJoinExec::filter) {
            found |= filter.expression().exists(|expr| Ok(expr.downcast_ref::<LambdaExpr>().is_some()))?;
        }
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}
