//! Lambdas stay whole in the conditions of joins, and at their rows in projections.
//!
//! The planner (DataFusion 55) computes what a condition says of one side below the join. A lambda is such a part for it, and what stood
//! there is a column, of which the function makes nothing: the query fails. And a projection over another one that leaves columns out
//! becomes one with it: the columns get their new places then, but the variables of lambdas, which count from the last column on, keep
//! theirs, and the query fails, too. So projections stay where they are in plans with such joins and projections.

use std::sync::Arc;

use datafusion::{
    common::{
        Result,
        config::ConfigOptions,
        tree_node::{TreeNode, TreeNodeRecursion},
    },
    physical_expr::expressions::LambdaExpr,
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{ExecutionPlan, PhysicalExpr, joins::NestedLoopJoinExec, projection::ProjectionExec},
};

use super::PhysicalRule;

/// The rule that takes projections down, but for plans with lambdas in conditions of joins and in projections.
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

fn is_with_lambda(expr: &Arc<dyn PhysicalExpr>) -> Result<bool> {
    expr.exists(|expr| Ok(expr.downcast_ref::<LambdaExpr>().is_some()))
}

fn has_lambda(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let mut found = false;
    plan.apply(|plan| {
        if let Some(filter) = plan.downcast_ref::<NestedLoopJoinExec>().and_then(NestedLoopJoinExec::filter) {
            found |= is_with_lambda(filter.expression())?;
        }
        for column in plan.downcast_ref::<ProjectionExec>().into_iter().flat_map(ProjectionExec::expr) {
            found |= is_with_lambda(&column.expr)?;
        }
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}
