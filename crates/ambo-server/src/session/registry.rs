//! The list of sessions: what they do, and how they are interrupted and ended.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicI32, Ordering},
    },
    time::{Duration, Instant},
};

use ambo_sql::Interrupter;

use super::{New, Refused, audit::Who, mask::masked};
use crate::{
    roles::{Visitor, is_same, random},
    server::Protocol,
};

/// A session as others see it.
pub(crate) struct Entry {
    /// What it is called; never 0.
    pub id: i32,
    /// What the client must know to interrupt it from another connection.
    pub key: [u8; 4],
    pub protocol: Protocol,
    pub peer: Option<SocketAddr>,
    pub interrupter: Interrupter,
    pub began: Instant,
    /// Whether it is to end.
    pub ended: AtomicBool,
    close: Box<dyn Fn() + Send + Sync>,
    visitor: Mutex<Arc<Visitor>>,
    state: Mutex<State>,
}

struct State {
    doing: Doing,
    since: Instant,
    /// The statement that runs, or ran last.
    text: String,
    /// What went wrong with it.
    code: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Doing {
    Running,
    Idle,
    InTransaction,
}

/// What is said of a session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionInfo {
    /// What it is called.
    pub id: i32,
    /// Whose it is.
    pub role: String,
    /// What it speaks.
    pub protocol: &'static str,
    /// Where the client is.
    pub peer: Option<SocketAddr>,
    /// `active`, `idle` or `idle in transaction`, as PostgreSQL says it.
    pub state: &'static str,
    /// How long it has been in that state.
    pub since: Duration,
    /// How long the session has been there.
    pub age: Duration,
    /// The statement that runs, or ran last; the beginning of long ones.
    pub text: String,
}

/// How much of a statement is kept to be shown.
const TEXT_MAX: usize = 4096;

impl Entry {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self, text: &str) {
        // A text that is longer may end within a password.
        let text = masked(text);
        let end = text.floor_char_boundary(TEXT_MAX);
        let mut state = self.state();
        state.text.clear();
        state.text.push_str(&text[..end]);
        (state.doing, state.since, state.code) = (Doing::Running, Instant::now(), None);
    }

    pub(super) fn idle(&self, in_transaction: bool) {
        let mut state = self.state();
        state.doing = if in_transaction { Doing::InTransaction } else { Doing::Idle };
        state.since = Instant::now();
    }

    /// Takes note that the statement failed.
    pub(super) fn failed(&self, code: &'static str) {
        self.state().code = Some(code);
    }

    /// The statement that runs and is to end now, how long it took, and what went wrong.
    pub(super) fn done(&self) -> Option<(String, Duration, Option<&'static str>)> {
        let state = self.state();
        (state.doing == Doing::Running).then(|| (state.text.clone(), state.since.elapsed(), state.code))
    }

    /// Whose it is now.
    pub fn visitor(&self) -> Arc<Visitor> {
        self.visitor.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes note whose it is from now on.
    pub(super) fn become_of(&self, visitor: &Visitor) {
        *self.visitor.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(visitor.clone());
    }

    /// A role of this name that does something in it.
    pub fn who<'a>(&self, role: &'a str) -> Who<'a> {
        Who { session: Some(self.id), role, protocol: self.protocol, peer: self.peer }
    }

    fn end_now(&self) {
        self.ended.store(true, Ordering::SeqCst);
        self.interrupter.interrupt();
        (self.close)();
    }

    fn info(&self) -> SessionInfo {
        let state = self.state();
        SessionInfo {
            id: self.id,
            role: self.visitor().name().to_owned(),
            protocol: self.protocol.name(),
            peer: self.peer,
            state: match state.doing {
                Doing::Running => "active",
                Doing::Idle => "idle",
                Doing::InTransaction => "idle in transaction",
            },
            since: state.since.elapsed(),
            age: self.began.elapsed(),
            text: state.text.clone(),
        }
    }
}

/// All sessions.
pub(crate) struct Registry {
    next: AtomicI32,
    max: usize,
    entries: Mutex<BTreeMap<i32, Arc<Entry>>>,
}

impl Registry {
    pub fn new(max: usize) -> Self {
        Self { next: AtomicI32::new(1), max, entries: Mutex::default() }
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<i32, Arc<Entry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a session.
    pub(super) fn add(&self, new: New, interrupter: Interrupter) -> Result<Arc<Entry>, Refused> {
        let mut entries = self.entries();
        if entries.len() >= self.max {
            let message = format!("there are {} sessions already, which is all that there may be", self.max);
            return Err(Refused { message, sqlstate: "53300" });
        }
        let now = Instant::now();
        let mut id = self.next.fetch_add(1, Ordering::Relaxed);
        while id <= 0 || entries.contains_key(&id) {
            // After two thousand million sessions numbers come again.
            self.next.compare_exchange(id.wrapping_add(1), 1, Ordering::Relaxed, Ordering::Relaxed).ok();
            id = self.next.fetch_add(1, Ordering::Relaxed);
        }
        let entry = Arc::new(Entry {
            id,
            key: random(),
            protocol: new.protocol,
            peer: new.peer,
            interrupter,
            began: now,
            ended: AtomicBool::new(false),
            close: new.close,
            visitor: Mutex::new(Arc::new(new.visitor)),
            state: Mutex::new(State { doing: Doing::Idle, since: now, text: String::new(), code: None }),
        });
        entries.insert(id, entry.clone());
        Ok(entry)
    }

    pub(super) fn remove(&self, id: i32) {
        self.entries().remove(&id);
    }

    /// All sessions, the oldest first.
    pub fn list(&self) -> Vec<SessionInfo> {
        self.entries().values().map(|entry| entry.info()).collect()
    }

    /// Whether there is any.
    pub fn any(&self) -> bool {
        !self.entries().is_empty()
    }

    /// Interrupts the statement of a session for a client that knows its key; whether there is one.
    pub fn cancel(&self, id: i32, key: &[u8]) -> bool {
        let entry = self.entries().get(&id).cloned();
        let known = entry.filter(|entry| is_same(&entry.key, key));
        known.inspect(|entry| entry.interrupter.interrupt()).is_some()
    }

    /// Interrupts the statement of a session, for who may do that to all; whether there is one.
    pub fn interrupt(&self, id: i32) -> bool {
        let entry = self.entries().get(&id).cloned();
        entry.inspect(|entry| entry.interrupter.interrupt()).is_some()
    }

    /// Ends a session; whether there is one.
    pub fn end(&self, id: i32) -> bool {
        let entry = self.entries().get(&id).cloned();
        entry.inspect(|entry| entry.end_now()).is_some()
    }

    /// Ends those that wait for their clients.
    pub fn end_idle(&self) {
        let idle = |entry: &&Arc<Entry>| entry.state().doing != Doing::Running;
        let entries: Vec<_> = self.entries().values().filter(idle).cloned().collect();
        entries.iter().for_each(|entry| entry.end_now());
    }

    /// Ends all.
    pub fn end_all(&self) {
        let entries: Vec<_> = self.entries().values().cloned().collect();
        entries.iter().for_each(|entry| entry.end_now());
    }
}
