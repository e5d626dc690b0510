//! The scan of a table as an operator: batches of a column table by several threads, rows of other storages by one.

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
};

use ambo::{
    Select, Snapshot, Storage,
    arrow::{Batches, RowBatches},
};
use arrow::{
    array::{ArrayRef, RecordBatch, RecordBatchOptions},
    datatypes::SchemaRef,
};
use datafusion::{
    common::{Result, Statistics, stats::Precision, tree_node::TreeNodeRecursion},
    execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext},
    physical_expr::{EquivalenceProperties, PhysicalExpr},
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, StatisticsArgs,
        execution_plan::{Boundedness, EmissionType, ReplaceChildrenOptions, SchedulingType},
        metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet},
    },
};
use futures::Stream;

use super::statistics::statistics;
use crate::error::outer;

/// Rows of a batch from tables that are stored as rows.
const BATCH_ROWS: usize = 8192;

/// See the module.
pub(crate) struct TableScanExec {
    view: Arc<Snapshot>,
    select: Select,
    /// What is handed out; timestamps are without a time zone there.
    schema: SchemaRef,
    limit: Option<usize>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    /// The scan that all partitions share.
    batches: OnceLock<Result<Arc<Batches>, Arc<ambo::Error>>>,
}

impl TableScanExec {
    pub(crate) fn new(
        view: Arc<Snapshot>,
        select: Select,
        schema: SchemaRef,
        partitions: usize,
        limit: Option<usize>,
    ) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema.clone()),
            Partitioning::UnknownPartitioning(partitions.max(1)),
            EmissionType::Incremental,
            Boundedness::Bounded,
        )
        .with_scheduling_type(SchedulingType::Cooperative);
        Self {
            view,
            select,
            schema,
            limit,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
            batches: OnceLock::new(),
        }
    }

    fn partitions(&self) -> usize {
        self.properties.output_partitioning().partition_count()
    }

    fn batches(&self) -> Result<Arc<Batches>> {
        let prepared = self.batches.get_or_init(|| match self.view.batches(&self.select) {
            Ok(batches) => Ok(Arc::new(batches)),
            Err(error) => Err(Arc::new(error)),
        });
        prepared.clone().map_err(|error| outer(crate::Error::invalid(error.to_string())))
    }
}

impl fmt::Debug for TableScanExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableScanExec")
            .field("table", &self.select.table().definition().name)
            .finish_non_exhaustive()
    }
}

impl DisplayAs for TableScanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let definition = self.select.table().definition();
        let columns: Vec<_> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
        write!(f, "TableScan: {} ({})", definition.name, definition.storage.name())?;
        write!(f, ", columns=[{}]", columns.join(", "))?;
        let filters = self.select.describe();
        if !filters.is_empty() {
            write!(f, ", filters=[{filters}]")?;
        }
        if definition.storage != Storage::Column
            && let Ok(rows) = self.view.row_batches(&self.select, 1)
        {
            write!(f, ", by={}", rows.path())?;
        }
        match self.limit {
            Some(limit) => write!(f, ", limit={limit}"),
            None => Ok(()),
        }
    }
}

impl ExecutionPlan for TableScanExec {
    fn name(&self) -> &str {
        "TableScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let source = match self.select.table().definition().storage {
            Storage::Column => {
                Source::Columns { batches: self.batches()?, next: partition, step: self.partitions() }
            }
            Storage::BTree | Storage::Memory => {
                let rows = self.limit.map_or(BATCH_ROWS, |limit| limit.clamp(1, BATCH_ROWS));
                Source::Rows(Box::new(self.view.row_batches(&self.select, rows).map_err(outer)?))
            }
        };
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        Ok(Box::pin(ScanStream { source, schema: self.schema.clone(), left: self.limit, metrics }))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let mut all = statistics(&self.view, &self.select, &self.schema).map_err(outer)?;
        if self.limit.is_some() || (args.partition().is_some() && self.partitions() > 1) {
            all = all.to_inexact();
            let share = if args.partition().is_some() { self.partitions() } else { 1 };
            let rows = all.num_rows.get_value().map(|rows| rows / share);
            let rows = rows.map(|rows| self.limit.map_or(rows, |limit| rows.min(limit)));
            all.num_rows = rows.map_or(Precision::Absent, Precision::Inexact);
        }
        Ok(Arc::new(all))
    }

    fn supports_limit_pushdown(&self) -> bool {
        true
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        let (view, select, schema) = (self.view.clone(), self.select.clone(), self.schema.clone());
        Some(Arc::new(Self::new(view, select, schema, self.partitions(), limit)))
    }

    fn fetch(&self) -> Option<usize> {
        self.limit
    }
}

enum Source {
    Columns { batches: Arc<Batches>, next: usize, step: usize },
    Rows(Box<RowBatches>),
}

impl Source {
    fn next(&mut self) -> ambo::Result<Option<RecordBatch>> {
        match self {
            Self::Columns { batches, next, step } => {
                while *next < batches.units() {
                    let unit = *next;
                    *next += *step;
                    if let Some(batch) = batches.read(unit)? {
                        return Ok(Some(batch));
                    }
                }
                Ok(None)
            }
            Self::Rows(rows) => rows.next().transpose(),
        }
    }
}

struct ScanStream {
    source: Source,
    schema: SchemaRef,
    left: Option<usize>,
    metrics: BaselineMetrics,
}

impl ScanStream {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if self.left == Some(0) {
            return Ok(None);
        }
        let Some(batch) = self.source.next().map_err(outer)? else { return Ok(None) };
        let rows = self.left.map_or(batch.num_rows(), |left| left.min(batch.num_rows()));
        if let Some(left) = &mut self.left {
            *left -= rows;
        }
        let columns = batch.columns().iter().zip(self.schema.fields());
        let columns = columns.map(|(array, field)| with_type(array, field.data_type())).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?;
        Ok(Some(if rows < batch.num_rows() { batch.slice(0, rows) } else { batch }))
    }
}

/// The same values under another type that is stored alike: a timestamp without its time zone.
fn with_type(array: &ArrayRef, ty: &arrow::datatypes::DataType) -> ArrayRef {
    match array.data_type() == ty {
        true => array.clone(),
        false => {
            let data = array.to_data().into_builder().data_type(ty.clone());
            arrow::array::make_array(data.build().expect("timestamps are stored alike"))
        }
    }
}

impl Stream for ScanStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let metrics = self.metrics.clone();
        let timer = metrics.elapsed_compute().timer();
        let next = self.next_batch().transpose();
        timer.done();
        metrics.record_poll(Poll::Ready(next))
    }
}

impl RecordBatchStream for ScanStream {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
