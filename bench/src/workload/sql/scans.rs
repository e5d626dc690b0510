//! Questions about all rows of a table, for each storage, beside SQLite: settled, and with newer rows beside the settled ones.

use ambo::Sync;
use ambo_sql::{Connection, Database};
use rusqlite::params;

use super::{check, fill, open, open_sqlite};
use crate::engine::Result;
use crate::random::Random;
use crate::workload::columns::{fastest, label};
use crate::workload::sheet::Sheet;

const COLUMNS: &str = "id bigint primary key, part int, kind text, quantity int, price double, note text";
const KINDS: u64 = 8;
/// One row in so many is changed after the table was settled.
const CHANGED: u64 = 20;

/// What is asked, and how many values of a row it needs.
const QUERIES: [(&str, &str); 6] = [
    ("count, sum and mean by group", "select kind, count(*), sum(quantity), avg(price) from t group by kind"),
    ("sum", "select sum(quantity) from t"),
    ("sum of a tenth", "select count(*), sum(quantity) from t where price < 100"),
    ("sum of a thousandth", "select count(*), sum(quantity) from t where price < 1"),
    ("text", "select count(*) from t where note like '%ab%'"),
    ("all columns", "select max(id), max(part), max(kind), max(quantity), max(price), max(note) from t"),
];

struct Row {
    id: i64,
    part: i32,
    kind: String,
    quantity: i32,
    price: f64,
    note: String,
}

impl Row {
    fn new(id: u64) -> Self {
        let mut random = Random::new(id);
        Self {
            id: id as i64,
            part: random.below(200_000) as i32,
            kind: format!("kind {}", random.below(KINDS)),
            quantity: random.below(50) as i32,
            price: random.below(100_000) as f64 / 100.0,
            note: format!("{:016x}", random.next_u64()),
        }
    }
}

pub fn run(sheet: &mut Sheet) -> Result<()> {
    for storage in ["btree", "memory", "column"] {
        ambo(sheet, storage)?;
    }
    sqlite(sheet)
}

fn what(sheet: &Sheet, state: &str, what: &str) -> String {
    label("scans", sheet.records, &format!("{what}, {state}"))
}

fn ambo(sheet: &mut Sheet, storage: &str) -> Result<()> {
    let whose = format!("ambo, {storage}");
    let db = open(sheet, &format!("scans-{storage}"), Sync::Off)?;
    let mut connection = db.connect();
    connection.script(&format!("create table t ({COLUMNS}) storage = {storage}"))?;
    load(sheet, &db, &mut connection)?;
    ask(sheet, &whose, "settled", &mut connection)?;
    connection.script("begin")?;
    connection.script(&format!("update t set quantity = quantity + 1 where id % {CHANGED} = 0"))?;
    ask(sheet, &whose, "with the transaction's own rows", &mut connection)?;
    connection.script("commit")?;
    ask(sheet, &whose, "with newer rows", &mut connection)?;
    drop(connection);
    check(&db)
}

fn load(sheet: &Sheet, db: &Database, connection: &mut Connection) -> Result<()> {
    let mut insert = connection.prepare("insert into t values ($1, $2, $3, $4, $5, $6)")?;
    fill(sheet, db, connection, |connection, id| {
        let Row { id, part, kind, quantity, price, note } = Row::new(id);
        insert.execute(connection, (id, part, kind, quantity, price, note))?;
        Ok(())
    })
}

fn ask(sheet: &mut Sheet, whose: &str, state: &str, connection: &mut Connection) -> Result<()> {
    for (name, query) in QUERIES {
        let (seconds, _) = fastest(|| {
            let mut rows = 0;
            for batch in connection.sql(query)?.batches() {
                rows += batch?.num_rows();
            }
            Ok(rows)
        })?;
        add(sheet, whose, state, name, seconds);
    }
    Ok(())
}

fn add(sheet: &mut Sheet, whose: &str, state: &str, name: &str, seconds: f64) {
    let rate = sheet.records as f64 / seconds;
    sheet.figure(&what(sheet, state, name), whose, "rows", "1/s", rate);
    sheet.note(&format!("{whose}, {state}, {name}: {:.1} million rows a second", rate / 1e6));
}

fn sqlite(sheet: &mut Sheet) -> Result<()> {
    let connection = open_sqlite(sheet, "scans.sqlite", false)?;
    // SQLite keeps tables without `without rowid` in the order of an integer key.
    let columns = COLUMNS.replace("bigint", "integer");
    connection.execute_batch(&format!("create table t ({columns}); begin"))?;
    let mut insert = connection.prepare("insert into t values (?, ?, ?, ?, ?, ?)")?;
    for id in 0..sheet.records {
        let Row { id, part, kind, quantity, price, note } = Row::new(id);
        insert.execute(params![id, part, kind, quantity, price, note])?;
    }
    drop(insert);
    connection.execute_batch("commit")?;
    for (name, query) in QUERIES {
        let mut statement = connection.prepare(query)?;
        let (seconds, _) = fastest(|| {
            let mut rows = statement.query([])?;
            let mut count = 0;
            while rows.next()?.is_some() {
                count += 1;
            }
            Ok(count)
        })?;
        add(sheet, "sqlite", "settled", name, seconds);
    }
    Ok(())
}
