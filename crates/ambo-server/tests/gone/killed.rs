//! Clients that are killed in every state that a client can be in.

use std::{
    io::Write,
    net::TcpStream,
    time::{Duration, Instant},
};

use ambo_server::{Limits, Protocol};

use crate::{
    raw::{Raw, message, query},
    support::Served,
};

/// How long something of a client that is gone may still be there.
const GONE: Duration = Duration::from_secs(2);

const SCRIPT: &str = "create table t (id int primary key, n int); insert into t values (1, 0), (2, 0);
    create table filled (id int primary key, n int)";

const ENDLESS: &str =
    "with recursive t (n) as (select 1 union all select n % 7 + 1 from t) select max(n) from t";

fn served() -> Served {
    let mut limits = Limits::default();
    limits.connections = 20;
    Served::with(SCRIPT, |options| options.http("127.0.0.1:0".parse().unwrap()).limits(limits))
}

/// Waits until there is nothing left of a client: no session, and nobody else waits for a row that it had.
fn leaves_nothing(served: &Served, what: &str, others: usize) {
    let began = Instant::now();
    while served.running().sessions().len() > others {
        let left = served.running().sessions();
        assert!(began.elapsed() < GONE, "{what}: {left:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut connection = served.database.connect();
    connection.execute("set lock_timeout = 1000", ()).unwrap();
    for statement in
        ["update t set n = n + 1 where id = 1", "insert into filled values (7, 0)", "delete from filled"]
    {
        connection.execute(statement, ()).unwrap_or_else(|error| panic!("{what}: {statement}: {error}"));
    }
    let left = "select (select count(*) from t where n >= 9000) + (select count(*) from filled)";
    let left: i64 = connection.query(left, ()).unwrap().next().unwrap().unwrap().get(0).unwrap();
    assert_eq!(left, 0, "{what}: something of it was written");
}

/// Waits until a session does something.
fn works(served: &Served, state: &str) {
    let began = Instant::now();
    while !served.running().sessions().iter().any(|session| session.state == state) {
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", served.running().sessions());
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// What a client does before it is killed, and the state that its session is in by then; none where it has none.
type Does = (&'static str, fn(&mut Raw), &'static str);

const STATES: [Does; 14] = [
    ("idle", |_| {}, "idle"),
    ("in the middle of a message", |client| client.send(&query("select 1")[..5]), "idle"),
    (
        "with a transaction that has rows",
        |client| {
            client.run("begin");
            client.run("update t set n = 9000 where id = 1");
            client.run("insert into filled values (7, 1)");
        },
        "idle in transaction",
    ),
    (
        "with a transaction that failed",
        |client| {
            client.run("begin; update t set n = 9000 where id = 1");
            client.send(&query("select nothing"));
            client.until(b'E');
            client.until(b'Z');
        },
        "idle in transaction",
    ),
    (
        "with locks of rows",
        |client| {
            client.run("begin");
            client.run("select * from t where id = 1 for update");
        },
        "idle in transaction",
    ),
    ("while a statement runs", |client| client.send(&query(ENDLESS)), "active"),
    (
        "while a statement of a transaction runs",
        |client| {
            client.run("begin");
            client.run("update t set n = 9000 where id = 1");
            client.send(&query(ENDLESS));
        },
        "active",
    ),
    (
        "while rows come that it does not read",
        |client| client.send(&query("select repeat('x', 1000) from range(0, 3000000)")),
        "active",
    ),
    (
        "in the middle of rows",
        |client| {
            client.send(&query("select repeat('x', 1000) from range(0, 3000000)"));
            client.until(b'D');
        },
        "active",
    ),
    (
        "with a portal that has more rows",
        |client| {
            client.send(&message(b'P', b"\0select range from range(0, 100000)\0\0\0"));
            client.send(&message(b'B', b"\0\0\0\0\0\0\0\0"));
            client.send(&message(b'E', b"\0\0\0\0\x02"));
            client.send(&message(b'H', b""));
            client.until(b's');
        },
        "idle",
    ),
    (
        "with a write that waits for Sync",
        |client| {
            client.send(&message(b'P', b"\0update t set n = 9000 where id = 1\0\0\0"));
            client.send(&message(b'B', b"\0\0\0\0\0\0\0\0"));
            client.send(&message(b'E', b"\0\0\0\0\0"));
            client.send(&message(b'H', b""));
            client.until(b'C');
        },
        "",
    ),
    (
        "in the middle of COPY in",
        |client| {
            client.send(&query("copy filled from stdin"));
            client.until(b'G');
            client.send(&message(b'd', b"7\t1\n8\t"));
        },
        "active",
    ),
    (
        "in the middle of COPY out",
        |client| {
            client.send(&query("copy (select repeat('x', 1000) from range(0, 3000000)) to stdout"));
            client.until(b'd');
        },
        "active",
    ),
    (
        "with a cursor",
        |client| {
            client.run("begin; declare c cursor for select range from range(0, 100000)");
            client.run("fetch 3 from c");
        },
        "idle in transaction",
    ),
];

#[test]
fn clients_of_postgres_leave_nothing() {
    let served = served();
    for (what, act, state) in STATES {
        let mut client = Raw::new(served.address);
        act(&mut client);
        if !state.is_empty() {
            works(&served, state);
        }
        drop(client);
        leaves_nothing(&served, what, 0);
    }
}

#[test]
fn who_waits_for_a_row_leaves_nothing() {
    let served = served();
    let mut first = Raw::new(served.address);
    first.run("begin");
    first.run("update t set n = 9000 where id = 1");
    // Who waits is killed, and then who has the row, while another waits: that one gets it.
    let mut second = Raw::new(served.address);
    second.run("begin");
    second.send(&query("update t set n = 9000 where id = 1"));
    works(&served, "active");
    drop(second);
    let mut third = Raw::new(served.address);
    third.send(&query("update t set n = n + 1 where id = 1"));
    works(&served, "active");
    drop(first);
    third.until(b'C');
    drop(third);
    leaves_nothing(&served, "who had waited", 0);
}

#[test]
fn who_has_not_come_in_leaves_nothing() {
    let served = served();
    for bytes in [&b""[..], b"\0\0\0", b"\0\0\0\x08\x04\xd2\x16\x2f", b"\0\0\0\x16\0\x03\0\0user"] {
        let mut stream = TcpStream::connect(served.address).unwrap();
        stream.write_all(bytes).unwrap();
        drop(stream);
        leaves_nothing(&served, &format!("{bytes:?}"), 0);
    }
}

/// What a client of HTTP sends before it is killed.
#[test]
fn clients_of_http_leave_nothing() {
    let served = served();
    let address = served.running().address(Protocol::Http).unwrap();
    let post = |path: &str, length: usize, body: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n{body}"
        )
    };
    let rows = "select repeat('x', 1000) as x from range(0, 3000000)";
    for (what, sent, state) in [
        ("a statement that runs", post("/sql", ENDLESS.len(), ENDLESS), "active"),
        ("rows that nobody reads", post("/sql?format=csv", rows.len(), rows), "active"),
        ("half a statement", post("/sql", 100, "update t set"), ""),
        ("half a load", post("/tables/filled/load?format=csv", 100, "id,n\n7,1\n8"), ""),
        ("half a batch", post("/batch", 100, "[{\"sql\":"), ""),
    ] {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(sent.as_bytes()).unwrap();
        match state {
            "" => std::thread::sleep(Duration::from_millis(50)),
            state => works(&served, state),
        }
        drop(stream);
        leaves_nothing(&served, what, 0);
    }
}

/// A program in Python that uses ADBC is killed, as a user or the system kills it.
#[cfg(feature = "flight")]
#[test]
fn clients_of_flight_leave_nothing() {
    use std::{
        io::{BufRead, BufReader},
        process::Command,
    };
    let mut limits = Limits::default();
    limits.connections = 20;
    let served =
        Served::with(SCRIPT, |options| options.flight("127.0.0.1:0".parse().unwrap()).limits(limits));
    let address = served.running().address(Protocol::Flight).unwrap().to_string();
    let python = std::env::var_os("AMBO_SERVER_PYTHON");
    let python =
        python.expect("AMBO_SERVER_PYTHON names no Python with ADBC: `make test` makes one and says where");
    for (what, state) in
        [("transaction", "idle in transaction"), ("rows", "active"), ("runs", "active"), ("ingest", "active")]
    {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/dies_by_flight.py");
        let mut command = Command::new(&python);
        command.arg("-B").arg(script).args([&address, what]);
        let mut child = crate::support::start(command);
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        if said != "ready\n" {
            let told = child.wait_with_output().unwrap();
            panic!("{what}: {}", String::from_utf8_lossy(&told.stderr));
        }
        works(&served, state);
        child.kill().unwrap();
        child.wait().unwrap();
        leaves_nothing(&served, what, 0);
    }
}
