//! `/results`: the rows of a statement, kept by the server for a while, for who looks at some of them at a time, as the console does.
//!
//! 1. Rows go to a file as the statement gives them, each batch as a stream of Arrow of its own, and are read from there in windows.
//! 2. A result is gone when it is deleted, when nobody looked at it for a while, and when the server stops; its statement ends with it.

use std::{
    collections::HashMap,
    fs::File,
    io::Cursor,
    os::unix::fs::FileExt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use arrow_array::RecordBatch;
use arrow_ipc::{reader::StreamReader, writer::StreamWriter};
use arrow_schema::SchemaRef;
use axum::{
    extract::{Path, Request, State},
    http::StatusCode,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{
    App, blocking,
    body::Asked,
    catalog::Json,
    guard::Client,
    problem::Problem,
    result::{Summary, cells::Cells, columns_json},
    sessions, sql,
    stream::{Wanted, until},
};
use crate::{roles::random, session::Answer};

/// How long a result is kept that nobody looks at.
const IDLE: Duration = Duration::from_secs(600);
/// How many there may be.
const RESULTS_MAX: usize = 64;
/// Bytes of a result; what is more is cut off.
const BYTES_MAX: u64 = 1 << 30;
/// Rows of a window.
const WINDOW: u64 = 200;
const WINDOW_MAX: u64 = 10_000;
/// How long the first answer waits for the end of the result.
const FIRST: Duration = Duration::from_millis(250);

/// A batch in the file.
struct Chunk {
    first_row: u64,
    rows: u64,
    offset: u64,
    bytes: usize,
}

#[derive(Default)]
struct Written {
    chunks: Vec<Chunk>,
    rows: u64,
    bytes: u64,
    summary: Summary,
    is_done: bool,
    problem: Option<Value>,
}

struct Kept {
    role: String,
    schema: SchemaRef,
    zone: String,
    file: File,
    written: Mutex<Written>,
    /// Told when there is more, and when it is at an end.
    more: Notify,
    /// Told when nobody wants more.
    stop: Arc<Notify>,
    used: Mutex<Instant>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.stop.notify_one();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Kept {
    fn add(&self, batch: &RecordBatch) -> Result<(), Problem> {
        let wrong =
            |error: &dyn std::fmt::Display| Problem::server(format!("the result cannot be kept: {error}"));
        let mut stream =
            StreamWriter::try_new(Vec::new(), batch.schema_ref()).map_err(|error| wrong(&error))?;
        stream.write(batch).map_err(|error| wrong(&error))?;
        let bytes = stream.into_inner().map_err(|error| wrong(&error))?;
        let offset = locked(&self.written).bytes;
        self.file.write_all_at(&bytes, offset).map_err(|error| wrong(&error))?;
        let mut written = locked(&self.written);
        let chunk =
            Chunk { first_row: written.rows, rows: batch.num_rows() as u64, offset, bytes: bytes.len() };
        written.rows += chunk.rows;
        written.bytes += bytes.len() as u64;
        written.chunks.push(chunk);
        Ok(())
    }

    /// The rows of a window, as JSON arrays, with how far the result is.
    fn window(&self, offset: u64, limit: u64) -> Result<Value, Problem> {
        *locked(&self.used) = Instant::now();
        let wrong =
            |error: &dyn std::fmt::Display| Problem::server(format!("the result cannot be read: {error}"));
        let (places, mut told) = {
            let written = locked(&self.written);
            let first = written.chunks.partition_point(|chunk| chunk.first_row + chunk.rows <= offset);
            let chunks = written.chunks[first..]
                .iter()
                .take_while(|chunk| chunk.first_row < offset.saturating_add(limit));
            let places: Vec<_> = chunks.map(|chunk| (chunk.first_row, chunk.offset, chunk.bytes)).collect();
            (places, told(&written))
        };
        let mut out = vec![b'['];
        let end = offset.saturating_add(limit);
        for (first_row, place, bytes) in places {
            let mut buffer = vec![0; bytes];
            self.file.read_exact_at(&mut buffer, place).map_err(|error| wrong(&error))?;
            for batch in StreamReader::try_new(Cursor::new(buffer), None).map_err(|error| wrong(&error))? {
                let batch = batch.map_err(|error| wrong(&error))?;
                let from = offset.saturating_sub(first_row);
                let to = (batch.num_rows() as u64).min(end - first_row);
                let cells = Cells::of_batch(&batch, &self.zone).map_err(Problem::server)?;
                for row in from..to {
                    super::result::cells::separate(out.len() - 1, &mut out);
                    super::result::row(&cells, row as usize, &mut out).map_err(Problem::server)?;
                }
            }
        }
        out.push(b']');
        told["offset"] = offset.into();
        told["rows"] = serde_json::from_slice(&out).map_err(|error| wrong(&error))?;
        Ok(told)
    }
}

/// What is said of a result beside its rows.
fn told(written: &Written) -> Value {
    let mut told = json!({ "total": written.rows, "done": written.is_done });
    let summary = super::result::summary_json(&written.summary);
    for name in ["tag", "affected", "ms", "truncated"] {
        if let Some(value) = summary.get(name) {
            told[name] = value.clone();
        }
    }
    if let Some(problem) = &written.problem {
        told["error"] = problem.clone();
    }
    told
}

/// Takes the rows of a statement until their end, or until nobody wants them.
async fn keep(mut answer: Answer, kept: Weak<Kept>, stop: Arc<Notify>, wanted: Wanted, began: Instant) {
    loop {
        let next = tokio::select! {
            next = until(wanted.deadline, answer.next()) => next,
            () = stop.notified() => return,
        };
        let Some(kept) = kept.upgrade() else { return };
        let added = match next {
            Ok(None) => None,
            Ok(Some(Ok(batch))) => Some(kept.add(&batch)),
            Ok(Some(Err(error))) => Some(Err(error.into())),
            Err(problem) => Some(Err(problem)),
        };
        let mut written = locked(&kept.written);
        written.summary.is_cut = written.bytes >= BYTES_MAX;
        written.is_done = written.summary.is_cut || !matches!(added, Some(Ok(())));
        written.problem = added.and_then(Result::err).map(|problem| problem.json());
        written.summary.millis = began.elapsed().as_secs_f64() * 1000.0;
        let is_done = written.is_done;
        drop(written);
        kept.more.notify_waiters();
        if is_done {
            return;
        }
    }
}

/// All results that are kept.
#[derive(Default)]
pub(crate) struct Results {
    kept: Mutex<HashMap<String, Arc<Kept>>>,
}

/// Results that are not kept any longer.
pub(crate) struct Due {
    results: Vec<Arc<Kept>>,
}

impl Due {
    pub(crate) fn is_empty(&self) -> bool {
        self.results.is_empty()
    }
}

impl Results {
    fn find(&self, id: &str, client: &Client) -> Result<Arc<Kept>, Problem> {
        let found = locked(&self.kept).get(id).filter(|kept| kept.role == client.role).cloned();
        found.ok_or_else(|| {
            Problem::not_found("there is no such result; it may be gone because nobody looked at it")
        })
    }

    /// Those that nobody has looked at for too long, or all.
    pub(crate) fn take_due(&self, all: bool) -> Due {
        let mut results = locked(&self.kept);
        let is_due = |kept: &Arc<Kept>| all || locked(&kept.used).elapsed() > IDLE;
        let due: Vec<_> = results.iter().filter(|(_, kept)| is_due(kept)).map(|(id, _)| id.clone()).collect();
        Due { results: due.iter().filter_map(|id| results.remove(id)).collect() }
    }

    fn insert(&self, kept: Arc<Kept>) -> Result<String, Problem> {
        let mut results = locked(&self.kept);
        if results.len() >= RESULTS_MAX {
            // Who looks least is done with it.
            let oldest = results.iter().min_by_key(|(_, kept)| *locked(&kept.used)).map(|(id, _)| id.clone());
            if let Some(id) = oldest {
                results.remove(&id);
            }
        }
        let id: String = random::<16>().iter().map(|byte| format!("{byte:02x}")).collect();
        results.insert(id.clone(), kept);
        Ok(id)
    }
}

/// `POST /results`.
pub(crate) async fn post(State(app): State<Arc<App>>, request: Request) -> Result<Json, Problem> {
    let (client, headers) = (sessions::client(&request)?, request.headers().clone());
    let order = sql::order(&app, request, &["timeout_ms", "read_only"]).await?;
    let began = Instant::now();
    let begun = sql::begin(&app, &client, &headers, order).await;
    app.figures.ran(began.elapsed(), begun.as_ref().err());
    let (answer, zone, wanted) = begun?;
    let file = tempfile::tempfile()
        .map_err(|error| Problem::server(format!("the result cannot be kept: {error}")))?;
    let summary = Summary { tag: answer.head.tag, affected: answer.head.affected, ..Summary::default() };
    let kept = Arc::new(Kept {
        role: client.role,
        schema: answer.head.schema.clone(),
        zone,
        file,
        written: Mutex::new(Written { summary, ..Written::default() }),
        more: Notify::new(),
        stop: Arc::default(),
        used: Mutex::new(Instant::now()),
    });
    let id = app.results.insert(kept.clone())?;
    tokio::spawn(keep(answer, Arc::downgrade(&kept), kept.stop.clone(), wanted, began));
    let end = Instant::now() + FIRST;
    loop {
        let more = kept.more.notified();
        let is_done = locked(&kept.written).is_done;
        if is_done || tokio::time::timeout_at(end.into(), more).await.is_err() {
            break;
        }
    }
    let columns = columns_json(&kept.schema);
    let mut told = blocking(move || kept.window(0, WINDOW)).await?;
    told["result"] = id.into();
    told["columns"] = columns;
    Ok(Json(told))
}

/// `GET /results/{id}?offset=…&limit=…`.
pub(crate) async fn get(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Json, Problem> {
    let kept = app.results.find(&id, &sessions::client(&request)?)?;
    let asked = Asked::of(request.uri())?.only(&["offset", "limit"])?;
    let (offset, limit) = (asked.number("offset")?.unwrap_or(0), asked.number("limit")?.unwrap_or(WINDOW));
    if limit > WINDOW_MAX {
        return Err(Problem::request(format!("a window has at most {WINDOW_MAX} rows")));
    }
    blocking(move || kept.window(offset, limit)).await.map(Json)
}

/// `DELETE /results/{id}`.
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<StatusCode, Problem> {
    app.results.find(&id, &sessions::client(&request)?)?;
    drop(locked(&app.results.kept).remove(&id));
    Ok(StatusCode::NO_CONTENT)
}
