//! Sources as the planner sees them.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError},
};

use ambo::arrow::short_bytes;
use arrow::{
    array::{ArrayRef, RecordBatch, RecordBatchOptions},
    compute::{CastOptions, cast_with_options},
    datatypes::{Field, FieldRef, Schema, SchemaRef},
};
use async_trait::async_trait;
use datafusion::{
    catalog::{Session, TableProvider},
    common::Result as PlanResult,
    datasource::MemTable,
    execution::{SendableRecordBatchStream, TaskContext},
    logical_expr::{Expr, TableType},
    physical_plan::{
        ExecutionPlan,
        stream::RecordBatchStreamAdapter,
        streaming::{PartitionStream, StreamingTableExec},
    },
};
use futures::stream::poll_fn;
use tokio::sync::mpsc::{Sender, channel};

use super::{OpenReader, Reader, Source};
use crate::{
    Error, ErrorKind, Result,
    error::outer,
    value::{column_of, field_of, wrong},
};

/// Batches that wait for the statement, at most.
const WAITING: usize = 2;
/// Rows of a batch that operators are given.
const BATCH_ROWS: usize = 8192;

/// A source as a table. `threads` share what is in memory.
///
/// # Errors
/// Columns that are none; a batch that is none of its schema.
pub(super) fn provider(source: Source, threads: usize) -> Result<Arc<dyn TableProvider>> {
    match source {
        Source::Batches(given, batches) => {
            let schema = schema_of(&given)?;
            let mut parts = Vec::new();
            for batch in batches {
                if batch.schema_ref().fields() != given.fields() {
                    return Err(Error::invalid("a batch has other columns than its source"));
                }
                let batch = as_schema(&batch, &schema)?;
                let slices = (0..batch.num_rows()).step_by(BATCH_ROWS);
                parts.extend(slices.map(|at| batch.slice(at, BATCH_ROWS.min(batch.num_rows() - at))));
            }
            let each = parts.len().div_ceil(threads).max(1);
            let mut parts: Vec<_> = parts.chunks(each).map(<[_]>::to_vec).collect();
            if parts.is_empty() {
                parts.push(Vec::new());
            }
            Ok(Arc::new(MemTable::try_new(schema, parts)?))
        }
        Source::Once(reader) => {
            let schema = schema_of(&reader.schema())?;
            Ok(Arc::new(ReaderTable { schema, open: Open::Once(Arc::new(Mutex::new(Some(reader)))) }))
        }
        Source::Again(given, open) => {
            Ok(Arc::new(ReaderTable { schema: schema_of(&given)?, open: Open::Again(open) }))
        }
    }
}

/// The columns of a source with the types that columns of tables have.
fn schema_of(given: &Schema) -> Result<SchemaRef> {
    if given.fields().is_empty() {
        return Err(Error::invalid("there are no columns"));
    }
    let mut fields: Vec<Field> = Vec::with_capacity(given.fields().len());
    for field in given.fields() {
        if fields.iter().any(|known| known.name() == field.name()) {
            return Err(Error::invalid(format!("there are two columns \"{}\"", field.name())));
        }
        fields.push(plain(field));
    }
    Ok(Arc::new(Schema::new(fields)))
}

fn plain(field: &FieldRef) -> Field {
    let nullable = Field::new(field.name(), short_bytes(field.data_type()), true);
    let nullable = nullable.with_metadata(field.metadata().clone());
    column_of(&nullable).map_or(nullable, |column| field_of(&column))
}

/// A batch with the columns of a schema of the same names.
fn as_schema(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let column = |(array, field): (&ArrayRef, &FieldRef)| match array.data_type() == field.data_type() {
        true => Ok(array.clone()),
        false => cast_with_options(array, field.data_type(), &options).map_err(|error| {
            Error::new(ErrorKind::Invalid, format!("column \"{}\": {}", field.name(), wrong(error).message()))
        }),
    };
    let columns = batch.columns().iter().zip(schema.fields()).map(column).collect::<Result<_>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options).map_err(wrong)
}

/// A table that a reader reads.
struct ReaderTable {
    schema: SchemaRef,
    open: Open,
}

#[derive(Clone)]
enum Open {
    Once(Arc<Mutex<Option<Reader>>>),
    Again(Arc<OpenReader>),
}

impl Open {
    /// A reader, and which of its columns are wanted.
    fn reader(&self, columns: &[usize]) -> Result<(Reader, Vec<usize>)> {
        match self {
            Self::Once(reader) => {
                let taken = reader.lock().unwrap_or_else(PoisonError::into_inner).take();
                let reader = taken.ok_or_else(|| {
                    // As a conflict: that is where a statement that may be run again comes to.
                    Error::new(ErrorKind::Conflict, "the rows of a reader were read already").with_hint(
                        "give the rows anew, or as batches, which are read as often as is asked for",
                    )
                })?;
                Ok((reader, columns.to_vec()))
            }
            Self::Again(open) => {
                let reader = open(Some(columns)).map_err(wrong)?;
                Ok((reader, (0..columns.len()).collect()))
            }
        }
    }
}

impl fmt::Debug for ReaderTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReaderTable").field("schema", &self.schema).finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for ReaderTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        limit: Option<usize>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let all: Vec<usize> = (0..self.schema.fields().len()).collect();
        let columns = projection.cloned().unwrap_or(all);
        let schema = Arc::new(self.schema.project(&columns)?);
        let part = Part { schema: schema.clone(), columns, open: self.open.clone() };
        Ok(Arc::new(StreamingTableExec::try_new(
            schema,
            vec![Arc::new(part)],
            None,
            Vec::new(),
            false,
            limit,
        )?))
    }
}

/// The only part of such a table.
struct Part {
    schema: SchemaRef,
    columns: Vec<usize>,
    open: Open,
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Part").field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// What a thread that reads has to say. Without an end, it panicked.
enum Said {
    Rows(PlanResult<RecordBatch>),
    End,
}

impl PartitionStream for Part {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (tell, mut told) = channel(WAITING);
        let (open, columns, schema) = (self.open.clone(), self.columns.clone(), self.schema.clone());
        let read = move || read(&open, &columns, &schema, &tell);
        let begun = std::thread::Builder::new().name("ambo-source".to_owned()).spawn(read);
        let mut failed = begun.err().map(|error| {
            outer(Error::new(ErrorKind::Execution, format!("starting a thread that reads: {error}")))
        });
        let mut is_over = false;
        let rows = poll_fn(move |context| {
            if let Some(error) = failed.take() {
                is_over = true;
                return std::task::Poll::Ready(Some(Err(error)));
            }
            if is_over {
                return std::task::Poll::Ready(None);
            }
            told.poll_recv(context).map(|said| match said {
                Some(Said::Rows(rows)) => Some(rows),
                Some(Said::End) => {
                    is_over = true;
                    None
                }
                None => {
                    is_over = true;
                    Some(Err(outer(Error::new(ErrorKind::Execution, "the reader of rows panicked"))))
                }
            })
        });
        Box::pin(RecordBatchStreamAdapter::new(self.schema.clone(), rows))
    }
}

/// Reads all batches, until an error or until nobody wants more.
fn read(open: &Open, columns: &[usize], schema: &SchemaRef, tell: &Sender<Said>) {
    let act = || -> Result<()> {
        let (reader, places) = open.reader(columns)?;
        for batch in reader {
            let batch = as_schema(&batch.map_err(wrong)?.project(&places).map_err(wrong)?, schema)?;
            for at in (0..batch.num_rows()).step_by(BATCH_ROWS) {
                let part = batch.slice(at, BATCH_ROWS.min(batch.num_rows() - at));
                if tell.blocking_send(Said::Rows(Ok(part))).is_err() {
                    return Ok(());
                }
            }
        }
        Ok(())
    };
    // Nobody listens where a message does not arrive.
    match catch_unwind(AssertUnwindSafe(act)) {
        Ok(Ok(())) => drop(tell.blocking_send(Said::End)),
        Ok(Err(error)) => {
            drop(tell.blocking_send(Said::Rows(Err(outer(error)))));
            drop(tell.blocking_send(Said::End));
        }
        Err(_) => {}
    }
}
