//! Clients that do nothing.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use ambo_server::{Limits, Protocol};

use crate::{
    raw::Raw,
    support::{Served, until},
};

const MANY: usize = 1000;

/// Bytes of memory that the process has.
pub fn resident() -> usize {
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// What a connection of HTTP answers.
fn ask(stream: &mut TcpStream) {
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut said = Vec::new();
    while !said.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut some = [0; 1024];
        let read = stream.read(&mut some).unwrap();
        assert!(read > 0, "the connection was closed");
        said.extend_from_slice(&some[..read]);
    }
    assert!(said.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&said));
}

// Keeps away: connections that cost memory or time of others while they do nothing.
#[test]
fn a_thousand_connections_do_nothing() {
    let mut limits = Limits::default();
    limits.connections = MANY + 10;
    let served = Served::with("create table t (id int primary key)", |options| {
        options.http("127.0.0.1:0".parse().unwrap()).limits(limits)
    });
    served.ask("select 1");
    let before = resident();
    let mut clients: Vec<_> = (0..MANY).map(|_| Raw::new(served.address)).collect();
    let http = served.running().address(Protocol::Http).unwrap();
    let mut pages: Vec<_> = (0..MANY)
        .map(|_| {
            let mut stream = TcpStream::connect(http).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
            ask(&mut stream);
            stream
        })
        .collect();
    assert_eq!(served.running().sessions().len(), MANY);
    let more = resident().saturating_sub(before);
    assert!(more < 256 << 20, "{MANY} connections that do nothing have {more} bytes");
    // Others are served, and these still are.
    assert_eq!(served.ask("insert into t values (1); select count(*) from t"), "INSERT 0 1\n1");
    for nth in [0, MANY / 2, MANY - 1] {
        clients[nth].run("select count(*) from t");
        ask(&mut pages[nth]);
    }
    // One more than there may be is told so, and the place of one that leaves is free at once.
    let more: Vec<_> = (0..10).map(|_| Raw::new(served.address)).collect();
    assert!(served.fail("select 1").contains("there are 1010 sessions already"));
    drop((clients, more));
    until("they are gone", || served.running().sessions().is_empty());
    assert_eq!(served.ask("select 1"), "1");
}
