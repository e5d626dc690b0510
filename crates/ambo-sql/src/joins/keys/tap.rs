//! The operator that looks at the keys of a hash join's first side as they pass.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use arrow::{array::RecordBatch, datatypes::SchemaRef};
use datafusion::{
    common::{Result, tree_node::TreeNodeRecursion},
    execution::{
        RecordBatchStream, SendableRecordBatchStream, TaskContext,
        memory_pool::{MemoryConsumer, MemoryReservation},
    },
    physical_expr::PhysicalExpr,
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, execution_plan::CardinalityEffect,
    },
};
use futures::{Stream, StreamExt};

use super::found::FoundKeys;
use crate::one_input::{one_input, visit_all};

/// Hands on the rows of its input.
#[derive(Debug)]
pub(super) struct KeyTap {
    input: Arc<dyn ExecutionPlan>,
    /// The keys of the join, as expressions over the input.
    keys: Vec<Arc<dyn PhysicalExpr>>,
    found: Arc<FoundKeys>,
}

impl KeyTap {
    pub(super) fn new(
        input: Arc<dyn ExecutionPlan>,
        keys: Vec<Arc<dyn PhysicalExpr>>,
        found: Arc<FoundKeys>,
    ) -> Self {
        Self { input, keys, found }
    }

    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        Ok(Self::new(input, self.keys.clone(), self.found.clone()))
    }
}

impl DisplayAs for KeyTap {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<_> = self.found.taken().map(|place| self.keys[place].to_string()).collect();
        write!(f, "KeyTap: keys=[{}]", keys.join(", "))
    }
}

impl ExecutionPlan for KeyTap {
    fn name(&self) -> &str {
        "KeyTap"
    }

    one_input!();

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        visit_all(&self.keys, visit)
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.found.begin(partition);
        let memory = MemoryConsumer::new(format!("keys of a join, part {partition}"));
        Ok(Box::pin(Tapped {
            input: self.input.execute(partition, context.clone())?,
            keys: self.found.taken().map(|place| (place, self.keys[place].clone())).collect(),
            found: Some(self.found.clone()),
            memory: memory.register(context.memory_pool()),
        }))
    }
}

struct Tapped {
    input: SendableRecordBatchStream,
    keys: Vec<(usize, Arc<dyn PhysicalExpr>)>,
    /// None behind the end, or when the keys were given up.
    found: Option<Arc<FoundKeys>>,
    memory: MemoryReservation,
}

impl Tapped {
    fn look_at(&mut self, batch: &RecordBatch) -> Result<()> {
        let Some(found) = &self.found else { return Ok(()) };
        for (place, key) in &self.keys {
            let more = found.add(*place, &key.evaluate(batch)?.into_array(batch.num_rows())?)?;
            if self.memory.try_grow(more).is_err() {
                found.give_up();
                self.found = None;
                self.memory.free();
                return Ok(());
            }
        }
        Ok(())
    }
}

impl Stream for Tapped {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = std::task::ready!(self.input.poll_next_unpin(context));
        Poll::Ready(match next {
            Some(Ok(batch)) => Some(self.look_at(&batch).map(|()| batch)),
            None => {
                if let Some(found) = self.found.take() {
                    found.end(self.memory.take());
                }
                None
            }
            error => error,
        })
    }
}

impl RecordBatchStream for Tapped {
    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }
}
