//! The rows of a window with the values of its functions, when these are known.

use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll, ready},
};

use arrow::{
    array::{ArrayRef, RecordBatch},
    datatypes::SchemaRef,
};
use datafusion::{
    common::Result,
    execution::{RecordBatchStream, SendableRecordBatchStream},
    physical_plan::metrics::{BaselineMetrics, RecordOutput},
};
use futures::{Stream, StreamExt};

use super::{Function, aggregates::Aggregated, numbering::Numbers, partitions::Partitions};

/// What is known of the rows so far, for one function.
enum State {
    Numbers(Numbers),
    Aggregated(Aggregated),
    Partitions(Partitions),
}

impl State {
    fn new(of: &Function) -> Result<Self> {
        Ok(match of {
            Function::Numbering(of) => Self::Numbers(Numbers::new(of.clone())),
            Function::OfPartition(of) => Self::Partitions(Partitions::new(of.clone())),
            Function::Aggregate(of) => Self::Aggregated(Aggregated::new(of.clone())?),
        })
    }

    fn look_at(&mut self, batch: &RecordBatch) -> Result<()> {
        match self {
            Self::Numbers(numbers) => numbers.look_at(batch),
            Self::Aggregated(aggregated) => aggregated.look_at(batch),
            Self::Partitions(partitions) => partitions.look_at(batch),
        }
    }

    fn end(&mut self) -> Result<()> {
        match self {
            Self::Numbers(_) => Ok(()),
            Self::Aggregated(aggregated) => aggregated.end(),
            Self::Partitions(partitions) => partitions.end(),
        }
    }

    /// How many of the rows that are still here have a value.
    fn given(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.given(),
            Self::Aggregated(aggregated) => aggregated.given(),
            Self::Partitions(partitions) => partitions.given(),
        }
    }

    fn take(&mut self, rows: usize) -> Result<ArrayRef> {
        match self {
            Self::Numbers(numbers) => numbers.take(rows),
            Self::Aggregated(aggregated) => aggregated.take(rows),
            Self::Partitions(partitions) => partitions.take(rows),
        }
    }
}

pub(super) struct WindowRows {
    input: SendableRecordBatchStream,
    has_ended: bool,
    schema: SchemaRef,
    /// Rows of which not all values are known, or that were not asked for.
    waiting: VecDeque<RecordBatch>,
    states: Vec<State>,
    metrics: BaselineMetrics,
}

impl WindowRows {
    pub(super) fn new(
        input: SendableRecordBatchStream,
        schema: SchemaRef,
        functions: &[Function],
        metrics: BaselineMetrics,
    ) -> Result<Self> {
        let states = functions.iter().map(State::new).collect::<Result<_>>()?;
        Ok(Self { input, has_ended: false, schema, waiting: VecDeque::new(), states, metrics })
    }

    fn look_at(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() > 0 {
            self.states.iter_mut().try_for_each(|state| state.look_at(&batch))?;
            self.waiting.push_back(batch);
        }
        Ok(())
    }

    /// The first rows that wait, if all is known of them.
    fn known(&mut self) -> Result<Option<RecordBatch>> {
        let is_known = |batch: &mut RecordBatch| {
            let rows = batch.num_rows();
            self.states.iter().all(|state| state.given() >= rows)
        };
        let Some(batch) = self.waiting.pop_front_if(is_known) else { return Ok(None) };
        let mut columns = batch.columns().to_vec();
        for state in &mut self.states {
            columns.push(state.take(batch.num_rows())?);
        }
        Ok(Some(RecordBatch::try_new(self.schema.clone(), columns)?))
    }
}

impl Stream for WindowRows {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let time = self.metrics.elapsed_compute().clone();
        loop {
            let timer = time.timer();
            if let Some(known) = self.known().transpose() {
                return Poll::Ready(Some(known.record_output(&self.metrics)));
            }
            drop(timer);
            if self.has_ended {
                return Poll::Ready(None);
            }
            let next = ready!(self.input.poll_next_unpin(context));
            let _timer = time.timer();
            match next {
                Some(Ok(batch)) => self.look_at(batch)?,
                Some(error) => return Poll::Ready(Some(error)),
                None => {
                    self.has_ended = true;
                    self.states.iter_mut().try_for_each(State::end)?;
                }
            }
        }
    }
}

impl RecordBatchStream for WindowRows {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
