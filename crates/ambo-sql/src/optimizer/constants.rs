//! What is constant in one part of the rows is not constant in all of them.
//!
//! Of two parts the planner (DataFusion 55) takes it for constant:
//! - One side of an outer join. Where it has no row, its columns are NULL, but rows are not divided by such a column, or not sorted by it.
//! - A part of `UNION ALL`, where another part has another constant. Rows are sorted part by part without that column, which is right, and the largest row that LIMIT lets
//!   through is shared by the parts, which is not: it was found without the column. Later planners have this right (apache/datafusion#23528).
//!
//! So such parts get an operator above them that hands rows on and knows less of them.

use std::{fmt, sync::Arc};

use datafusion::{
    common::{
        JoinType, Result, Statistics,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::{AcrossPartitions, ConstExpr, EquivalenceProperties, PhysicalExpr},
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ChildStats, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
        StatisticsArgs,
        execution_plan::{CardinalityEffect, ChildrenPropertiesMode, ReplaceChildrenOptions},
        filter_pushdown::{
            ChildPushdownResult, FilterDescription, FilterPushdownPhase, FilterPushdownPropagation,
        },
        joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec},
        union::UnionExec,
    },
};

/// See the module. To be run before anything is sorted or divided.
#[derive(Debug)]
pub(super) struct PartialConstants;

impl PhysicalOptimizerRule for PartialConstants {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let part =
            |plan: Arc<dyn ExecutionPlan>| match join_type(&plan) {
                Some(ty) => outer_sides(plan, ty),
                None if plan.is::<UnionExec>()
                    && plan.equivalence_properties().constants().iter().any(differs) =>
                {
                    Ok(Transformed::yes(
                        Arc::new(PassOn::new(plan, Known::OfAllParts)?) as Arc<dyn ExecutionPlan>
                    ))
                }
                None => Ok(Transformed::no(plan)),
            };
        Ok(plan.transform_up(part)?.data)
    }

    fn name(&self) -> &str {
        "PartialConstants"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn outer_sides(plan: Arc<dyn ExecutionPlan>, ty: JoinType) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
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
            Ok(Arc::new(PassOn::new(child.clone(), Known::Nothing)?) as Arc<dyn ExecutionPlan>)
        }
        false => Ok(child.clone()),
    };
    let children = plan.children().into_iter().zip(may_lack).map(&mut side).collect::<Result<Vec<_>>>()?;
    match is_changed {
        true => Ok(Transformed::yes(
            plan.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))?,
        )),
        false => Ok(Transformed::no(plan)),
    }
}

fn join_type(plan: &Arc<dyn ExecutionPlan>) -> Option<JoinType> {
    let hash = plan.downcast_ref::<HashJoinExec>().map(|join| *join.join_type());
    let loops = plan.downcast_ref::<NestedLoopJoinExec>().map(|join| *join.join_type());
    let merge = plan.downcast_ref::<SortMergeJoinExec>().map(|join| join.join_type());
    hash.or(loops).or(merge)
}

/// Whether it is another value in other parts.
fn differs(constant: &ConstExpr) -> bool {
    constant.across_partitions == AcrossPartitions::Heterogeneous
}

/// What is known of rows that are handed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Known {
    Nothing,
    /// Their order, and what is constant in all of them.
    OfAllParts,
}

/// Hands on the rows of its input. It does not say that it keeps their order: sorts would be moved below it, to where the constants are.
#[derive(Debug)]
struct PassOn {
    input: Arc<dyn ExecutionPlan>,
    known: Known,
    properties: Arc<PlanProperties>,
}

impl PassOn {
    fn new(input: Arc<dyn ExecutionPlan>, known: Known) -> Result<Self> {
        let of_input = input.equivalence_properties();
        let mut of_rows = EquivalenceProperties::new(input.schema());
        if known == Known::OfAllParts {
            of_rows.add_orderings(of_input.oeq_class().iter().cloned());
            of_rows.add_constants(of_input.constants().into_iter().filter(|one| !differs(one)))?;
        }
        let properties = PlanProperties::clone(input.properties()).with_eq_properties(of_rows);
        Ok(Self { input, known, properties: Arc::new(properties) })
    }
}

impl DisplayAs for PassOn {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PassOn")
    }
}

impl ExecutionPlan for PassOn {
    fn name(&self) -> &str {
        "PassOn"
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
        Ok(Arc::new(Self::new(children.swap_remove(0), self.known)?))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn supports_limit_pushdown(&self) -> bool {
        true
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
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
