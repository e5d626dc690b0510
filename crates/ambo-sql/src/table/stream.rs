//! The batches of a scan: units of a table, which threads take one after the other.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use ambo::arrow::{Batches, RowBatches, RowUnits, Unit};
use arrow::{
    array::{ArrayRef, RecordBatch, RecordBatchOptions},
    compute::BatchCoalescer,
    datatypes::{DataType, SchemaRef},
};
use datafusion::{
    common::Result,
    execution::RecordBatchStream,
    physical_plan::metrics::{BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder},
};
use futures::Stream;

use super::predicate::Predicates;
use crate::error::outer;

/// Small batches are put together until they have so many rows: operators do some work for each batch.
const BATCH_ROWS: usize = 8192;
/// Batches with more rows are handed out as they are.
const LARGE_ROWS: usize = 2048;
/// Units without a row after which others have their turn.
const EMPTY_UNITS: usize = 8;

pub(super) enum Source {
    Columns { batches: Arc<Batches>, next: Arc<AtomicUsize> },
    Rows(RowSource),
}

/// Units of a table that is stored as rows.
pub(super) struct RowSource {
    units: Arc<RowUnits>,
    next: Arc<AtomicUsize>,
    /// Rows of a batch, at most.
    rows: usize,
    /// The unit that is read.
    now: Option<Box<RowBatches>>,
}

impl RowSource {
    pub(super) fn new(units: Arc<RowUnits>, next: Arc<AtomicUsize>, rows: usize) -> Self {
        Self { units, next, rows, now: None }
    }

    /// Begins the next unit, if none is read; `None` behind the last.
    fn now(&mut self, predicates: &mut Predicates) -> Result<Option<&mut RowBatches>> {
        if self.now.is_none() {
            let unit = self.next.fetch_add(1, Ordering::Relaxed);
            if unit >= self.units.units().map_err(outer)? {
                return Ok(None);
            }
            let filters = predicates.all_filters(&|place, test| self.units.filter(place, test).ok())?;
            self.now = Some(Box::new(self.units.read(unit, self.rows, &filters).map_err(outer)?));
        }
        Ok(self.now.as_deref_mut())
    }
}

/// See the module.
pub(super) struct ScanStream {
    source: Source,
    predicates: Predicates,
    output: Vec<usize>,
    schema: SchemaRef,
    left: Option<usize>,
    /// What waits for more rows.
    waiting: BatchCoalescer,
    is_done: bool,
    metrics: ScanMetrics,
}

/// What EXPLAIN ANALYZE says of a scan.
#[derive(Clone)]
pub(super) struct ScanMetrics {
    baseline: BaselineMetrics,
    /// Units, of some thousand rows each, of which anything was decoded.
    units_read: Count,
    /// Units that bounds, indexes and filters on encoded blocks ruled out.
    units_skipped: Count,
    /// Rows that conditions on decoded columns were asked of.
    rows_decoded: Count,
    /// Columns of units that were decoded, and those that were not needed; a block of a segment each.
    blocks_read: Count,
    blocks_skipped: Count,
    bytes_decoded: Count,
}

impl ScanMetrics {
    pub(super) fn new(metrics: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let count = |name| MetricBuilder::new(metrics).counter(name, partition);
        Self {
            baseline: BaselineMetrics::new(metrics, partition),
            units_read: count("units_read"),
            units_skipped: count("units_skipped"),
            rows_decoded: count("rows_decoded"),
            blocks_read: count("blocks_read"),
            blocks_skipped: count("blocks_skipped"),
            bytes_decoded: count("bytes_decoded"),
        }
    }

    /// Counts a unit of so many rows, of which as many columns as were needed were decoded.
    fn read(&self, unit: &Unit<'_>, rows: usize, columns: usize) {
        let (decoded, bytes) = unit.decoded();
        self.units_read.add(1);
        self.rows_decoded.add(rows);
        self.blocks_read.add(decoded);
        self.blocks_skipped.add(columns - decoded);
        self.bytes_decoded.add(bytes);
    }

    fn skip(&self, columns: usize) {
        self.units_skipped.add(1);
        self.blocks_skipped.add(columns);
    }
}

enum Step {
    Batch(RecordBatch),
    /// A unit without rows.
    Nothing,
    End,
}

impl ScanStream {
    /// Hands out the columns at the places `output` of those that are read, in this schema; so many rows at most.
    pub(super) fn new(
        source: Source,
        predicates: Predicates,
        output: Vec<usize>,
        schema: SchemaRef,
        limit: Option<usize>,
        metrics: ScanMetrics,
    ) -> Self {
        let waiting = BatchCoalescer::new(schema.clone(), BATCH_ROWS)
            .with_biggest_coalesce_batch_size(Some(LARGE_ROWS));
        Self { source, predicates, output, schema, left: limit, waiting, is_done: false, metrics }
    }

    fn step(&mut self) -> Result<Step> {
        match &mut self.source {
            Source::Columns { batches, next } => {
                let unit = next.fetch_add(1, Ordering::Relaxed);
                if unit >= batches.units() {
                    return Ok(Step::End);
                }
                let filters = self.predicates.filters(&|place, test| batches.filter(place, test).ok())?;
                let Some(mut unit) = batches.unit(unit, &filters).map_err(outer)? else {
                    self.metrics.skip(batches.schema().fields().len());
                    return Ok(Step::Nothing);
                };
                let rows = unit.rows();
                let is_left = self.predicates.is_empty() || self.predicates.narrow(&mut unit)?;
                let batch = is_left.then(|| unit.columns(&self.output).map_err(outer)).transpose()?;
                self.metrics.read(&unit, rows, batches.schema().fields().len());
                match batch {
                    Some(batch) => Ok(Step::Batch(with_types(batch, &self.schema)?)),
                    None => Ok(Step::Nothing),
                }
            }
            Source::Rows(source) => {
                let Some(rows) = source.now(&mut self.predicates)? else { return Ok(Step::End) };
                let Some(batch) = rows.next().transpose().map_err(outer)? else {
                    source.now = None;
                    self.metrics.units_read.add(1);
                    return Ok(Step::Nothing);
                };
                self.metrics.rows_decoded.add(batch.num_rows());
                let batch = match self.predicates.is_empty() {
                    true => batch,
                    false => self.predicates.filtered(batch)?,
                };
                Ok(Step::Batch(with_types(batch.project(&self.output)?, &self.schema)?))
            }
        }
    }

    /// The next batch, or nothing yet.
    fn next_batch(&mut self) -> Result<Option<Step>> {
        for _ in 0..EMPTY_UNITS {
            if let Some(batch) = self.waiting.next_completed_batch() {
                return Ok(Some(Step::Batch(batch)));
            }
            if self.is_done || self.left == Some(0) {
                return Ok(Some(Step::End));
            }
            match self.step()? {
                Step::Batch(batch) if batch.num_rows() == 0 => {}
                Step::Batch(batch) => match &mut self.left {
                    // Whoever wants few rows wants them soon.
                    Some(left) => {
                        let rows = batch.num_rows().min(*left);
                        *left -= rows;
                        return Ok(Some(Step::Batch(batch.slice(0, rows))));
                    }
                    None if self.schema.fields().is_empty() => return Ok(Some(Step::Batch(batch))),
                    None => self.waiting.push_batch(batch)?,
                },
                Step::Nothing => {}
                Step::End => {
                    self.is_done = true;
                    self.waiting.finish_buffered_batch()?;
                }
            }
        }
        Ok(self.waiting.next_completed_batch().map(Step::Batch))
    }
}

/// The same columns under the names and types of a schema, whose values are stored alike: timestamps without their time zone.
pub(super) fn with_types(batch: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    if batch.schema_ref() == schema {
        return Ok(batch);
    }
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(array, field)| with_type(array, field.data_type())).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?)
}

fn with_type(array: &ArrayRef, ty: &DataType) -> ArrayRef {
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

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let metrics = self.metrics.clone();
        let timer = metrics.baseline.elapsed_compute().timer();
        let next = self.next_batch();
        timer.done();
        let next = match next {
            Ok(Some(Step::Batch(batch))) => Poll::Ready(Some(Ok(batch))),
            Ok(Some(Step::End)) => Poll::Ready(None),
            Ok(Some(Step::Nothing) | None) => {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            Err(error) => Poll::Ready(Some(Err(error))),
        };
        metrics.baseline.record_poll(next)
    }
}

impl RecordBatchStream for ScanStream {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
