//! **A server for Ambo**: other programs work with the database of this one, by the protocol of PostgreSQL, by HTTP and by Arrow
//! Flight SQL.
//!
//! ```
//! use ambo_server::{Options, Server};
//! let db = ambo_sql::Database::in_memory()?;
//! let options = Options::new().http("127.0.0.1:0".parse()?);
//! let running = Server::start(db, options)?;
//! assert_eq!(running.addresses().len(), 1);
//! running.shutdown(std::time::Duration::from_secs(5));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! * [`Options`]: where the server listens, who may come in, how much they may ask for.
//! * [`Server::start`] and [`Running`]: a server, its addresses, its end.
//! * [`Roles`]: who may come in, with what.
//! * `attach` and `Client`: how programs of one user work with a database that another of them has open.
//!
//! # How it is made
//! 1. A connection of SQL works in the thread that calls it. PostgreSQL's protocol has a thread for each client, which reads from the
//!    socket, runs and writes: nothing is handed from thread to thread. HTTP is served by a runtime, whose statements run in threads that
//!    may wait (`session/answer.rs`); that is the only bridge.
//! 2. Whatever a client does is done by a `Session` (`session/`), which is in the list of sessions from its first to its last moment: so it
//!    can be seen, interrupted, and ended when the server stops.
//! 3. What is checked is checked once: who comes in by `roles/`, where it is listened by `server/options.rs`, what a session may do by
//!    `session/rights.rs`.

#[cfg(feature = "http")]
mod attach;
#[cfg(feature = "http")]
mod client;
mod error;
#[cfg(feature = "flight")]
mod flight;
#[cfg(feature = "http")]
#[doc(hidden)]
pub mod fuzz;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "http")]
mod keksdb;
mod postgres;
mod roles;
mod server;
mod session;
#[cfg(feature = "http")]
mod thrift;
mod tls;

#[cfg(feature = "http")]
pub use attach::{Attached, Host, attach};
#[cfg(feature = "http")]
pub use client::{Client, ClientError, Entry, Range, Reply};
pub use error::{Error, Result};
pub use roles::{Role, Roles, Secret, Token};
pub use server::{Limits, Options, Protocol, Running, Server};
pub use session::SessionInfo;
pub use tls::Tls;
