//! Thrift: a thread for each client, which reads, does, and answers. One port has two protocols, which their first byte tells apart: a
//! message of `ambo.thrift` begins with 0x80, or, if it is framed, with its length; a command of KeksDB begins with a byte 0 and the
//! length of its name, which is short.

pub(crate) mod binary;
mod service;

use std::{
    io::{self, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, atomic::AtomicUsize, atomic::Ordering},
    thread::JoinHandle,
    time::Duration,
};

use crate::{
    keksdb::{self, Commands},
    roles::Visitor,
    server::{Protocol, Shared},
    session::{New, Session},
};
use binary::Limits;
use service::Service;

/// How long a client may send nothing, unless the options say otherwise.
const IDLE: Duration = Duration::from_secs(600);
/// How often it is looked whether the server stops.
const GLANCE: Duration = Duration::from_millis(20);

/// Serves until the server stops.
pub(crate) fn serve(shared: Arc<Shared>, listener: TcpListener) -> io::Result<JoinHandle<()>> {
    listener.set_nonblocking(true)?;
    std::thread::Builder::new().name("ambo-thrift".to_owned()).spawn(move || accept(&shared, &listener))
}

fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    let clients = Arc::new(AtomicUsize::new(0));
    while !shared.is_stopping() {
        match listener.accept() {
            Ok((stream, peer)) if clients.load(Ordering::Relaxed) < shared.options.limits.connections => {
                let (shared, clients) = (shared.clone(), clients.clone());
                clients.fetch_add(1, Ordering::Relaxed);
                let left = clients.clone();
                let client = move || {
                    // What goes wrong with a client's connection is the client's matter.
                    let _ended = talk(&shared, stream, peer);
                    clients.fetch_sub(1, Ordering::Relaxed);
                };
                let thread = std::thread::Builder::new().name("ambo-thrift".to_owned());
                if thread.stack_size(ambo_sql::THREAD_STACK_BYTES).spawn(client).is_err() {
                    left.fetch_sub(1, Ordering::Relaxed);
                }
            }
            // Too many: who comes is sent away by closing.
            Ok(_) => {}
            Err(_) => std::thread::sleep(GLANCE),
        }
    }
}

fn open(shared: &Arc<Shared>, stream: &TcpStream, peer: SocketAddr) -> io::Result<Session> {
    let own = stream.try_clone()?;
    let close = Box::new(move || {
        // It may be closed already.
        let _unless_closed = own.shutdown(std::net::Shutdown::Both);
    });
    let new = New { visitor: Visitor::anybody("ambo"), protocol: Protocol::Thrift, peer: Some(peer), close };
    shared.open(new).map_err(|refused| io::Error::other(refused.message))
}

/// Answers a client until it goes away.
fn talk(shared: &Arc<Shared>, stream: TcpStream, peer: SocketAddr) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(shared.options.limits.idle.unwrap_or(IDLE)))?;
    stream.set_write_timeout(Some(IDLE))?;
    let limits = Limits { bytes: shared.options.limits.message_bytes };
    let anybody = Visitor::anybody("ambo");
    let mut service = Service::new(open(shared, &stream, peer)?, shared);
    let mut input = BufReader::with_capacity(64 << 10, stream.try_clone()?);
    let mut output = stream;
    loop {
        let mut first = [0; 1];
        if input.read(&mut first)? == 0 {
            return Ok(());
        }
        let answer = match first[0] {
            0x80 => service.answer((&first[..]).chain(&mut input), limits)?,
            0 => {
                let mut next = [0; 4];
                input.read_exact(&mut next)?;
                // KeksDB: 0, then the length of a name. A frame: the rest of its length, then 0x80.
                match next {
                    [.., 0x80] => {
                        framed(&mut service, [0, next[0], next[1], next[2]], &next[3..], &mut input, limits)?
                    }
                    _ if service.needs_role() => {
                        return Err(io::Error::other("KeksDB's protocol knows no roles"));
                    }
                    _ => {
                        service.begin("a command of KeksDB");
                        let commands = Commands::new(shared, &anybody);
                        let answer = keksdb::thrift::answer(&commands, (&next[..]).chain(&mut input), limits);
                        service.end();
                        answer?
                    }
                }
            }
            other => {
                let mut rest = [0; 3];
                input.read_exact(&mut rest)?;
                framed(&mut service, [other, rest[0], rest[1], rest[2]], &[], &mut input, limits)?
            }
        };
        output.write_all(&answer)?;
        if service.is_ended() {
            return Ok(());
        }
    }
}

/// Answers a message with its length in front, the same way.
fn framed(
    service: &mut Service,
    length: [u8; 4],
    begun: &[u8],
    input: &mut impl Read,
    limits: Limits,
) -> io::Result<Vec<u8>> {
    let length = u32::from_be_bytes(length) as usize;
    if length > limits.bytes {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the frame is too long"));
    }
    let mut frame = begun.chain(input).take(length as u64);
    let answer = service.answer(&mut frame, limits)?;
    // Whatever the message did not say.
    io::copy(&mut frame, &mut io::sink())?;
    let length = u32::try_from(answer.len()).map_err(io::Error::other)?;
    Ok([&length.to_be_bytes()[..], &answer].concat())
}

/// What a fuzz target does with a message: what is read of it is written and read the same.
pub(crate) fn fuzz(bytes: &[u8]) {
    let limits = Limits { bytes: 1 << 16 };
    let mut reader = binary::Reader::new(bytes, limits);
    let Ok((name, kind, number)) = reader.head() else { return };
    let Ok(value) = reader.value(binary::ty::STRUCT) else { return };
    let mut written = Vec::new();
    let done = binary::write_head(&name, kind, number, &mut written)
        .and_then(|()| binary::write(&value, &mut written));
    assert!(done.is_ok());
    let mut again = binary::Reader::new(&written[..], Limits { bytes: 1 << 20 });
    assert!(again.head().is_ok_and(|head| head == (name, kind, number)));
    // Numbers that are none are not equal to themselves.
    assert_eq!(format!("{:?}", again.value(binary::ty::STRUCT).ok()), format!("{:?}", Some(value)));
}
