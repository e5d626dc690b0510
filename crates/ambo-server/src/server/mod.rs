//! A server from its start to its end.

mod options;

use std::{
    net::{SocketAddr, TcpListener},
    path::Path,
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use ambo_sql::{Database, Files};
use tokio::sync::watch;

use crate::{
    Error, Result, SessionInfo, postgres,
    roles::FileRoles,
    session::{
        Registry, Session,
        audit::{Audit, Kept},
    },
    tls::Certificate,
};
#[cfg(feature = "http")]
use crate::{attach::OwnSocket, http, thrift};

pub use options::{Limits, Options};

/// What is spoken at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// That of PostgreSQL, version 3.
    Postgres,
    /// HTTP 1.1 and 2.
    Http,
    /// Arrow Flight SQL, by gRPC.
    Flight,
    /// The service of `ambo.thrift`, and the commands of KeksDB's clients.
    Thrift,
}

impl Protocol {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Http => "http",
            Self::Flight => "flight",
            Self::Thrift => "thrift",
        }
    }
}

/// What all listeners and sessions share.
pub(crate) struct Shared {
    pub database: Database,
    pub options: Options,
    pub tls: Option<Certificate>,
    pub audit: Option<Audit>,
    pub files: Files,
    pub sessions: Registry,
    /// What was counted at the doors of HTTP and Flight.
    #[cfg(feature = "http")]
    pub figures: Arc<http::metrics::Figures>,
    /// Becomes true when the server stops.
    stop: watch::Sender<bool>,
}

impl Shared {
    /// Whether the server stops.
    pub fn is_stopping(&self) -> bool {
        *self.stop.borrow()
    }

    /// What tells that the server stops.
    #[cfg(feature = "http")]
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }
}

/// Starts servers.
pub struct Server;

impl Server {
    /// Has the database served until [`Running::shutdown`]. When this returns, clients can connect.
    ///
    /// # Errors
    /// An address that cannot be listened at; a certificate that cannot be read; options that would let anybody in from elsewhere.
    pub fn start(database: Database, options: Options) -> Result<Running> {
        options.check(&database)?;
        database.set_keeper(Arc::new(FileRoles(options.roles.clone())));
        let tls = options.tls.clone().map(Certificate::new).transpose()?;
        let audit = options.audit.as_deref().map(|to| Audit::open(to, Kept::default())).transpose()?;
        let files = files(options.files.as_deref())?;
        let listeners = listen(&options)?;
        #[cfg(feature = "http")]
        let own = options.own.as_deref().map(OwnSocket::bind).transpose()?;
        let sessions = Registry::new(options.limits.connections);
        let shared = Arc::new(Shared {
            database,
            options,
            tls,
            audit,
            files,
            sessions,
            #[cfg(feature = "http")]
            figures: Arc::default(),
            stop: watch::Sender::new(false),
        });
        let mut running = Running {
            shared,
            addresses: Vec::new(),
            threads: Vec::new(),
            #[cfg(feature = "http")]
            own: None,
        };
        for (protocol, listener) in listeners {
            let address = listener.local_addr().map_err(|error| Error::new(error.to_string()))?;
            running.addresses.push((protocol, address));
            let shared = running.shared.clone();
            let thread = match protocol {
                Protocol::Postgres => postgres::serve(shared, listener),
                #[cfg(feature = "http")]
                Protocol::Http => http::serve(shared, listener.into(), protocol),
                #[cfg(feature = "flight")]
                Protocol::Flight => http::serve(shared, listener.into(), protocol),
                #[cfg(all(feature = "http", not(feature = "flight")))]
                Protocol::Flight => return Err(Error::new("this program was built without Flight SQL")),
                #[cfg(feature = "http")]
                Protocol::Thrift => thrift::serve(shared, listener),
                #[cfg(not(feature = "http"))]
                Protocol::Http | Protocol::Flight | Protocol::Thrift => {
                    return Err(Error::new("this program was built without HTTP"));
                }
            };
            running.threads.push(thread.map_err(|error| Error::new(format!("starting a thread: {error}")))?);
        }
        #[cfg(feature = "http")]
        if let Some((socket, listener)) = own {
            let thread = http::serve(running.shared.clone(), listener, Protocol::Http);
            running.threads.push(thread.map_err(|error| Error::new(format!("starting a thread: {error}")))?);
            // Who reads where it is finds that it answers.
            socket.tell(&running.addresses)?;
            running.own = Some(socket);
        }
        Ok(running)
    }
}

/// With which files of the machine statements have to do.
fn files(beneath: Option<&Path>) -> Result<Files> {
    let Some(directory) = beneath else { return Ok(Files::None) };
    Files::beneath(directory).map_err(|error| {
        Error::new(format!("{}: {error}; statements would have to do with files there", directory.display()))
    })
}

fn listen(options: &Options) -> Result<Vec<(Protocol, TcpListener)>> {
    let listen = |(protocol, address): &(Protocol, SocketAddr)| match TcpListener::bind(address) {
        Ok(listener) => Ok((*protocol, listener)),
        Err(error) => Err(Error::new(format!("{address} cannot be listened at: {error}"))),
    };
    options.listeners.iter().map(listen).collect()
}

/// A server that runs. Dropping it stops it at once.
pub struct Running {
    shared: Arc<Shared>,
    addresses: Vec<(Protocol, SocketAddr)>,
    threads: Vec<JoinHandle<()>>,
    #[cfg(feature = "http")]
    own: Option<OwnSocket>,
}

/// How often it is looked whether sessions have ended.
const GLANCE: Duration = Duration::from_millis(5);

impl Running {
    /// Where the server listens, with the ports that it was given where none was asked for.
    pub fn addresses(&self) -> &[(Protocol, SocketAddr)] {
        &self.addresses
    }

    /// The address of a protocol, the first if there are several.
    pub fn address(&self, protocol: Protocol) -> Option<SocketAddr> {
        self.addresses.iter().find(|(of, _)| *of == protocol).map(|(_, address)| *address)
    }

    /// Reads the certificate and its key again, for connections that are made from now on.
    ///
    /// # Errors
    /// They cannot be read, or are not each other's: those that were there stay.
    pub fn reload(&self) -> Result<()> {
        self.shared.tls.as_ref().map_or(Ok(()), Certificate::reload)
    }

    /// The sessions that there are.
    pub fn sessions(&self) -> Vec<SessionInfo> {
        self.shared.sessions.list()
    }

    /// Interrupts the statement of a session; whether there is such a session.
    pub fn interrupt(&self, id: i32) -> bool {
        self.shared.sessions.interrupt(id)
    }

    /// Ends a session, and what it has open; whether there is such a session.
    pub fn end(&self, id: i32) -> bool {
        self.shared.sessions.end(id)
    }

    /// Takes no more clients, lets statements that run come to their end for so long, then interrupts them, and ends all sessions. What
    /// was not committed is rolled back.
    pub fn shutdown(mut self, patience: Duration) {
        self.stop(patience);
    }

    fn stop(&mut self, patience: Duration) {
        #[cfg(feature = "http")]
        drop(self.own.take());
        self.shared.stop.send_replace(true);
        for (protocol, address) in &self.addresses {
            match protocol {
                Protocol::Postgres => postgres::wake(*address),
                // They are told by the same word.
                Protocol::Http | Protocol::Flight | Protocol::Thrift => {}
            }
        }
        let end = Instant::now() + patience;
        self.shared.sessions.end_idle();
        while self.shared.sessions.any() && Instant::now() < end {
            std::thread::sleep(GLANCE);
            self.shared.sessions.end_idle();
        }
        self.shared.sessions.end_all();
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so.
            let _ended = thread.join();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.threads.is_empty() {
            self.stop(Duration::ZERO);
        }
    }
}

impl Shared {
    /// A new session, as the role that has come in.
    pub fn open(self: &Arc<Self>, new: crate::session::New) -> Result<Session, crate::session::Refused> {
        Session::open(self, new)
    }
}
