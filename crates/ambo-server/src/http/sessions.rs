//! Sessions of HTTP: a connection of SQL that lives from request to request, for transactions, settings and prepared statements.
//!
//! 1. A session is named by bytes that nobody can guess, and is of the role that made it. Its requests come one at a time: another gets
//!    409.
//! 2. It ends when it is told to, or when nothing was asked of it for a while; what was not committed is rolled back.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use axum::{
    extract::{Path, Request, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use serde_json::json;
use tokio::sync::{Notify, OwnedMutexGuard};

use super::{App, blocking, body::Asked, guard::Client, problem::Problem};
use crate::{
    roles::random,
    session::{New, Session},
};

/// How long a session may do nothing, unless it says otherwise, and however it says.
pub(crate) const IDLE: Duration = Duration::from_secs(60);
const IDLE_MAX: Duration = Duration::from_secs(600);

/// The header that names a session.
pub(crate) const HEADER: &str = "ambo-session";

/// A session that is kept.
pub(crate) struct Kept {
    session: Arc<tokio::sync::Mutex<Session>>,
    role: String,
    idle: Duration,
    used: Instant,
    /// The connection that it ends with, if it does.
    connection: Option<u64>,
}

/// All sessions that live between requests.
#[derive(Default)]
pub(crate) struct Sessions {
    kept: Mutex<HashMap<String, Kept>>,
    /// Told when sessions are to end.
    ended: Arc<Notify>,
}

impl Sessions {
    fn kept(&self) -> MutexGuard<'_, HashMap<String, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session of a name, for a request of who made it.
    pub(crate) fn lock(&self, id: &str, client: &Client) -> Result<OwnedMutexGuard<Session>, Problem> {
        let mut all = self.kept();
        let kept = all.get_mut(id).filter(|kept| kept.role == client.role);
        let kept = kept.ok_or_else(|| {
            Problem::not_found("there is no such session; it may have ended because nothing was asked of it")
        })?;
        kept.used = Instant::now();
        let session = kept.session.clone().try_lock_owned().map_err(|_| {
            let detail = "the session is busy with another request; they come one at a time";
            Problem { retryable: true, ..Problem::new(StatusCode::CONFLICT, "busy", detail) }
        })?;
        match session.is_ended() {
            false => Ok(session),
            true => Err(Problem::not_found("the session has ended")),
        }
    }

    /// Keeps a session for the requests that follow; returns its name.
    pub(crate) fn keep(&self, session: Session, client: &Client, idle: Duration) -> String {
        self.keep_with(session, client, idle, None)
    }

    /// The same for one that ends with the connection of its client.
    #[cfg(feature = "flight")]
    pub(crate) fn keep_while_connected(&self, session: Session, client: &Client) -> String {
        self.keep_with(session, client, IDLE, Some(client.connection))
    }

    fn keep_with(
        &self,
        session: Session,
        client: &Client,
        idle: Duration,
        connection: Option<u64>,
    ) -> String {
        let id: String = random::<16>().iter().map(|byte| format!("{byte:02x}")).collect();
        let session = Arc::new(tokio::sync::Mutex::new(session));
        let kept = Kept { session, role: client.role.clone(), idle, used: Instant::now(), connection };
        self.kept().insert(id.clone(), kept);
        id
    }

    fn take(&self, id: &str, client: &Client) -> Option<Kept> {
        let mut all = self.kept();
        all.get(id).is_some_and(|kept| kept.role == client.role).then(|| all.remove(id)).flatten()
    }

    /// Whether there is a session of who asks.
    #[cfg(feature = "flight")]
    pub(crate) fn is_there(&self, id: &str, client: &Client) -> bool {
        self.kept().get(id).is_some_and(|kept| kept.role == client.role)
    }

    /// The session that ends with the connection of a client, if it has one and no other.
    #[cfg(feature = "flight")]
    pub(crate) fn while_connected(&self, client: &Client) -> Option<String> {
        let all = self.kept();
        let is_own = |kept: &Kept| kept.connection == Some(client.connection) && kept.role == client.role;
        let mut own = all.iter().filter(|(_, kept)| is_own(kept));
        let (id, _) = own.next()?;
        own.next().is_none().then(|| id.clone())
    }

    /// Ends a session in which nothing is open.
    #[cfg(feature = "flight")]
    pub(crate) fn end(&self, id: &str, client: &Client) {
        drop(self.take(id, client));
    }

    /// Those that end with a connection.
    pub(crate) fn leave(&self, connection: u64) -> Vec<Kept> {
        let mut all = self.kept();
        all.extract_if(|_, kept| kept.connection == Some(connection)).map(|(_, kept)| kept).collect()
    }

    /// Those that have ended, or did nothing for too long.
    fn take_due(&self) -> Vec<Kept> {
        let mut all = self.kept();
        let is_due = |kept: &mut Kept| match kept.session.try_lock() {
            Ok(session) => session.is_ended() || kept.used.elapsed() > kept.idle,
            // It works: it did something until now.
            Err(_) => {
                kept.used = Instant::now();
                false
            }
        };
        let due: Vec<_> = all.iter_mut().filter_map(|(id, kept)| is_due(kept).then(|| id.clone())).collect();
        due.iter().filter_map(|id| all.remove(id)).collect()
    }
}

/// Ends what is due, for as long as there is somebody to serve.
pub(crate) async fn tidy(app: Weak<App>) {
    loop {
        let Some(ended) = app.upgrade().map(|app| app.sessions.ended.clone()) else { return };
        let _either = tokio::time::timeout(Duration::from_millis(500), ended.notified()).await;
        let Some(app) = app.upgrade() else { return };
        let (sessions, results) = (app.sessions.take_due(), app.results.take_due(app.shared.is_stopping()));
        drop(app);
        if !sessions.is_empty() || !results.is_empty() {
            tokio::task::spawn_blocking(move || drop((sessions, results)));
        }
    }
}

/// A session of its own for a request.
pub(crate) fn open(app: &Arc<App>, client: &Client) -> Result<Session, Problem> {
    let ended = app.sessions.ended.clone();
    let new = New {
        visitor: client.visitor.clone(),
        protocol: app.protocol,
        peer: Some(client.peer),
        close: Box::new(move || ended.notify_one()),
    };
    app.shared
        .open(new)
        .map_err(|refused| Problem { code: Some(refused.sqlstate), ..Problem::busy(refused.message) })
}

/// The session that a request names, or one of its own.
pub(crate) fn of(
    app: &Arc<App>,
    client: &Client,
    headers: &HeaderMap,
) -> Result<OwnedMutexGuard<Session>, Problem> {
    match named(headers)? {
        Some(id) => app.sessions.lock(id, client),
        None => alone(app, client),
    }
}

/// A session of its own for a request, as those are that requests share.
pub(crate) fn alone(app: &Arc<App>, client: &Client) -> Result<OwnedMutexGuard<Session>, Problem> {
    let session = Arc::new(tokio::sync::Mutex::new(open(app, client)?));
    session.try_lock_owned().map_err(|_| Problem::server("a new session is locked"))
}

/// The session that a request names, if it does.
pub(crate) fn named(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let name = headers.get(HEADER).map(|value| value.to_str()).transpose();
    name.map_err(|_| Problem::request("the header Ambo-Session is no text"))
}

/// Who asks; everything but the console and the state of the server is only answered to somebody.
pub(crate) fn client(request: &Request) -> Result<Client, Problem> {
    request.extensions().get::<Client>().cloned().ok_or_else(|| Problem::unauthorized("nobody has come in"))
}

/// `POST /sessions`.
pub(crate) async fn post(State(app): State<Arc<App>>, request: Request) -> Result<Response, Problem> {
    let client = client(&request)?;
    let idle = Asked::of(request.uri())?.only(&["idle_ms"])?.number("idle_ms")?;
    let idle = idle.map_or(IDLE, Duration::from_millis).min(IDLE_MAX);
    let session = open(&app, &client)?;
    let id = app.sessions.keep(session, &client, idle);
    let told = json!({ "session": id, "idle_ms": idle.as_millis() as u64 });
    Ok((StatusCode::CREATED, super::catalog::Json(told)).into_response())
}

/// `DELETE /sessions/{id}`.
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<StatusCode, Problem> {
    let kept = app.sessions.take(&id, &client(&request)?);
    let kept = kept.ok_or_else(|| Problem::not_found("there is no such session"))?;
    blocking(move || {
        drop(kept);
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}
