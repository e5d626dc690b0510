//! The operator whose rows are shared: the first that is asked computes them, all hand them on.

use std::{fmt, sync::Arc};

use arrow::array::RecordBatch;
use datafusion::{
    common::{Result, tree_node::TreeNodeRecursion},
    error::DataFusionError,
    execution::{
        SendableRecordBatchStream, TaskContext,
        memory_pool::{MemoryConsumer, MemoryReservation},
    },
    physical_expr::{EquivalenceProperties, PhysicalExpr},
    physical_plan::{
        DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, Partitioning, PlanProperties,
        execution_plan::{Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions},
        stream::RecordBatchStreamAdapter,
    },
};
use futures::{TryStreamExt, stream};
use tokio::sync::OnceCell;

/// Rows, as soon as somebody asked for them.
#[derive(Debug, Default)]
pub(super) struct SharedRows(OnceCell<Rows>);

#[derive(Debug)]
struct Rows {
    batches: Vec<RecordBatch>,
    /// The memory that they take.
    _memory: MemoryReservation,
}

/// See the module.
#[derive(Debug)]
pub(super) struct OnceExec {
    rows: Arc<SharedRows>,
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl OnceExec {
    pub(super) fn new(rows: Arc<SharedRows>, input: Arc<dyn ExecutionPlan>) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self { rows, input, properties: Arc::new(properties) }
    }
}

impl DisplayAs for OnceExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnceExec")
    }
}

async fn computed(input: Arc<dyn ExecutionPlan>, context: Arc<TaskContext>) -> Result<Rows> {
    let memory = MemoryConsumer::new("OnceExec").register(context.memory_pool());
    let mut batches = Vec::new();
    let mut stream = input.execute(0, context)?;
    while let Some(batch) = stream.try_next().await? {
        memory.try_grow(batch.get_array_memory_size())?;
        batches.push(batch);
    }
    Ok(Rows { batches, _memory: memory })
}

impl ExecutionPlan for OnceExec {
    fn name(&self) -> &str {
        "OnceExec"
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
        Ok(Arc::new(Self::new(self.rows.clone(), children.swap_remove(0))))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn required_input_distribution(&self) -> Vec<Distribution> {
        vec![Distribution::SinglePartition]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![false]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (shared, input) = (self.rows.clone(), self.input.clone());
        let batches = async move {
            let rows = shared.0.get_or_try_init(|| computed(input, context)).await?;
            Ok::<_, DataFusionError>(stream::iter(rows.batches.clone().into_iter().map(Ok)))
        };
        let rows = stream::once(batches).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}
