//! Bytes of the protocol without a client: what is no message ends the session, and nothing else.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpStream},
};

use crate::{limits::startup, support::Served};

/// What the server says to these bytes, up to its end.
fn said(mut stream: TcpStream, bytes: &[u8]) -> String {
    // It may have closed already.
    let _written = stream.write_all(bytes);
    let _closed = stream.shutdown(Shutdown::Write);
    let mut said = Vec::new();
    let _read = stream.read_to_end(&mut said);
    String::from_utf8_lossy(&said).into_owned()
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

#[test]
fn what_is_no_message_ends_its_session_alone() {
    let served = Served::new("");
    for bytes in [
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        message(b'Y', b""),
        message(b'Q', b"no end"),
        message(b'Q', b"\xff\xff\0"),
        message(b'B', b"\0\0\xff\xff"),
        message(b'P', b"\0select 1\0\xff\xff"),
        b"Q\0\0\0\x03".to_vec(),
        b"Q\xff\xff\xff\xff".to_vec(),
    ] {
        let said = said(startup(&served), &bytes);
        assert!(said.contains("08P01"), "{bytes:?}: {said}");
    }
    for bytes in [
        &b"\0\0\0\x08\0\0\0\0"[..],
        b"\0\0\0\x04",
        b"\xff\xff\xff\xff",
        b"\0\0\0\x09\0\x03\0\0x",
        b"\x16\x03\x01\x02\0\x01",
        b"",
    ] {
        said(TcpStream::connect(served.address).unwrap(), bytes);
    }
    assert_eq!(served.ask("select 1"), "1");
}

#[test]
fn an_error_skips_what_comes_up_to_sync() {
    let served = Served::new("create table t (id int primary key)");
    let parse = |text: &str| message(b'P', format!("\0{text}\0\0\0").as_bytes());
    let run = [message(b'B', b"\0\0\0\0\0\0\0\0"), message(b'E', b"\0\0\0\0\0")].concat();
    let bytes = [
        parse("insert into t values (1)"),
        run.clone(),
        parse("insert into t values (1)"),
        run.clone(),
        parse("insert into t values (2)"),
        run.clone(),
        message(b'S', b""),
        parse("insert into t values (3)"),
        run,
        message(b'S', b""),
        message(b'X', b""),
    ]
    .concat();
    let said = said(startup(&served), &bytes);
    assert_eq!(said.matches("23505").count(), 1, "{said}");
    // All of the first is undone, and the second is done.
    assert_eq!(served.ask("select id from t"), "3");
}

#[test]
fn portals_give_so_many_rows_as_are_asked_for() {
    let served = Served::new("");
    let bytes = [
        message(b'P', b"\0select range from range(0, 5)\0\0\0"),
        message(b'B', b"\0\0\0\0\0\0\0\0"),
        message(b'E', b"\0\0\0\0\x02"),
        message(b'E', b"\0\0\0\0\x02"),
        message(b'E', b"\0\0\0\0\x02"),
        message(b'S', b""),
        message(b'X', b""),
    ]
    .concat();
    let said = said(startup(&served), &bytes);
    assert_eq!((said.matches("s\0\0\0\u{4}").count(), said.matches("SELECT 5").count()), (2, 1), "{said}");
}

#[test]
fn newer_protocols_are_told_what_is_spoken() {
    let served = Served::new("");
    let mut stream = TcpStream::connect(served.address).unwrap();
    let body = b"\0\x03\0\x02user\0ada\0_pq_.x\x001\0\0";
    stream.write_all(&[&(body.len() as u32 + 4).to_be_bytes()[..], body].concat()).unwrap();
    let said = said(stream, &message(b'X', b""));
    assert!(said.starts_with("v\0\0\0\u{13}\0\u{3}\0\0\0\0\0\u{1}_pq_.x\0R"), "{said:?}");
}
