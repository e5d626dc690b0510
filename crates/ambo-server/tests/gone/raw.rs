//! A client of PostgreSQL's protocol that sends what it is told to.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

/// A message.
pub fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

/// A statement.
pub fn query(text: &str) -> Vec<u8> {
    message(b'Q', &[text.as_bytes(), b"\0"].concat())
}

/// A session of a client.
pub struct Raw {
    pub stream: TcpStream,
}

impl Raw {
    /// One that has come in.
    pub fn new(address: SocketAddr) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let body = b"\0\x03\0\0user\0ada\0\0";
        stream.write_all(&[&(body.len() as u32 + 4).to_be_bytes()[..], body].concat()).unwrap();
        let mut raw = Self { stream };
        raw.until(b'Z');
        raw
    }

    /// Sends without looking for an answer.
    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Takes messages up to one of a kind, whose body it returns.
    pub fn until(&mut self, wanted: u8) -> Vec<u8> {
        loop {
            let mut head = [0; 5];
            self.stream.read_exact(&mut head).unwrap();
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
            let mut body = vec![0; length - 4];
            self.stream.read_exact(&mut body).unwrap();
            if head[0] == wanted {
                return body;
            }
            assert!(head[0] != b'E' || wanted == b'E', "{}", String::from_utf8_lossy(&body));
        }
    }

    /// Runs a statement to its end.
    pub fn run(&mut self, text: &str) {
        self.send(&query(text));
        self.until(b'Z');
    }
}
