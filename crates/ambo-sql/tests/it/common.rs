//! What tests of statements share.

use ambo_sql::{Connection, Database};

/// Every storage that a table may have.
pub const STORAGES: [&str; 3] = ["btree", "column", "memory"];

/// The check of the whole database.
pub fn sound(db: &Database) {
    let report = db.check().unwrap();
    assert!(report.is_sound(), "{report:?}");
}

/// The rows of a statement as text: values by commas, rows by line feeds.
pub fn rows(connection: &mut Connection, statement: &str) -> String {
    let rows = connection.sql(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    let row = |row: ambo_sql::Result<ambo_sql::Row>| {
        let row = row.unwrap_or_else(|error| panic!("{statement}: {error}"));
        row.values().iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    rows.map(row).collect::<Vec<_>>().join("\n")
}

/// As [`rows`], in an order.
pub fn sorted(connection: &mut Connection, statement: &str) -> String {
    let rows = rows(connection, statement);
    let mut lines: Vec<_> = rows.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// How many rows a statement wrote.
pub fn written(connection: &mut Connection, statement: &str) -> u64 {
    connection.execute(statement, ()).unwrap_or_else(|error| panic!("{statement}: {error}"))
}

/// What is wrong with a statement.
pub fn refused(connection: &mut Connection, statement: &str) -> ambo_sql::Error {
    match connection.sql(statement) {
        Err(error) => error,
        Ok(mut rows) => match rows.find_map(Result::err) {
            Some(error) => error,
            None => panic!("{statement}: it was done"),
        },
    }
}

/// Runs a test over each storage, where `STORAGE` in its statements stands for it, inside of transactions and outside.
pub fn everywhere(test: impl Fn(&mut Connection, &str)) {
    for storage in STORAGES {
        for is_inside in [false, true] {
            let db = Database::in_memory().unwrap();
            let mut connection = db.connect();
            test(&mut connection, storage);
            if is_inside {
                let db = Database::in_memory().unwrap();
                let mut connection = db.connect();
                // Tables are not made inside of transactions: the test says where it begins.
                connection.script("create table inside (a int)").unwrap();
                test(&mut connection, storage);
                if connection.in_transaction() {
                    connection.sql("commit").unwrap();
                }
                sound(&db);
            }
            sound(&db);
        }
    }
}

/// Opens a transaction if the test is run inside of one.
pub fn enter(connection: &mut Connection) {
    if connection.sql("select * from inside").is_ok() {
        connection.sql("begin").unwrap();
    }
}

/// Xorshift: numbers that are the same in each run.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as i64
    }
}

/// The line of a plan that has a word.
pub fn line(plan: &str, word: &str) -> String {
    let lines = plan.split("\\n").flat_map(str::lines);
    lines
        .into_iter()
        .find(|line| line.contains(word))
        .unwrap_or_else(|| panic!("no {word} in {plan}"))
        .to_owned()
}

/// A figure of EXPLAIN ANALYZE.
pub fn figure(line: &str, name: &str) -> u64 {
    let after = line.split(&format!("{name}=")).nth(1).unwrap_or_else(|| panic!("no {name} in {line}"));
    let end = after.find([',', ']']).unwrap_or(after.len());
    after[..end].trim().parse().unwrap_or_else(|_| panic!("{name} in {line}"))
}

pub fn explained(connection: &mut Connection, how: &str, query: &str) -> String {
    rows(connection, &format!("{how} {query}"))
}
