//! The SQL shell on a database that another process has open. It has statements, and the commands that need no more than these.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::Instant;

use ambo_server::{Client, Reply};
use arrow_array::RecordBatch;
use rustyline::{DefaultEditor, error::ReadlineError};

use super::failure;
use crate::arguments::ShellArguments;
use crate::failure::{Failure, Result};
use crate::output::{self, Form, Output, remark};
use crate::shell::{
    end_of_statement, has_colours, is_blank,
    settings::{MAX_ROWS, MaxRows, Mode},
    show::{Reader, Show, show},
};
use crate::{interrupt, word};

struct Shell<'o> {
    client: Client,
    mode: Mode,
    timer: bool,
    max_rows: Option<u64>,
    is_human: bool,
    in_transaction: bool,
    out: &'o mut Output,
}

/// Obeys as the shell does where the database is open.
pub fn run(dir: &Path, client: Client, arguments: &ShellArguments, out: &mut Output) -> Result<()> {
    interrupt::watch();
    let is_human = out.form == Form::Human;
    let mode = match (arguments.csv, arguments.arrow, out.form) {
        (true, ..) => Mode::Csv,
        (_, true, _) => Mode::Arrow,
        (.., Form::Json) => Mode::Json,
        (.., Form::Human) => Mode::Table,
        _ => Mode::List,
    };
    let mut shell = Shell {
        client,
        mode,
        timer: is_human,
        max_rows: Some(MAX_ROWS),
        is_human,
        in_transaction: false,
        out,
    };
    if arguments.commands.is_empty() && io::stdin().is_terminal() {
        return shell.converse(dir);
    }
    let mut failed = Ok(());
    let is_left = |done: &Result<()>| matches!(done, Err(Failure::Negative(text)) if text.is_empty());
    if arguments.commands.is_empty() {
        let text =
            io::read_to_string(io::stdin().lock()).map_err(|error| Failure::usage(error.to_string()))?;
        failed = shell.text(&text, arguments.keep_going);
    }
    for text in &arguments.commands {
        let done = shell.text(text, arguments.keep_going);
        if is_left(&done) || done.is_err() && !arguments.keep_going {
            failed = failed.and(done);
            break;
        }
        failed = failed.and(done);
    }
    shell.out.flush()?;
    if is_left(&failed) {
        return Ok(());
    }
    failed?;
    match shell.in_transaction {
        true => {
            Err(Failure::usage("the statements end within a transaction; end them with COMMIT or ROLLBACK"))
        }
        false => Ok(()),
    }
}

impl Shell<'_> {
    fn converse(&mut self, dir: &Path) -> Result<()> {
        let terminal = |error: ReadlineError| Failure::Database(format!("the terminal: {error}"));
        let mut editor = DefaultEditor::new().map_err(terminal)?;
        let host = self.client.host();
        remark(&format!(
            "Ambo {}, {}, through process {} (Ambo {}). Statements end with a semicolon; .help lists commands, Ctrl-D leaves.",
            env!("CARGO_PKG_VERSION"),
            dir.display(),
            host.pid,
            host.version
        ));
        let pid = host.pid;
        let mut pending = String::new();
        loop {
            let mark = if self.in_transaction { "*" } else { "" };
            let prompt =
                if pending.is_empty() { format!("ambo@{pid}{mark}> ") } else { "   ...> ".to_owned() };
            let line = match editor.readline(&prompt) {
                Ok(line) => line,
                Err(ReadlineError::Interrupted) => {
                    pending.clear();
                    continue;
                }
                Err(ReadlineError::Eof) => return Ok(()),
                Err(error) => return Err(terminal(error)),
            };
            // What was typed can be asked for again; without a history it cannot.
            let _unless_full = editor.add_history_entry(line.trim_end());
            pending.push_str(&line);
            pending.push('\n');
            let is_whole =
                line.starts_with('.') || end_of_statement(&pending).is_some() || is_blank(&pending);
            if !is_whole {
                continue;
            }
            let text = std::mem::take(&mut pending);
            interrupt::watch();
            match self.text(&text, false) {
                Err(Failure::Negative(text)) if text.is_empty() => return Ok(()),
                Err(failure) => failure.text().into_iter().for_each(|text| remark(&format!("error: {text}"))),
                Ok(()) => {}
            }
            self.out.flush()?;
        }
    }

    /// Runs statements and commands up to the first that fails, or past it.
    fn text(&mut self, text: &str, keeps_going: bool) -> Result<()> {
        let mut rest = text;
        let mut failed = Ok(());
        loop {
            rest = rest.trim_start();
            let done = if rest.starts_with('.') {
                let (line, more) = rest.split_once('\n').unwrap_or((rest, ""));
                rest = more;
                self.command(line)
            } else {
                let end = end_of_statement(rest).unwrap_or(rest.len());
                let statement = &rest[..end];
                rest = &rest[end..];
                if is_blank(statement) { Ok(()) } else { self.statement(statement) }
            };
            match done {
                Err(failure) if keeps_going => {
                    failure.text().into_iter().for_each(remark);
                    failed = failed.and(Err(Failure::Told(Box::new(failure))));
                }
                done => done?,
            }
            if rest.trim().is_empty() {
                return failed;
            }
        }
    }

    fn command(&mut self, line: &str) -> Result<()> {
        let words = word::split(line.trim_start_matches('.').trim_end().trim_end_matches(';'))?;
        match &words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["quit" | "exit"] => Err(Failure::Negative(String::new())),
            ["help"] => Ok(writeln!(
                self.out,
                ".tables  .schema TABLE  .mode table|line|list|csv|json|markdown|arrow  .maxrows N|all  .timer on|off  .quit\n\
                 Other commands are there where the database is open."
            )?),
            ["tables"] => self.statement("show tables"),
            ["schema" | "describe", table] => self.statement(&format!("show create table {table}")),
            ["mode", mode] => {
                self.mode = clap::ValueEnum::from_str(mode, true).map_err(Failure::usage)?;
                Ok(())
            }
            ["maxrows", rows] => {
                let MaxRows(rows) = rows.parse().map_err(Failure::usage)?;
                self.max_rows = rows;
                Ok(())
            }
            ["timer", switch] => {
                self.timer = *switch == "on";
                Ok(())
            }
            _ => Err(Failure::usage(format!(
                "{line} is done where the database is open; .help lists what is done here"
            ))),
        }
    }

    fn reader(&self) -> Reader {
        match self.is_human {
            false => Reader::PROGRAM,
            true => Reader { width: Some(self.out.width()), colours: has_colours(), max_rows: self.max_rows },
        }
    }

    fn statement(&mut self, text: &str) -> Result<()> {
        let (start, reader, mode) = (Instant::now(), self.reader(), self.mode);
        let (mut shown, mut count, mut wrong) = (None::<Box<dyn Show>>, 0, None);
        let out = &mut *self.out;
        let mut take = |batch: &RecordBatch| {
            count += batch.num_rows() as u64;
            let show = shown.get_or_insert_with(|| show(mode, &batch.schema(), reader));
            show.batch(batch, out)
        };
        let done = self.client.query(
            text,
            || !interrupt::raised(),
            |batch| match take(batch) {
                Ok(()) => !interrupt::raised(),
                Err(failure) => {
                    wrong = Some(failure);
                    false
                }
            },
        );
        if let Some(failure) = wrong {
            return Err(failure);
        }
        let reply = done.map_err(|error| located(error, text))?;
        match reply.tag.as_str() {
            "BEGIN" | "START TRANSACTION" => self.in_transaction = true,
            "COMMIT" | "ROLLBACK" if !text.to_lowercase().contains(" to ") => self.in_transaction = false,
            _ => {}
        }
        let mut cut = None;
        if !reply.schema.fields().is_empty() {
            // What has no rows has columns.
            let mut show = shown.unwrap_or_else(|| show(mode, &reply.schema, reader));
            cut = show.end(self.out)?;
        }
        self.tell(&reply, count, cut, start)
    }

    fn tell(&mut self, reply: &Reply, count: u64, cut: Option<u64>, start: Instant) -> Result<()> {
        if !self.is_human || matches!(self.mode, Mode::Csv | Mode::Json | Mode::Arrow) {
            return Ok(());
        }
        let rows =
            |rows: u64| if rows == 1 { "1 row".to_owned() } else { format!("{} rows", output::count(rows)) };
        let what = match (reply.affected, reply.schema.fields().is_empty(), cut) {
            (Some(affected), ..) => format!("{} {}", reply.tag, rows(affected)),
            (None, true, _) => reply.tag.clone(),
            (None, false, Some(shown)) => {
                format!("{} of {} shown, .maxrows all shows all", output::count(shown), rows(count))
            }
            (None, false, None) => rows(count),
        };
        match self.timer {
            true => writeln!(self.out, "{what}, {}", output::duration(start.elapsed()))?,
            false => writeln!(self.out, "{what}")?,
        }
        Ok(())
    }
}

/// A failure with the line of the statement that it is about, and a mark below the place.
fn located(error: ambo_server::ClientError, statement: &str) -> Failure {
    let place = error.place;
    let mut text = error.message.clone();
    if let Some((line, column)) = place
        && let Some(shown) =
            usize::try_from(line).ok().and_then(|line| statement.lines().nth(line.checked_sub(1)?))
    {
        let blank = usize::try_from(column).unwrap_or(1).saturating_sub(1);
        text.push_str(&format!("\n{shown}\n{}^", " ".repeat(blank)));
    }
    text.extend(error.hint.iter().map(|hint| format!("\nhint: {hint}")));
    match failure(error) {
        Failure::Negative(_) => Failure::Negative(text),
        Failure::Usage(_) => Failure::Usage(text),
        Failure::Database(_) => Failure::Database(text),
        other => other,
    }
}
