//! Random databases, statements and queries, the same in Ambo and in SQLite, whose answers have to be the same.
//!
//! A seed makes a database: tables of any storage, with indexes, NULLs, settled rows and newer ones. Then come queries of all that both know and
//! mean alike (joins of all kinds, subqueries, groups, windows, set operations, CTEs), statements that write, and transactions.
//! What the generator leaves out, because the two differ by intention: division by zero, implicit casts, case of LIKE, values out of range.

mod answer;
mod expression;
mod query;
mod schema;

use std::{
    collections::BTreeMap,
    fmt::Display,
    path::{Path, PathBuf},
    sync::mpsc,
    time::Duration,
};

use ambo_sql::{Connection, Database};
use answer::{of_ambo, of_sqlite};
use query::Generator;
use schema::Schema;

use crate::engine::Result;
use crate::random::Random;

/// Steps of each database: mostly queries.
const STEPS: usize = 120;
/// A statement that takes longer has failed.
const STATEMENT_TIME: Duration = Duration::from_secs(30);

/// What the two databases were told so far, and what Ambo refused.
struct Pair {
    ambo: Connection,
    sqlite: rusqlite::Connection,
    db: Database,
    script: Vec<String>,
    /// Where the script goes if an answer differs.
    file: PathBuf,
}

/// What came of all databases.
#[derive(Default)]
struct Tally {
    queries: u64,
    rows: u64,
    writes: u64,
    /// Messages of queries that Ambo does not plan, without their details, with how often and the first.
    refused: BTreeMap<String, (u64, String)>,
}

impl Tally {
    fn refuse(&mut self, statement: &str, error: &ambo_sql::Error) {
        let message = error.message();
        let kind: Vec<_> =
            message.split(['"', '\n', '{']).next().unwrap_or(message).split(' ').take(9).collect();
        let entry =
            self.refused.entry(kind.join(" ")).or_insert_with(|| (0, format!("{statement}\n  {message}")));
        entry.0 += 1;
    }
}

/// Runs `databases` databases from a seed on. The statements that lead to a difference are left in `dir`.
///
/// # Errors
/// So many databases differed.
pub fn run(seed: u64, databases: u64, dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir)?;
    let mut tally = Tally::default();
    let mut differ = 0;
    for seed in seed..seed + databases {
        if let Err(error) = one(seed, dir, &mut tally) {
            differ += 1;
            println!("seed {seed}: {error}");
        }
        if (seed + 1).is_multiple_of(100) {
            eprintln!("seed {seed}: {} queries, {} rows, {} writes", tally.queries, tally.rows, tally.writes);
        }
    }
    println!("{} queries with {} rows and {} writes were alike", tally.queries, tally.rows, tally.writes);
    for (message, (times, query)) in &tally.refused {
        println!("refused {times} times: {message}\n  {query}");
    }
    match differ {
        0 => Ok(()),
        differ => {
            Err(format!("{differ} of {databases} databases differ; what led there is in {}", dir.display())
                .into())
        }
    }
}

fn one(seed: u64, dir: &Path, tally: &mut Tally) -> Result<()> {
    let random = &mut Random::new(seed);
    let db = Database::in_memory()?;
    let sqlite = rusqlite::Connection::open_in_memory()?;
    sqlite.execute_batch("pragma case_sensitive_like = on")?;
    let file = dir.join(format!("differential-{seed}.sql"));
    let mut pair = Pair { ambo: db.connect(), sqlite, db, script: Vec::new(), file };
    let schema = Schema::new(random);
    for (ambo, sqlite) in schema.statements(random) {
        pair.ambo.script(&ambo).map_err(|error| format!("{ambo}: {error}"))?;
        pair.sqlite.execute_batch(&sqlite).map_err(|error| format!("{sqlite}: {error}"))?;
        pair.script.push(ambo);
    }
    let mut is_open = false;
    for _ in 0..STEPS {
        match random.below(20) {
            0 => pair.db.settle()?,
            1 => {
                let statement = match (is_open, random.below(2)) {
                    (false, _) => "begin",
                    (true, 0) => "rollback",
                    (true, _) => "commit",
                };
                is_open = !is_open;
                pair.write(statement, tally)?;
            }
            2..6 => {
                let statement = Generator::new(&schema, random).write();
                pair.write(&statement, tally)?;
                for table in 0..schema.tables.len() {
                    pair.compare(&format!("select * from r{table}"), false, tally)?;
                }
            }
            _ => {
                let (query, is_ordered) = Generator::new(&schema, random).query();
                pair.compare(&query, is_ordered, tally)?;
            }
        }
    }
    drop(pair.ambo);
    let report = pair.db.check()?;
    match report.is_sound() {
        true => Ok(()),
        false => Err(format!("the database is damaged: {report:?}").into()),
    }
}

impl Pair {
    /// Runs a statement in both; they have to write as many rows.
    fn write(&mut self, statement: &str, tally: &mut Tally) -> Result<()> {
        self.script.push(statement.to_owned());
        let ambo = match self.in_time(|ambo| ambo.execute(statement, ())) {
            Ok(rows) => rows,
            Err(error) if is_refusal(&error) => {
                tally.refuse(statement, &error);
                self.script.pop();
                return Ok(());
            }
            Err(error) => return Err(self.failed(statement, &error)),
        };
        let sqlite =
            self.sqlite.execute(statement, []).map_err(|error| self.failed(statement, &error))? as u64;
        let is_write = ["update", "delete", "insert"].iter().any(|word| statement.starts_with(word));
        tally.writes += ambo;
        match !is_write || ambo == sqlite {
            true => Ok(()),
            false => Err(self.failed(statement, &format!("{ambo} rows, and {sqlite} in SQLite"))),
        }
    }

    /// Asks both the same. A query that Ambo does not plan is counted; everything else has to be alike.
    fn compare(&mut self, query: &str, is_ordered: bool, tally: &mut Tally) -> Result<()> {
        let Some(sqlite) = of_sqlite(&self.sqlite, query).map_err(|error| self.failed(query, &error))? else {
            return Ok(());
        };
        let ambo = match self.in_time(|ambo| of_ambo(ambo, query)) {
            Ok(answer) => answer,
            Err(error) if is_refusal(&error) => {
                tally.refuse(query, &error);
                return Ok(());
            }
            Err(error) => return Err(self.failed(query, &error)),
        };
        let (ambo, sqlite) = match is_ordered {
            true => (ambo, sqlite),
            false => (ambo.sorted(), sqlite.sorted()),
        };
        tally.queries += 1;
        tally.rows += sqlite.0.len() as u64;
        match ambo.is_like(&sqlite) {
            true => Ok(()),
            false => Err(self.failed(query, &format!("Ambo:\n{ambo}SQLite:\n{sqlite}"))),
        }
    }

    /// Interrupts what takes longer than any of these statements may: one that waits for itself would wait for ever.
    fn in_time<R>(&mut self, act: impl FnOnce(&mut Connection) -> R) -> R {
        let interrupter = self.ambo.interrupter();
        let (done, is_done) = mpsc::channel::<()>();
        let watch = std::thread::spawn(move || {
            if is_done.recv_timeout(STATEMENT_TIME) == Err(mpsc::RecvTimeoutError::Timeout) {
                interrupter.interrupt();
            }
        });
        let result = act(&mut self.ambo);
        drop(done);
        watch.join().expect("nothing in it panics");
        result
    }

    fn failed(&self, statement: &str, error: &dyn Display) -> Box<dyn std::error::Error + Send + Sync> {
        let script = format!("{};\n{statement};\n", self.script.join(";\n"));
        let left = std::fs::write(&self.file, script);
        let left =
            left.map_or_else(|error| format!(" ({}: {error})", self.file.display()), |()| String::new());
        format!("{statement};\n{error}{left}").into()
    }
}

/// Whether the planner said that it does not know such queries.
fn is_refusal(error: &ambo_sql::Error) -> bool {
    let message = error.message();
    ["not supported", "not yet supported", "not implemented", "Physical plan does not support"]
        .iter()
        .any(|words| message.contains(words))
}
