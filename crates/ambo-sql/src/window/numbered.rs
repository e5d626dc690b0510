//! `row_number`, `rank` and `dense_rank` of sorted rows, by comparing each row with the one before it.
//!
//! The planner's operator (DataFusion 55, `BoundedWindowAggExec`) collects the rows of each partition and asks a state machine about each
//! row, some microseconds each. What these functions ask is whether a row begins a partition, and whether it is a peer of the row before:
//! both are answered for a whole batch by the kernel that compares a column with itself, one row further.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use arrow::{
    array::{ArrayRef, Int64Array, RecordBatch, UInt32Array},
    buffer::BooleanBuffer,
    compute::{cast, kernels::cmp::distinct, take},
    datatypes::{DataType, SchemaRef},
};
use datafusion::{
    common::{
        Result, Statistics,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext},
    functions_window::{rank::Rank, row_number::RowNumber},
    physical_expr::{
        PhysicalExpr,
        window::{StandardWindowExpr, WindowExpr},
    },
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ChildStats, DisplayAs, DisplayFormatType, ExecutionPlan, InputOrderMode, PlanProperties,
        StatisticsArgs,
        execution_plan::{CardinalityEffect, ChildrenPropertiesMode, ReplaceChildrenOptions},
        metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput},
        windows::{BoundedWindowAggExec, WindowUDFExpr},
    },
};
use futures::{Stream, StreamExt};

use super::numbering::is_signed;

/// Puts the operator in the place of the planner's. To be run when sorts are where they stay.
#[derive(Debug)]
pub(crate) struct NumberedRows;

impl PhysicalOptimizerRule for NumberedRows {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let numbered = |plan: Arc<dyn ExecutionPlan>| {
            Ok(match NumberedExec::instead_of(&plan) {
                Some(numbered) => Transformed::yes(Arc::new(numbered) as Arc<dyn ExecutionPlan>),
                None => Transformed::no(plan),
            })
        };
        Ok(plan.transform_up(numbered)?.data)
    }

    fn name(&self) -> &str {
        "NumberedRows"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    RowNumber,
    Rank,
    DenseRank,
}

/// One function of a window: rows are in one partition where `partition` is equal, and peers where `order` is, too.
#[derive(Clone, Debug)]
struct Numbering {
    kind: Kind,
    partition: Vec<Arc<dyn PhysicalExpr>>,
    order: Vec<Arc<dyn PhysicalExpr>>,
    /// The planner's own functions are unsigned.
    ty: DataType,
}

impl Numbering {
    /// That of an expression over rows of this schema; `None` if it is another one, or not to be told by comparing rows.
    fn new(expr: &Arc<dyn WindowExpr>, schema: &SchemaRef) -> Option<Self> {
        let standard = expr.as_any().downcast_ref::<StandardWindowExpr>()?;
        let function = standard.get_standard_func_expr().as_any().downcast_ref::<WindowUDFExpr>()?.fun();
        if !is_signed(function) && !function.inner().is::<RowNumber>() && !function.inner().is::<Rank>() {
            return None;
        }
        let kind = match function.name() {
            "row_number" => Kind::RowNumber,
            "rank" => Kind::Rank,
            "dense_rank" => Kind::DenseRank,
            _ => return None,
        };
        let partition = expr.partition_by().to_vec();
        let order: Vec<_> = expr.order_by().iter().map(|sort| sort.expr.clone()).collect();
        let is_flat = |key: &Arc<dyn PhysicalExpr>| key.data_type(schema).is_ok_and(|ty| !ty.is_nested());
        let ty = expr.field().ok()?.data_type().clone();
        partition.iter().chain(&order).all(is_flat).then_some(Self { kind, partition, order, ty })
    }
}

/// See the module. All but the rows is as the planner's operator has it.
#[derive(Debug)]
struct NumberedExec {
    /// The planner's operator.
    planned: Arc<dyn ExecutionPlan>,
    input: Arc<dyn ExecutionPlan>,
    numberings: Vec<Numbering>,
    metrics: ExecutionPlanMetricsSet,
}

impl NumberedExec {
    fn instead_of(planned: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        let window = planned.downcast_ref::<BoundedWindowAggExec>()?;
        if window.input_order_mode != InputOrderMode::Sorted || window.state_observer().is_some() {
            return None;
        }
        let input = window.input().clone();
        let schema = input.schema();
        let numberings = window.window_expr().iter().map(|expr| Numbering::new(expr, &schema));
        let numberings = numberings.collect::<Option<_>>()?;
        Some(Self { planned: planned.clone(), input, numberings, metrics: ExecutionPlanMetricsSet::new() })
    }
}

impl DisplayAs for NumberedExec {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Numbered: ")?;
        self.planned.fmt_as(kind, f)
    }
}

impl ExecutionPlan for NumberedExec {
    fn name(&self) -> &str {
        "NumberedExec"
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
        let numberings = self.numberings.clone();
        Ok(Arc::new(Self { planned, input, numberings, metrics: ExecutionPlanMetricsSet::new() }))
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
        let state = |numbering: &Numbering| (numbering.clone(), State::default());
        Ok(Box::pin(Numbered {
            input: self.input.execute(partition, context)?,
            schema: self.schema(),
            numberings: self.numberings.iter().map(state).collect(),
            metrics: BaselineMetrics::new(&self.metrics, partition),
        }))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

struct Numbered {
    input: SendableRecordBatchStream,
    schema: SchemaRef,
    numberings: Vec<(Numbering, State)>,
    metrics: BaselineMetrics,
}

impl Numbered {
    fn numbered(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let mut columns = batch.columns().to_vec();
        for (numbering, state) in &mut self.numberings {
            columns.push(cast(&state.numbers(numbering, batch)?, &numbering.ty)?);
        }
        Ok(RecordBatch::try_new(self.schema.clone(), columns)?)
    }
}

impl Stream for Numbered {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = ready!(self.input.poll_next_unpin(context));
        let time = self.metrics.elapsed_compute().clone();
        let _timer = time.timer();
        Poll::Ready(match next {
            Some(Ok(batch)) => Some(self.numbered(&batch).record_output(&self.metrics)),
            end => end,
        })
    }
}

impl RecordBatchStream for Numbered {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// What is known of the rows so far.
#[derive(Default)]
struct State {
    partition: Changes,
    order: Changes,
    has_begun: bool,
    /// The number of the last row in its partition.
    row: i64,
    /// What the last row was given.
    number: i64,
}

impl State {
    fn numbers(&mut self, of: &Numbering, batch: &RecordBatch) -> Result<Int64Array> {
        let rows = batch.num_rows();
        let begins = self.partition.of(&of.partition, batch)?;
        let differs = match of.kind {
            Kind::RowNumber => BooleanBuffer::new_unset(rows),
            Kind::Rank | Kind::DenseRank => self.order.of(&of.order, batch)?,
        };
        let mut numbers = Vec::with_capacity(rows);
        for row in 0..rows {
            let begins = begins.value(row) || !self.has_begun;
            self.has_begun = true;
            if begins {
                (self.row, self.number) = (0, 0);
            }
            self.row += 1;
            let is_peer = !begins && !differs.value(row);
            match of.kind {
                Kind::RowNumber => self.number = self.row,
                Kind::Rank if !is_peer => self.number = self.row,
                Kind::DenseRank if !is_peer => self.number += 1,
                Kind::Rank | Kind::DenseRank => {}
            }
            numbers.push(self.number);
        }
        Ok(numbers.into())
    }
}

/// Finds the rows that differ from the one before, over batches.
#[derive(Default)]
struct Changes {
    /// The values of the last row.
    last: Vec<ArrayRef>,
}

impl Changes {
    /// Which rows differ in any key from the row before; the first row of all does not.
    fn of(&mut self, keys: &[Arc<dyn PhysicalExpr>], batch: &RecordBatch) -> Result<BooleanBuffer> {
        let rows = batch.num_rows();
        let mut all = BooleanBuffer::new_unset(rows);
        if rows == 0 {
            return Ok(all);
        }
        let mut last = Vec::with_capacity(keys.len());
        for (nth, key) in keys.iter().enumerate() {
            let values = key.evaluate(batch)?.into_array(rows)?;
            let first_differs = match self.last.get(nth) {
                Some(before) => distinct(before, &values.slice(0, 1))?.value(0),
                None => false,
            };
            let others = distinct(&values.slice(0, rows - 1), &values.slice(1, rows - 1))?;
            let changed: BooleanBuffer =
                std::iter::once(first_differs).chain(others.values().iter()).collect();
            all = &all | &changed;
            // A copy, so that the batch need not be kept.
            last.push(take(&values, &UInt32Array::from(vec![rows as u32 - 1]), None)?);
        }
        self.last = last;
        Ok(all)
    }
}
