//! Programs in JavaScript, Go and Java, with the clients that most programs there have. Each says nothing where all is right.

use std::{path::PathBuf, process::Command};

use crate::support::{Served, run};

/// What `make server-clients` has made of it.
fn made(variable: &str) -> PathBuf {
    match std::env::var_os(variable) {
        Some(path) => path.into(),
        None => panic!("{variable} says nothing: `make test` has the clients made and says where they are"),
    }
}

/// The drivers of JDBC.
pub fn jars() -> PathBuf {
    made("AMBO_SERVER_JARS").join("*")
}

const CLIENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients");

fn says_nothing(served: &Served, mut command: Command) {
    command.arg(served.url());
    let done = run(command);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{said}\n{}", String::from_utf8_lossy(&done.stdout));
}

#[test]
fn node_postgres() {
    let served = Served::new("");
    let mut command = Command::new("node");
    command.env("MODULES", made("AMBO_SERVER_NODE")).arg(format!("{CLIENTS}/node/with_pg.js"));
    says_nothing(&served, command);
}

#[test]
fn pgx() {
    let served = Served::new("");
    says_nothing(&served, Command::new(made("AMBO_SERVER_PGX")));
}

#[test]
fn pgjdbc() {
    let served = Served::new("");
    let mut command = Command::new("java");
    command.arg("-Xmx256m").arg("-cp").arg(jars()).arg(format!("{CLIENTS}/java/WithJdbc.java"));
    says_nothing(&served, command);
}
