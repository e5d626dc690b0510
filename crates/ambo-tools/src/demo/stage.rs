//! Statements that run before somebody's eyes: the text, the rows, what was done and how long it took.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ambo_sql::{Connection, ErrorKind};

use super::broken;
use ambo_cli::failure::{Failure, Result};
use ambo_cli::output::{Form, Output, count, duration};
use ambo_cli::{Mode, Reader, has_colours, show};

const BOLD: &str = "\x1b[1m";
const CYAN: &str = "\x1b[36m";
const PLAIN: &str = "\x1b[0m";

/// Where the statements are shown.
pub struct Stage<'o> {
    out: &'o mut Output,
    dir: PathBuf,
    steps: u32,
    step: u32,
}

/// An answer of the database in `dir` as this program's.
pub fn or_fail<T>(answer: ambo_sql::Result<T>, dir: &Path) -> Result<T> {
    answer.map_err(|error| match error.kind() {
        ErrorKind::Cancelled => Failure::Interrupted("interrupted".into()),
        ErrorKind::Storage | ErrorKind::Conflict => Failure::Database(format!("{}: {error}", dir.display())),
        _ => Failure::Usage(error.to_string()),
    })
}

impl<'o> Stage<'o> {
    /// For so many steps on the database in `dir`.
    pub fn new(out: &'o mut Output, dir: &Path, steps: u32) -> Self {
        Self { out, dir: dir.to_path_buf(), steps, step: 0 }
    }

    fn styled(&self, style: &str, text: &str) -> String {
        match self.out.form == Form::Human && has_colours() {
            true => format!("{style}{text}{PLAIN}"),
            false => text.to_owned(),
        }
    }

    /// The next step begins.
    pub fn step(&mut self, title: &str) -> Result<()> {
        self.step += 1;
        let head = self.styled(BOLD, &format!("── {}/{} {title}", self.step, self.steps));
        self.say(&format!("\n{head}"))
    }

    /// A line of explanation.
    pub fn say(&mut self, line: &str) -> Result<()> {
        writeln!(self.out, "{line}")?;
        Ok(self.out.flush()?)
    }

    /// Runs a statement at the usual prompt. Returns how long it took.
    pub fn run(&mut self, connection: &mut Connection, sql: &str) -> Result<Duration> {
        self.run_as("ambo", connection, sql)
    }

    /// Runs a statement at somebody's prompt.
    pub fn run_as(&mut self, who: &str, connection: &mut Connection, sql: &str) -> Result<Duration> {
        self.prompt(who, sql)?;
        match self.answer(connection, sql)? {
            Ok(time) => Ok(time),
            Err(error) => or_fail(Err(error), &self.dir),
        }
    }

    /// Runs a statement that another transaction is in the way of. Returns what it was told.
    pub fn run_in_vain(&mut self, who: &str, connection: &mut Connection, sql: &str) -> Result<String> {
        self.prompt(who, sql)?;
        match self.answer(connection, sql)? {
            Ok(_) => Err(broken(format!("`{sql}` of {who} should have met a conflict"))),
            Err(error) if error.is_retryable() => {
                self.say(&error.show(sql))?;
                Ok(error.message().to_owned())
            }
            Err(error) => or_fail(Err(error), &self.dir),
        }
    }

    fn prompt(&mut self, who: &str, sql: &str) -> Result<()> {
        let who = self.styled(CYAN, &format!("{who}>"));
        self.say(&format!("{who} {};", sql.trim_end()))
    }

    fn answer(
        &mut self,
        connection: &mut Connection,
        sql: &str,
    ) -> Result<std::result::Result<Duration, ambo_sql::Error>> {
        let start = Instant::now();
        let rows = match connection.sql(sql) {
            Ok(rows) => rows,
            Err(error) => return Ok(Err(error)),
        };
        let (tag, affected, schema) = (rows.tag(), rows.affected(), rows.schema().clone());
        let batches: Vec<_> = match rows.batches().collect() {
            Ok(batches) => batches,
            Err(error) => return Ok(Err(error)),
        };
        let time = start.elapsed();
        if !schema.fields().is_empty() {
            let is_human = self.out.form == Form::Human;
            let width = is_human.then(|| self.out.width());
            let reader = Reader { width, colours: is_human && has_colours(), max_rows: None };
            let mut table = show(Mode::Table, &schema, reader);
            batches.iter().try_for_each(|batch| table.batch(batch, self.out))?;
            table.end(self.out)?;
        }
        let rows: usize = batches.iter().map(|batch| batch.num_rows()).sum();
        let what = match affected {
            Some(affected) => format!("{tag} {}", plural(affected)),
            None if schema.fields().is_empty() => tag.to_owned(),
            None => plural(rows as u64),
        };
        self.say(&format!("{what}, {}", duration(time)))?;
        Ok(Ok(time))
    }
}

fn plural(rows: u64) -> String {
    match rows {
        1 => "1 row".to_owned(),
        rows => format!("{} rows", count(rows)),
    }
}
