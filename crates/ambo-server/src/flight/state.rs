//! What is kept between the requests of a client: statements that were prepared, tickets that were not taken yet, and what runs. All of
//! it is gone with the client's connection.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use ambo::Datum;
use ambo_sql::Interrupter;
use tonic::Status;

use crate::{http::guard::Client, roles::random};

/// The values of parameters, a row for each time that the statement is to run.
#[derive(Clone, Default)]
pub(super) struct Bound {
    pub rows: Arc<Vec<Vec<Datum>>>,
    /// Bytes that they have in memory, about.
    pub bytes: usize,
}

/// A statement that is kept: one that was prepared, or one whose ticket was not taken yet.
#[derive(Clone)]
pub(super) struct Statement {
    pub sql: String,
    pub transaction: Option<Vec<u8>>,
    /// The values that were bound last.
    pub bound: Bound,
}

/// How many of each are kept, and how long one that nobody asks for.
const KEPT_MAX: usize = 10_000;
const KEPT: Duration = Duration::from_secs(3600);

struct Kept {
    statement: Statement,
    role: String,
    connection: u64,
    used: Instant,
}

#[derive(Default)]
struct Statements(Mutex<HashMap<Vec<u8>, Kept>>);

impl Statements {
    fn all(&self) -> MutexGuard<'_, HashMap<Vec<u8>, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, statement: Statement, client: &Client) -> Result<Vec<u8>, Status> {
        let mut all = self.all();
        if all.len() >= KEPT_MAX {
            all.retain(|_, kept| kept.used.elapsed() < KEPT);
        }
        if all.len() >= KEPT_MAX {
            return Err(Status::resource_exhausted(format!(
                "{KEPT_MAX} statements are kept already: close those that are not needed any more"
            )));
        }
        let handle = random::<16>().to_vec();
        let (role, connection) = (client.role.clone(), client.connection);
        all.insert(handle.clone(), Kept { statement, role, connection, used: Instant::now() });
        Ok(handle)
    }

    fn take(&self, handle: &[u8], role: &str) -> Option<Statement> {
        let mut all = self.all();
        let is_own = all.get(handle).is_some_and(|kept| kept.role == role);
        if is_own { all.remove(handle).map(|kept| kept.statement) } else { None }
    }

    fn leave(&self, connection: u64) {
        self.all().retain(|_, kept| kept.connection != connection);
    }
}

/// A statement that runs: how it is ended, and whose it is.
type Runs = HashMap<Vec<u8>, (Interrupter, String)>;

/// See the module.
#[derive(Default)]
pub(crate) struct State {
    prepared: Statements,
    pending: Statements,
    running: Arc<Mutex<Runs>>,
}

fn gone() -> Status {
    Status::not_found("there is no such prepared statement; it may have been closed")
}

impl State {
    pub(super) fn prepare(&self, statement: Statement, client: &Client) -> Result<Vec<u8>, Status> {
        self.prepared.add(statement, client)
    }

    /// A statement that a role has prepared.
    pub(super) fn prepared(&self, handle: &[u8], role: &str) -> Result<Statement, Status> {
        let mut all = self.prepared.all();
        let kept = all.get_mut(handle).filter(|kept| kept.role == role).ok_or_else(gone)?;
        kept.used = Instant::now();
        Ok(kept.statement.clone())
    }

    /// Keeps values for a statement; all that are kept have at most so many bytes.
    pub(super) fn bind(&self, handle: &[u8], role: &str, bound: Bound, most: usize) -> Result<(), Status> {
        let mut all = self.prepared.all();
        let others = all.iter().filter(|(of, _)| *of != handle);
        let bytes: usize = others.map(|(_, kept)| kept.statement.bound.bytes).sum();
        if bytes.saturating_add(bound.bytes) > most {
            return Err(Status::resource_exhausted(format!(
                "the values that are bound would have more than {most} bytes: ingest the rows, or close statements"
            )));
        }
        let kept = all.get_mut(handle).filter(|kept| kept.role == role).ok_or_else(gone)?;
        (kept.statement.bound, kept.used) = (bound, Instant::now());
        Ok(())
    }

    pub(super) fn close(&self, handle: &[u8], role: &str) {
        drop(self.prepared.take(handle, role));
    }

    /// Keeps a statement until its ticket comes.
    pub(super) fn pend(&self, statement: Statement, client: &Client) -> Result<Vec<u8>, Status> {
        self.pending.add(statement, client)
    }

    /// What a ticket is for: once.
    pub(super) fn take(&self, handle: &[u8], role: &str) -> Result<Statement, Status> {
        self.pending.take(handle, role).ok_or_else(|| {
            Status::not_found(
                "there is no such ticket, or its statement was run already: a ticket is good for once",
            )
        })
    }

    /// Takes note of what runs, until the value is dropped.
    pub(super) fn running(&self, handle: Vec<u8>, interrupter: Interrupter, role: &str) -> Running {
        let mut all = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(handle.clone(), (interrupter, role.to_owned()));
        Running { handle, all: self.running.clone() }
    }

    /// Ends a statement: one that waits for its ticket, or runs. Whether there was one.
    pub(super) fn cancel(&self, handle: &[u8], role: &str) -> bool {
        if self.pending.take(handle, role).is_some() {
            return true;
        }
        let all = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let own = all.get(handle).filter(|(_, of)| of == role);
        own.inspect(|(interrupter, _)| interrupter.interrupt()).is_some()
    }

    /// A connection has ended.
    pub(crate) fn leave(&self, connection: u64) {
        self.prepared.leave(connection);
        self.pending.leave(connection);
    }
}

/// A statement that runs.
pub(super) struct Running {
    handle: Vec<u8>,
    all: Arc<Mutex<Runs>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.handle);
    }
}
