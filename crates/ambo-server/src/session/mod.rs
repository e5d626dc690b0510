//! Sessions: what a client does, one statement after the other, in a connection of its own.

#[cfg(feature = "http")]
mod answer;
pub(crate) mod audit;
pub(crate) mod mask;
mod registry;
mod rights;

use std::{
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use ambo::Datum;
use ambo_sql::{Connection, Files, PreparedStatement, Rows};

#[cfg(feature = "http")]
pub(crate) use answer::{Answer, answer};
use audit::Audit;
pub use registry::SessionInfo;
pub(crate) use registry::{Entry, Registry};

use crate::{
    roles::Visitor,
    server::{Protocol, Shared},
};

/// Who begins a session, and how.
pub(crate) struct New {
    /// Whose it is; whoever the client says it is where there are no roles.
    pub visitor: Visitor,
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

/// What makes the rows of values of one statement a whole within a transaction.
#[cfg(feature = "flight")]
const EACH: (&str, &str, &str) =
    ("SAVEPOINT \"\u{1}each\"", "RELEASE SAVEPOINT \"\u{1}each\"", "ROLLBACK TO SAVEPOINT \"\u{1}each\"");

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
        if shared.audit.as_ref().is_some_and(Audit::is_broken) {
            let message = "the audit log cannot be written, and what is not logged is not done".to_owned();
            return Err(Refused { message, sqlstate: "58030" });
        }
        let mut connection = shared.database.connect();
        let limits = &shared.options.limits;
        let time = limits.statement.map(|time| format!("SET statement_timeout = {}", time.as_millis()));
        let memory = limits.statement_memory.map(|bytes| format!("SET statement_memory = {bytes}"));
        for set in time.into_iter().chain(memory) {
            connection
                .execute(&set, ())
                .map_err(|error| Refused { message: error.to_string(), sqlstate: "XX000" })?;
        }
        let visitor = new.visitor.clone();
        let entry = shared.sessions.add(new, connection.interrupter())?;
        let mut session = Self { connection, entry, shared: shared.clone() };
        session.become_of(&visitor);
        Ok(session)
    }

    /// Says whose it is from now on: what it may do is that one's, and so is what is logged.
    pub fn become_of(&mut self, visitor: &Visitor) {
        self.connection.set_role(visitor.role.clone());
        self.connection.set_files(if visitor.has_files { Files::All } else { self.shared.files.clone() });
        self.entry.become_of(visitor);
    }

    /// Reads a statement that this session may run.
    ///
    /// # Errors
    /// [`ambo_sql::ErrorKind::Syntax`] with the place; what the session may not do.
    pub fn prepare(&self, text: &str) -> ambo_sql::Result<PreparedStatement> {
        let statement = self.connection.prepare(text);
        let checked = statement.and_then(|statement| {
            rights::check(&statement, self.entry.visitor().is_read_only)?;
            Ok(statement)
        });
        checked.inspect_err(|error| self.failed(text, error.sqlstate()))
    }

    /// Takes note that a statement failed; what has not begun is logged at once.
    fn failed(&self, text: &str, code: &'static str) {
        match (&self.shared.audit, self.entry.done()) {
            (Some(audit), None) => {
                let visitor = self.entry.visitor();
                audit.statement(&self.entry.who(visitor.name()), text, Duration::ZERO, Some(code));
            }
            _ => self.entry.failed(code),
        }
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
        statement.run(&mut self.connection, params).inspect_err(|error| self.entry.failed(error.sqlstate()))
    }

    /// Runs a statement of the server's own making, such as COMMIT.
    ///
    /// # Errors
    /// What is wrong with it.
    #[cfg(feature = "flight")]
    pub fn alone(&mut self, statement: &str) -> ambo_sql::Result<()> {
        self.begin(statement);
        let done = self.connection.execute(statement, ()).map(drop);
        self.done(done)
    }

    /// Takes note that what [`Session::begin`] told of has ended, and how.
    #[cfg(feature = "flight")]
    pub fn done<T>(&self, done: ambo_sql::Result<T>) -> ambo_sql::Result<T> {
        if let Err(error) = &done {
            self.entry.failed(error.sqlstate());
        }
        self.end();
        done
    }

    /// Runs a statement for each row of values, all or none, and returns how many rows were changed.
    ///
    /// # Errors
    /// That of the first row that fails.
    #[cfg(feature = "flight")]
    pub fn each(&mut self, text: &str, rows: Vec<Vec<Datum>>) -> ambo_sql::Result<u64> {
        let mut statement = self.prepare(text)?;
        let (begin, commit, rollback) = match (rows.len(), self.connection.in_transaction()) {
            (0 | 1, _) => (None, None, None),
            (_, false) => (Some("BEGIN"), Some("COMMIT"), Some("ROLLBACK")),
            (_, true) => (Some(EACH.0), Some(EACH.1), Some(EACH.2)),
        };
        begin.map_or(Ok(0), |begin| self.connection.execute(begin, ()))?;
        let mut changed = 0;
        let done: ambo_sql::Result<()> = rows.into_iter().try_for_each(|row| {
            changed += self.run(&mut statement, row)?.affected().unwrap_or(0);
            Ok(())
        });
        let end = if done.is_ok() { commit } else { rollback };
        let ended = end.map_or(Ok(0), |end| self.connection.execute(end, ()));
        done?;
        ended.map(|_| changed)
    }

    /// Takes note of what the session does from now on.
    pub fn begin(&self, text: &str) {
        self.log();
        self.entry.begin(text);
    }

    /// Logs what has ended.
    fn log(&self) {
        let Some(audit) = &self.shared.audit else { return };
        if let Some((text, took, code)) = self.entry.done() {
            let visitor = self.entry.visitor();
            audit.statement(&self.entry.who(visitor.name()), &text, took, code);
        }
    }

    /// Takes note that the session waits for its client.
    pub fn end(&self) {
        self.log();
        self.entry.idle(self.connection.in_transaction());
    }

    /// Whether the session is to end.
    pub fn is_ended(&self) -> bool {
        self.entry.ended.load(Ordering::SeqCst)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.log();
        self.shared.sessions.remove(self.entry.id);
    }
}
