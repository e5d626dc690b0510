//! Sessions: what a client does, one statement after the other, in a connection of its own.

#[cfg(feature = "http")]
mod answer;
mod registry;
mod rights;

use std::{
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
};

use ambo::Datum;
use ambo_sql::{Connection, PreparedStatement, Rows};

#[cfg(feature = "http")]
pub(crate) use answer::{Answer, answer};
pub use registry::SessionInfo;
pub(crate) use registry::{Entry, Registry};

use crate::server::{Protocol, Shared};

/// Who begins a session, and how.
pub(crate) struct New {
    /// The name of the role; whatever the client says it is where there are no roles.
    pub role: String,
    pub is_read_only: bool,
    pub protocol: Protocol,
    pub peer: Option<SocketAddr>,
    /// Closes what the client is connected by, so that who waits for the client wakes up.
    pub close: Box<dyn Fn() + Send + Sync>,
}

/// There are as many sessions as there may be, or the server stops.
#[derive(Debug)]
pub(crate) struct Refused {
    /// What to tell the client.
    pub message: String,
    /// PostgreSQL's name of it.
    pub sqlstate: &'static str,
}

/// A connection of SQL with its place in the list of sessions.
pub(crate) struct Session {
    pub connection: Connection,
    pub entry: Arc<Entry>,
    shared: Arc<Shared>,
}

impl Session {
    /// See [`Shared::open`].
    pub fn open(shared: &Arc<Shared>, new: New) -> Result<Self, Refused> {
        if shared.is_stopping() {
            return Err(Refused { message: "the server is stopping".to_owned(), sqlstate: "57P03" });
        }
        let mut connection = shared.database.connect();
        if let Some(timeout) = shared.options.limits.statement {
            let set = format!("SET statement_timeout = {}", timeout.as_millis());
            connection
                .execute(&set, ())
                .map_err(|error| Refused { message: error.to_string(), sqlstate: "XX000" })?;
        }
        let entry = shared.sessions.add(new, connection.interrupter())?;
        Ok(Self { connection, entry, shared: shared.clone() })
    }

    /// Reads a statement that this session may run.
    ///
    /// # Errors
    /// [`ambo_sql::ErrorKind::Syntax`] with the place; what the session may not do.
    pub fn prepare(&self, text: &str) -> ambo_sql::Result<PreparedStatement> {
        let statement = self.connection.prepare(text)?;
        rights::check(&statement, self.entry.is_read_only)?;
        Ok(statement)
    }

    /// # Errors
    /// The session may not run a statement.
    pub fn check(&self, text: &str) -> ambo_sql::Result<()> {
        self.prepare(text).map(drop)
    }

    /// Runs a statement of this session; while it does, the list of sessions shows it.
    ///
    /// # Errors
    /// As [`Connection::run`].
    pub fn run(
        &mut self,
        statement: &mut PreparedStatement,
        params: Vec<Datum>,
    ) -> ambo_sql::Result<Rows<'static>> {
        statement.run(&mut self.connection, params)
    }

    /// Takes note of what the session does from now on.
    pub fn begin(&self, text: &str) {
        self.entry.begin(text);
    }

    /// Takes note that the session waits for its client.
    pub fn end(&self) {
        self.entry.idle(self.connection.in_transaction());
    }

    /// Whether the session is to end.
    pub fn is_ended(&self) -> bool {
        self.entry.ended.load(Ordering::SeqCst)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shared.sessions.remove(self.entry.id);
    }
}
