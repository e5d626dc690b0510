//! SmallBank (Alomari, Cahill, Fekete, Röhm: The Cost of Serializability on Platforms That Use Snapshot Isolation, ICDE 2008): transactions
//! of two to four statements on the accounts of a bank, alone and with an analyst beside them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ambo::Sync;
use ambo_sql::{Connection, Database, PreparedStatement};
use rusqlite::OptionalExtension;

use super::{check, open, open_sqlite};
use crate::engine::Result;
use crate::random::Random;
use crate::workload::columns::label;
use crate::workload::sheet::Sheet;

const TIME: Duration = Duration::from_secs(5);
const TABLES: [&str; 2] = ["savings", "checking"];
/// What the analyst asks again and again.
const ANALYSIS: &str = "select branch, count(*), sum(s.cents), avg(c.cents) from accounts a join savings s on a.id = s.id \
                        join checking c on a.id = c.id group by branch order by branch";
const SCHEMA: [&str; 3] = [
    "create table accounts (id bigint primary key, name text not null, branch bigint not null)",
    "create table savings (id bigint primary key, cents bigint not null)",
    "create table checking (id bigint primary key, cents bigint not null)",
];

/// One of the six kinds of transactions, equally likely.
#[derive(Clone, Copy)]
enum Kind {
    Balance,
    DepositChecking,
    TransactSavings,
    Amalgamate,
    WriteCheck,
    SendPayment,
}

fn draw(random: &mut Random, accounts: u64) -> (Kind, i64, i64, i64) {
    use Kind::*;
    let kinds = [Balance, DepositChecking, TransactSavings, Amalgamate, WriteCheck, SendPayment];
    let one = random.below(accounts);
    let other = (one + 1 + random.below(accounts - 1)) % accounts;
    (kinds[random.below(6) as usize], one as i64, other as i64, random.below(100) as i64)
}

pub fn run(sheet: &mut Sheet) -> Result<()> {
    let db = open(sheet, "bank", Sync::Off)?;
    fill(sheet, &db)?;
    let threads = sheet.case.threads;
    let what = |what: &str| label("bank", sheet.records, what);
    let (alone, with, analyses) = (what("alone"), what("with an analyst"), what("the analyst"));
    let (rate, conflicts, _) = ambo(&db, sheet.records, threads, false)?;
    sheet.figure(&alone, "ambo", "rate", "1/s", rate);
    sheet.figure(&alone, "ambo", "conflicts", "%", conflicts);
    let (rate, _, asked) = ambo(&db, sheet.records, threads, true)?;
    sheet.figure(&with, "ambo", "rate", "1/s", rate);
    sheet.figure(&analyses, "ambo", "rate", "1/s", asked);
    check(&db)?;
    fill_sqlite(sheet)?;
    let (rate, _) = sqlite(sheet, threads, false)?;
    sheet.figure(&alone, "sqlite", "rate", "1/s", rate);
    let (rate, asked) = sqlite(sheet, threads, true)?;
    sheet.figure(&with, "sqlite", "rate", "1/s", rate);
    sheet.figure(&analyses, "sqlite", "rate", "1/s", asked);
    Ok(())
}

fn fill(sheet: &Sheet, db: &Database) -> Result<()> {
    let mut connection = db.connect();
    for create in SCHEMA {
        let storage = if create.contains("accounts") { "column" } else { "btree" };
        connection.script(&format!("{create} storage = {storage}"))?;
    }
    connection.script("begin")?;
    let mut account = connection.prepare("insert into accounts values (?, ?, ?)")?;
    for id in 0..sheet.records as i64 {
        account.execute(&mut connection, (id, format!("customer {id}"), id % 50))?;
        for table in TABLES {
            connection.execute(&format!("insert into {table} values (?, 10000)"), (id,))?;
        }
    }
    connection.script("commit")?;
    db.compact()?;
    Ok(())
}

/// The statements of a teller.
struct Teller {
    connection: Connection,
    read: [PreparedStatement; 2],
    add: [PreparedStatement; 2],
}

impl Teller {
    fn new(db: &Database) -> Result<Self> {
        let connection = db.connect();
        let read = |table| connection.prepare(&format!("select cents from {table} where id = ?"));
        let add = |table| connection.prepare(&format!("update {table} set cents = cents + $2 where id = $1"));
        let (read, add) = ([read("savings")?, read("checking")?], [add("savings")?, add("checking")?]);
        Ok(Self { connection, read, add })
    }

    fn cents(&mut self, table: usize, id: i64) -> ambo_sql::Result<i64> {
        self.read[table].query(&mut self.connection, (id,))?.single()?.into_values()
    }

    fn add(&mut self, table: usize, id: i64, cents: i64) -> ambo_sql::Result<()> {
        self.add[table].execute(&mut self.connection, (id, cents)).map(drop)
    }

    fn transact(&mut self, kind: Kind, one: i64, other: i64, cents: i64) -> ambo_sql::Result<()> {
        const SAVINGS: usize = 0;
        const CHECKING: usize = 1;
        self.connection.execute("begin", ())?;
        match kind {
            Kind::Balance => {
                self.cents(SAVINGS, one)?;
                self.cents(CHECKING, one)?;
            }
            Kind::DepositChecking => self.add(CHECKING, one, cents)?,
            Kind::TransactSavings => self.add(SAVINGS, one, cents)?,
            Kind::Amalgamate => {
                let all = self.cents(SAVINGS, one)? + self.cents(CHECKING, one)?;
                let (savings, checking) = (self.cents(SAVINGS, one)?, self.cents(CHECKING, one)?);
                self.add(SAVINGS, one, -savings)?;
                self.add(CHECKING, one, -checking)?;
                self.add(CHECKING, other, all)?;
            }
            Kind::WriteCheck => {
                let all = self.cents(SAVINGS, one)? + self.cents(CHECKING, one)?;
                self.add(CHECKING, one, if all < cents { -cents - 1 } else { -cents })?;
            }
            Kind::SendPayment => {
                if self.cents(CHECKING, one)? >= cents {
                    self.add(CHECKING, one, -cents)?;
                    self.add(CHECKING, other, cents)?;
                }
            }
        }
        self.connection.execute("commit", ()).map(drop)
    }
}

/// Transactions a second, the share of them that met a conflict in percent, and analyses a second.
fn ambo(db: &Database, accounts: u64, threads: usize, analyst: bool) -> Result<(f64, f64, f64)> {
    let (stop, done, conflicts) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let asked = AtomicU64::new(0);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let (stop, done, conflicts, asked) = (&stop, &done, &conflicts, &asked);
        let mut all = Vec::new();
        for thread in 0..threads as u64 {
            all.push(scope.spawn(move || -> std::result::Result<(), String> {
                let mut teller = Teller::new(db).map_err(|error| error.to_string())?;
                let mut random = Random::new(thread);
                while !stop.load(Ordering::Relaxed) {
                    let (kind, one, other, cents) = draw(&mut random, accounts);
                    match teller.transact(kind, one, other, cents) {
                        Ok(()) => {
                            done.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) if error.is_retryable() => {
                            conflicts.fetch_add(1, Ordering::Relaxed);
                            if teller.connection.in_transaction() {
                                teller
                                    .connection
                                    .execute("rollback", ())
                                    .map_err(|error| error.to_string())?;
                            }
                        }
                        Err(error) => return Err(error.to_string()),
                    }
                }
                Ok(())
            }));
        }
        if analyst {
            all.push(scope.spawn(move || {
                let mut connection = db.connect();
                while !stop.load(Ordering::Relaxed) {
                    let rows = connection.sql(ANALYSIS).map_err(|error| error.to_string())?;
                    if rows.count() != 50 {
                        return Err("an analysis without all branches".into());
                    }
                    asked.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            }));
        }
        std::thread::sleep(TIME);
        stop.store(true, Ordering::Relaxed);
        for one in all {
            one.join().map_err(|_| "a thread panicked")??;
        }
        Result::Ok(())
    })?;
    let seconds = begin.elapsed().as_secs_f64();
    let (done, conflicts) = (done.into_inner() as f64, conflicts.into_inner() as f64);
    Ok((done / seconds, 100.0 * conflicts / (done + conflicts).max(1.0), asked.into_inner() as f64 / seconds))
}

const FILE: &str = "bank.sqlite";

fn fill_sqlite(sheet: &Sheet) -> Result<()> {
    let connection = open_sqlite(sheet, FILE, false)?;
    connection.execute_batch(&format!("{}; begin", SCHEMA.join("; ")))?;
    let mut account = connection.prepare("insert into accounts values (?, ?, ?)")?;
    for id in 0..sheet.records as i64 {
        account.execute((id, format!("customer {id}"), id % 50))?;
    }
    for table in TABLES {
        connection.execute(&format!("insert into {table} select id, 10000 from accounts"), [])?;
    }
    connection.execute_batch("commit")?;
    Ok(())
}

fn transact_sqlite(
    connection: &rusqlite::Connection,
    (kind, one, other, cents): (Kind, i64, i64, i64),
) -> rusqlite::Result<()> {
    let read = |table: &str, id: i64| -> rusqlite::Result<i64> {
        let mut select = connection.prepare_cached(&format!("select cents from {table} where id = ?"))?;
        Ok(select.query_row([id], |row| row.get(0)).optional()?.unwrap_or(0))
    };
    let add = |table: &str, id: i64, cents: i64| -> rusqlite::Result<()> {
        let mut update =
            connection.prepare_cached(&format!("update {table} set cents = cents + ?2 where id = ?1"))?;
        update.execute([id, cents]).map(drop)
    };
    // One that writes says so at once: SQLite cannot make a writer of a reader whose snapshot is old.
    let begin = if matches!(kind, Kind::Balance) { "begin" } else { "begin immediate" };
    connection.prepare_cached(begin)?.execute([])?;
    match kind {
        Kind::Balance => {
            read("savings", one)?;
            read("checking", one)?;
        }
        Kind::DepositChecking => add("checking", one, cents)?,
        Kind::TransactSavings => add("savings", one, cents)?,
        Kind::Amalgamate => {
            let all = read("savings", one)? + read("checking", one)?;
            let (savings, checking) = (read("savings", one)?, read("checking", one)?);
            add("savings", one, -savings)?;
            add("checking", one, -checking)?;
            add("checking", other, all)?;
        }
        Kind::WriteCheck => {
            let all = read("savings", one)? + read("checking", one)?;
            add("checking", one, if all < cents { -cents - 1 } else { -cents })?;
        }
        Kind::SendPayment => {
            if read("checking", one)? >= cents {
                add("checking", one, -cents)?;
                add("checking", other, cents)?;
            }
        }
    }
    connection.prepare_cached("commit")?.execute([]).map(drop)
}

/// Transactions and analyses a second.
fn sqlite(sheet: &Sheet, threads: usize, analyst: bool) -> Result<(f64, f64)> {
    let (stop, done, asked) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let (stop, done, asked) = (&stop, &done, &asked);
        let mut all = Vec::new();
        for thread in 0..threads as u64 {
            let connection = open_sqlite(sheet, FILE, false)?;
            let accounts = sheet.records;
            all.push(scope.spawn(move || -> std::result::Result<(), String> {
                let mut random = Random::new(thread);
                while !stop.load(Ordering::Relaxed) {
                    match transact_sqlite(&connection, draw(&mut random, accounts)) {
                        Ok(()) => {
                            done.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error)
                            if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) =>
                        {
                            if !connection.is_autocommit() {
                                connection.execute_batch("rollback").map_err(|error| error.to_string())?;
                            }
                        }
                        Err(error) => return Err(error.to_string()),
                    }
                }
                Ok(())
            }));
        }
        if analyst {
            let connection = open_sqlite(sheet, FILE, false)?;
            all.push(scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let ask = || {
                        connection
                            .prepare(ANALYSIS)?
                            .query_map([], |_| Ok(()))?
                            .collect::<Vec<_>>()
                            .into_iter()
                            .collect::<rusqlite::Result<Vec<_>>>()
                    };
                    ask().map_err(|error: rusqlite::Error| error.to_string())?;
                    asked.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            }));
        }
        std::thread::sleep(TIME);
        stop.store(true, Ordering::Relaxed);
        for one in all {
            one.join().map_err(|_| "a thread panicked")??;
        }
        Result::Ok(())
    })?;
    let seconds = begin.elapsed().as_secs_f64();
    Ok((done.into_inner() as f64 / seconds, asked.into_inner() as f64 / seconds))
}
