//! What a connection, its statements and its results share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use adbc_core::CancelHandle;
use ambo::Datum;
use ambo_face::Opened;
use ambo_sql::{Interrupter, Rows};

use crate::error::{Result, caught, told, told_sql};

pub(crate) struct Session {
    // Before the database, which waits for it when it is let go.
    connection: Mutex<ambo_sql::Connection>,
    settings: Mutex<Settings>,
    interrupter: Interrupter,
    opened: Arc<Opened>,
}

/// How transactions begin.
#[derive(Clone, Copy)]
pub(crate) struct Settings {
    pub autocommit: bool,
    pub reads_only: bool,
    /// As SQL names it.
    pub level: &'static str,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    pub(crate) fn new(opened: &Arc<Opened>, reads_only: bool) -> Result<Arc<Self>> {
        opened.era().check().map_err(told)?;
        let connection = opened.connect();
        let settings = Settings { autocommit: true, reads_only, level: "REPEATABLE READ" };
        Ok(Arc::new(Self {
            interrupter: connection.interrupter(),
            connection: Mutex::new(connection),
            settings: Mutex::new(settings),
            opened: opened.clone(),
        }))
    }

    pub(crate) fn settings(&self) -> Settings {
        *lock(&self.settings)
    }

    pub(crate) fn set(&self, change: impl FnOnce(&mut Settings)) {
        change(&mut lock(&self.settings));
    }

    pub(crate) fn interrupter(&self) -> &Interrupter {
        &self.interrupter
    }

    /// Does something with the connection, as the only one.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut ambo_sql::Connection) -> Result<T>) -> Result<T> {
        caught(|| {
            self.opened.era().check().map_err(told)?;
            act(&mut lock(&self.connection))
        })
    }

    /// The same, in a transaction if statements do not commit by themselves.
    pub(crate) fn within<T>(&self, act: impl FnOnce(&mut ambo_sql::Connection) -> Result<T>) -> Result<T> {
        let settings = self.settings();
        self.with(|connection| {
            if !settings.autocommit && !connection.in_transaction() {
                let kind = if settings.reads_only { " READ ONLY" } else { "" };
                let begin = format!("BEGIN ISOLATION LEVEL {}{kind}", settings.level);
                connection.run(&begin, ()).map_err(told_sql)?;
            }
            act(connection)
        })
    }

    /// Ends the transaction, if one is open.
    pub(crate) fn end(&self, how: &str) -> Result<()> {
        self.with(|connection| {
            if connection.in_transaction() {
                connection.run(how, ()).map_err(told_sql)?;
            }
            Ok(())
        })
    }

    /// The rows of a query of ours, as values.
    pub(crate) fn values(&self, query: &str, params: &[Datum]) -> Result<Vec<Vec<Datum>>> {
        let rows: Rows<'static> = self.with(|connection| connection.run(query, params).map_err(told_sql))?;
        rows.map(|row| row.map(|row| row.values().to_vec()).map_err(told_sql)).collect()
    }
}

/// Ends what runs in a connection.
pub(crate) struct Cancel(pub(crate) Interrupter);

impl CancelHandle for Cancel {
    fn try_cancel(&self) -> Result<()> {
        self.0.interrupt();
        Ok(())
    }
}
