//! A scan of files whose reader may panic at what is in them, or fail in words of its own: both are errors with the name of the file.

use std::{
    fmt,
    future::{Future, poll_fn},
    path::PathBuf,
    pin::pin,
    sync::Arc,
    task::Poll,
};

use ambo_files::{damaged, guarded};
use arrow::{array::RecordBatch, error::ArrowError};
use datafusion::{
    common::{Result, config::ConfigOptions, tree_node::TreeNodeRecursion},
    datasource::{
        listing::PartitionedFile,
        physical_plan::{FileOpener, FileScanConfig, FileSource},
        table_schema::TableSchema,
    },
    error::DataFusionError,
    object_store::ObjectStore,
    physical_expr::{
        EquivalenceProperties, LexOrdering, PhysicalExpr, PhysicalSortExpr, projection::ProjectionExprs,
    },
    physical_plan::{
        DisplayFormatType, SortOrderPushdownResult, filter_pushdown::FilterPushdownPropagation,
        metrics::ExecutionPlanMetricsSet,
    },
};
use datafusion_datasource::morsel::{Morsel, MorselPlan, MorselPlanner, Morselizer};
use futures::{StreamExt, stream::BoxStream};

use crate::{Error, error::outer};

/// Polls a future that may panic; `None` if it does.
pub(super) async fn guarded_future<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|context| match guarded(|| future.as_mut().poll(context)) {
        Some(poll) => poll.map(Some),
        None => Poll::Ready(None),
    })
    .await
}

/// A source of files.
#[derive(Clone)]
pub(super) struct Guarded(Arc<dyn FileSource>);

impl Guarded {
    pub(super) fn new(source: Arc<dyn FileSource>) -> Self {
        Self(source)
    }

    fn again(source: Arc<dyn FileSource>) -> Arc<dyn FileSource> {
        Arc::new(Self(source))
    }
}

impl FileSource for Guarded {
    fn create_file_opener(
        &self,
        store: Arc<dyn ObjectStore>,
        config: &FileScanConfig,
        partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        self.0.create_file_opener(store, config, partition)
    }

    fn create_morselizer(
        &self,
        store: Arc<dyn ObjectStore>,
        config: &FileScanConfig,
        partition: usize,
    ) -> Result<Box<dyn Morselizer>> {
        Ok(Box::new(Files(self.0.create_morselizer(store, config, partition)?)))
    }

    fn table_schema(&self) -> &TableSchema {
        self.0.table_schema()
    }

    fn with_batch_size(&self, rows: usize) -> Arc<dyn FileSource> {
        Self::again(self.0.with_batch_size(rows))
    }

    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        self.0.filter()
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        self.0.projection()
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        self.0.metrics()
    }

    fn file_type(&self) -> &str {
        self.0.file_type()
    }

    fn fmt_extra(&self, form: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_extra(form, f)
    }

    fn supports_repartitioning(&self) -> bool {
        self.0.supports_repartitioning()
    }

    fn repartitioned(
        &self,
        partitions: usize,
        least_bytes: usize,
        order: Option<LexOrdering>,
        config: &FileScanConfig,
    ) -> Result<Option<FileScanConfig>> {
        self.0.repartitioned(partitions, least_bytes, order, config)
    }

    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn FileSource>>> {
        let mut pushed = self.0.try_pushdown_filters(filters, config)?;
        pushed.updated_node = pushed.updated_node.map(Self::again);
        Ok(pushed)
    }

    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
        properties: &EquivalenceProperties,
    ) -> Result<SortOrderPushdownResult<Arc<dyn FileSource>>> {
        Ok(self.0.try_pushdown_sort(order, properties)?.map(Self::again))
    }

    fn reorder_files(&self, files: Vec<PartitionedFile>) -> Vec<PartitionedFile> {
        self.0.reorder_files(files)
    }

    fn try_pushdown_projection(&self, projection: &ProjectionExprs) -> Result<Option<Arc<dyn FileSource>>> {
        Ok(self.0.try_pushdown_projection(projection)?.map(Self::again))
    }

    fn apply_expressions(
        &self,
        act: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.0.apply_expressions(act)
    }
}

/// Which file it is about.
#[derive(Clone, Debug)]
struct Place(Arc<PathBuf>);

impl Place {
    /// What came of reading, or that the reader panicked.
    fn told<T>(&self, done: Option<Result<T>>) -> Result<T> {
        match done {
            Some(done) => done.map_err(|error| self.named(error)),
            None => Err(self.damaged("the reader gave up")),
        }
    }

    fn damaged(&self, what: &str) -> DataFusionError {
        outer(Error::from(damaged(&self.0, what)))
    }

    /// An error of the reader with the name of the file; errors of expressions stay as they are.
    fn named(&self, error: DataFusionError) -> DataFusionError {
        match &error {
            DataFusionError::ParquetError(inner) => self.damaged(&inner.to_string()),
            DataFusionError::ArrowError(inner, _) => match &**inner {
                ArrowError::ParquetError(what) => self.damaged(what),
                _ => error,
            },
            _ => error,
        }
    }
}

#[derive(Debug)]
struct Files(Box<dyn Morselizer>);

impl Morselizer for Files {
    fn plan_file(&self, file: PartitionedFile) -> Result<Box<dyn MorselPlanner>> {
        // Paths of stores are without the slash of the root.
        let place = Place(Arc::new(PathBuf::from(format!("/{}", file.object_meta.location))));
        let inner = place.told(guarded(|| self.0.plan_file(file)))?;
        Ok(Box::new(Planner { inner, place }))
    }
}

#[derive(Debug)]
struct Planner {
    inner: Box<dyn MorselPlanner>,
    place: Place,
}

impl MorselPlanner for Planner {
    fn plan(self: Box<Self>) -> Result<Option<MorselPlan>> {
        let Self { inner, place } = *self;
        let Some(mut plan) = place.told(guarded(|| inner.plan()))? else { return Ok(None) };
        let planner = |inner, place: &Place| -> Box<dyn MorselPlanner> {
            Box::new(Planner { inner, place: place.clone() })
        };
        let morsels = plan.take_morsels().into_iter();
        let morsels = morsels.map(|inner| Box::new(Piece { inner, place: place.clone() }) as Box<dyn Morsel>);
        let mut own = MorselPlan::new().with_morsels(morsels.collect());
        own = own.with_planners(
            plan.take_ready_planners().into_iter().map(|inner| planner(inner, &place)).collect(),
        );
        if let Some(pending) = plan.take_pending_planner() {
            own.set_pending_planner(async move {
                let inner = place.told(guarded_future(pending).await)?;
                Ok(planner(inner, &place))
            });
        }
        Ok(Some(own))
    }
}

#[derive(Debug)]
struct Piece {
    inner: Box<dyn Morsel>,
    place: Place,
}

impl Morsel for Piece {
    fn into_stream(self: Box<Self>) -> BoxStream<'static, Result<RecordBatch>> {
        let Self { inner, place } = *self;
        let Some(stream) = guarded(|| inner.into_stream()) else {
            let failed: Result<RecordBatch> = Err(place.damaged("the reader gave up"));
            return futures::stream::iter([failed]).boxed();
        };
        // Behind a panic nothing is read any more.
        futures::stream::unfold(Some(stream), move |stream| {
            let place = place.clone();
            async move {
                let mut stream = stream?;
                match guarded_future(stream.next()).await {
                    Some(None) => None,
                    Some(Some(batch)) => Some((place.told(Some(batch)), Some(stream))),
                    None => Some((place.told(None), None)),
                }
            }
        })
        .boxed()
    }
}
