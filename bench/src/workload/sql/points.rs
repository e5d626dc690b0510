//! Statements on one row by its key: prepared and not, committed one by one.

use std::time::Instant;

use ambo::Sync;
use ambo_sql::{Connection, Database};
use rusqlite::params;

use super::{check, fill, open, open_sqlite, synced};
use crate::engine::Result;
use crate::random::Random;
use crate::workload::columns::{
    add_operations, each, label, latencies,
    peer::{DUCKDB, Peer},
};
use crate::workload::sheet::Sheet;

const READS: usize = 200_000;
const WRITES: usize = 50_000;
const PEER_TIMES: usize = 500;
pub const COLUMNS: &str = "id bigint primary key, a bigint, b double, c text, d text";

pub fn run(sheet: &mut Sheet) -> Result<()> {
    for storage in ["btree", "column"] {
        ambo(sheet, storage)?;
    }
    sqlite(sheet)?;
    duckdb(sheet)?;
    synced::run(sheet)
}

pub fn text(id: u64) -> (String, String) {
    (format!("name of {id}"), format!("{:x}", Random::new(id).next_u64()))
}

pub fn ids(sheet: &Sheet, count: usize, seed: u64) -> Vec<i64> {
    let mut random = Random::new(seed);
    (0..count).map(|_| random.below(sheet.records) as i64).collect()
}

pub fn what(sheet: &Sheet, what: &str) -> String {
    label("points", sheet.records, what)
}

fn ambo(sheet: &mut Sheet, storage: &str) -> Result<()> {
    let whose = format!("ambo, {storage}");
    let db = open(sheet, &format!("points-{storage}"), Sync::Off)?;
    let mut connection = db.connect();
    connection.script(&format!("create table t ({COLUMNS}) storage = {storage}"))?;
    load(sheet, &db, &mut connection)?;
    reads(sheet, &whose, &mut connection)?;
    writes(sheet, &whose, &mut connection)?;
    check(&db)
}

pub fn load(sheet: &Sheet, db: &Database, connection: &mut Connection) -> Result<()> {
    let mut insert = connection.prepare("insert into t values ($1, $2, $3, $4, $5)")?;
    fill(sheet, db, connection, |connection, id| {
        let (c, d) = text(id);
        insert.execute(connection, (id as i64, id as i64 % 1000, id as f64 / 7.0, c, d))?;
        Ok(())
    })
}

fn reads(sheet: &mut Sheet, whose: &str, connection: &mut Connection) -> Result<()> {
    let mut select = connection.prepare("select a, b, c from t where id = $1")?;
    for id in ids(sheet, READS / 4, 1) {
        select.query(connection, (id,))?.single()?;
    }
    let (times, seconds) = each(ids(sheet, READS, 2), |id| {
        let row = select.query(connection, (id,))?.single()?;
        let a: i64 = row.get(0)?;
        if a != id % 1000 { Err("a wrong row".into()) } else { Ok(()) }
    })?;
    add_operations(sheet, &what(sheet, "prepared select"), whose, &times, READS as f64 / seconds);
    let (times, seconds) = each(ids(sheet, READS / 10, 3), |id| {
        connection.sql(&format!("select a, b, c from t where id = {id}"))?.single()?;
        Ok(())
    })?;
    add_operations(sheet, &what(sheet, "unprepared select"), whose, &times, (READS / 10) as f64 / seconds);
    Ok(())
}

fn writes(sheet: &mut Sheet, whose: &str, connection: &mut Connection) -> Result<()> {
    let mut update = connection.prepare("update t set a = a + 1 where id = $1")?;
    let (times, seconds) = each(ids(sheet, WRITES, 4), |id| match update.execute(connection, (id,))? {
        1 => Ok(()),
        other => Err(format!("{other} rows").into()),
    })?;
    add_operations(sheet, &what(sheet, "update, no sync"), whose, &times, WRITES as f64 / seconds);
    let mut insert = connection.prepare("insert into t values ($1, $2, $3, $4, $5)")?;
    let new = sheet.records..sheet.records + WRITES as u64;
    let (times, seconds) = each(new, |id| {
        let (c, d) = text(id);
        insert.execute(connection, (id as i64, 1i64, 0.5, c, d))?;
        Ok(())
    })?;
    add_operations(sheet, &what(sheet, "insert, no sync"), whose, &times, WRITES as f64 / seconds);
    Ok(())
}

/// The same rows as [`load`] puts in.
pub fn load_sqlite(sheet: &Sheet, connection: &rusqlite::Connection) -> Result<()> {
    connection.execute_batch(&format!("create table t ({COLUMNS}) without rowid; begin"))?;
    let mut insert = connection.prepare("insert into t values (?, ?, ?, ?, ?)")?;
    for id in 0..sheet.records {
        let (c, d) = text(id);
        insert.execute(params![id as i64, id as i64 % 1000, id as f64 / 7.0, c, d])?;
    }
    Ok(connection.execute_batch("commit")?)
}

fn sqlite(sheet: &mut Sheet) -> Result<()> {
    let whose = "sqlite";
    let connection = open_sqlite(sheet, "points.sqlite", false)?;
    load_sqlite(sheet, &connection)?;
    let get = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let mut select = connection.prepare("select a, b, c from t where id = ?")?;
    for id in ids(sheet, READS / 4, 1) {
        let _: (i64, f64, String) = select.query_row([id], get)?;
    }
    let (times, seconds) = each(ids(sheet, READS, 2), |id| {
        let (a, _, _): (i64, f64, String) = select.query_row([id], get)?;
        if a != id % 1000 { Err("a wrong row".into()) } else { Ok(()) }
    })?;
    add_operations(sheet, &what(sheet, "prepared select"), whose, &times, READS as f64 / seconds);
    let (times, seconds) = each(ids(sheet, READS / 10, 3), |id| {
        let statement = format!("select a, b, c from t where id = {id}");
        let _: (i64, f64, String) = connection.query_row(&statement, [], get)?;
        Ok(())
    })?;
    add_operations(sheet, &what(sheet, "unprepared select"), whose, &times, (READS / 10) as f64 / seconds);
    let mut update = connection.prepare("update t set a = a + 1 where id = ?")?;
    let (times, seconds) = each(ids(sheet, WRITES, 4), |id| {
        update.execute([id])?;
        Ok(())
    })?;
    add_operations(sheet, &what(sheet, "update, no sync"), whose, &times, WRITES as f64 / seconds);
    let mut insert = connection.prepare("insert into t values (?, ?, ?, ?, ?)")?;
    let (times, seconds) = each(sheet.records..sheet.records + WRITES as u64, |id| {
        let (c, d) = text(id);
        insert.execute(params![id as i64, 1i64, 0.5, c, d])?;
        Ok(())
    })?;
    add_operations(sheet, &what(sheet, "insert, no sync"), whose, &times, WRITES as f64 / seconds);
    Ok(())
}

fn duckdb(sheet: &mut Sheet) -> Result<()> {
    let mut peer = Peer::start(sheet, DUCKDB, "points.duckdb", false)?;
    let rows = sheet.records;
    peer.run(&[
        &format!("create table t ({COLUMNS})"),
        &format!("insert into t select i, i % 1000, i / 7.0, 'name of ' || i, hash(i)::text from range({rows}) as r (i)"),
        "checkpoint",
    ])?;
    let ids = |seed| ids(sheet, PEER_TIMES, seed).into_iter().map(|id| [id]).collect::<Vec<_>>();
    let statements = [
        ("prepared select", "select a, b, c from t where id = ?", ids(2)),
        ("update, no sync", "update t set a = a + 1 where id = ?", ids(4)),
        (
            "insert, no sync",
            "insert into t values (?, 1, 0.5, 'name', 'text')",
            (rows..rows + PEER_TIMES as u64).map(|id| [id as i64]).collect(),
        ),
    ];
    for (name, statement, parameters) in statements {
        let done = peer.each(statement, &parameters, true)?;
        let rate = PEER_TIMES as f64 / done.seconds;
        add_operations(sheet, &what(sheet, name), DUCKDB, &latencies(&done.us), rate);
    }
    let start = Instant::now();
    peer.close()?;
    sheet.note(&format!("DuckDB closed in {:.1} s", start.elapsed().as_secs_f64()));
    Ok(())
}
