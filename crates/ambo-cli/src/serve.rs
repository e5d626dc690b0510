//! `ambo serve`: other programs work with a database until Ctrl-C or a polite kill.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use ambo_server::{Limits, Options, Roles, Server, Tls};
use clap::{Args, ValueEnum};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::engine::{Access, Store, Tuning};
use crate::failure::{Failure, Result};
use crate::output::remark;

/// The file of roles, in the directory of the database, where none is named.
pub const ROLES: &str = "roles";

/// Where HTTP is spoken unless said otherwise.
const HTTP: &str = if cfg!(feature = "http") { "127.0.0.1:8765" } else { "none" };

/// What `ambo serve` takes.
#[derive(Args, Clone, Debug)]
pub struct ServeArguments {
    /// The database's directory
    pub dir: PathBuf,
    /// Where PostgreSQL's protocol is spoken, as host:port; `none` for nowhere
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:5433")]
    pub listen: String,
    /// Where HTTP is spoken, as host:port; `none` for nowhere
    #[arg(long, value_name = "ADDRESS", default_value = HTTP)]
    pub http: String,
    /// Where Arrow Flight SQL is spoken, as host:port; `none` for nowhere
    #[arg(long, value_name = "ADDRESS", default_value = "none")]
    pub flight: String,
    /// Where Thrift is spoken, by `ambo.thrift` and by KeksDB's clients, as host:port; `none` for nowhere
    #[arg(long, value_name = "ADDRESS", default_value = "none")]
    pub thrift: String,
    /// The certificate, PEM, its own first
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// The certificate's key, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// The file of roles [default: `roles` in the database's directory]
    #[arg(long, value_name = "FILE")]
    pub roles: Option<PathBuf>,
    /// Sessions at once
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub max_connections: usize,
    /// Seconds that a statement may take
    #[arg(long, value_name = "SECONDS")]
    pub statement_timeout: Option<u64>,
    /// Mebibytes of memory that the operators of a statement may use
    #[arg(long, value_name = "MIB")]
    pub statement_memory: Option<usize>,
    /// Seconds that a session may do nothing
    #[arg(long, value_name = "SECONDS")]
    pub idle_timeout: Option<u64>,
    /// Let statements of superusers read and write files beneath this directory; `/` for all that this process can
    #[arg(long, value_name = "DIR")]
    pub files: Option<PathBuf>,
    /// Log who comes in and what is done, as lines of JSON in files of this directory
    #[arg(long, value_name = "DIR")]
    pub audit: Option<PathBuf>,
    /// Let all only read
    #[arg(long)]
    pub read_only: bool,
}

/// What is done with roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RoleAction {
    /// Add a role, or give it another password, which is read from standard input
    Add,
    /// Take a role away
    Remove,
    /// Show all roles
    List,
}

/// How long statements that run have when the server stops.
const PATIENCE: Duration = Duration::from_secs(10);

/// Serves until a signal comes.
pub fn run(arguments: &ServeArguments, tuning: &Tuning) -> Result<()> {
    // A signal that comes while the database is opened is not lost.
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])
        .map_err(|error| Failure::Database(format!("signals cannot be waited for: {error}")))?;
    let arguments = &ServeArguments { read_only: arguments.read_only || tuning.beside, ..arguments.clone() };
    let access = if arguments.read_only { Access::Read } else { Access::Create };
    let store = Store::open(&arguments.dir, access, tuning)?;
    let running = Server::start(ambo_sql::Database::new(store.db.clone()), options(arguments)?)
        .map_err(|error| Failure::usage(error.to_string()))?;
    let addresses: Vec<_> = running
        .addresses()
        .iter()
        .map(|(protocol, address)| format!("{} at {address}", protocol.name()))
        .collect();
    remark(&format!("serving {}: {}; Ctrl-C stops", arguments.dir.display(), addresses.join(", ")));
    let signal = signals.forever().find(|signal| {
        if *signal == SIGHUP {
            match running.reload() {
                Ok(()) => remark("the certificate was read again"),
                Err(error) => remark(&format!("the certificate that was there stays: {error}")),
            }
        }
        *signal != SIGHUP
    });
    remark("stopping: statements that run have 10 seconds; a second Ctrl-C does not wait");
    let armed = signal.into_iter().chain([SIGINT]).all(|signal| {
        signal_hook::flag::register_conditional_shutdown(signal, 130, std::sync::Arc::new(true.into()))
            .is_ok()
    });
    debug_assert!(armed);
    running.shutdown(PATIENCE);
    match arguments.read_only {
        true => Ok(()),
        false => store.close(),
    }
}

fn options(arguments: &ServeArguments) -> Result<Options> {
    let mut options = Options::new();
    for address in addresses(&arguments.listen)? {
        options = options.postgres(address);
    }
    for address in addresses(&arguments.http)? {
        options = options.http(address);
    }
    for address in addresses(&arguments.flight)? {
        options = options.flight(address);
    }
    for address in addresses(&arguments.thrift)? {
        options = options.thrift(address);
    }
    if let (Some(certificate), Some(key)) = (&arguments.tls_cert, &arguments.tls_key) {
        options = options.tls(Tls::new(certificate, key));
    }
    if let Some(files) = &arguments.files {
        options = options.files(files);
    }
    if let Some(audit) = &arguments.audit {
        options = options.audit(audit);
    }
    let path = arguments.roles.clone().unwrap_or_else(|| arguments.dir.join(ROLES));
    let roles = Roles::load(&path).map_err(|error| Failure::usage(error.to_string()))?;
    let mut limits = Limits::default();
    limits.connections = arguments.max_connections;
    limits.statement = arguments.statement_timeout.map(Duration::from_secs);
    limits.statement_memory = arguments.statement_memory.map(|mebibytes| mebibytes.saturating_mul(1 << 20));
    limits.idle = arguments.idle_timeout.map(Duration::from_secs);
    if let Some(name) = arguments.dir.file_name().and_then(|name| name.to_str()) {
        options = options.database_name(name);
    }
    // Readers of a database may be several; who writes is one, and lets others work with it.
    #[cfg(feature = "http")]
    if !arguments.read_only {
        options = options.own_socket(&arguments.dir);
    }
    Ok(options.roles(roles).limits(limits))
}

/// The addresses of a host and a port; of localhost there may be two.
fn addresses(text: &str) -> Result<Vec<SocketAddr>> {
    if text == "none" {
        return Ok(Vec::new());
    }
    match text.to_socket_addrs() {
        Ok(found) => Ok(found.collect()),
        Err(error) => Err(Failure::usage(format!("{text} is no address: {error}; write 127.0.0.1:5433"))),
    }
}
