//! The server's HTTP with clients of others: Python's, and a browser for the console.

use std::{net::SocketAddr, path::Path, process::Command, time::Duration};

use ambo_server::{Options, Protocol, Role, Roles, Running, Server, Token};
use ambo_sql::Database;

/// A server of a new database in memory.
fn start() -> (Database, Running, SocketAddr) {
    let database = Database::in_memory().unwrap();
    let options = Options::new().http("127.0.0.1:0".parse().unwrap()).thrift("127.0.0.1:0".parse().unwrap());
    let running = Server::start(database.clone(), options).unwrap();
    let address = running.address(Protocol::Http).unwrap();
    (database, running, address)
}

/// Runs a program to its end, which must be a good one.
fn run(command: &mut Command, install: &str) {
    let program = command.get_program().to_owned();
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => panic!("{}: {error}; {install}", program.display()),
    };
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", said(&output.stdout), said(&output.stderr));
}

/// Runs a part of `client.py` against a server of its own, which has nothing left of it when it has ended.
fn client(part: &str) {
    let (database, running, address) = start();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/http/client.py");
    let mut python = Command::new("python3");
    let url = format!("http://{address}");
    let thrift = running.address(Protocol::Thrift).unwrap().to_string();
    run(python.arg("-B").arg(script).args([&url, part, &thrift]), "install it: apt-get install python3");
    running.shutdown(Duration::from_secs(5));
    let report = database.check().unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
}

macro_rules! parts {
    ($($part:ident),*) => {$(
        #[test]
        fn $part() {
            client(stringify!($part));
        }
    )*};
}

parts!(
    forms,
    errors,
    batches,
    sessions,
    keys,
    loads,
    guards,
    ends,
    results,
    tables,
    keks_http,
    keks_thrift,
    service
);

/// Keeps away: requests of nobody where there are roles, and changes by who may only read.
#[test]
fn roles() {
    let (token, kept) = Token::generate();
    let mut roles = Roles::none();
    roles.add(Role::new("ada").password("secret"));
    roles.add(Role::new("eve").token(kept).read_only(true));
    let database = Database::in_memory().unwrap();
    let options = Options::new().http("127.0.0.1:0".parse().unwrap()).roles(roles);
    let running = Server::start(database, options).unwrap();
    let url = format!("http://{}", running.address(Protocol::Http).unwrap());
    let status = |path: &str, more: &[&str]| {
        let mut curl = Command::new("curl");
        curl.args(["-s", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "20"])
            .args(more)
            .arg(format!("{url}{path}"));
        let output =
            curl.output().unwrap_or_else(|error| panic!("curl: {error}; install it: apt-get install curl"));
        String::from_utf8(output.stdout).unwrap()
    };
    let bearer = format!("Authorization: Bearer {token}");
    let create = ["-d", "create table t (id int primary key)"];
    for path in ["/health", "/", "/console/main.js"] {
        assert_eq!(status(path, &[]), "200", "{path}");
    }
    for path in ["/sql?query=select+1", "/metrics", "/queries", "/tables", "/kv/t/a", "/api1/get_databases"] {
        assert_eq!(status(path, &[]), "401", "{path}");
        assert_eq!(status(path, &["-u", "ada:wrong"]), "401", "{path}");
        assert_ne!(status(path, &["-H", &bearer]), "401", "{path}");
    }
    assert_eq!(status("/sql", &[&["-u", "ada:secret"], &create[..]].concat()), "200");
    assert_eq!(status("/sql?query=select+*+from+t", &["-H", &bearer]), "200");
    assert_ne!(status("/sql", &["-H", &bearer, "-d", "insert into t values (1)"]), "200");
    assert_eq!(status("/kv/t", &["-H", &bearer, "-X", "PUT"]), "403");
    assert_eq!(status("/sql?query=select+*+from+t", &["-H", "Authorization: Bearer ambo_x"]), "401");
    running.shutdown(Duration::from_secs(5));
}

/// The console in Chromium. `make test` says where playwright-core is, with `AMBO_CONSOLE_MODULES`.
#[test]
fn console() {
    let install =
        "make test installs node, Chromium and playwright-core: apt-get install nodejs npm chromium";
    let Some(modules) = std::env::var_os("AMBO_CONSOLE_MODULES") else {
        panic!("AMBO_CONSOLE_MODULES does not say where playwright-core is; {install}");
    };
    let (database, running, address) = start();
    database
        .connect()
        .script(
            "create table flights (id bigint primary key, day date, carrier text, delay double, note text) storage = column;
             insert into flights select n, date '2026-01-01' + (n % 28)::int, case n % 4 when 0 then 'AA' when 1 then 'UA'
             when 2 then 'DL' end, n % 90, case when n % 5 = 0 then '' else 'x' || n end from range(100000) t(n);",
        )
        .unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/http/console.mjs");
    let mut node = Command::new("node");
    run(node.arg(script).arg(format!("http://{address}")).env("AMBO_CONSOLE_MODULES", modules), install);
    running.shutdown(Duration::from_secs(5));
}
