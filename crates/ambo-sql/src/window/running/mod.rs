//! Windows over sorted rows whose functions need no frames of their own for each row: numbers of rows, aggregates over frames that begin
//! where the partition does, and what is asked for a partition at once.
//!
//! The planner's operators (DataFusion 55: `BoundedWindowAggExec`, `WindowAggExec`) collect the rows of each partition and ask a state
//! machine about each row, some microseconds each. What these functions ask is whether a row begins a partition, and whether it is a peer
//! of the row before: both are answered for a whole batch by the kernel that compares a column with itself, one row further. Rows wait
//! until their frames have ended.

mod aggregates;
mod changes;
mod keys;
mod numbering;
mod partitions;
mod rows;
mod runs;
mod values;

use std::{fmt, sync::Arc};

use datafusion::{
    common::{
        Result, Statistics,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::{PhysicalExpr, window::WindowExpr},
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ChildStats, DisplayAs, DisplayFormatType, ExecutionPlan, InputOrderMode, PlanProperties,
        StatisticsArgs,
        execution_plan::{CardinalityEffect, ChildrenPropertiesMode, ReplaceChildrenOptions},
        metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet},
        windows::{BoundedWindowAggExec, WindowAggExec},
    },
};

use aggregates::Aggregate;
use keys::Keys;
use numbering::Numbering;
use partitions::OfPartition;
use rows::WindowRows;
pub(crate) use runs::Runs;
pub(crate) use values::RunningValues;

/// Puts the operator in the place of the planner's. To be run when sorts are where they stay.
#[derive(Debug)]
pub(crate) struct RunningWindows;

impl PhysicalOptimizerRule for RunningWindows {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let running = |plan: Arc<dyn ExecutionPlan>| {
            Ok(match RunningWindowExec::instead_of(&plan) {
                Some(running) => Transformed::yes(Arc::new(running) as Arc<dyn ExecutionPlan>),
                None => Transformed::no(plan),
            })
        };
        Ok(plan.transform_up(running)?.data)
    }

    fn name(&self) -> &str {
        "RunningWindows"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// One function of a window.
#[derive(Clone, Debug)]
enum Function {
    Numbering(Numbering),
    Aggregate(Aggregate),
    OfPartition(OfPartition),
}

/// See the module. All but the rows is as the planner's operator has it.
#[derive(Debug)]
struct RunningWindowExec {
    /// The planner's operator.
    planned: Arc<dyn ExecutionPlan>,
    input: Arc<dyn ExecutionPlan>,
    functions: Vec<Function>,
    metrics: ExecutionPlanMetricsSet,
}

impl RunningWindowExec {
    fn instead_of(planned: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        let (input, exprs) = if let Some(window) = planned.downcast_ref::<BoundedWindowAggExec>() {
            if window.input_order_mode != InputOrderMode::Sorted || window.state_observer().is_some() {
                return None;
            }
            (window.input().clone(), window.window_expr())
        } else {
            let window = planned.downcast_ref::<WindowAggExec>()?;
            (window.input().clone(), window.window_expr())
        };
        let schema = input.schema();
        let function = |expr: &Arc<dyn WindowExpr>| {
            let keys = Keys::new(expr, &schema)?;
            let aggregate = || Aggregate::new(expr, &keys, &schema).map(Function::Aggregate);
            let of_partition = || OfPartition::new(expr, &keys).map(Function::OfPartition);
            Numbering::new(expr, &keys).map(Function::Numbering).or_else(aggregate).or_else(of_partition)
        };
        let functions = exprs.iter().map(function).collect::<Option<_>>()?;
        let metrics = ExecutionPlanMetricsSet::new();
        Some(Self { planned: planned.clone(), input, functions, metrics })
    }
}

impl DisplayAs for RunningWindowExec {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Running: ")?;
        self.planned.fmt_as(kind, f)
    }
}

impl ExecutionPlan for RunningWindowExec {
    fn name(&self) -> &str {
        "RunningWindowExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.planned.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.planned.apply_expressions(visit)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children[0].clone();
        let planned = self.planned.clone().replace_children(children, options)?;
        let functions = self.functions.clone();
        Ok(Arc::new(Self { planned, input, functions, metrics: ExecutionPlanMetricsSet::new() }))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        self.planned.benefits_from_input_partitioning()
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }

    fn child_stats_requests(&self, part: Option<usize>) -> Vec<ChildStats> {
        self.planned.child_stats_requests(part)
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        self.planned.statistics_from_inputs(inputs, args)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = self.input.execute(partition, context)?;
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        Ok(Box::pin(WindowRows::new(rows, self.schema(), &self.functions, metrics)?))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
