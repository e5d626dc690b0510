//! PostgreSQL's protocol, version 3, as its documentation says it ("Frontend/Backend Protocol").
//!
//! | file | what |
//! |---|---|
//! | `message` | messages of clients, from bytes; frames of those to clients |
//! | `stream` | the socket, with TLS or without, and its buffers |
//! | `startup`, `scram` | how a session begins, and who comes in |
//! | `client` | the loop: one message after the other |
//! | `simple`, `extended` | statements as texts; statements in steps |
//! | `run` | running a statement, and what its transaction is |
//! | `command`, `words` | what a statement is, as far as that is this protocol's matter |
//! | `settings`, `session_settings` | SET and SHOW of what PostgreSQL has and the engine has not; and of both |
//! | `told` | what the engine is told of the session |
//! | `cursors` | DECLARE, FETCH, MOVE, CLOSE |
//! | `encode`, `parameter`, `types` | rows to bytes, bytes to values, types by number |
//! | `copy` | COPY FROM STDIN and TO STDOUT |
//!
//! # Rules
//! 1. A session has a thread, which blocks where it must. What it writes is flushed when it waits for the client, or when it is much.
//! 2. Rows are written as they come, and nothing collects them: a client that does not read stops its statement.
//! 3. What is between two `Sync` is one transaction, and so are the statements of one text, unless the client says otherwise.
//! 4. Bytes of a client are refused with `08P01`, never trusted.

mod client;
mod command;
mod copy;
mod cursors;
mod encode;
mod extended;
mod failure;
#[cfg(feature = "http")]
pub(crate) mod fuzz;
mod message;
mod parameter;
mod run;
mod scram;
mod session_settings;
mod settings;
mod simple;
mod startup;
mod stream;
mod told;
mod types;
mod words;

#[cfg(feature = "http")]
pub(crate) use copy::fuzz_rows;

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use crate::server::Shared;

/// Clients that may be coming in, beside sessions.
const COMING_MAX: usize = 64;
/// How long it is until another client is accepted where that failed, such as for want of files.
const PAUSE: Duration = Duration::from_millis(20);

/// Serves until the server stops.
pub(crate) fn serve(shared: Arc<Shared>, listener: TcpListener) -> io::Result<JoinHandle<()>> {
    let thread = std::thread::Builder::new().name("ambo-postgres".to_owned());
    thread.spawn(move || accept(&shared, &listener))
}

/// Has the thread that waits for clients look whether the server stops.
pub(crate) fn wake(mut address: SocketAddr) {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    // Where nobody listens any more, nobody is to be woken.
    let _woken = TcpStream::connect_timeout(&address, Duration::from_secs(1));
}

fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    let clients = Arc::new(AtomicUsize::new(0));
    let max = shared.options.limits.connections + COMING_MAX;
    loop {
        let accepted = listener.accept();
        if shared.is_stopping() {
            return;
        }
        let Ok((socket, peer)) = accepted else {
            std::thread::sleep(PAUSE);
            continue;
        };
        if clients.fetch_add(1, Ordering::SeqCst) >= max {
            clients.fetch_sub(1, Ordering::SeqCst);
            continue;
        }
        let (shared, counted) = (shared.clone(), Counted(clients.clone()));
        let thread = std::thread::Builder::new().name("ambo-session".to_owned());
        let thread = thread.stack_size(ambo_sql::THREAD_STACK_BYTES);
        let started = thread.spawn(move || {
            let _counted = counted;
            startup::serve(&shared, socket, peer);
        });
        if started.is_err() {
            std::thread::sleep(PAUSE);
        }
    }
}

/// A client, for as long as it is there.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
