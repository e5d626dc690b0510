//! Roles and rights at every door: what was not granted is refused by whatever protocol it is asked for.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use ambo_server::{Options, Protocol, Role, Roles, Token};
use ambo_sql::Level;

use crate::support::{Served, psql_as as psql};

const SCRIPT: &str = "
    create table open (id int primary key, n int);
    insert into open values (1, 10);
    create table secret (id int primary key);
    create schema keys;
    create sequence numbers;
    create sequence others;
    create table serials (n bigserial, word text);
";

/// A server with roles in its file, and tables of keys and values.
fn served() -> (Served, String) {
    let (text, token) = Token::generate();
    let mut roles = Roles::none();
    roles.add(Role::new("root").password("r"));
    roles.add(Role::new("token").token(token).level(Level::Granted));
    let served = Served::with(SCRIPT, |options: Options| {
        let any = || "127.0.0.1:0".parse().unwrap();
        let options = options.http(any()).thrift(any()).roles(roles);
        #[cfg(feature = "flight")]
        let options = options.flight(any());
        options
    });
    for name in ["keys.open", "keys.secret"] {
        served.database.key_value(name).unwrap().put(b"k", b"v").unwrap();
    }
    (served, text)
}

fn address(served: &Served, protocol: Protocol) -> SocketAddr {
    served.running().address(protocol).unwrap()
}

/// The status and the body of an answer of HTTP.
fn http(served: &Served, method: &str, path: &str, authorization: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address(served, Protocol::Http)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: {authorization}\r\nContent-Length: {}\r\n",
        body.len()
    );
    stream.write_all(format!("{head}Content-Type: text/plain\r\n\r\n{body}").as_bytes()).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    let status = said.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, said)
}

/// The answer to a call of `ambo.thrift` on a connection.
fn thrift(stream: &mut TcpStream, method: &str, texts: &[&str]) -> Vec<u8> {
    let mut call = vec![0x80, 1, 0, 1];
    let text = |out: &mut Vec<u8>, text: &str| {
        out.extend((text.len() as u32).to_be_bytes());
        out.extend_from_slice(text.as_bytes());
    };
    text(&mut call, method);
    call.extend([0, 0, 0, 1]);
    for (id, value) in (1u16..).zip(texts) {
        call.push(11);
        call.extend(id.to_be_bytes());
        text(&mut call, value);
    }
    call.push(0);
    let framed = [&(call.len() as u32).to_be_bytes()[..], &call].concat();
    stream.write_all(&framed).unwrap();
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut answer = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut answer).unwrap();
    answer
}

/// Checks that psql was refused a statement.
fn assert_denied(sql: &str, (done, said): (bool, String)) {
    assert!(!done && said.contains("permission denied"), "{sql}: {said}");
}

#[test]
fn what_was_not_granted_is_refused_at_every_door() {
    let (served, token) = served();
    let root = |sql: &str| {
        let (done, said) = psql(&served, "root", "r", "", sql);
        assert!(done, "{sql}: {said}");
        said
    };
    root("create role ada login password 'a secret'");
    let ada = |sql: &str| psql(&served, "ada", "a secret", "", sql);
    let denied = |sql: &str| assert_denied(sql, ada(sql));
    let basic = "Basic YWRhOmEgc2VjcmV0";
    let bearer = format!("Bearer {token}");
    for sql in [
        "select * from open",
        "insert into open values (2, 20)",
        "copy open to stdout",
        "copy open from stdin",
    ] {
        denied(sql);
    }
    for who in [basic, &bearer] {
        assert_eq!(http(&served, "POST", "/sql", who, "select * from open where id = 1").0, 403);
        assert_eq!(http(&served, "POST", "/sql", who, "insert into open values (2, 20)").0, 403);
        assert_eq!(http(&served, "GET", "/kv/keys.secret/k", who, "").0, 403);
        assert_eq!(http(&served, "GET", "/kv/keys.secret", who, "").0, 403);
        assert_eq!(http(&served, "PUT", "/kv/keys.secret/k", who, "x").0, 403);
        assert_eq!(http(&served, "DELETE", "/kv/keys.secret/k", who, "").0, 403);
        assert_eq!(http(&served, "PUT", "/kv/keys.new", who, "").0, 403);
        assert_eq!(http(&served, "PUT", "/kv/keys.new/k?create", who, "x").0, 403);
        assert_eq!(
            http(&served, "GET", "/api1/get_entity?DATABASE_NAME=keys&TABLE_NAME=secret&KEY_NAME=k", who, "")
                .0,
            500
        );
        assert_eq!(http(&served, "GET", "/api1/make_checkpoint", who, "").0, 500);
        assert_eq!(http(&served, "POST", "/tables/open/load?format=csv", who, "id,n\n3,30\n").0, 403);
        let tables = http(&served, "GET", "/tables", who, "").1;
        assert!(!tables.contains("secret") && !tables.contains("open"), "{tables}");
    }
    let mut stream = TcpStream::connect(address(&served, Protocol::Thrift)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let says = |answer: &[u8], what: &str| String::from_utf8_lossy(answer).contains(what);
    assert!(says(&thrift(&mut stream, "authenticate", &["ada", "wrong"]), "no role"));
    assert!(!says(&thrift(&mut stream, "authenticate", &["ada", "a secret"]), "no role"));
    for (method, texts) in [
        ("get", &["keys.secret", "k"][..]),
        ("put", &["keys.secret", "k", "x"]),
        ("remove", &["keys.secret", "k"]),
        ("range", &["keys.secret"]),
        ("count", &["keys.secret"]),
        ("createTable", &["keys.new"]),
        ("sql", &["select * from open"]),
    ] {
        let answer = thrift(&mut stream, method, texts);
        assert!(says(&answer, "permission denied"), "{method}: {}", String::from_utf8_lossy(&answer));
    }
    // Rows come in without the right to read them.
    root("grant insert on open to ada");
    denied("select n from open");
    assert_eq!(ada("copy open from stdin"), (true, "COPY 0\n".to_owned()));
    assert_eq!(ada("copy open (n, id) from stdin (format csv)"), (true, "COPY 0\n".to_owned()));
    denied("copy open to stdout");
    root("revoke all on open from ada");
    denied("copy open from stdin");
    // What is granted is granted at once, at every door.
    root(
        "grant select, insert on open to ada, token; grant select, insert, update on keys.open to ada, token",
    );
    assert_eq!(ada("select n from open"), (true, "10\n".to_owned()));
    denied("delete from open");
    denied("select * from secret");
    for who in [basic, &bearer] {
        assert_eq!(http(&served, "POST", "/sql", who, "select * from open where id = 1").0, 200);
        assert_eq!(http(&served, "GET", "/kv/keys.open/k", who, "").0, 200);
        assert_eq!(http(&served, "PUT", "/kv/keys.open/j", who, "x").0 / 100, 2);
        assert_eq!(http(&served, "DELETE", "/kv/keys.open/k", who, "").0, 403);
    }
    let (status, said) = http(&served, "POST", "/tables/open/load?format=csv", basic, "id,n\n3,30\n");
    assert_eq!(status, 200, "{said}");
    // That file and no other.
    assert_eq!(http(&served, "POST", "/sql", basic, "select * from read_csv('/etc/passwd')").0, 403);
    assert!(says(&thrift(&mut stream, "get", &["keys.open", "k"]), "v"));
    root("revoke all on open, keys.open from ada");
    denied("select n from open");
    assert!(says(&thrift(&mut stream, "get", &["keys.open", "k"]), "permission denied"));
    // A password that is another's opens nothing that was opened before.
    assert_eq!(http(&served, "POST", "/sql", basic, "select 1").0, 200);
    root("alter role ada password 'another'");
    assert_eq!(http(&served, "POST", "/sql", basic, "select 1").0, 401);
    assert!(!ada("select 1").0);
    root("drop role ada");
    assert!(!psql(&served, "ada", "another", "", "select 1").0);
}

// Keeps away: a database whose roles are in it, and who is locked out of it, or comes in without a password.
#[test]
fn the_first_role_closes_the_door() {
    let served = Served::new("create table t (id int primary key)");
    assert!(served.fail("create user ada password 'a'").contains("no superuser"));
    assert_eq!(served.ask("create user root superuser password 'r'"), "CREATE ROLE");
    let (done, said) = psql(&served, "eve", "", "", "select 1");
    assert!(!done && said.contains("password"), "{said}");
    assert!(psql(&served, "root", "r", "", "create user bob password 'b' in role pg_read_all_data").0);
    assert_eq!(psql(&served, "bob", "b", "", "select count(*) from t"), (true, "0\n".to_owned()));
    assert!(psql(&served, "bob", "b", "", "insert into t values (1)").1.contains("permission denied"));
    assert!(psql(&served, "root", "r", "", "grant insert on t to bob").0);
    assert!(psql(&served, "bob", "b", "", "insert into t values (1)").0);
    let (_, listed) = psql(&served, "root", "r", "", "\\dp t");
    assert!(listed.contains("bob=a/root"), "{listed}");
    let (_, listed) = psql(&served, "root", "r", "", "\\du");
    assert!(listed.contains("bob") && listed.contains("root|Superuser"), "{listed}");
    // What somebody has said is shown to others without the password.
    let queries = served.running().sessions();
    assert!(queries.iter().all(|session| !session.text.contains("'r'")), "{queries:?}");
    let grants = "select grantee || ' ' || privilege_type from information_schema.role_table_grants where table_name = 't' and grantee = 'bob'";
    assert_eq!(psql(&served, "bob", "b", "", grants).1, "bob INSERT\n");
}

/// What a program in Python says of the rights that it has by Flight SQL.
#[cfg(feature = "flight")]
fn by_flight(served: &Served, how: &str) {
    let mut command = std::process::Command::new(crate::clients::python());
    command.arg("-B").arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/rights_by_flight.py"));
    command.arg(address(served, Protocol::Flight).to_string()).args([how, "ada", "a secret"]);
    let done = crate::support::run(command);
    let said = [done.stdout, done.stderr].concat();
    assert!(done.status.success(), "{how}: {}", String::from_utf8_lossy(&said));
}

// Keeps away: a door by which a role does what it may not by another.
#[cfg(feature = "flight")]
#[test]
fn rights_hold_by_flight() {
    let (served, _) = served();
    let root = |sql: &str| assert!(psql(&served, "root", "r", "", sql).0, "{sql}");
    root("create role ada login password 'a secret'");
    by_flight(&served, "denied");
    root("grant select, insert on open to ada; grant usage on sequence numbers to ada");
    by_flight(&served, "granted");
    root("revoke all on open from ada; revoke all on sequence numbers from ada");
    by_flight(&served, "denied");
}

// Keeps away: numbers that are taken, and set, by whoever reads.
#[test]
fn numbers_of_sequences_take_a_right_at_every_door() {
    let (served, token) = served();
    let root = |sql: &str| assert!(psql(&served, "root", "r", "", sql).0, "{sql}");
    root("create role ada login password 'a secret'");
    let ada = |sql: &str| psql(&served, "ada", "a secret", "", sql);
    let denied = |sql: &str| assert_denied(sql, ada(sql));
    let basic = "Basic YWRhOmEgc2VjcmV0";
    let bearer = format!("Bearer {token}");
    let mut stream = TcpStream::connect(address(&served, Protocol::Thrift)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    thrift(&mut stream, "authenticate", &["ada", "a secret"]);
    let mut by_thrift = |sql: &str, what: &str| {
        let answer = thrift(&mut stream, "sql", &[sql]);
        assert!(
            String::from_utf8_lossy(&answer).contains(what),
            "{sql}: {}",
            String::from_utf8_lossy(&answer)
        );
    };
    for sql in [
        "select nextval('numbers')",
        "select nextval('main.numbers')",
        "select setval('numbers', 7)",
        "select last_value from numbers",
        "alter sequence numbers restart",
        "drop sequence numbers",
        "grant usage on sequence numbers to ada",
        "comment on sequence numbers is 'mine'",
        "select nextval('serials_n_seq')",
        "insert into serials (word) values ('x')",
    ] {
        denied(sql);
        for who in [basic, &bearer] {
            assert_eq!(http(&served, "POST", "/sql", who, sql).0, 403, "{sql}");
        }
        by_thrift(sql, "permission denied");
    }
    root("grant usage on sequence numbers to ada, token");
    assert_eq!(ada("select nextval('numbers'), currval('numbers')"), (true, "1|1\n".to_owned()));
    assert_eq!(http(&served, "POST", "/sql", &bearer, "select nextval('numbers')").0, 200);
    by_thrift("select nextval('numbers')", "nextval");
    denied("select setval('numbers', 7)");
    denied("select last_value from numbers");
    let asked =
        "select has_sequence_privilege('numbers', 'usage'), has_sequence_privilege('numbers', 'update')";
    assert_eq!(ada(asked).1, "t|f\n");
    root("grant select, update on all sequences in schema public to ada");
    assert_eq!(ada("select setval('numbers', 7); select last_value, is_called from numbers").1, "7\n7|t\n");
    assert!(psql(&served, "root", "r", "", "\\dp numbers").1.contains("ada=rwU/root"));
    // Rights go with it to another name, and with it for good.
    root("alter sequence numbers rename to counts");
    assert_eq!(ada("select nextval('counts')").1, "8\n");
    root("drop sequence counts; create sequence counts");
    denied("select nextval('counts')");
    // The numbers of a table are for whoever may insert there.
    root("grant insert on serials to ada");
    assert!(ada("insert into serials (word) values ('x')").0);
    // One's own.
    root("grant create on schema public to ada");
    let own = "create sequence mine; select nextval('mine'), setval('mine', 5); alter sequence mine restart; drop sequence mine";
    let (done, said) = ada(own);
    assert!(done, "{said}");
}

// Keeps away: a session that goes on as what its role was when it began.
#[test]
fn what_a_role_may_do_changes_at_once() {
    let (served, _) = served();
    let root = |sql: &str| assert!(psql(&served, "root", "r", "", sql).0, "{sql}");
    root("create role ada login superuser password 'a secret'");
    let mut stream = TcpStream::connect(address(&served, Protocol::Thrift)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    thrift(&mut stream, "authenticate", &["ada", "a secret"]);
    let session = served.running().sessions().into_iter().find(|session| session.protocol == "thrift");
    assert_eq!(session.map(|session| session.role).as_deref(), Some("ada"));
    let mut says = |method: &str, texts: &[&str], what: &str| {
        let answer = thrift(&mut stream, method, texts);
        assert!(String::from_utf8_lossy(&answer).contains(what), "{}", String::from_utf8_lossy(&answer));
    };
    let mut client = crate::support::start({
        let mut command = std::process::Command::new("psql");
        let port = served.address.port();
        command.args([
            "-X",
            "-At",
            "-d",
            &format!("host=127.0.0.1 port={port} user=ada password='a secret' dbname=ambo"),
        ]);
        command.stdin(std::process::Stdio::piped());
        command
    });
    let mut stdin = client.stdin.take().unwrap();
    let mut send = |sql: &str| stdin.write_all(format!("{sql};\n").as_bytes()).unwrap();
    let reads = |count: usize| {
        crate::support::until("it has run", || {
            let sessions = served.running().sessions();
            sessions
                .iter()
                .any(|of| of.role == "ada" && of.text == format!("select {count}") && of.state == "idle")
        });
    };
    send("select n from open");
    send("select 1");
    reads(1);
    says("get", &["keys.secret", "k"], "v");
    says("sql", &["select n from open"], "n");
    root("alter role ada nosuperuser");
    says("get", &["keys.secret", "k"], "permission denied");
    says("sql", &["select n from open"], "permission denied");
    send("select n from open");
    send("select 2");
    reads(2);
    root("grant select on open to ada");
    says("sql", &["select n from open"], "n");
    root("drop role ada");
    says("sql", &["select 1"], "there is no role");
    says("get", &["keys.open", "k"], "permission denied");
    send("select 3");
    drop(stdin);
    let done = crate::support::wait(client);
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert_eq!(out, "10\n1\n2\n", "{err}");
    assert!(
        err.contains("permission denied for table open") && err.contains("there is no role \"ada\""),
        "{err}"
    );
}
