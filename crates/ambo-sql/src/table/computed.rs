//! Rows that a storage computes at once, as a table in a plan, and the operator.

use std::{fmt, sync::Arc};

use ambo::PartialsUsed;
use arrow::{
    array::RecordBatch,
    datatypes::{Field, Schema, SchemaRef},
};
use async_trait::async_trait;
use datafusion::{
    catalog::{Session, TableProvider},
    common::{
        Column, DFSchema, Result, Statistics, TableReference, stats::Precision, tree_node::TreeNodeRecursion,
    },
    datasource::{provider_as_source, source_as_provider},
    execution::{SendableRecordBatchStream, TaskContext},
    logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, TableScan, TableType},
    physical_expr::{EquivalenceProperties, PhysicalExpr},
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
        execution_plan::{Boundedness, EmissionType},
        metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricBuilder},
        statistics::StatisticsArgs,
        stream::RecordBatchStreamAdapter,
    },
};

use super::{StoredTable, leaf::leaf};
use crate::error::outer;

/// Rows that were computed.
pub(super) struct Computed {
    pub rows: RecordBatch,
    /// Of how many segments they were put together, and what of these was kept.
    pub used: PartialsUsed,
}

/// What is computed.
pub(super) trait Computation: Send + Sync {
    /// The rows, as the planner's operators would have them.
    fn run(&self, schema: &SchemaRef, threads: usize) -> crate::Result<Computed>;

    /// About how many there are.
    fn rows(&self) -> usize;

    /// In words, for EXPLAIN: the table, and what of it.
    fn describe(&self) -> String;

    /// All that the rows follow from: two computations with one identity have the same rows.
    fn identity(&self) -> String;
}

/// The name of a table of such rows. The planner takes two scans for one if they have the name, the columns and the filters in common,
/// whatever their sources are; so the name says all.
fn name(computation: &dyn Computation) -> TableReference {
    TableReference::bare(format!("computed from {}", computation.identity()))
}

/// A plan of such rows, with the columns of the plan that it takes the place of.
pub(super) fn computed(computation: Arc<dyn Computation>, columns: &DFSchema) -> Result<LogicalPlan> {
    let own = |(place, field): (usize, &Arc<Field>)| {
        Field::new(format!("c{place}"), field.data_type().clone(), true)
    };
    let fields: Vec<_> = columns.fields().iter().enumerate().map(own).collect();
    let schema = Arc::new(Schema::new(fields));
    let name = name(&*computation);
    let source = provider_as_source(Arc::new(ComputedTable { computation, schema: schema.clone() }));
    let column = |(place, (qualifier, field)): (usize, (Option<&_>, &Arc<Field>))| {
        let column = Expr::Column(Column::new(Some(name.clone()), schema.field(place).name()));
        column.alias_qualified(qualifier.cloned(), field.name())
    };
    let named: Vec<_> = columns.iter().enumerate().map(column).collect();
    LogicalPlanBuilder::scan(name, source, None)?.project(named)?.build()
}

/// Whether a scan is of such rows.
pub(crate) fn is_computed(scan: &TableScan) -> bool {
    of_source::<ComputedTable, _>(scan, |_| ()).is_some()
}

/// What the rows of a scan follow from, besides its columns and filters, if they are of a table of the database at a moment, or computed
/// from one: as long as the plan is there.
pub(crate) fn rows_identity(scan: &TableScan) -> Option<String> {
    of_source(scan, StoredTable::identity)
        .or_else(|| of_source(scan, |table: &ComputedTable| table.computation.identity()))
}

/// Something of the source of a scan, if it is of a kind.
pub(crate) fn of_source<T: 'static, V>(scan: &TableScan, get: impl FnOnce(&T) -> V) -> Option<V> {
    let provider = source_as_provider(&scan.source).ok()?;
    (provider.as_ref() as &dyn std::any::Any).downcast_ref::<T>().map(get)
}

struct ComputedTable {
    computation: Arc<dyn Computation>,
    schema: SchemaRef,
}

impl fmt::Debug for ComputedTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ComputedTable").field(&self.computation.describe()).finish()
    }
}

#[async_trait]
impl TableProvider for ComputedTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let exec = ComputedExec::new(
            self.computation.clone(),
            self.schema.clone(),
            projection.cloned(),
            state.config().target_partitions(),
        )?;
        Ok(Arc::new(exec))
    }
}

/// The operator.
struct ComputedExec {
    computation: Arc<dyn Computation>,
    /// All columns of the result.
    whole: SchemaRef,
    projection: Option<Vec<usize>>,
    threads: usize,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl ComputedExec {
    fn new(
        computation: Arc<dyn Computation>,
        whole: SchemaRef,
        projection: Option<Vec<usize>>,
        threads: usize,
    ) -> Result<Self> {
        let schema = match &projection {
            Some(columns) => Arc::new(whole.project(columns)?),
            None => whole.clone(),
        };
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        let metrics = ExecutionPlanMetricsSet::new();
        Ok(Self { computation, whole, projection, threads, properties: Arc::new(properties), metrics })
    }
}

impl fmt::Debug for ComputedExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ComputedExec").field(&self.computation.describe()).finish()
    }
}

impl DisplayAs for ComputedExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TableAggregate: {}", self.computation.describe())
    }
}

impl ExecutionPlan for ComputedExec {
    fn name(&self) -> &str {
        "TableComputedExec"
    }

    leaf!();

    fn statistics_from_inputs(&self, _: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(self.properties.eq_properties.schema());
        statistics.num_rows = Precision::Inexact(self.computation.rows());
        Ok(Arc::new(statistics))
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (computation, whole, threads) = (self.computation.clone(), self.whole.clone(), self.threads);
        let projection = self.projection.clone();
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let counter = |name: &'static str| MetricBuilder::new(&self.metrics).counter(name, partition);
        let (parts, kept, counted) = (counter("parts"), counter("parts_kept"), counter("parts_counted"));
        let once = async move {
            let timer = metrics.elapsed_compute().timer();
            let Computed { rows, used } = computation.run(&whole, threads).map_err(outer)?;
            timer.done();
            parts.add(used.parts as usize);
            kept.add(used.kept as usize);
            counted.add(used.counted as usize);
            let batch = match projection {
                Some(columns) => rows.project(&columns)?,
                None => rows,
            };
            metrics.record_output(batch.num_rows());
            Ok(batch)
        };
        let stream = futures::stream::once(once);
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.properties.eq_properties.schema().clone(), stream)))
    }
}
