//! Ambo: a database in memory, with its options.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc,
    time::Duration,
};

use ambo_sql::{Connection, Database, SqlOptions};

use crate::{
    Result,
    answer::{Answer, of_ambo},
    parameters::bound,
    random::Random,
};

/// A statement that takes longer has failed: it waits for itself, or its plan is a bad one, for tables are small. Much more than any takes
/// on a machine that has other things to do.
const STATEMENT_TIME: Duration = Duration::from_secs(120);

/// The storage of records, as it stands behind `storage =`: its rows are updated only if that is said.
pub const APPEND: &str = "append with (updates = 'shadow')";

/// How the database is opened.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    threads: usize,
    /// Few rows are divided as if they were many.
    finely: bool,
    page_bytes: usize,
    /// Constants are bound as parameters.
    binds: bool,
    /// Some tables are temporary.
    passes: bool,
}

impl Way {
    pub fn new(random: &mut Random) -> Self {
        Self {
            threads: *random.of(&[1, 2, 4]),
            finely: random.one_in(2),
            page_bytes: *random.of(&[4 << 10, 16 << 10]),
            // Of its own, so that what a seed makes does not hang on it.
            binds: random.clone().one_in(4),
            passes: random.clone().one_in(5),
        }
    }
}

/// Why a statement has no answer.
pub enum Failure {
    Error(ambo_sql::Error),
    Panic(String),
    /// It was interrupted after [`STATEMENT_TIME`].
    Slow,
}

impl Failure {
    pub fn message(&self) -> String {
        match self {
            Self::Error(error) => error.message().to_owned(),
            Self::Panic(message) => message.clone(),
            Self::Slow => format!("it was not done after {} s", STATEMENT_TIME.as_secs()),
        }
    }
}

pub struct Subject {
    binds: bool,
    passes: bool,
    connection: Connection,
    db: Database,
}

impl Subject {
    pub fn new(way: Way) -> Result<Self> {
        let db = ambo::Options::new().page_size(way.page_bytes).open_in_memory()?;
        let sql = SqlOptions::new().threads(way.threads).divide_finely(way.finely);
        let db = Database::with_options(db, sql);
        Ok(Self { binds: way.binds, passes: way.passes, connection: db.connect(), db })
    }

    /// Runs a statement. One that waits for itself is interrupted, or it would wait for ever.
    pub fn run(&mut self, statement: &str) -> std::result::Result<Answer, Failure> {
        let interrupter = self.connection.interrupter();
        let (done, is_done) = mpsc::channel::<()>();
        let watch = std::thread::spawn(move || {
            let is_slow = is_done.recv_timeout(STATEMENT_TIME) == Err(mpsc::RecvTimeoutError::Timeout);
            if is_slow {
                interrupter.interrupt();
            }
            is_slow
        });
        let temporary = self.passes.then(|| temporary(statement)).flatten();
        let statement = temporary.as_deref().unwrap_or(statement);
        let connection = &mut self.connection;
        let (text, values) = match self.binds {
            true => bound(statement),
            false => (statement.to_owned(), Vec::new()),
        };
        let answer = catch_unwind(AssertUnwindSafe(|| of_ambo(connection, &text, &values)));
        drop(done);
        let is_slow = watch.join().unwrap_or(false);
        match answer {
            Ok(Err(_)) if is_slow => Err(Failure::Slow),
            Ok(answer) => answer.map_err(Failure::Error),
            Err(panic) => Err(Failure::Panic(message(panic.as_ref()))),
        }
    }

    /// Looks at the whole database.
    ///
    /// # Errors
    /// It is damaged.
    pub fn check(self) -> Result<()> {
        drop(self.connection);
        let report = self.db.check()?;
        match report.is_sound() {
            true => Ok(()),
            false => Err(format!("the database is damaged: {report:?}").into()),
        }
    }
}

/// CREATE TABLE of a temporary table, for about every second name. Tables that others refer to stay where these are.
fn temporary(statement: &str) -> Option<String> {
    let rest = statement.strip_prefix("create table ")?;
    let name = rest.split([' ', '(']).next()?;
    let is_such = !name.starts_with('r') && name.bytes().map(u32::from).sum::<u32>().is_multiple_of(2);
    is_such.then(|| format!("create temp table {rest}"))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
}

/// Whether the planner said that it does not know such statements.
pub fn is_refusal(message: &str) -> bool {
    [
        "not supported",
        "not yet supported",
        "not implemented",
        "Physical plan does not support",
        "is not there",
    ]
    .iter()
    .any(|words| message.contains(words))
}

/// Whether a statement asked for more memory than it may have: some make rows of all rows of several tables.
pub fn is_too_large(message: &str) -> bool {
    message.starts_with("out of memory")
}

/// Whether a value did not fit its type: the two compute in other types, and say so at other times.
pub fn is_out_of_range(message: &str) -> bool {
    [
        "verflow",
        "out of range",
        "ut of Range",
        "does not fit",
        "too large",
        "beyond the range",
        "onversion Error",
        "ould not cast",
    ]
    .iter()
    .any(|words| message.contains(words))
}
