//! What comes from a client and goes to it: a socket, with or without TLS, with a buffer for each direction. What is written waits until
//! the buffer is large or the client is waited for.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{Shutdown, TcpStream},
    sync::Arc,
    time::Duration,
};

use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// See the module.
pub(super) struct Stream {
    io: Io,
    /// Room for what comes, all of it initialised once.
    input: Vec<u8>,
    /// How much of the input was taken.
    start: usize,
    /// Where what has come ends.
    end: usize,
    /// What is to be written.
    pub out: Vec<u8>,
    timeout: Option<Duration>,
}

enum Io {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ServerConnection, TcpStream>>),
    /// While one becomes the other.
    Gone,
}

/// How much is read at once.
const READ: usize = 16 << 10;
/// With more than this to write, it is written.
pub(super) const LARGE: usize = 64 << 10;
/// Buffers that grew beyond this are given back.
const KEPT: usize = 1 << 20;

/// Why there is no message.
#[derive(Debug)]
pub(super) enum Ended {
    /// The client is gone.
    Closed,
    /// Nothing came for as long as may be.
    TimedOut,
    /// The length of a message is none, or more than may be.
    Length(u64),
    /// The socket is of no use any more.
    Broken,
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Self::TimedOut,
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Broken,
        }
    }
}

impl Stream {
    pub fn new(socket: TcpStream) -> Self {
        Self { io: Io::Plain(socket), input: Vec::new(), start: 0, end: 0, out: Vec::new(), timeout: None }
    }

    fn socket(&self) -> Option<&TcpStream> {
        match &self.io {
            Io::Plain(socket) => Some(socket),
            Io::Tls(stream) => Some(&stream.sock),
            Io::Gone => None,
        }
    }

    /// Goes on with TLS. Bytes that came before were written by who does not know the key: there may be none.
    pub fn start_tls(&mut self, config: Arc<ServerConfig>) -> io::Result<()> {
        if self.buffered() > 0 {
            return Err(io::Error::new(ErrorKind::InvalidData, "bytes came before TLS"));
        }
        let connection = ServerConnection::new(config).map_err(io::Error::other)?;
        if let Io::Plain(socket) = std::mem::replace(&mut self.io, Io::Gone) {
            self.io = Io::Tls(Box::new(StreamOwned::new(connection, socket)));
        }
        Ok(())
    }

    pub fn is_tls(&self) -> bool {
        matches!(self.io, Io::Tls(_))
    }

    /// Has reading end with [`Ended::TimedOut`] after so long.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        if self.timeout != timeout
            && let Some(socket) = self.socket()
        {
            socket.set_read_timeout(timeout)?;
            self.timeout = timeout;
        }
        Ok(())
    }

    pub fn set_write_timeout(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket().map_or(Ok(()), |socket| socket.set_write_timeout(timeout))
    }

    /// How many bytes have come and were not taken.
    pub fn buffered(&self) -> usize {
        self.end - self.start
    }

    /// The letter of the next message, if all of it has come.
    pub fn next_tag(&self) -> Option<u8> {
        let input = &self.input[self.start..self.end];
        let (tag, rest) = input.split_first()?;
        let length = u32::from_be_bytes(rest.get(..4)?.try_into().ok()?);
        (rest.len() >= length as usize).then_some(*tag)
    }

    /// Waits until so many bytes are there.
    fn want(&mut self, count: usize) -> Result<(), Ended> {
        while self.buffered() < count {
            self.flush()?;
            if self.start > 0 {
                self.input.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
            }
            if self.input.len() < self.end + READ {
                self.input.resize(self.end + READ, 0);
            }
            match self.read_some() {
                Ok(0) => return Err(Ended::Closed),
                Ok(count) => self.end += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn read_some(&mut self) -> io::Result<usize> {
        let room = &mut self.input[self.end..];
        match &mut self.io {
            Io::Plain(socket) => socket.read(room),
            Io::Tls(stream) => stream.read(room),
            Io::Gone => Ok(0),
        }
    }

    /// The first message of a connection, which has no letter.
    pub fn read_first(&mut self, max: usize, body: &mut Vec<u8>) -> Result<(), Ended> {
        self.want(4)?;
        self.read_body(max, body)
    }

    /// The letter of the next message, which is in `body` then.
    pub fn read_message(&mut self, max: usize, body: &mut Vec<u8>) -> Result<u8, Ended> {
        self.want(5)?;
        let tag = self.input[self.start];
        self.start += 1;
        self.read_body(max, body)?;
        Ok(tag)
    }

    fn read_body(&mut self, max: usize, body: &mut Vec<u8>) -> Result<(), Ended> {
        let length = self.input[self.start..self.start + 4].try_into().map_or(0, u32::from_be_bytes);
        let length = match (length as usize).checked_sub(4) {
            Some(length) if length <= max => length,
            _ => return Err(Ended::Length(length.into())),
        };
        self.start += 4;
        body.clear();
        if body.capacity() > KEPT {
            body.shrink_to(KEPT);
        }
        while body.len() < length {
            if self.buffered() == 0 {
                self.want(1)?;
            }
            let taken = self.buffered().min(length - body.len());
            body.extend_from_slice(&self.input[self.start..self.start + taken]);
            self.start += taken;
        }
        Ok(())
    }

    /// Writes what waits.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.out.is_empty() {
            return Ok(());
        }
        let written = match &mut self.io {
            Io::Plain(socket) => socket.write_all(&self.out),
            Io::Tls(stream) => stream.write_all(&self.out).and_then(|()| stream.flush()),
            Io::Gone => Ok(()),
        };
        self.out.clear();
        if self.out.capacity() > KEPT {
            self.out.shrink_to(KEPT);
        }
        written
    }

    /// Writes what waits, if it is much.
    pub fn flush_if_large(&mut self) -> io::Result<()> {
        match self.out.len() > LARGE {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Says that nothing comes any more.
    pub fn close(&mut self) {
        // Who is gone already needs no word.
        let _gone = self.flush();
        if let Io::Tls(stream) = &mut self.io {
            stream.conn.send_close_notify();
            let _gone = stream.flush();
        }
        if let Some(socket) = self.socket() {
            let _gone = socket.shutdown(Shutdown::Write);
        }
    }
}
