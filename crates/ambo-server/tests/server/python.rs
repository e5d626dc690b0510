//! Programs in Python: each is a client of its own, and says nothing where all is right.

use std::process::Command;

use crate::{
    clients::python,
    support::{Served, run},
};

fn program(name: &str) {
    let served = Served::new("");
    let mut command = Command::new(python());
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/");
    command.arg("-B").arg(format!("{path}{name}.py")).arg(served.url());
    let done = run(command);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{said}\n{}", String::from_utf8_lossy(&done.stdout));
}

#[test]
fn psycopg() {
    program("with_psycopg");
}

#[test]
fn asyncpg() {
    program("with_asyncpg");
}

#[test]
fn sqlalchemy() {
    program("with_sqlalchemy");
}
