//! Statements and what they return, in files of the form that SQLite's tests have: `tests/slt/*.slt`.
//!
//! All of them run over tables of each storage, with one, two and four threads; with the database closed and opened again between
//! statements; and with so little room that rows compact all the time. Each run ends with a look at the whole database.
//!
//! The letters behind `query` are the types of the columns (`slt/letters.rs`), and are compared. What Ambo returns is written into the
//! files by `AMBO_LETTERS=NAME cargo test -p ambo-sql --test slt -- --ignored letters_are_written`, where NAME is part of the names of the
//! files.

#![allow(clippy::print_stderr, reason = "how long files take, and what differs, is shown with --nocapture")]

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use ambo::{Datum, Options, Records, Storage, Sync};
use ambo_sql::{Connection, Database, Error, SqlOptions};
use letters::Letter;
use sqllogictest::{DB, DBOutput, Runner, TestErrorKind, strict_column_validator};

#[path = "slt/letters.rs"]
mod letters;

/// What happens between statements.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Between {
    Nothing,
    Reopen,
    /// All that can be is merged after each few, and pages and memtables are small.
    Compact,
}

struct Session {
    storage: Storage,
    between: Between,
    threads: usize,
    connection: Option<Connection>,
    db: Option<Database>,
    statements: u64,
    /// Whether values are written as SQLite's tests have them: 1 for true, three digits behind the point.
    like_sqlite: bool,
    path: tempfile::TempDir,
}

impl Session {
    fn new(storage: Storage, between: Between, threads: usize) -> Self {
        let path = tempfile::tempdir().expect("a directory");
        let mut session = Self {
            storage,
            between,
            threads,
            connection: None,
            db: None,
            statements: 0,
            like_sqlite: false,
            path,
        };
        session.open().expect("a database");
        session
    }

    fn open(&mut self) -> Result<(), Error> {
        let mut options = Options::new().sync(Sync::Off);
        if self.between == Between::Compact {
            options =
                options.page_size(4 << 10).part_bytes(4 << 10).memtable_bytes(1 << 20).cache_bytes(1 << 20);
        }
        let sql = SqlOptions::new()
            .threads(self.threads)
            .default_storage(self.storage)
            .default_records(Records { updates: true, ..Records::default() })
            // With four threads, also as if there were more rows.
            .divide_finely(self.threads == 4);
        // Threads that worked on a statement that failed may let go of the database a moment after it was closed.
        let began = Instant::now();
        let db = loop {
            match options.clone().open(self.path.path().join("db")) {
                Err(ambo::Error::InUse(_)) if began.elapsed() < Duration::from_secs(5) => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                opened => break Database::with_options(opened?, sql),
            }
        };
        self.connection = Some(db.connect());
        self.db = Some(db);
        Ok(())
    }

    fn between(&mut self) -> Result<(), Error> {
        self.statements += 1;
        if self.connection.as_ref().is_none_or(Connection::in_transaction) {
            return Ok(());
        }
        match self.between {
            Between::Reopen => {
                (self.connection, self.db) = (None, None);
                self.open()
            }
            Between::Compact if self.statements.is_multiple_of(3) => {
                Ok(self.db.as_ref().map_or(Ok(()), |db| db.compact())?)
            }
            _ => Ok(()),
        }
    }
}

impl DB for Session {
    type Error = Error;
    type ColumnType = Letter;

    fn run(&mut self, sql: &str) -> Result<DBOutput<Letter>, Error> {
        self.between()?;
        let rows = self.connection.as_mut().expect("open").sql(sql)?;
        let types: Vec<_> =
            rows.schema().fields().iter().map(|field| Letter::of(field.data_type())).collect();
        let affected = rows.affected().unwrap_or(0);
        let text = |value: &Datum| match value {
            Datum::Bool(is) if self.like_sqlite => u8::from(*is).to_string(),
            Datum::F64(number) if self.like_sqlite => format!("{number:.3}"),
            Datum::F32(number) if self.like_sqlite => format!("{number:.3}"),
            Datum::Utf8(text) if text.is_empty() => "(empty)".to_owned(),
            Datum::Utf8(text) => text.clone(),
            other => other.to_string(),
        };
        let rows = rows
            .map(|row| Ok(row?.values().iter().map(text).collect()))
            .collect::<Result<Vec<Vec<String>>, Error>>()?;
        match types.is_empty() {
            true => Ok(DBOutput::StatementComplete(affected)),
            false => Ok(DBOutput::Rows { types, rows }),
        }
    }

    fn shutdown(&mut self) {
        // Where it could not be opened again, that was told.
        let Some(db) = &self.db else { return };
        let report = db.check().expect("a check");
        assert!(report.is_sound(), "{:?} {:?}: {report:?}", self.storage, self.between);
    }

    fn engine_name(&self) -> &str {
        "ambo"
    }
}

fn files() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slt");
    let files = std::fs::read_dir(directory).expect("the files").map(|file| file.expect("a file").path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "slt")).collect();
    files.sort();
    assert!(files.len() > 5);
    files
}

fn run_all(storage: Storage, between: Between, threads: usize) {
    let mut failed = Vec::new();
    for file in files() {
        let began = Instant::now();
        let mut runner = Runner::new(|| async { Ok(Session::new(storage, between, threads)) });
        runner.add_label(storage.name());
        if between == Between::Reopen {
            // What a session remembers it has forgotten.
            runner.add_label("reopen");
        }
        runner.with_column_validator(strict_column_validator);
        if let Err(error) = runner.run_file(&file) {
            failed.push(error.display(false).to_string());
            if matches!(error.kind(), TestErrorKind::QueryResultColumnsMismatch { .. }) {
                failed.push(letters::LEGEND.to_owned());
            }
        }
        runner.shutdown();
        eprintln!("{storage:?} {between:?} {threads} {}: {:?}", file.display(), began.elapsed());
    }
    assert!(failed.is_empty(), "{storage:?} {between:?}, {threads} threads:\n{}", failed.join("\n"));
}

#[test]
fn over_btree() {
    run_all(Storage::BTree, Between::Nothing, 2);
}

#[test]
fn over_btree_with_one_thread() {
    run_all(Storage::BTree, Between::Nothing, 1);
}

#[test]
fn over_btree_with_four_threads() {
    run_all(Storage::BTree, Between::Nothing, 4);
}

#[test]
fn over_column() {
    run_all(Storage::Column, Between::Nothing, 2);
}

#[test]
fn over_column_with_one_thread() {
    run_all(Storage::Column, Between::Nothing, 1);
}

#[test]
fn over_column_with_four_threads() {
    run_all(Storage::Column, Between::Nothing, 4);
}

#[test]
fn over_append() {
    run_all(Storage::Append, Between::Nothing, 2);
}

#[test]
fn over_append_opened_again() {
    run_all(Storage::Append, Between::Reopen, 4);
}

#[test]
fn over_append_with_little_room() {
    run_all(Storage::Append, Between::Compact, 1);
}

#[test]
fn over_lsm_with_little_room() {
    run_all(Storage::Lsm, Between::Compact, 2);
}

#[test]
fn over_memory() {
    run_all(Storage::Memory, Between::Nothing, 2);
}

#[test]
fn over_btree_opened_again() {
    run_all(Storage::BTree, Between::Reopen, 2);
}

#[test]
fn over_column_opened_again() {
    run_all(Storage::Column, Between::Reopen, 1);
}

#[test]
fn over_btree_with_little_room() {
    run_all(Storage::BTree, Between::Compact, 1);
}

#[test]
fn over_column_with_little_room() {
    run_all(Storage::Column, Between::Compact, 4);
}

/// Changes the files; see the module.
#[test]
#[ignore = "it writes into the files of the repository"]
fn letters_are_written() {
    let name = std::env::var("AMBO_LETTERS").expect("AMBO_LETTERS is part of the names of the files");
    let chosen =
        |file: &PathBuf| file.file_name().is_some_and(|whole| whole.to_string_lossy().contains(&name));
    for file in files().into_iter().filter(chosen) {
        let mut runner = Runner::new(|| async { Ok(Session::new(Storage::Column, Between::Nothing, 2)) });
        runner.add_label(Storage::Column.name());
        let changed = letters::write(&file, &mut runner);
        runner.shutdown();
        eprintln!("{}: {changed} lines changed", file.display());
    }
}

/// The tests of SQLite (https://www.sqlite.org/sqllogictest), those files that are in the directory `AMBO_SLT` and below it: what differs
/// is counted and told. `AMBO_SLT=… cargo test -p ambo-sql --test slt -- --ignored --nocapture`
#[test]
#[ignore = "its files are not part of the repository"]
fn sqlite_files() {
    let mut waiting =
        vec![PathBuf::from(std::env::var("AMBO_SLT").expect("AMBO_SLT is the directory of the files"))];
    let (mut ran, mut failed) = (0, 0);
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(
                std::fs::read_dir(path).expect("a directory").map(|file| file.expect("a file").path()),
            );
            continue;
        }
        let began = Instant::now();
        let mut runner = Runner::new(|| async {
            Ok(Session { like_sqlite: true, ..Session::new(Storage::Column, Between::Nothing, 2) })
        });
        // Longer results are there as their MD5.
        runner.with_hash_threshold(8);
        let text = std::fs::read_to_string(&path).expect("a file");
        // The parser takes no comments behind conditions.
        let condition = |line: &str| line.starts_with("skipif ") || line.starts_with("onlyif ");
        let line = |line: &str| match line.split_once('#') {
            Some((before, _)) if condition(line) => before.trim_end().to_owned(),
            _ => line.to_owned(),
        };
        let text = text.lines().map(line).collect::<Vec<_>>().join("\n");
        let records = sqllogictest::parse_with_name::<Letter>(
            &format!("control resultmode valuewise\n\n{text}"),
            path.display().to_string(),
        );
        let (mut ran_here, mut failed_here) = (0, 0);
        for record in records.expect("the form of the tests") {
            match &record {
                sqllogictest::Record::Halt { .. } => break,
                sqllogictest::Record::Statement { .. } | sqllogictest::Record::Query { .. } => ran_here += 1,
                _ => {}
            }
            if let Err(error) = runner.run(record) {
                failed_here += 1;
                if failed_here <= 5 {
                    eprintln!("{}", error.display(false));
                }
            }
        }
        runner.shutdown();
        eprintln!("{}: {failed_here} of {ran_here} differ, {:?}", path.display(), began.elapsed());
        ran += ran_here;
        failed += failed_here;
    }
    assert!(ran > 0);
    eprintln!("{failed} of {ran} differ");
}
