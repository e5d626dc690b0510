//! HTTP: a runtime of its own, in a thread of its own.

use std::{io, net::TcpListener, sync::Arc, thread::JoinHandle};

use axum::{Router, routing::get};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::{conn::auto, graceful::GracefulShutdown},
    service::TowerToHyperService,
};
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::TlsAcceptor;

use crate::server::Shared;

/// Serves until the server stops.
pub(crate) fn serve(shared: Arc<Shared>, listener: TcpListener) -> io::Result<JoinHandle<()>> {
    listener.set_nonblocking(true)?;
    let runtime: Runtime =
        Builder::new_multi_thread().worker_threads(THREADS).thread_name("ambo-http").enable_all().build()?;
    let serve = move || {
        runtime.block_on(async {
            // It is not blocking, and the runtime's: nothing else is asked of it.
            if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                accept(shared, listener).await;
            }
        });
    };
    std::thread::Builder::new().name("ambo-http".to_owned()).spawn(serve)
}

/// Statements run in threads of their own; these only move bytes.
const THREADS: usize = 2;

fn router(shared: Arc<Shared>) -> Router {
    Router::new().route("/health", get(|| async { "ok\n" })).with_state(shared)
}

async fn accept(shared: Arc<Shared>, listener: tokio::net::TcpListener) {
    let (router, mut stop) = (router(shared.clone()), shared.stopping());
    let tls = shared.tls.clone().map(TlsAcceptor::from);
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|stops| *stops) => break,
        };
        // One client that is gone already, or no file left for another.
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            continue;
        };
        let (service, watcher, tls) =
            (TowerToHyperService::new(router.clone()), graceful.watcher(), tls.clone());
        tokio::spawn(async move {
            let _unless_refused = stream.set_nodelay(true);
            let builder = auto::Builder::new(TokioExecutor::new());
            // What goes wrong with a client's connection is the client's matter.
            let _ended = match tls {
                Some(tls) => {
                    let Ok(stream) = tls.accept(stream).await else { return };
                    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
                    watcher.watch(connection.into_owned()).await
                }
                None => {
                    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
                    watcher.watch(connection.into_owned()).await
                }
            };
        });
    }
    drop(listener);
    graceful.shutdown().await;
}
