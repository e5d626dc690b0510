//! Flight SQL, for ADBC's and JDBC's drivers: gRPC, at a port of its own, served by what serves HTTP.
//!
//! 1. What is said of a statement (GetFlightInfo) does not run it. Its ticket does, once: a second DoGet of one ticket is refused, so that
//!    nothing is inserted twice. Drivers of ADBC run INSERT this way, too.
//! 2. A statement has a session of its own, unless it names a transaction, which is a session that is kept (`http/sessions.rs`), with the
//!    same rules: of the role that made it, one request at a time, gone when nothing was asked of it for a while; and gone with its
//!    client's connection, as what was prepared is ([`State`]).
//! 3. Who asks is let in as for a request of HTTP (`http/guard.rs`). A handshake gives a token for the requests that follow.

mod door;
pub(crate) mod fuzz;
mod info;
mod ingest;
mod metadata;
mod served;
mod service;
mod state;

use std::{sync::Arc, time::Instant};

use ambo::Datum;
use arrow_array::RecordBatch;
use arrow_flight::{
    FlightData, FlightDescriptor, FlightEndpoint, FlightInfo, Ticket, encode::FlightDataEncoderBuilder,
    error::FlightError, sql::ProstMessageExt,
};
use arrow_schema::{DataType, Schema, SchemaRef};
use futures::{Stream, StreamExt, stream};
use prost::Message;
use tokio::sync::OwnedMutexGuard;
use tonic::{Code, Extensions, Status};

use crate::{
    http::{App, OnDrop, guard::Client, problem::Problem, result, sessions},
    session::{Answer, Session, answer},
};
pub(crate) use door::router;
pub(crate) use state::State;

/// The service of a door.
pub(crate) struct Flight {
    app: Arc<App>,
}

type Done<T> = Result<T, Status>;
type Batches = std::pin::Pin<Box<dyn Stream<Item = Done<FlightData>> + Send>>;

/// What HTTP says is wrong, in gRPC's words.
fn status(problem: impl Into<Problem>) -> Status {
    let problem = problem.into();
    let code = match problem.status.as_u16() {
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        404 => Code::NotFound,
        408 => Code::DeadlineExceeded,
        409 => Code::Aborted,
        422 if problem.code == Some("23505") => Code::AlreadyExists,
        499 => Code::Cancelled,
        503 => Code::Unavailable,
        507 => Code::ResourceExhausted,
        500 | 501 => Code::Internal,
        _ => Code::InvalidArgument,
    };
    let state = problem.code.map_or(String::new(), |code| format!(" [{code}]"));
    let hint = problem.hint.as_ref().map_or(String::new(), |hint| format!("; {hint}"));
    Status::new(code, format!("{}{hint}{state}", problem.detail))
}

fn wrong(error: impl std::fmt::Display) -> Status {
    Status::invalid_argument(error.to_string())
}

fn client(extensions: &Extensions) -> Done<Client> {
    extensions.get::<Client>().cloned().ok_or_else(|| Status::unauthenticated("nobody has come in"))
}

fn text(bytes: &[u8]) -> Done<&str> {
    std::str::from_utf8(bytes).map_err(|_| wrong("a name that is no UTF-8"))
}

impl Flight {
    /// The session of a transaction, or one of its own.
    fn session(&self, client: &Client, transaction: Option<&[u8]>) -> Done<OwnedMutexGuard<Session>> {
        match transaction.filter(|id| !id.is_empty()) {
            Some(id) => self.app.sessions.lock(text(id)?, client).map_err(status),
            None => sessions::alone(&self.app, client).map_err(status),
        }
    }

    /// A statement that a client has prepared. The transaction in which it was prepared may have ended: then it is run in the one that the
    /// client has open since, as those of ADBC that prepare once and commit often mean it.
    fn prepared(&self, client: &Client, handle: &[u8]) -> Done<state::Statement> {
        let mut statement = self.app.statements.prepared(handle, &client.role)?;
        if let Some(id) = &statement.transaction
            && !self.app.sessions.is_there(text(id)?, client)
        {
            let now = self.app.sessions.while_connected(client).ok_or_else(|| {
                Status::not_found(
                    "the transaction in which the statement was prepared has ended: prepare it again",
                )
            })?;
            statement.transaction = Some(now.into_bytes());
        }
        Ok(statement)
    }

    /// What is known of a statement before it runs.
    async fn described(&self, session: OwnedMutexGuard<Session>, sql: String) -> Done<Description> {
        let done = tokio::task::spawn_blocking(move || {
            let mut session = session;
            let statement = session.prepare(&sql)?;
            session.connection.describe(&statement)
        });
        let described = done.await.map_err(|error| Status::internal(error.to_string()))?.map_err(status)?;
        Ok(Description {
            schema: described.schema.as_ref().map(sent_schema),
            parameters: described.parameters,
        })
    }

    /// What is said of a statement that is to be run, with a ticket that does so once.
    async fn promised(
        &self,
        client: &Client,
        statement: state::Statement,
        descriptor: FlightDescriptor,
    ) -> Done<FlightInfo> {
        let session = self.session(client, statement.transaction.as_deref())?;
        let described = self.described(session, statement.sql.clone()).await?;
        // Values that are bound have the types that their client gave them, and so have columns that are made of them.
        let schema = described.schema.filter(|_| statement.bound.rows.is_empty());
        let statement_handle = self.app.statements.pend(statement, client)?.into();
        let ticket = arrow_flight::sql::TicketStatementQuery { statement_handle };
        info(schema.as_ref(), Ticket::new(ticket.as_any().encode_to_vec()), descriptor)
    }

    /// Runs a statement, and sends its rows as they come.
    async fn run(&self, client: &Client, handle: Vec<u8>, statement: state::Statement) -> Done<Batches> {
        let params = single(&statement.bound.rows)?;
        let session = self.session(client, statement.transaction.as_deref())?;
        let interrupter = session.connection.interrupter();
        let running = self.app.statements.running(handle, interrupter, &client.role);
        let began = Instant::now();
        let answered = answer(session, statement.sql, params).await.map_err(Problem::from);
        self.app.figures.ran(began.elapsed(), answered.as_ref().err());
        Ok(self.sent(answered.map_err(status)?, running))
    }

    /// Runs a statement for each row of values, all or none, and says how many rows it changed.
    async fn update(
        &self,
        client: &Client,
        sql: String,
        transaction: Option<&[u8]>,
        rows: Vec<Vec<Datum>>,
    ) -> Done<i64> {
        let mut session = self.session(client, transaction)?;
        let waiting = OnDrop::new(session.connection.interrupter());
        let began = Instant::now();
        let done = tokio::task::spawn_blocking(move || {
            session.begin(&sql);
            let done = session.each(&sql, rows);
            session.end();
            done
        });
        let done = done.await.map_err(|error| Status::internal(error.to_string()))?.map_err(Problem::from);
        waiting.done();
        self.app.figures.ran(began.elapsed(), done.as_ref().err());
        done.map(|rows| i64::try_from(rows).unwrap_or(i64::MAX)).map_err(status)
    }

    /// The rows of a statement as messages. What takes them no longer ends the statement.
    fn sent(&self, answer: Answer, running: state::Running) -> Batches {
        let schema = sent_schema(&answer.head.schema);
        let marked = schema.clone();
        let figures = self.app.figures.clone();
        let batches = stream::unfold((answer, running), move |(mut answer, running)| {
            let (schema, figures) = (marked.clone(), figures.clone());
            async move {
                let batch = answer.next().await?.map_err(status);
                let batch = batch.and_then(|batch| {
                    figures.returned(batch.num_rows() as u64);
                    result::of_schema(&schema, &batch).map_err(Status::internal)
                });
                Some((batch.map_err(|status| FlightError::Tonic(Box::new(status))), (answer, running)))
            }
        });
        encoded(schema, batches)
    }
}

/// The schema of rows as it is said before they are made, and with them: drivers compare both. What cannot be NULL is known better when a
/// statement runs than before, so every column may be.
fn sent_schema(schema: &SchemaRef) -> SchemaRef {
    let schema = result::with_uuids(schema);
    let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone()))
}

/// What a statement returns, if that is known, and takes.
struct Description {
    schema: Option<SchemaRef>,
    parameters: Vec<Option<DataType>>,
}

/// The values of a query's parameters.
fn single(rows: &[Vec<Datum>]) -> Done<Vec<Datum>> {
    match rows {
        [] => Ok(Vec::new()),
        [row] => Ok(row.clone()),
        many => Err(wrong(format!(
            "a query takes one row of values, and {} were bound: ask once for each",
            many.len()
        ))),
    }
}

fn encoded(
    schema: SchemaRef,
    batches: impl Stream<Item = Result<RecordBatch, FlightError>> + Send + 'static,
) -> Batches {
    let data = FlightDataEncoderBuilder::new().with_schema(schema).build(batches);
    Box::pin(data.map(|data| data.map_err(Status::from)))
}

/// A batch that is all.
fn one(batch: RecordBatch) -> Batches {
    encoded(batch.schema(), stream::iter([Ok(batch)]))
}

/// What is said of rows: their schema, if it is known, and the ticket for them.
fn info(schema: Option<&SchemaRef>, ticket: Ticket, descriptor: FlightDescriptor) -> Done<FlightInfo> {
    let info = FlightInfo::new()
        .with_endpoint(FlightEndpoint::new().with_ticket(ticket))
        .with_descriptor(descriptor)
        .with_total_records(-1)
        .with_total_bytes(-1);
    match schema {
        Some(schema) => info.try_with_schema(schema).map_err(wrong),
        None => Ok(info),
    }
}
