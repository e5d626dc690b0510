//! Rows that a client sends: values for parameters, and rows for a table.

use std::{io, panic::AssertUnwindSafe, sync::Arc};

use ambo_sql::{IngestMode, rows_of};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_flight::{
    FlightData,
    decode::FlightRecordBatchStream,
    error::FlightError,
    sql::{
        CommandStatementIngest, TableDefinitionOptions, TableExistsOption, TableNotExistOption,
        server::PeekableFlightDataStream,
    },
};
use arrow_schema::{ArrowError, SchemaRef};
use futures::{FutureExt, Stream, StreamExt, TryStreamExt};
use tokio::sync::mpsc;
use tonic::Status;

use super::{Done, Flight, state::Bound, status, wrong};
use crate::{
    http::{OnDrop, guard::Client},
    session::Session,
};

/// Batches of rows as they come.
pub(super) struct Incoming(FlightRecordBatchStream);

impl Incoming {
    fn of(stream: PeekableFlightDataStream) -> Self {
        Self::new(
            stream.into_peekable().map(|data| data.map_err(|status| FlightError::Tonic(Box::new(status)))),
        )
    }

    pub(super) fn new(data: impl Stream<Item = Result<FlightData, FlightError>> + Send + 'static) -> Self {
        Self(FlightRecordBatchStream::new_from_flight_data(data))
    }

    /// The next batch. What reads it (arrow-ipc 59) panics where a schema is of types that it does not know.
    pub(super) async fn next(&mut self) -> Result<Option<RecordBatch>, FlightError> {
        let unreadable =
            |_| Err(FlightError::DecodeError("the rows are no Arrow that can be read".to_owned()));
        AssertUnwindSafe(self.0.try_next()).catch_unwind().await.unwrap_or_else(unreadable)
    }

    fn schema(&self) -> Option<SchemaRef> {
        self.0.schema().cloned()
    }
}

/// The values of all rows.
pub(super) async fn values(stream: PeekableFlightDataStream, most: usize) -> Done<Bound> {
    let mut batches = Incoming::of(stream);
    let (mut rows, mut bytes) = (Vec::new(), 0);
    while let Some(batch) = batches.next().await.map_err(Status::from)? {
        bytes += batch.get_array_memory_size();
        if bytes > most {
            return Err(Status::resource_exhausted(format!(
                "the values have more than {most} bytes: ingest the rows"
            )));
        }
        rows.extend(rows_of(&batch).map_err(status)?);
    }
    Ok(Bound { rows: Arc::new(rows), bytes })
}

/// What comes of rows.
enum Next {
    Batch(RecordBatch),
    Broken(ArrowError),
    /// All have come: a client that goes away does not say that.
    End,
}

/// Batches that come from elsewhere, for a thread that waits.
struct Coming {
    schema: SchemaRef,
    batches: mpsc::Receiver<Next>,
    is_done: bool,
}

impl Iterator for Coming {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        match self.batches.blocking_recv() {
            Some(Next::Batch(batch)) => return Some(Ok(batch)),
            Some(Next::End) => {}
            Some(Next::Broken(error)) => {
                self.is_done = true;
                return Some(Err(error));
            }
            None => {
                self.is_done = true;
                return Some(Err(external("the client went away before its last row")));
            }
        }
        self.is_done = true;
        None
    }
}

impl RecordBatchReader for Coming {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

fn external(error: impl ToString) -> ArrowError {
    ArrowError::ExternalError(Box::new(io::Error::other(error.to_string())))
}

/// What the rows are to a table, as a client says it.
pub(super) fn mode(options: TableDefinitionOptions) -> Done<IngestMode> {
    let missing = TableNotExistOption::try_from(options.if_not_exist).map_err(wrong)?;
    let exists = TableExistsOption::try_from(options.if_exists).map_err(wrong)?;
    Ok(match (missing, exists) {
        (TableNotExistOption::Fail, TableExistsOption::Append) => IngestMode::Append,
        (TableNotExistOption::Fail, _) => {
            return Err(wrong("rows are appended to a table that must be there; it is not replaced"));
        }
        (_, TableExistsOption::Append) => IngestMode::CreateAppend,
        (_, TableExistsOption::Replace) => IngestMode::Replace,
        (_, TableExistsOption::Fail | TableExistsOption::Unspecified) => IngestMode::Create,
    })
}

pub(super) fn table(command: &CommandStatementIngest) -> Done<String> {
    if command.temporary {
        return Err(Status::unimplemented("a temporary table would be gone with the request: make a table"));
    }
    match command.catalog.as_deref() {
        None | Some("" | super::metadata::CATALOG) => {}
        Some(other) => return Err(Status::not_found(format!("there is no database \"{other}\" here"))),
    }
    // A name with a dot is one of a schema there.
    let schema = command.schema.as_deref().filter(|schema| !schema.is_empty());
    Ok(format!("{}.{}", schema.unwrap_or(ambo::DEFAULT_SCHEMA), command.table))
}

/// How many batches wait.
const AHEAD: usize = 4;

impl Flight {
    /// Puts rows into a table, all or none.
    pub(super) async fn ingest(
        &self,
        client: &Client,
        command: &CommandStatementIngest,
        stream: PeekableFlightDataStream,
    ) -> Done<i64> {
        if client.is_read_only {
            return Err(Status::permission_denied("this role may only read"));
        }
        let (mode, table) = (mode(command.table_definition_options.unwrap_or_default())?, table(command)?);
        let mut session = self.session(client, command.transaction_id.as_deref())?;
        let mut from = Incoming::of(stream);
        let first = from.next().await.map_err(Status::from)?;
        let schema = first.as_ref().map(RecordBatch::schema).or_else(|| from.schema());
        let schema = schema.ok_or_else(|| wrong("rows have a schema, and none has come"))?;
        let (send, batches) = mpsc::channel(AHEAD);
        let coming = Coming { schema, batches, is_done: false };
        let waiting = OnDrop::new(session.connection.interrupter());
        let ingested = tokio::task::spawn_blocking(move || take(&mut session, &table, coming, mode));
        pass(first, &mut from, &send).await;
        let done = ingested.await.map_err(|error| Status::internal(error.to_string()))?;
        waiting.done();
        done.map(|rows| i64::try_from(rows).unwrap_or(i64::MAX)).map_err(status)
    }
}

/// Puts what comes into a table.
fn take(session: &mut Session, table: &str, coming: Coming, mode: IngestMode) -> ambo_sql::Result<u64> {
    session.begin(&format!("ingest into {table}"));
    let done = session.connection.ingest(table, Box::new(coming), mode, "");
    session.done(done)
}

/// Hands on what comes of a client, to its end or until nobody takes it: who takes no more says why.
async fn pass(first: Option<RecordBatch>, from: &mut Incoming, to: &mpsc::Sender<Next>) {
    let mut next = first.map_or(Next::End, Next::Batch);
    loop {
        let is_last = !matches!(next, Next::Batch(_));
        if to.send(next).await.is_err() || is_last {
            return;
        }
        next = match from.next().await {
            Ok(batch) => batch.map_or(Next::End, Next::Batch),
            Err(error) => Next::Broken(external(error)),
        };
    }
}
