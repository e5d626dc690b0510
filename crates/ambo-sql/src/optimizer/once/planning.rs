//! The last steps before a plan becomes one of operators, and the operators of nodes of ours.

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
use crate::{
    joins::{ByCodes, CodesPlanner},
    optimizer::{lazily, without_unread},
};

/// The planner's, which knows nodes of ours, too, and evaluates nothing that is guarded.
#[derive(Debug)]
pub(crate) struct QueryPlanner {
    pub(crate) by_codes: ByCodes,
}

#[async_trait]
impl context::QueryPlanner for QueryPlanner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![
            Arc::new(OncePlanner),
            Arc::new(CodesPlanner),
        ]);
        // Behind what looks for equal parts: numbers are those of one place.
        let plan = self.by_codes.coded(common::computed_once(lazily(plan)?)?)?;
        let plan = if plan.transformed { without_unread(plan.data)? } else { plan.data };
        planner.create_physical_plan(&plan, session).await
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
