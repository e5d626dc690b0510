//! What a server is told: where it listens, who may come in, how much they may ask for.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use ambo_sql::Database;

use super::Protocol;
use crate::{Error, Result, Roles, Tls};

/// How a server is to be. Where it listens must be said; without roles, whoever reaches it may come in, so it listens at loopback alone.
#[derive(Clone, Debug, Default)]
#[must_use = "options do nothing until a server is started with them"]
pub struct Options {
    pub(crate) listeners: Vec<(Protocol, SocketAddr)>,
    pub(crate) tls: Option<Tls>,
    pub(crate) roles: Roles,
    pub(crate) limits: Limits,
    pub(crate) database_name: Option<String>,
    pub(crate) hosts: Vec<String>,
    /// The directory beneath which statements have to do with files.
    pub(crate) files: Option<PathBuf>,
    /// Where the audit log is.
    pub(crate) audit: Option<PathBuf>,
    /// The directory in which the socket of its own is, for programs of the same user.
    #[cfg(feature = "http")]
    pub(crate) own: Option<PathBuf>,
}

/// How much clients may ask for.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// How many sessions there may be at once.
    pub connections: usize,
    /// How many bytes a message, or the body of a request, may have.
    pub message_bytes: usize,
    /// How many bytes of rows may be loaded by one request of HTTP.
    pub load_bytes: u64,
    /// How long a client may take to come in.
    pub login: Duration,
    /// How long a statement may take, unless the session says otherwise.
    pub statement: Option<Duration>,
    /// How many bytes of memory the operators of a statement may use, unless the session says otherwise.
    pub statement_memory: Option<usize>,
    /// How long a session may do nothing.
    pub idle: Option<Duration>,
    /// How long a session may do nothing while a transaction is open: it holds what others wait for.
    pub idle_in_transaction: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 200,
            message_bytes: 256 << 20,
            load_bytes: 64 << 30,
            login: Duration::from_secs(10),
            statement: None,
            statement_memory: None,
            idle: None,
            idle_in_transaction: Some(Duration::from_secs(600)),
        }
    }
}

impl Options {
    /// Listens nowhere, has no roles and no TLS.
    pub fn new() -> Self {
        Self::default()
    }

    /// Speaks the protocol of PostgreSQL at an address; port 0 takes one that is free.
    pub fn postgres(mut self, address: SocketAddr) -> Self {
        self.listeners.push((Protocol::Postgres, address));
        self
    }

    /// Speaks Thrift at an address; port 0 takes one that is free. KeksDB's commands are taken where there are no roles.
    pub fn thrift(mut self, address: SocketAddr) -> Self {
        self.listeners.push((Protocol::Thrift, address));
        self
    }

    /// Speaks HTTP at an address; port 0 takes one that is free.
    pub fn http(mut self, address: SocketAddr) -> Self {
        self.listeners.push((Protocol::Http, address));
        self
    }

    /// Speaks Arrow Flight SQL, by gRPC, at an address; port 0 takes one that is free.
    pub fn flight(mut self, address: SocketAddr) -> Self {
        self.listeners.push((Protocol::Flight, address));
        self
    }

    /// Has all listeners use TLS with this certificate: PostgreSQL's clients may ask for it and must from elsewhere; HTTP is HTTPS.
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Who may come in. Without roles that is whoever reaches the address, which must be one of loopback then.
    pub fn roles(mut self, roles: Roles) -> Self {
        self.roles = roles;
        self
    }

    /// How much clients may ask for.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The name under which clients know the database besides `ambo` and `postgres`.
    pub fn database_name(mut self, name: impl Into<String>) -> Self {
        self.database_name = Some(name.into());
        self
    }

    /// A name that clients of HTTP at loopback may call the server by, besides those of loopback, as behind a proxy.
    pub fn host(mut self, name: impl Into<String>) -> Self {
        self.hosts.push(name.into());
        self
    }

    /// Lets statements of superusers read and write files beneath a directory, `/` for all that the process can: `COPY` to and from
    /// files, `read_csv` and its sisters, `ATTACH`, `BACKUP TO`. Otherwise rows come and go by connections alone.
    pub fn files(mut self, beneath: impl Into<PathBuf>) -> Self {
        self.files = Some(beneath.into());
        self
    }

    /// Logs who comes in or tries to, and what is done, as lines of JSON in files of this directory, which are rotated. Passwords are in
    /// none. Where they cannot be written, nobody comes in.
    pub fn audit(mut self, directory: impl Into<PathBuf>) -> Self {
        self.audit = Some(directory.into());
        self
    }

    /// Lets programs of the same user in without a password, by a socket in the directory of the database: `ambo DIR` and
    /// [`Client`](crate::Client) find it there. Only who has the database open to write may do that.
    #[cfg(feature = "http")]
    pub fn own_socket(mut self, directory: impl Into<PathBuf>) -> Self {
        self.own = Some(directory.into());
        self
    }

    #[cfg(feature = "http")]
    fn has_own(&self) -> bool {
        self.own.is_some()
    }

    #[cfg(not(feature = "http"))]
    fn has_own(&self) -> bool {
        false
    }

    /// # Errors
    /// The options would let in anybody from elsewhere, or let passwords and rows be read on the way.
    pub(crate) fn check(&self, database: &Database) -> Result<()> {
        if self.listeners.is_empty() && !self.has_own() {
            return Err(Error::new("no address to listen at was given"));
        }
        for (_, address) in self.listeners.iter().filter(|(_, address)| !address.ip().is_loopback()) {
            if self.tls.is_none() {
                return Err(Error::new(format!(
                    "{address} is reached from elsewhere, where all could be read on the way: give a certificate, or listen at 127.0.0.1"
                )));
            }
            if self.roles.is_empty() && !database.has_roles() {
                return Err(Error::new(format!(
                    "{address} is reached from elsewhere, and anybody could come in: add a role with a password, or listen at 127.0.0.1"
                )));
            }
        }
        Ok(())
    }
}
