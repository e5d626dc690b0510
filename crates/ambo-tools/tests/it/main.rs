//! The real `ambo-tools` program, on little data.

mod bench;
mod crash;
mod demo;
#[path = "../../../ambo-cli/tests/it/program.rs"]
#[allow(dead_code, reason = "part of it is for the tests of another program")]
mod program;

use ambo::{Database, Storage};
use program::{Outcome, ambo as run};

/// What is tested.
const PROGRAM: &str = env!("CARGO_BIN_EXE_ambo-tools");
/// How its messages begin.
const BEGIN: &str = "ambo-tools: ";

fn tools(words: &[&str]) -> Outcome {
    run(words)
}

/// The storage of each table.
fn storages(db: &str) -> Vec<Storage> {
    let db = Database::open(db).unwrap();
    let storages = db.tables().iter().map(|name| db.table(name).unwrap().definition().storage).collect();
    db.close().unwrap();
    storages
}

/// A check of the whole database finds nothing.
#[track_caller]
fn assert_sound(db: &str) {
    let db = Database::open(db).unwrap();
    let report = db.check().unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    db.close().unwrap();
}
