//! HTTP: a runtime of its own, in a thread of its own. `openapi.json` says what there is to ask for; a test compares it with the routes
//! here.
//!
//! 1. Every request passes `guard.rs` first: Host, origin, credentials.
//! 2. What takes time runs in threads that may wait (`session/answer.rs`, [`blocking`]); what a client no longer waits for is interrupted.
//! 3. Errors are [`problem::Problem`]s, and nothing else.

mod assets;
mod batch;
pub(crate) mod body;
pub(crate) mod catalog;
pub(crate) mod guard;
#[cfg(feature = "flight")]
mod issued;
mod keys;
mod load;
pub(crate) mod metrics;
mod openapi;
pub(crate) mod problem;
mod queries;
pub(crate) mod result;
mod results;
pub(crate) mod sessions;
mod sql;
mod stream;
pub(crate) mod types;
mod values;

use std::{
    io,
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use ambo_sql::Interrupter;
use axum::{
    Router,
    body::Body,
    extract::{DefaultBodyLimit, Request},
    http::StatusCode,
    middleware,
    routing::{get, post},
};
use hyper::service::service_fn;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    runtime::{Builder, Runtime},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

pub(crate) use keys::{fuzz_batch, fuzz_range};

use crate::server::{Protocol, Shared};
use guard::Socket;
use problem::Problem;

/// What all requests share.
pub(crate) struct App {
    pub shared: Arc<Shared>,
    /// What is spoken here: HTTP, or Flight.
    pub protocol: Protocol,
    pub sessions: Arc<sessions::Sessions>,
    pub results: Arc<results::Results>,
    pub logins: guard::Logins,
    pub figures: Arc<metrics::Figures>,
    #[cfg(feature = "flight")]
    pub statements: crate::flight::State,
}

impl App {
    fn new(shared: &Arc<Shared>, protocol: Protocol) -> Arc<Self> {
        let app = Arc::new(Self {
            shared: shared.clone(),
            protocol,
            sessions: Arc::default(),
            results: Arc::default(),
            logins: guard::Logins::default(),
            figures: shared.figures.clone(),
            #[cfg(feature = "flight")]
            statements: crate::flight::State::default(),
        });
        tokio::spawn(sessions::tidy(Arc::downgrade(&app)));
        app
    }

    /// What clients are answered by.
    fn router(self: &Arc<Self>) -> Router {
        match self.protocol {
            #[cfg(feature = "flight")]
            Protocol::Flight => crate::flight::router(self),
            _ => router(self),
        }
    }

    /// A client has gone: what it left open is ended.
    async fn left(&self, connection: u64) {
        #[cfg(feature = "flight")]
        self.statements.leave(connection);
        let left = self.sessions.leave(connection);
        if !left.is_empty() {
            // Rolling back may take a while. It is done whether or not somebody waits for it.
            drop(tokio::task::spawn_blocking(move || drop(left)));
        }
    }
}

/// Where clients come from.
pub(crate) enum Listener {
    Tcp(TcpListener),
    /// Programs of the same user.
    Own(std::os::unix::net::UnixListener),
}

impl From<TcpListener> for Listener {
    fn from(listener: TcpListener) -> Self {
        Self::Tcp(listener)
    }
}

impl Listener {
    fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Self::Tcp(listener) => listener.set_nonblocking(true),
            Self::Own(listener) => listener.set_nonblocking(true),
        }
    }
}

/// Serves until the server stops.
pub(crate) fn serve(
    shared: Arc<Shared>,
    listener: Listener,
    protocol: Protocol,
) -> io::Result<JoinHandle<()>> {
    listener.set_nonblocking()?;
    let runtime: Runtime = Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("ambo-http")
        .thread_stack_size(ambo_sql::THREAD_STACK_BYTES)
        .enable_all()
        .build()?;
    let serve = move || {
        runtime.block_on(async {
            // It is not blocking, and the runtime's: nothing else is asked of it.
            match listener {
                Listener::Tcp(listener) => {
                    if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                        accept(shared, listener, protocol).await;
                    }
                }
                Listener::Own(listener) => {
                    if let Ok(listener) = tokio::net::UnixListener::from_std(listener) {
                        accept_own(shared, listener).await;
                    }
                }
            }
        });
    };
    std::thread::Builder::new().name("ambo-http".to_owned()).spawn(serve)
}

/// Statements run in threads of their own; these only move bytes.
const THREADS: usize = 2;
/// How long a client may take for the head of a request, and do nothing between two.
const HEAD_PATIENCE: Duration = Duration::from_secs(60);
/// Connections that wait between requests cost little: so many for each session that there may be.
const CONNECTIONS: usize = 4;

/// What there is to ask for.
fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/", get(assets::index))
        .route("/console/{file}", get(assets::file))
        .route("/health", get(metrics::health))
        .route("/metrics", get(metrics::metrics))
        .route("/openapi.json", get(openapi::document))
        .route("/sql", post(sql::post).get(sql::get))
        .route("/batch", post(batch::post))
        .route("/sessions", post(sessions::post))
        .route("/sessions/{id}", axum::routing::delete(sessions::delete))
        .route("/queries", get(queries::list))
        .route("/queries/{id}", axum::routing::delete(queries::cancel))
        .route("/results", post(results::post))
        .route("/results/{id}", get(results::get).delete(results::delete))
        .route("/catalog", get(catalog::all))
        .route("/tables", get(catalog::tables))
        .route("/tables/{table}", get(catalog::table))
        .route("/tables/{table}/load", post(load::post))
        .route("/kv/{table}", get(keys::list).post(keys::batch).put(keys::create))
        .route("/kv/{table}/{*key}", get(keys::get).put(keys::put).delete(keys::delete))
        .route("/api1/{command}", get(crate::keksdb::http::command).post(crate::keksdb::http::command))
        .fallback(|| async {
            Problem::not_found("there is nothing here; GET /openapi.json says what there is")
        })
        .method_not_allowed_fallback(|| async {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method", "this is not done with that method")
        })
}

fn router(app: &Arc<App>) -> Router {
    routes()
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(app.clone(), guard::admit))
        .with_state(app.clone())
}

/// Serves programs of the same user: the system says that they are.
async fn accept_own(shared: Arc<Shared>, listener: tokio::net::UnixListener) {
    let app = App::new(&shared, Protocol::Http);
    let (router, mut stop) = (app.router(), shared.stopping());
    let graceful = GracefulShutdown::new();
    // SAFETY: it takes nothing and always succeeds.
    let own = unsafe { libc::geteuid() };
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|stops| *stops) => break,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        if !stream.peer_cred().is_ok_and(|peer| peer.uid() == own || peer.uid() == 0) {
            continue;
        }
        let peer = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
        let client = Socket { peer, is_loopback: true, is_own: true, connection: next_connection() };
        let (router, watcher) = (router.clone(), graceful.watcher());
        tokio::spawn(async move { talk(stream, client, router, watcher).await });
    }
    drop(listener);
    graceful.shutdown().await;
}

async fn accept(shared: Arc<Shared>, listener: tokio::net::TcpListener, protocol: Protocol) {
    let app = App::new(&shared, protocol);
    let mut stop = shared.stopping();
    let room = Arc::new(Semaphore::new(
        shared.options.limits.connections.saturating_mul(CONNECTIONS).clamp(1, 1 << 20),
    ));
    let is_loopback = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = accept_one(&listener, &room) => accepted,
            _ = stop.wait_for(|stops| *stops) => break,
        };
        // One client that is gone already, or no file left for another.
        let Ok((stream, peer, place)) = accepted else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let client = Socket { peer, is_loopback, is_own: false, connection: next_connection() };
        let tls = shared.tls.as_ref().map(|tls| TlsAcceptor::from(tls.speaking(protocol)));
        tokio::spawn(connection(stream, client, app.clone(), tls, graceful.watcher(), place));
    }
    drop(listener);
    graceful.shutdown().await;
}

/// The number of another connection.
fn next_connection() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

async fn accept_one(
    listener: &tokio::net::TcpListener,
    room: &Arc<Semaphore>,
) -> io::Result<(TcpStream, std::net::SocketAddr, OwnedSemaphorePermit)> {
    let place = room.clone().acquire_owned().await.map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    Ok((stream, peer, place))
}

/// Serves a client until it goes away.
async fn connection(
    stream: TcpStream,
    socket: Socket,
    app: Arc<App>,
    tls: Option<TlsAcceptor>,
    watcher: hyper_util::server::graceful::Watcher,
    _place: OwnedSemaphorePermit,
) {
    let _unless_refused = stream.set_nodelay(true);
    let router = app.router();
    match tls {
        Some(tls) => {
            let Ok(Ok(stream)) = tokio::time::timeout(HEAD_PATIENCE, tls.accept(stream)).await else {
                return;
            };
            talk(stream, socket, router, watcher).await;
        }
        None => talk(stream, socket, router, watcher).await,
    }
    app.left(socket.connection).await;
}

/// Answers what comes over a stream.
async fn talk(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    socket: Socket,
    router: Router,
    watcher: hyper_util::server::graceful::Watcher,
) {
    let service = service_fn(move |mut request: Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(socket);
        router.clone().oneshot(request.map(Body::new))
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_PATIENCE).max_buf_size(64 << 10);
    builder.http2().timer(TokioTimer::new()).max_concurrent_streams(64).keep_alive_interval(HEAD_PATIENCE);
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
    // What goes wrong with a client's connection is the client's matter.
    let _ended = watcher.watch(connection.into_owned()).await;
}

/// Ends the statement of a session if nobody waits for it any longer: when it is dropped before [`OnDrop::done`].
pub(crate) struct OnDrop(Option<Interrupter>);

impl OnDrop {
    pub(crate) fn new(interrupter: Interrupter) -> Self {
        Self(Some(interrupter))
    }

    pub(crate) fn done(mut self) {
        self.0 = None;
    }
}

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.iter().for_each(Interrupter::interrupt);
    }
}

/// Runs something that may take a while where that harms nobody.
pub(crate) async fn blocking<T: Send + 'static>(
    act: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    match tokio::task::spawn_blocking(act).await {
        Ok(done) => done,
        Err(error) => Err(Problem::server(format!("the work was lost: {error}"))),
    }
}
