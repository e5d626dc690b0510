//! Rows on their way to a client: taken from the statement as the client takes them, so that neither waits in memory.
//!
//! The first bytes are held back until there are some rows, so that most errors still have a status of their own.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use arrow_array::RecordBatch;
use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::Response,
};
use bytes::Bytes;
use futures::stream;

use super::{
    metrics::Figures,
    problem::Problem,
    result::{Form, Summary, Writer},
};
use crate::session::Answer;

/// Bytes that are held back.
const HELD: usize = 64 << 10;

/// How a result is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub form: Form,
    /// Of rows.
    pub limit: Option<u64>,
    pub deadline: Option<(Instant, Duration)>,
}

/// Why a statement had no more time.
pub(crate) fn timed_out(patience: Duration) -> Problem {
    let detail = format!("the statement took longer than its timeout of {} ms", patience.as_millis());
    Problem { code: Some("57014"), ..Problem::new(StatusCode::REQUEST_TIMEOUT, "timeout", detail) }
}

/// Waits for something until a deadline.
pub(crate) async fn until<T>(
    deadline: Option<(Instant, Duration)>,
    what: impl Future<Output = T>,
) -> Result<T, Problem> {
    match deadline {
        None => Ok(what.await),
        Some((at, patience)) => {
            tokio::time::timeout_at(at.into(), what).await.map_err(|_| timed_out(patience))
        }
    }
}

/// A result that is being written.
struct Running {
    answer: Answer,
    writer: Box<dyn Writer>,
    summary: Summary,
    wanted: Wanted,
    began: Instant,
    figures: Arc<Figures>,
}

impl Running {
    /// Writes the next batch, or the end. Returns whether it was the end.
    async fn step(&mut self, out: &mut Vec<u8>) -> Result<bool, Problem> {
        if self.wanted.limit == Some(self.summary.rows) && self.summary.is_cut {
            return self.end(out);
        }
        match until(self.wanted.deadline, self.answer.next()).await? {
            None => self.end(out),
            Some(batch) => {
                let batch = self.cut(batch?);
                self.summary.rows += batch.num_rows() as u64;
                self.writer.batch(&batch, out).map_err(Problem::server)?;
                Ok(false)
            }
        }
    }

    /// The rows of a batch that may still be given.
    fn cut(&mut self, batch: RecordBatch) -> RecordBatch {
        let left = self.wanted.limit.map_or(u64::MAX, |limit| limit - self.summary.rows);
        match batch.num_rows() as u64 > left {
            false => batch,
            true => {
                self.summary.is_cut = true;
                batch.slice(0, left as usize)
            }
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) -> Result<bool, Problem> {
        self.summary.millis = self.began.elapsed().as_secs_f64() * 1000.0;
        self.figures.returned(self.summary.rows);
        self.writer.end(&self.summary, out).map_err(Problem::server)?;
        Ok(true)
    }
}

/// The answer to a request: the rows of a statement that has begun.
pub(crate) async fn response(
    answer: Answer,
    wanted: Wanted,
    zone: &str,
    began: Instant,
    figures: Arc<Figures>,
) -> Result<Response, Problem> {
    let head = &answer.head;
    let writer = wanted.form.writer(&head.schema, zone).map_err(Problem::request)?;
    let summary = Summary { tag: head.tag, affected: head.affected, ..Summary::default() };
    let said = [
        (HeaderName::from_static("ambo-tag"), Some(head.tag.to_owned())),
        (HeaderName::from_static("ambo-affected"), head.affected.map(|rows| rows.to_string())),
    ];
    let mut running = Running { answer, writer, summary, wanted, began, figures };
    let mut first = Vec::new();
    running.writer.head(&mut first).map_err(Problem::server)?;
    let mut is_done = false;
    while !is_done && first.len() < HELD {
        is_done = running.step(&mut first).await?;
    }
    let body = match is_done {
        true => Body::from(first),
        false => Body::from_stream(stream::unfold(Rest::First(first, running), Rest::next)),
    };
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(wanted.form.content_type()));
    headers.insert(header::VARY, HeaderValue::from_static("accept"));
    for (name, value) in said {
        if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
            headers.insert(name, value);
        }
    }
    Ok(response)
}

/// What is still to be sent.
enum Rest {
    First(Vec<u8>, Running),
    Rows(Running),
    /// Nothing but the end of the connection.
    Broken,
    Nothing,
}

impl Rest {
    async fn next(self) -> Option<(Result<Bytes, std::io::Error>, Self)> {
        let mut running = match self {
            Self::First(bytes, running) => return Some((Ok(bytes.into()), Self::Rows(running))),
            Self::Rows(running) => running,
            Self::Broken => {
                let broken = std::io::Error::other("the statement failed behind its first rows");
                return Some((Err(broken), Self::Nothing));
            }
            Self::Nothing => return None,
        };
        let mut bytes = Vec::new();
        loop {
            match running.step(&mut bytes).await {
                Ok(true) => return Some((Ok(bytes.into()), Self::Nothing)),
                // A form may keep rows for itself for a while, and an empty part would be nothing to send.
                Ok(false) if bytes.is_empty() => {}
                Ok(false) => return Some((Ok(bytes.into()), Self::Rows(running))),
                Err(problem) => {
                    running.writer.broken(&problem.json(), &mut bytes);
                    return Some((Ok(bytes.into()), Self::Broken));
                }
            }
        }
    }
}
