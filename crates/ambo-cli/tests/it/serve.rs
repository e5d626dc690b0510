//! `ambo serve` and `ambo role`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::program::{Scratch, ambo, ambo_with_input, command};

#[test]
fn a_server_says_where_it_is_and_ends_at_a_polite_kill() {
    let scratch = Scratch::new();
    let db = scratch.db();
    let mut child = command(&["serve", &db, "--listen", "127.0.0.1:0", "--http", "none"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let line = lines.find(|line| line.starts_with("serving")).unwrap();
    let address = line.split("postgres at ").nth(1).and_then(|rest| rest.split(';').next()).unwrap();
    let mut client = TcpStream::connect(address).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    client.write_all(b"\0\0\0\x12\0\x03\0\0user\0ada\0\0").unwrap();
    let mut first = [0; 9];
    client.read_exact(&mut first).unwrap();
    // Whoever comes from the same machine may come in where there are no roles.
    assert_eq!(&first, b"R\0\0\0\x08\0\0\0\0");
    client.write_all(b"Q\0\0\0\x1ccreate table t (id int)\0").unwrap();
    let killed = std::process::Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert!(killed.success());
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(
        lines.next().as_deref(),
        Some("stopping: statements that run have 10 seconds; a second Ctrl-C does not wait")
    );
    assert_eq!(ambo(&["check", &db]).code, Some(0));
}

#[test]
fn roles_are_added_and_taken_away() {
    let scratch = Scratch::new();
    let db = scratch.db();
    ambo(&[&db, "-c", "create table t (id int)"]);
    let added = ambo_with_input(&["role", &db, "add", "ada", "--token"], "secret\n");
    assert!(added.code == Some(0) && added.out.starts_with("ambo_"), "{added:?}");
    assert_eq!(ambo_with_input(&["role", &db, "add", "bob", "--read-only"], "b\n").code, Some(0));
    assert_eq!(ambo(&["role", &db, "list"]).out, "ada\nbob (only reads)\n");
    assert_eq!(ambo(&["role", &db, "remove", "ada"]).code, Some(0));
    assert_eq!(ambo(&["role", &db, "remove", "ada"]).code, Some(1));
    let kept = std::fs::read_to_string(scratch.path("db").join("roles")).unwrap();
    assert!(kept.starts_with("bob SCRAM-SHA-256$4096:") && !kept.contains("ada"), "{kept}");
    assert!(ambo(&["role", &db, "add", "eve"]).err.contains("standard input"));
    let open = ambo(&["serve", &db, "--listen", "0.0.0.0:0", "--http", "none"]);
    assert!(open.code == Some(2) && open.err.contains("certificate"), "{open:?}");
}
