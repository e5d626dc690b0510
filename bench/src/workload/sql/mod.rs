//! SQL beside SQLite and DuckDB: statements on a key, a small bank, TPC-H and TPC-DS.
//!
//! Ambo and SQLite run in this process (`rusqlite`, prepared and cached statements, write-ahead log). DuckDB runs in a Python process,
//! which takes the times itself (`columns/peer.rs`).

mod bank;
mod points;
mod scans;
mod synced;
mod tpc;
mod tpcds;
mod tpch;

use ambo::Sync;
use ambo_sql::{Database, SqlOptions};
use rusqlite::Connection;

use super::Case;
use super::columns::THREADS;
use super::sheet::Sheet;
use crate::engine::Result;

/// Rows of a case unless the user says otherwise.
pub fn records(case: Case) -> u64 {
    match case.name {
        "bank" => 100_000,
        _ => 1_000_000,
    }
}

/// Measures a case.
pub fn run(sheet: &mut Sheet) -> Result<()> {
    let load = super::columns::load_average()?;
    let name = sheet.case.name;
    sheet.figure(&format!("machine: when {name} began"), "ambo", "load average", "processes", load);
    match name {
        "points" => points::run(sheet),
        "bank" => bank::run(sheet),
        "scans" => scans::run(sheet),
        "tpcds" => tpcds::run(sheet),
        _ => tpch::run(sheet),
    }
}

/// Opens a database below the directory of the case.
fn open(sheet: &Sheet, name: &str, sync: Sync) -> Result<Database> {
    let db = super::columns::options(sheet, sync).open(sheet.dir.join(name))?;
    Ok(Database::with_options(db, SqlOptions::new().threads(THREADS)))
}

/// Opens a SQLite database below the directory of the case, with as much cache as Ambo has.
fn open_sqlite(sheet: &Sheet, name: &str, sync: bool) -> Result<Connection> {
    let connection = Connection::open(sheet.dir.join(name))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "cache_size", -1_048_576)?;
    connection.pragma_update(None, "synchronous", if sync { "FULL" } else { "OFF" })?;
    connection.busy_timeout(std::time::Duration::from_secs(10))?;
    Ok(connection)
}

/// Checks a whole database.
fn check(db: &Database) -> Result<()> {
    let report = db.check()?;
    match report.is_sound() {
        true => Ok(()),
        false => Err(format!("the database is damaged: {report:?}").into()),
    }
}

/// Puts in a row for each number, 10,000 in a transaction, and settles them.
fn fill(
    sheet: &Sheet,
    db: &Database,
    connection: &mut ambo_sql::Connection,
    mut insert: impl FnMut(&mut ambo_sql::Connection, u64) -> Result<()>,
) -> Result<()> {
    connection.script("begin")?;
    for id in 0..sheet.records {
        insert(connection, id)?;
        if id % 10_000 == 9_999 {
            connection.script("commit; begin")?;
        }
    }
    connection.script("commit")?;
    db.compact()?;
    db.compact_due()?;
    Ok(())
}
