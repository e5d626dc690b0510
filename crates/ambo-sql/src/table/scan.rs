//! The scan of a table as an operator: its units are taken by several threads.

use std::{
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError, atomic::AtomicUsize},
};

use ambo::{
    Select, Snapshot, Type,
    arrow::{Batches, RowUnits},
};
use arrow::{compute::SortOptions, datatypes::SchemaRef};
use datafusion::{
    common::{
        Result, Statistics,
        config::ConfigOptions,
        stats::Precision,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::{EquivalenceProperties, PhysicalExpr, PhysicalSortExpr, expressions::Column},
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, StatisticsArgs,
        execution_plan::{Boundedness, EmissionType, SchedulingType},
        filter_pushdown::{ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown},
        metrics::ExecutionPlanMetricsSet,
        projection::ProjectionExec,
    },
};

use super::{
    leaf::leaf,
    predicate::{Predicate, Predicates},
    provider::StoredTable,
    statistics::{Figures, UNKNOWN_SHARE, statistics},
    stream::{RowSource, ScanMetrics, ScanStream, Source},
};
use crate::{error::outer, joins::FoundKeys, names::shown, yielding::yielding};

/// Rows of a batch from tables that are stored as rows.
const BATCH_ROWS: usize = 8192;

/// See the module.
#[derive(Clone)]
pub(crate) struct TableScanExec {
    view: Arc<Snapshot>,
    figures: Arc<Figures>,
    select: Select,
    /// The columns that are read; timestamps are without a time zone there.
    read: SchemaRef,
    /// Conditions over them that the storage does not answer.
    predicates: Vec<Predicate>,
    /// Those that are handed out, under the names that the schema of the properties has.
    output: Vec<usize>,
    limit: Option<usize>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    /// The scan that all partitions share.
    units: Arc<OnceLock<Result<Units, Arc<ambo::Error>>>>,
    runs: Arc<Mutex<Runs>>,
}

/// The parts of a table.
#[derive(Clone)]
enum Units {
    Columns(Arc<Batches>),
    Rows(Arc<RowUnits>),
}

impl Units {
    fn is_in_order(&self) -> bool {
        match self {
            Self::Columns(batches) => batches.is_in_order(),
            Self::Rows(rows) => rows.is_in_order(),
        }
    }
}

/// A plan may be run again, partition by partition. In each run the partitions take the next unit from one counter.
#[derive(Default)]
struct Runs {
    /// How often each partition was begun.
    begun: Vec<usize>,
    next: Vec<Arc<AtomicUsize>>,
}

impl Runs {
    fn begin(&mut self, partition: usize) -> Arc<AtomicUsize> {
        self.begun.resize(self.begun.len().max(partition + 1), 0);
        let run = self.begun[partition];
        self.begun[partition] += 1;
        self.next.resize_with(self.next.len().max(run + 1), Default::default);
        self.next[run].clone()
    }
}

impl TableScanExec {
    pub(crate) fn new(
        table: &StoredTable,
        select: Select,
        schema: SchemaRef,
        partitions: usize,
        limit: Option<usize>,
    ) -> Result<Self> {
        Self {
            view: table.view().clone(),
            figures: table.figures().clone(),
            select,
            predicates: Vec::new(),
            output: (0..schema.fields().len()).collect(),
            limit,
            properties: Arc::new(properties(schema.clone(), Vec::new(), partitions)),
            read: schema,
            metrics: ExecutionPlanMetricsSet::new(),
            units: Arc::default(),
            runs: Arc::default(),
        }
        .in_partitions()?
        .in_order()
    }

    /// With no more partitions than rows are worth. Columns of few rows are in few units anyway.
    fn in_partitions(self) -> Result<Self> {
        let Units::Rows(rows) = self.units()? else { return Ok(self) };
        let is_short = self.limit.is_some_and(|limit| limit <= BATCH_ROWS);
        let worth = if is_short { 1 } else { rows.units_about().map_err(outer)? };
        let partitions = self.partitions().min(worth);
        let properties = Arc::new(properties(self.schema().clone(), Vec::new(), partitions));
        Ok(Self { properties, ..self })
    }

    /// Tells the planner in which order rows come: each partition takes unit after unit, and their rows ascend.
    fn in_order(self) -> Result<Self> {
        let definition = self.select.table().definition();
        if !self.units()?.is_in_order() {
            return Ok(self);
        }
        let options = SortOptions { descending: false, nulls_first: true };
        let place = |column: &usize| {
            let of = definition.columns.get(*column)?;
            let is_ordered_alike = !of.nullable && !matches!(of.kind, Type::F32 | Type::F64);
            let place = self.output.iter().position(|read| self.select.columns_read()[*read] == *column)?;
            is_ordered_alike.then_some(place)
        };
        let key = definition.key.iter().map_while(place);
        let column = |place: usize| Arc::new(Column::new(self.schema().field(place).name(), place));
        let ordering = key.map(|place| PhysicalSortExpr::new(column(place), options)).collect();
        let properties = Arc::new(properties(self.schema().clone(), ordering, self.partitions()));
        Ok(Self { properties, ..self })
    }

    /// Tells the planner which columns are the same: it may have left one out of a sort when that was still a projection.
    fn with_same_columns(self) -> Result<Self> {
        let column = |place: usize| Arc::new(Column::new(self.schema().field(place).name(), place)) as Arc<_>;
        let mut known = self.properties.eq_properties.clone();
        for (place, read) in self.output.iter().enumerate() {
            if let Some(first) = self.output[..place].iter().position(|other| other == read) {
                known.add_equal_conditions(column(first), column(place))?;
            }
        }
        let properties = Arc::new(PlanProperties::clone(&self.properties).with_eq_properties(known));
        Ok(Self { properties, ..self })
    }

    /// A scan like this one that has not begun.
    fn like(&self) -> Self {
        Self { runs: Arc::default(), metrics: ExecutionPlanMetricsSet::new(), ..self.clone() }
    }

    fn schema(&self) -> &SchemaRef {
        self.properties.eq_properties.schema()
    }

    fn partitions(&self) -> usize {
        self.properties.output_partitioning().partition_count()
    }

    fn units(&self) -> Result<Units> {
        let prepared = self.units.get_or_init(|| {
            let units = if self.select.table().definition().storage.traits().by_column {
                self.view.batches(&self.select).map(|all| Units::Columns(Arc::new(all)))
            } else {
                self.view.row_units(&self.select).map(|all| Units::Rows(Arc::new(all)))
            };
            units.map_err(Arc::new)
        });
        prepared.clone().map_err(|error| outer(crate::Error::invalid(error.to_string())))
    }

    /// The same scan, which asks for the keys that a join found where it has the join's own filter; `None` where it has not.
    pub(crate) fn asking_for(&self, filter_id: u64, found: &Arc<FoundKeys>) -> Option<Self> {
        let mut asking = self.like();
        let mut is_asking = false;
        for predicate in &mut asking.predicates {
            if predicate.is_dynamic && predicate.expr.expression_id() == Some(filter_id) {
                predicate.keys = Some(found.clone());
                is_asking = true;
            }
        }
        is_asking.then_some(asking)
    }

    /// A condition over the columns that are handed out as one over those that are read.
    fn of_read(&self, condition: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        let read = |expr: Arc<dyn PhysicalExpr>| {
            let Some(column) = expr.downcast_ref::<Column>() else { return Ok(Transformed::no(expr)) };
            let place = self.output[column.index()];
            let column = Column::new(self.read.field(place).name(), place);
            Ok(Transformed::yes(Arc::new(column) as Arc<dyn PhysicalExpr>))
        };
        Ok(condition.transform_up(read)?.data)
    }
}

fn properties(schema: SchemaRef, ordering: Vec<PhysicalSortExpr>, partitions: usize) -> PlanProperties {
    PlanProperties::new(
        EquivalenceProperties::new_with_orderings(schema, [ordering]),
        Partitioning::UnknownPartitioning(partitions.max(1)),
        EmissionType::Incremental,
        Boundedness::Bounded,
    )
    .with_scheduling_type(SchedulingType::Cooperative)
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
        let columns: Vec<_> = self.schema().fields().iter().map(|field| field.name().as_str()).collect();
        write!(f, "TableScan: {} ({})", definition.name, definition.storage.name())?;
        write!(f, ", columns=[{}]", columns.join(", "))?;
        let filters = self.select.describe();
        if !filters.is_empty() {
            write!(f, ", filters=[{filters}]")?;
        }
        if !self.predicates.is_empty() {
            let predicates: Vec<_> = self.predicates.iter().map(|one| one.expr.to_string()).collect();
            write!(f, ", predicates=[{}]", predicates.join(", "))?;
        }
        if let Ok(Units::Rows(rows)) = self.units() {
            write!(f, ", by={}", rows.path())?;
        }
        let asked = self.select.postings().unwrap_or_default();
        if !asked.is_empty() {
            let asked: Vec<_> = asked.iter().map(|name| shown(name)).collect();
            write!(f, ", indexes=[{}]", asked.join(", "))?;
            let counted = |(column, test)| self.figures.counted(column, test);
            let counted = self.select.filters().filter_map(counted);
            let counted: Vec<_> = counted.map(|(answers, rows)| format!("{answers} of {rows}")).collect();
            if !counted.is_empty() {
                write!(f, ", counted=[{}]", counted.join(", "))?;
            }
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

    leaf!();

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for predicate in &self.predicates {
            if visit(&predicate.expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let next = self.runs.lock().unwrap_or_else(PoisonError::into_inner).begin(partition);
        let source = match self.units()? {
            Units::Columns(batches) => Source::Columns { batches, next },
            Units::Rows(units) => {
                let rows = self.limit.map_or(BATCH_ROWS, |limit| limit.clamp(1, BATCH_ROWS));
                Source::Rows(RowSource::new(units, next, rows))
            }
        };
        let stream = ScanStream::new(
            source,
            Predicates::new(&self.predicates, &self.read)?,
            self.output.clone(),
            self.schema().clone(),
            self.limit,
            ScanMetrics::new(&self.metrics, partition),
        );
        Ok(yielding(Box::pin(stream)))
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let mut all = statistics(&self.figures, &self.select, &self.read);
        all.column_statistics =
            self.output.iter().map(|place| all.column_statistics[*place].clone()).collect();
        let is_filtered = self.predicates.iter().any(|predicate| !predicate.is_dynamic);
        let is_part = args.partition().is_some() && self.partitions() > 1;
        if self.limit.is_some() || is_part || !self.predicates.is_empty() {
            all = all.to_inexact();
            let rows = all.num_rows.get_value().map(|&rows| {
                let rows = if is_filtered { (rows as f64 * UNKNOWN_SHARE) as usize } else { rows };
                let rows = if is_part { rows / self.partitions() } else { rows };
                self.limit.map_or(rows, |limit| rows.min(limit))
            });
            all.num_rows = rows.map_or(Precision::Absent, Precision::Inexact);
        }
        Ok(Arc::new(all))
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        Some(Arc::new(Self { limit, ..self.like() }))
    }

    fn fetch(&self) -> Option<usize> {
        self.limit
    }

    fn try_swapping_with_projection(
        &self,
        projection: &ProjectionExec,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let place = |expr: &Arc<dyn PhysicalExpr>| {
            expr.downcast_ref::<Column>().map(|column| self.output[column.index()])
        };
        let places = projection.expr().iter().map(|one| place(&one.expr)).collect::<Option<Vec<_>>>();
        let Some(output) = places else { return Ok(None) };
        let properties = Arc::new(properties(projection.schema(), Vec::new(), self.partitions()));
        Ok(Some(Arc::new(Self { output, properties, ..self.like() }.in_order()?.with_same_columns()?)))
    }

    fn handle_child_pushdown_result(
        &self,
        _: FilterPushdownPhase,
        asked: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        if self.limit.is_some() {
            return Ok(FilterPushdownPropagation::all_unsupported(asked));
        }
        let mut with = self.like();
        let mut answers = Vec::with_capacity(asked.parent_filters.len());
        for filter in asked.parent_filters {
            answers.push(match Predicate::parts(&self.of_read(filter.filter)?)? {
                Some(parts) => {
                    with.predicates.extend(parts);
                    PushedDown::Yes
                }
                None => PushedDown::No,
            });
        }
        let answers = FilterPushdownPropagation::with_parent_pushdown_result(answers);
        match with.predicates.len() == self.predicates.len() {
            true => Ok(answers),
            false => Ok(answers.with_updated_node(Arc::new(with) as Arc<dyn ExecutionPlan>)),
        }
    }
}
