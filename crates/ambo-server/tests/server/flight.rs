//! Flight SQL, with the drivers of ADBC and JDBC.

use std::process::Command;

use ambo_server::{Limits, Options, Protocol, Role, Roles, Tls, Token};

use crate::{
    clients::python,
    others::jars,
    support::{Served, run, until},
};

fn address(served: &Served) -> String {
    served.running().address(Protocol::Flight).unwrap().to_string()
}

/// A program in Python of these tests: whether it did all, and what it said.
fn program(name: &str, served: &Served, more: &[&str]) -> (bool, String) {
    let mut command = Command::new(python());
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/");
    command.arg("-B").arg(format!("{path}{name}.py")).arg(address(served)).args(more);
    let done = run(command);
    let said = [done.stdout, done.stderr].concat();
    (done.status.success(), String::from_utf8_lossy(&said).into_owned())
}

fn adbc(served: &Served, more: &[&str]) -> (bool, String) {
    program("with_adbc_flight", served, more)
}

fn flight(options: Options) -> Options {
    options.flight("127.0.0.1:0".parse().unwrap())
}

#[test]
fn adbc_works_with_flight_sql() {
    let served = Served::with("", flight);
    let (done, said) = adbc(&served, &[]);
    assert!(done, "{said}");
    until("nothing is left", || served.running().sessions().is_empty());
}

fn roles() -> (Roles, String) {
    let (token, kept) = Token::generate();
    let mut roles = Roles::none();
    roles.add(Role::new("ada").password("a secret"));
    roles.add(Role::new("bob").password("b").read_only(true));
    roles.add(Role::new("eve").token(kept));
    (roles, token)
}

#[test]
fn who_comes_in_has_a_password_or_a_token() {
    let (roles, token) = roles();
    let served = Served::with("", |options| flight(options).roles(roles));
    for wrong in [&[][..], &["ada", "wrong"], &["ambo_x"]] {
        let (done, said) = adbc(&served, wrong);
        assert!(!done && said.to_lowercase().contains("unauthenticated"), "{wrong:?}: {said}");
    }
    let (done, said) = adbc(&served, &["bob", "b"]);
    assert!(!done && said.contains("this role may only read"), "{said}");
    let (done, said) = adbc(&served, &[&token]);
    assert!(done, "{said}");
    let (done, said) = adbc(&served, &["ada", "a secret"]);
    assert!(done, "{said}");
}

#[test]
fn requests_without_a_driver() {
    let home = tempfile::tempdir().unwrap();
    let mut limits = Limits::default();
    limits.connections = 3;
    limits.message_bytes = 1 << 20;
    let served = Served::with("create table t (id int primary key); insert into t values (1)", |options| {
        let options = options.http("127.0.0.1:0".parse().unwrap()).audit(home.path());
        flight(options).limits(limits)
    });
    let http = served.running().address(Protocol::Http).unwrap().to_string();
    let (done, said) = program("with_flight", &served, &[&http]);
    assert!(done, "{said}");
    until("nothing is left", || served.running().sessions().is_empty());
    let logged = std::fs::read_to_string(home.path().join("audit.jsonl")).unwrap();
    assert!(logged.contains("\"protocol\":\"flight\"") && logged.contains("ingest into main.t"), "{logged}");
}

#[test]
fn connections_are_encrypted() {
    let (roles, _) = roles();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tls/");
    let tls = Tls::new(format!("{folder}cert.pem"), format!("{folder}key.pem"));
    let served = Served::with("", |options| flight(options).roles(roles).tls(tls));
    let (done, said) =
        program("with_flight_tls", &served, &[&format!("{folder}cert.pem"), &format!("{folder}other.pem")]);
    assert!(done, "{said}");
}

#[test]
fn jdbc_works_with_flight_sql() {
    let (roles, _) = roles();
    let served = Served::with("", |options| flight(options).roles(roles));
    let mut command = Command::new("java");
    command.args(["-Xmx256m", "--add-opens=java.base/java.nio=ALL-UNNAMED", "-cp"]).arg(jars());
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/java/WithFlight.java"));
    command.args([&address(&served), "ada", "a%20secret"]);
    let done = run(command);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{said}\n{}", String::from_utf8_lossy(&done.stdout));
}
