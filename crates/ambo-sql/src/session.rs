//! What a connection gives to each of its statements.

use std::{sync::Arc, time::SystemTime};

use crate::{sequences::Taken, sources::Sources, times::Zone};

/// See the module. Clones share what was taken of sequences.
#[derive(Clone)]
pub(crate) struct Session {
    pub zone: Zone,
    /// What it has taken of sequences.
    pub taken: Arc<Taken>,
    /// Rows of the application that it knows.
    pub sources: Arc<Sources>,
    /// When the open transaction began, if one is open.
    pub began: Option<SystemTime>,
}

impl Session {
    /// What `now()` is for a statement: the time at which its transaction began.
    pub(crate) fn now(&self) -> SystemTime {
        self.began.unwrap_or_else(machine_time)
    }
}

impl Default for Session {
    fn default() -> Self {
        Self { zone: Zone::UTC, taken: Arc::default(), sources: Arc::default(), began: None }
    }
}

#[expect(clippy::disallowed_methods, reason = "what now() shows is the machine's time")]
pub(crate) fn machine_time() -> SystemTime {
    SystemTime::now()
}
