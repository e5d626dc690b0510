//! What a connection gives to each of its statements.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use ambo::SchemaStamp;

use crate::{
    databases::SearchPath,
    pg_catalog::PostgresSession,
    planner::DefaultOrder,
    rights::{Files, Role},
    sequences::Taken,
    sources::Sources,
    times::Zone,
};

/// See the module. Clones share what was taken of sequences.
#[derive(Clone)]
pub(crate) struct Session {
    pub zone: Zone,
    /// What it has taken of sequences.
    pub taken: Arc<Taken>,
    /// Rows of the application that it knows.
    pub sources: Arc<Sources>,
    /// Where names are sought.
    pub path: SearchPath,
    /// What an order is that does not say.
    pub order: DefaultOrder,
    /// How long a statement may take.
    pub statement_timeout: Option<Duration>,
    /// How many bytes the operators of a statement may use, if not as many as those of all.
    pub statement_memory: Option<usize>,
    /// How long a statement waits for what others have locked, if not as the database says; no time is without end.
    pub lock_timeout: Option<Option<Duration>>,
    /// What a client of PostgreSQL is told, where one is.
    pub postgres: Option<Arc<PostgresSession>>,
    /// Whom it works for; nobody may do all.
    pub role: Option<Arc<Role>>,
    /// The schema of which the role is that.
    pub role_of: Option<SchemaStamp>,
    /// With which files of the machine it has to do.
    pub files: Files,
    /// A file that it may read though it may read none.
    pub own_file: Option<Arc<str>>,
    /// When the open transaction began, if one is open.
    pub began: Option<SystemTime>,
    /// The text of the statement, if it asks for that.
    pub text: Option<Arc<str>>,
}

impl Session {
    /// Whether names and orders mean what they mean where nothing was set.
    pub(crate) fn is_default(&self) -> bool {
        self.path.is_default() && self.order == DefaultOrder::default()
    }

    /// What `now()` is for a statement: the time at which its transaction began.
    pub(crate) fn now(&self) -> SystemTime {
        self.began.unwrap_or_else(machine_time)
    }
}

impl Default for Session {
    fn default() -> Self {
        Self {
            zone: Zone::UTC,
            taken: Arc::default(),
            sources: Arc::default(),
            path: SearchPath::default(),
            order: DefaultOrder::default(),
            statement_timeout: None,
            statement_memory: None,
            lock_timeout: None,
            postgres: None,
            role: None,
            role_of: None,
            files: Files::All,
            own_file: None,
            began: None,
            text: None,
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "what now() shows is the machine's time")]
pub(crate) fn machine_time() -> SystemTime {
    SystemTime::now()
}
