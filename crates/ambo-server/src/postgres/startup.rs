//! How a session begins: TLS, who comes in, and what is told before the first statement.

use std::{
    net::{Shutdown, SocketAddr, TcpStream},
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    client::Client,
    failure::Failure,
    message::{Malformed, Reader, write, write_text},
    scram::{self, Challenge, MECHANISM},
    settings::Settings,
    stream::{Ended, Stream},
};
use crate::{
    roles::{Secret, Visitor},
    server::{Protocol, Shared},
    session::{New, audit::Who},
};

const TLS: u32 = 80_877_103;
const GSS: u32 = 80_877_104;
const CANCEL: u32 = 80_877_102;
const VERSION_3: u32 = 3 << 16;
/// Bytes of a message before somebody has come in.
const SMALL: usize = 10_000;
/// How often a client may ask for one kind of encryption or another.
const ASKS_MAX: usize = 4;
/// How long a client that gave a wrong password waits for the answer.
const WRONG_PASSWORD: Duration = Duration::from_millis(400);
/// How long is written to a client that does not read.
const UNREAD: Duration = Duration::from_secs(300);

/// Why there is no session.
enum NoSession {
    /// What the client is told.
    Failed(Failure),
    /// There is nothing to tell, or nobody.
    Silent,
}

impl From<Ended> for NoSession {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Length(_) => {
                Self::Failed(Failure::new("08P01", "the first message has no length that is one"))
            }
            // Clients try whether somebody listens, and give up.
            Ended::Closed | Ended::TimedOut | Ended::Broken => Self::Silent,
        }
    }
}

impl From<std::io::Error> for NoSession {
    fn from(_: std::io::Error) -> Self {
        Self::Silent
    }
}

impl From<Malformed> for NoSession {
    fn from(malformed: Malformed) -> Self {
        Self::Failed(malformed.into())
    }
}

impl From<Failure> for NoSession {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// Serves a client from its first to its last byte.
pub(super) fn serve(shared: &Arc<Shared>, socket: TcpStream, peer: SocketAddr) {
    let _unless_refused = socket.set_nodelay(true);
    let Ok(watched) = socket.try_clone() else { return };
    let mut stream = Stream::new(socket);
    match begin(shared, &mut stream, watched, peer) {
        Ok(Some(mut client)) => client.serve(&mut stream),
        Ok(None) | Err(NoSession::Silent) => {}
        Err(NoSession::Failed(failure)) => failure.write(&mut stream.out, true),
    }
    stream.close();
}

fn begin(
    shared: &Arc<Shared>,
    stream: &mut Stream,
    socket: TcpStream,
    peer: SocketAddr,
) -> Result<Option<Client>, NoSession> {
    stream.set_timeout(Some(shared.options.limits.login))?;
    stream.set_write_timeout(Some(UNREAD))?;
    let end = Instant::now() + shared.options.limits.login;
    let Some(asked) = negotiate(shared, stream)? else { return Ok(None) };
    if !peer.ip().is_loopback() && !stream.is_tls() {
        return Err(Failure::new(
            "28000",
            "this address takes connections with TLS alone: use sslmode=require",
        )
        .into());
    }
    check_database(shared, &asked)?;
    let visitor = authenticate(shared, stream, &asked.user, peer)?;
    if Instant::now() > end {
        return Err(NoSession::Silent);
    }
    let closed = socket.try_clone()?;
    let new = New {
        visitor,
        protocol: Protocol::Postgres,
        peer: Some(peer),
        close: Box::new(move || {
            // Reading ends; what is being written goes out.
            let _gone = closed.shutdown(Shutdown::Read);
        }),
    };
    let session = shared.open(new).map_err(|refused| Failure::new(refused.sqlstate, refused.message))?;
    let (id, key) = (session.entry.id, session.entry.key);
    let mut client = Client::new(session, shared.clone(), Settings::new(&asked.user), socket);
    if let Some(database) = asked.database {
        client.database = database;
    }
    write(&mut stream.out, b'R', |out| out.extend(0u32.to_be_bytes()));
    client.begin(&asked.parameters, stream)?;
    write(&mut stream.out, b'K', |out| {
        out.extend(id.to_be_bytes());
        out.extend(key);
    });
    Ok(Some(client))
}

/// What a client says at first.
struct Asked {
    user: String,
    database: Option<String>,
    parameters: Vec<(String, String)>,
}

/// Up to what the client asks for; `None` if that is not a session.
fn negotiate(shared: &Arc<Shared>, stream: &mut Stream) -> Result<Option<Asked>, NoSession> {
    let mut body = Vec::new();
    for _ in 0..ASKS_MAX {
        stream.read_first(SMALL, &mut body)?;
        let mut from = Reader(&body);
        match from.u32()? {
            TLS => match &shared.tls {
                Some(tls) if !stream.is_tls() => {
                    stream.out.push(b'S');
                    stream.flush()?;
                    stream.start_tls(tls.now())?;
                }
                _ => stream.out.push(b'N'),
            },
            GSS => stream.out.push(b'N'),
            CANCEL => {
                let id = from.i32()?;
                shared.sessions.cancel(id, from.0);
                return Ok(None);
            }
            version if version & 0xffff_0000 == VERSION_3 => return asked(version, from, stream).map(Some),
            version => {
                let (major, minor) = (version >> 16, version & 0xffff);
                let message = format!("version {major}.{minor} of the protocol is not spoken here, only 3.0");
                return Err(Failure::new("0A000", message).into());
            }
        }
    }
    Err(Failure::new("08P01", "the client asks for encryption again and again").into())
}

fn asked(version: u32, mut from: Reader<'_>, stream: &mut Stream) -> Result<Asked, NoSession> {
    let mut asked = Asked { user: String::new(), database: None, parameters: Vec::new() };
    let mut unknown = Vec::new();
    loop {
        let name = from.text()?;
        if name.is_empty() {
            break;
        }
        let value = from.text()?;
        match name {
            "user" => asked.user = value.to_owned(),
            "database" => asked.database = Some(value.to_owned()),
            "replication" if !matches!(value, "false" | "off" | "no" | "0") => {
                return Err(Failure::new("0A000", "there is no replication").into());
            }
            "replication" => {}
            name if name.starts_with("_pq_.") => unknown.push(name.to_owned()),
            name => asked.parameters.push((name.to_owned(), value.to_owned())),
        }
    }
    if asked.user.is_empty() {
        return Err(Failure::new("28000", "no name of a role was given").into());
    }
    if version != VERSION_3 || !unknown.is_empty() {
        write(&mut stream.out, b'v', |out| {
            out.extend(VERSION_3.to_be_bytes());
            out.extend((unknown.len() as u32).to_be_bytes());
            unknown.iter().for_each(|name| write_text(out, name));
        });
    }
    Ok(asked)
}

/// Clients that are told no database take the name of the role for it.
fn check_database(shared: &Arc<Shared>, asked: &Asked) -> Result<(), Failure> {
    let own = shared.options.database_name.as_deref();
    let names = ["ambo", "postgres"].into_iter().chain(own);
    match &asked.database {
        Some(name) if *name != asked.user && !names.clone().any(|known| known == name) => {
            let known: Vec<_> = names.collect();
            Err(Failure::new("3D000", format!("database \"{name}\" does not exist"))
                .with_hint(format!("this server has one database, which is called {}", known.join(" or "))))
        }
        _ => Ok(()),
    }
}

/// Lets in who knows the password of a role; anybody where there are no roles. Returns who that is.
fn authenticate(
    shared: &Arc<Shared>,
    stream: &mut Stream,
    user: &str,
    peer: SocketAddr,
) -> Result<Visitor, NoSession> {
    if shared.is_open() {
        return Ok(Visitor::anybody(user));
    }
    let role = shared.with_secret(user);
    // Who is no role is asked the same, and told the same.
    let secret = role.as_ref().map_or_else(|| Secret::mock(user), |(_, secret)| secret.clone());
    write(&mut stream.out, b'R', |out| {
        out.extend(10u32.to_be_bytes());
        write_text(out, MECHANISM);
        out.push(0);
    });
    let body = password(stream)?;
    let (mechanism, first) = scram::first(&body)?;
    if mechanism != MECHANISM {
        return Err(Failure::new("28000", format!("passwords are proved by {MECHANISM} alone")).into());
    }
    let challenge = Challenge::new(secret, first)?;
    write(&mut stream.out, b'R', |out| {
        out.extend(11u32.to_be_bytes());
        out.extend_from_slice(challenge.text.as_bytes());
    });
    let body = password(stream)?;
    let proved = std::str::from_utf8(&body).ok().and_then(|last| challenge.check(last));
    let is_let_in = proved.is_some() && role.is_some();
    if let Some(audit) = &shared.audit {
        audit.login(
            &Who { session: None, role: user, protocol: Protocol::Postgres, peer: Some(peer) },
            is_let_in,
        );
    }
    let (Some(signature), Some((visitor, _))) = (proved, role) else {
        std::thread::sleep(WRONG_PASSWORD);
        let message = format!("password authentication failed for user \"{user}\"");
        return Err(Failure::new("28P01", message).into());
    };
    write(&mut stream.out, b'R', |out| {
        out.extend(12u32.to_be_bytes());
        out.extend_from_slice(signature.as_bytes());
    });
    Ok(visitor)
}

fn password(stream: &mut Stream) -> Result<Vec<u8>, NoSession> {
    let mut body = Vec::new();
    match stream.read_message(SMALL, &mut body)? {
        b'p' => Ok(body),
        _ => Err(Failure::new("08P01", "a password was asked for, and something else came").into()),
    }
}
