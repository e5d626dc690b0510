//! What is constant on one side of an outer join is not constant behind it: where the side has no row, it is NULL.
//!
//! The planner keeps the constants, and what follows from them: rows are not divided by such a column, or not sorted by it. So that side gets an
//! operator above it that hands rows on and knows nothing of them.

use std::{fmt, sync::Arc};

use datafusion::{
    common::{
        JoinType, Result, Statistics,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::{EquivalenceProperties, PhysicalExpr},
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ChildStats, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
        StatisticsArgs,
        execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions},
        filter_pushdown::{
            ChildPushdownResult, FilterDescription, FilterPushdownPhase, FilterPushdownPropagation,
        },
        joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec},
    },
};

/// See the module. To be run before anything is sorted or divided.
#[derive(Debug)]
pub(super) struct OuterSides;

impl PhysicalOptimizerRule for OuterSides {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let part = |plan: Arc<dyn ExecutionPlan>| {
            let Some(ty) = join_type(&plan) else { return Ok(Transformed::no(plan)) };
            let may_lack = match ty {
                JoinType::Left => [false, true],
                JoinType::Right => [true, false],
                JoinType::Full => [true, true],
                _ => return Ok(Transformed::no(plan)),
            };
            let mut is_changed = false;
            let mut side = |(child, may_lack): (&Arc<dyn ExecutionPlan>, bool)| match may_lack
                && !child.equivalence_properties().constants().is_empty()
            {
                true => {
                    is_changed = true;
                    Arc::new(OuterSide::new(child.clone())) as Arc<dyn ExecutionPlan>
                }
                false => child.clone(),
            };
            let children = plan.children().into_iter().zip(may_lack).map(&mut side).collect();
            match is_changed {
                true => Ok(Transformed::yes(plan.replace_children(
                    children,
                    ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute),
                )?)),
                false => Ok(Transformed::no(plan)),
            }
        };
        Ok(plan.transform_up(part)?.data)
    }

    fn name(&self) -> &str {
        "OuterSides"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn join_type(plan: &Arc<dyn ExecutionPlan>) -> Option<JoinType> {
    let hash = plan.downcast_ref::<HashJoinExec>().map(|join| *join.join_type());
    let loops = plan.downcast_ref::<NestedLoopJoinExec>().map(|join| *join.join_type());
    let merge = plan.downcast_ref::<SortMergeJoinExec>().map(|join| join.join_type());
    hash.or(loops).or(merge)
}

/// Hands on the rows of its input.
#[derive(Debug)]
struct OuterSide {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl OuterSide {
    fn new(input: Arc<dyn ExecutionPlan>) -> Self {
        let nothing = EquivalenceProperties::new(input.schema());
        let properties = PlanProperties::clone(input.properties()).with_eq_properties(nothing);
        Self { input, properties: Arc::new(properties) }
    }
}

impl DisplayAs for OuterSide {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OuterSide")
    }
}

impl ExecutionPlan for OuterSide {
    fn name(&self) -> &str {
        "OuterSide"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self::new(children.swap_remove(0))))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        Ok(inputs[0].clone())
    }

    fn gather_filters_for_pushdown(
        &self,
        _: FilterPushdownPhase,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterDescription> {
        FilterDescription::from_children(filters, &self.children())
    }

    fn handle_child_pushdown_result(
        &self,
        _: FilterPushdownPhase,
        result: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        Ok(FilterPushdownPropagation::if_all(result))
    }
}
