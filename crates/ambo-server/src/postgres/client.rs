//! A session of the protocol: what it has, and its loop.

use std::{collections::HashMap, net::TcpStream, sync::Arc, time::Duration};

use ambo_sql::Wishes;

use super::{
    command::Modes,
    cursors::Declared,
    encode::Shape,
    extended::{Portal, Statement},
    failure::Failure,
    message::{Message, is_known, write},
    settings::{Settings, tell},
    stream::{Ended, Stream},
};
use crate::{server::Shared, session::Session};

/// What the session's transaction is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Block {
    /// None is open.
    Idle,
    /// One that ends with the next `Sync`, or with the text of statements.
    Implicit,
    /// One that the client began.
    Explicit,
    /// The same, after a failure: the client can only end it.
    Failed,
}

/// See the module.
pub(super) struct Client {
    pub session: Session,
    pub shared: Arc<Shared>,
    pub settings: Settings,
    pub block: Block,
    /// How the transaction is that the client began, if nothing was done in it yet.
    pub just_begun: Option<Modes>,
    pub statements: HashMap<String, Statement>,
    pub portals: HashMap<String, Portal>,
    /// The zone of which clocks are, as the client was told.
    pub zone: String,
    /// Settings of the engine that were set for the transaction alone, as they were before.
    pub back: Vec<(String, String)>,
    /// What the client calls the database.
    pub database: String,
    /// How often settings had changed when the engine was told.
    pub told: Option<u64>,
    /// Whether the search path has no schema.
    pub is_pathless: bool,
    /// What statements want to be set.
    pub wishes: Wishes,
    pub cursors: HashMap<String, Declared>,
    /// Whether what comes is skipped up to the next `Sync`.
    is_skipping: bool,
}

/// Why a session ends.
pub(super) enum End {
    /// The client is gone, or said that it goes.
    Gone,
    /// It is told why.
    Told(Failure),
}

impl From<std::io::Error> for End {
    fn from(_: std::io::Error) -> Self {
        Self::Gone
    }
}

impl From<Ended> for End {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Length(length) => {
                Self::Told(Failure::new("08P01", format!("a message of {length} bytes is not taken")))
            }
            Ended::TimedOut => {
                Self::Told(Failure::new("57P05", "terminating connection due to idle-session timeout"))
            }
            Ended::Closed | Ended::Broken => Self::Gone,
        }
    }
}

/// How often it is looked whether the client of a statement that runs is still there.
const GLANCE: Duration = Duration::from_secs(1);

impl Client {
    pub fn new(mut session: Session, shared: Arc<Shared>, settings: Settings, socket: TcpStream) -> Self {
        session.connection.on_wait(GLANCE, move || is_there(&socket));
        Self {
            session,
            shared,
            settings,
            block: Block::Idle,
            just_begun: None,
            statements: HashMap::new(),
            portals: HashMap::new(),
            zone: String::new(),
            back: Vec::new(),
            database: "ambo".to_owned(),
            told: None,
            is_pathless: false,
            wishes: Wishes::default(),
            cursors: HashMap::new(),
            is_skipping: false,
        }
    }

    /// Sets what the client wants to be set, and tells it what is set.
    pub fn begin(&mut self, parameters: &[(String, String)], stream: &mut Stream) -> Result<(), Failure> {
        for (name, value) in parameters {
            match name.to_lowercase().as_str() {
                "options" => {
                    for (name, value) in options(value) {
                        self.set(&name.to_lowercase(), &[value], false)?;
                    }
                }
                name => self.set(name, std::slice::from_ref(value), false)?,
            }
        }
        self.settings.tell_all(&mut stream.out);
        self.tell_zone(stream);
        Ok(())
    }

    /// Tells the client the zone of which clocks are, where that is another than it knows.
    pub fn tell_zone(&mut self, stream: &mut Stream) {
        let zone = self.session.connection.time_zone();
        if zone != self.zone {
            tell("timezone", &zone, &mut stream.out);
            self.zone = zone;
        }
    }

    /// Serves the client until one of both ends it.
    pub fn serve(&mut self, stream: &mut Stream) {
        self.ready(stream);
        let mut body = Vec::new();
        loop {
            match self.step(stream, &mut body) {
                Ok(()) => {}
                Err(End::Gone) => break,
                Err(End::Told(failure)) => {
                    failure.write(&mut stream.out, true);
                    break;
                }
            }
        }
    }

    /// Waits for a message and does what it says.
    fn step(&mut self, stream: &mut Stream, body: &mut Vec<u8>) -> Result<(), End> {
        if stream.buffered() == 0 {
            self.session.end();
            stream.set_timeout(self.patience())?;
        }
        let read = stream.read_message(self.shared.options.limits.message_bytes, body);
        if self.session.is_ended() {
            return Err(End::Told(Failure::new(
                "57P01",
                "terminating connection due to administrator command",
            )));
        }
        let tag = match read {
            Err(Ended::TimedOut) if self.block != Block::Idle => {
                let message = "terminating connection due to idle-in-transaction timeout";
                return Err(End::Told(Failure::new("25P03", message)));
            }
            read => read?,
        };
        if !is_known(tag) {
            return Err(End::Told(Failure::new("08P01", format!("there is no message of type {tag}"))));
        }
        let message = match Message::read(tag, body) {
            Ok(message) => message,
            Err(malformed) => return Err(End::Told(malformed.into())),
        };
        if self.is_skipping && !matches!(message, Message::Sync | Message::Terminate) {
            return Ok(());
        }
        self.act(message, stream)
    }

    fn act(&mut self, message: Message<'_>, stream: &mut Stream) -> Result<(), End> {
        let done = match message {
            Message::Query(text) => {
                self.query(text, stream)?;
                self.ready(stream);
                return Ok(());
            }
            Message::Sync => {
                self.is_skipping = false;
                if let Err(failure) = self.end_implicit(true) {
                    failure.write(&mut stream.out, false);
                }
                self.ready(stream);
                return Ok(());
            }
            Message::Terminate => return Err(End::Gone),
            Message::Flush => {
                stream.flush()?;
                return Ok(());
            }
            // The rest of a COPY that failed.
            Message::CopyData(_) | Message::CopyDone | Message::CopyFail(_) => return Ok(()),
            Message::Password(_) => {
                Err(Failure::new("08P01", "a password came that nobody asked for").into())
            }
            Message::FunctionCall => {
                Failure::new("0A000", "functions are called by SELECT alone").write(&mut stream.out, false);
                self.ready(stream);
                return Ok(());
            }
            Message::Parse { name, text, types } => self.parse(name, text, types, stream).map_err(Stop::from),
            Message::Bind(bind) => self.bind(&bind, stream).map_err(Stop::from),
            Message::Describe { portal, name } => self.describe(portal, name, stream).map_err(Stop::from),
            Message::Execute { portal, rows_max } => self.execute(portal, rows_max, stream),
            Message::Close { portal, name } => {
                match portal {
                    true => drop(self.portals.remove(name)),
                    false => drop(self.statements.remove(name)),
                }
                write(&mut stream.out, b'3', |_| {});
                Ok(())
            }
        };
        match done {
            Ok(()) => Ok(()),
            Err(Stop::End(end)) => Err(end),
            Err(Stop::Failed(failure)) => {
                failure.write(&mut stream.out, false);
                self.fail();
                self.is_skipping = true;
                Ok(())
            }
        }
    }

    /// Says that the next statement may come, and what the transaction is.
    fn ready(&self, stream: &mut Stream) {
        let state = match self.block {
            Block::Idle | Block::Implicit => b'I',
            Block::Explicit => b'T',
            Block::Failed => b'E',
        };
        write(&mut stream.out, b'Z', |out| out.push(state));
    }

    /// How long is waited for the next message.
    fn patience(&self) -> Option<Duration> {
        let limits = &self.shared.options.limits;
        let (name, own) = match self.block {
            Block::Idle => ("idle_session_timeout", limits.idle),
            _ => ("idle_in_transaction_session_timeout", limits.idle_in_transaction),
        };
        match self.settings.get(name).and_then(milliseconds) {
            Some(asked) if !asked.is_zero() => Some(own.map_or(asked, |own| own.min(asked))),
            _ => own,
        }
    }

    /// How rows of this session are written.
    pub fn shape(&self, schema: arrow_schema::SchemaRef, formats: &[super::message::Format]) -> Shape {
        Shape::new(schema, formats, self.session.connection.time_zone())
    }
}

/// Why a step was not done.
pub(super) enum Stop {
    Failed(Failure),
    End(End),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::End(error.into())
    }
}

/// A time as settings have it: milliseconds, or with a unit.
fn milliseconds(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let count: u64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim() {
        "" | "ms" => 1,
        "s" => 1000,
        "min" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    Some(Duration::from_millis(count.checked_mul(unit)?))
}

/// `-c name=value` and `--name=value`.
fn options(text: &str) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for word in text.split_whitespace().map(|word| word.trim_start_matches("-c").trim_start_matches("--")) {
        if let Some((name, value)) = word.split_once('=') {
            all.push((name.to_owned(), value.to_owned()));
        }
    }
    all
}

/// Whether somebody is at the other end.
#[cfg(unix)]
fn is_there(socket: &TcpStream) -> bool {
    use std::os::fd::AsRawFd;
    let mut byte = 0u8;
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
    // SAFETY: the socket is open for as long as it is borrowed, and the one byte that may be written to is ours.
    let peeked = unsafe { libc::recv(socket.as_raw_fd(), (&raw mut byte).cast(), 1, flags) };
    let waits = || {
        matches!(
            std::io::Error::last_os_error().kind(),
            std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted
        )
    };
    peeked > 0 || peeked < 0 && waits()
}

#[cfg(not(unix))]
fn is_there(_: &TcpStream) -> bool {
    true
}
