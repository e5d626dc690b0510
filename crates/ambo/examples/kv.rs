//! A program that keeps values under keys, and nothing else: what the smallest use of Ambo weighs.
//!
//! ```sh
//! cargo run --release -p ambo --example kv -- /tmp/db put ada "Ada Lovelace"
//! cargo run --release -p ambo --example kv -- /tmp/db list
//! ```
//!
//! `make weight` measures how large it is, and how long it takes to build.

#![allow(clippy::print_stdout, reason = "a program that prints what it finds")]

use std::process::ExitCode;

use ambo::{Database, Result, Table};

const USAGE: &str = "kv DIRECTORY put KEY VALUE | get KEY | delete KEY | list [PREFIX]";

fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [directory, command @ ..] = &arguments[..] else {
        println!("{USAGE}");
        return Ok(ExitCode::FAILURE);
    };
    let db = Database::open(directory)?;
    let code = run(&db.key_value("kv")?, command)?;
    db.close()?;
    Ok(code)
}

fn run(table: &Table, command: &[&str]) -> Result<ExitCode> {
    match command {
        ["put", key, value] => table.put(key.as_bytes(), value.as_bytes())?,
        ["delete", key] => table.delete(key.as_bytes())?,
        ["get", key] => match table.get(key.as_bytes())? {
            Some(value) => println!("{}", value.escape_ascii()),
            None => return Ok(ExitCode::FAILURE),
        },
        ["list"] => list(table, "")?,
        ["list", prefix] => list(table, prefix)?,
        _ => {
            println!("{USAGE}");
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(table: &Table, prefix: &str) -> Result<()> {
    for row in table.scan_prefix(prefix)? {
        let (key, value) = row?;
        println!("{} = {}", key.escape_ascii(), value.escape_ascii());
    }
    Ok(())
}
