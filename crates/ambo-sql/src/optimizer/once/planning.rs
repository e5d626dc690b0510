//! The operator of shared rows for the node of shared rows.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::{
    catalog::Session,
    common::{Result, not_impl_err},
    execution::context,
    logical_expr::{LogicalPlan, UserDefinedLogicalNode, physical_planning_context::PhysicalPlanningContext},
    physical_plan::ExecutionPlan,
    physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner},
};

use super::{Once, common, exec::OnceExec};
use crate::optimizer::lazily;

/// The planner's, which knows that node, too, and evaluates nothing that is guarded.
#[derive(Debug)]
pub(crate) struct QueryPlanner;

#[async_trait]
impl context::QueryPlanner for QueryPlanner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(OncePlanner)]);
        planner.create_physical_plan(&common::computed_once(lazily(plan)?)?, session).await
    }
}

struct OncePlanner;

#[async_trait]
impl ExtensionPlanner for OncePlanner {
    async fn plan_extension(
        &self,
        _: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        _: &dyn Session,
        _: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(once) = node.as_any().downcast_ref::<Once>() else { return Ok(None) };
        match inputs {
            [input] => Ok(Some(Arc::new(OnceExec::new(once.rows.clone(), input.clone())))),
            _ => not_impl_err!("shared rows of several inputs"),
        }
    }
}
