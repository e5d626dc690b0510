//! Statements and commands as they come line by line: from standard input, from a file, from an argument, from a person.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use super::session::{Next, Session, is_command};
use super::split;
use super::statement::Origin;
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::output::remark;

/// Files may read files, but not without end.
const DEPTH_MAX: usize = 16;

/// What has come and is no whole statement yet.
pub struct Script<'n> {
    name: Option<&'n str>,
    pending: String,
    /// The line of the first character of `pending`.
    line: u64,
    /// The first failure of a script that goes on.
    failed: Option<Failure>,
    /// A COPY FROM STDIN whose rows are coming.
    copying: Option<Copying>,
}

/// A statement, its first line, and the rows that came for it.
struct Copying {
    statement: String,
    line: u64,
    rows: Vec<u8>,
}

/// The line that ends the rows of a COPY FROM STDIN.
const END_OF_ROWS: &str = "\\.";

impl<'n> Script<'n> {
    /// `name` stands before the number of a line in messages.
    pub fn new(name: Option<&'n str>) -> Self {
        Self { name, pending: String::new(), line: 1, failed: None, copying: None }
    }

    /// Runs what this line, with this number, completes.
    pub fn line(&mut self, line: &str, number: u64, session: &mut Session<'_>) -> Result<Next> {
        if let Some(copying) = &mut self.copying {
            if line != END_OF_ROWS {
                copying.rows.extend_from_slice(line.as_bytes());
                copying.rows.push(b'\n');
                return Ok(Next::Stay);
            }
            let result = self.copy(session);
            return self.note(result, session);
        }
        if self.pending.is_empty() {
            self.line = number;
            if is_command(line) {
                let result = session.command(line).map_err(|failure| self.at(number, failure));
                return self.note(result, session);
            }
            if split::is_empty(line) {
                return Ok(Next::Stay);
            }
        }
        self.pending.push_str(line);
        self.pending.push('\n');
        // Whoever writes a statement of many lines has few semicolons in it.
        if !line.contains(';') {
            return Ok(Next::Stay);
        }
        let pending = std::mem::take(&mut self.pending);
        let mut rest = pending.as_str();
        while let Some(end) = split::end_of_statement(rest) {
            let statement = &rest[..end];
            let result = self.run(statement, session);
            self.note(result, session)?;
            self.line += statement.matches('\n').count() as u64;
            rest = &rest[end..];
        }
        if !split::is_empty(rest) {
            self.pending = rest.to_owned();
        }
        Ok(Next::Stay)
    }

    /// Runs a last statement without a semicolon, and returns the first failure of a script that went on.
    pub fn end(&mut self, session: &mut Session<'_>) -> Result<()> {
        let pending = std::mem::take(&mut self.pending);
        let result = self.run(&pending, session);
        self.note(result, session)?;
        let result = self.copy(session);
        self.note(result, session)?;
        match self.failed.take() {
            Some(failure) => Err(Failure::Told(Box::new(failure))),
            None => Ok(()),
        }
    }

    fn run(&mut self, statement: &str, session: &mut Session<'_>) -> Result<Next> {
        if !split::is_empty(statement) {
            let begun = statement.trim_start();
            let above = statement[..statement.len() - begun.len()].matches('\n').count() as u64;
            let line = self.line + above;
            if self.copying.is_none() && session.takes_rows(begun) {
                self.copying = Some(Copying { statement: begun.to_owned(), line, rows: Vec::new() });
                return Ok(Next::Stay);
            }
            session.statement(begun, Origin { name: self.name, line })?;
        }
        Ok(Next::Stay)
    }

    /// Runs the COPY whose rows have come, if there is one.
    fn copy(&mut self, session: &mut Session<'_>) -> Result<Next> {
        if let Some(Copying { statement, line, rows }) = self.copying.take() {
            session.copy_in(&statement, &rows, Origin { name: self.name, line })?;
        }
        Ok(Next::Stay)
    }

    /// Goes on after a failure, if that is wanted.
    fn note(&mut self, result: Result<Next>, session: &mut Session<'_>) -> Result<Next> {
        session.flush()?;
        match result {
            Err(failure @ (Failure::Interrupted(_) | Failure::BrokenPipe)) => Err(failure),
            Err(failure) if !session.settings.bail => {
                failure.text().into_iter().for_each(|text| remark(&format!("ambo: {text}")));
                self.failed.get_or_insert(failure);
                Ok(Next::Stay)
            }
            result => result,
        }
    }

    /// A failure of a command, with its place.
    fn at(&self, line: u64, failure: Failure) -> Failure {
        match self.name {
            Some(name) => failure.at(&format!("{name}{line}: ")),
            None => failure,
        }
    }
}

/// Runs all lines.
pub fn run_lines(
    name: Option<&str>,
    lines: impl Iterator<Item = io::Result<String>>,
    session: &mut Session<'_>,
) -> Result<Next> {
    let mut script = Script::new(name);
    for (number, line) in (1..).zip(lines) {
        let place = name.unwrap_or("line ");
        let line = line.map_err(|error| Failure::usage(format!("{place}{number}: {error}")))?;
        if script.line(&line, number, session)? == Next::Leave {
            return Ok(Next::Leave);
        }
        if interrupt::raised() {
            return Err(Failure::Interrupted("interrupted".into()));
        }
    }
    script.end(session)?;
    Ok(Next::Stay)
}

/// Runs a file.
pub fn read_file(session: &mut Session<'_>, path: &Path) -> Result<Next> {
    if session.depth == DEPTH_MAX {
        return Err(Failure::usage(format!("{}: {DEPTH_MAX} files read each other", path.display())));
    }
    let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
    let name = format!("{}:", path.display());
    session.depth += 1;
    let result = run_lines(Some(&name), BufReader::new(file).lines(), session);
    session.depth -= 1;
    // `.quit` in a file leaves the file's reader, too.
    result
}
