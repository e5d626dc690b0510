//! The operator whose rows are shared: the first that is asked computes them, all hand them on.

use std::{fmt, sync::Arc};

use datafusion::{
    common::Result,
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::EquivalenceProperties,
    physical_plan::{
        DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, Partitioning, PlanProperties,
        execution_plan::{Boundedness, EmissionType},
        metrics::{ExecutionPlanMetricsSet, MetricsSet, SpillMetrics},
        stream::RecordBatchStreamAdapter,
    },
};
use futures::{TryStreamExt, stream};

use super::rows::SharedRows;
use crate::one_input::{no_expressions, one_input};

/// See the module.
#[derive(Debug)]
pub(super) struct OnceExec {
    rows: Arc<SharedRows>,
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl OnceExec {
    pub(super) fn new(rows: Arc<SharedRows>, input: Arc<dyn ExecutionPlan>) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self { rows, input, properties: Arc::new(properties), metrics: ExecutionPlanMetricsSet::new() }
    }

    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        Ok(Self::new(self.rows.clone(), input))
    }
}

impl DisplayAs for OnceExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnceExec")
    }
}

impl ExecutionPlan for OnceExec {
    fn name(&self) -> &str {
        "OnceExec"
    }

    no_expressions!();
    one_input!();

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn required_input_distribution(&self) -> Vec<Distribution> {
        vec![Distribution::SinglePartition]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![false]
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (shared, input, schema) = (self.rows.clone(), self.input.clone(), self.schema());
        let spilled = SpillMetrics::new(&self.metrics, 0);
        let rows = async move { shared.get(&input, &context, spilled).await?.stream(&schema) };
        let rows = stream::once(rows).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
