//! Running a statement, showing its rows as they come, and saying what it did.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use ambo_sql::{Error, ErrorKind};

use super::commands;
use super::keywords;
use super::progress::Progress;
use super::session::Session;
use super::settings::Mode;
use super::show;
use super::split;
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::output::{self, remark};

/// Where a statement stands, for messages: nowhere, or in a file or the standard input, from this line on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Origin<'a> {
    /// `input line` or a file's name with a colon; the number of the line follows.
    pub name: Option<&'a str>,
    /// The statement's first line, from 1.
    pub line: u64,
}

/// What a statement did.
struct Done {
    tag: &'static str,
    /// Rows that were returned.
    rows: Option<u64>,
    /// Rows that were inserted, changed or deleted.
    affected: Option<u64>,
    /// So many rows were shown, if not all.
    shown: Option<u64>,
    time: Duration,
}

/// A text whose rows are kept back until there are so many is written at once.
const KEPT_BACK: u64 = 1000;

impl Session<'_> {
    /// Runs a statement and shows what it returns.
    pub fn statement(&mut self, text: &str, origin: Origin<'_>) -> Result<()> {
        if self.settings.explain && split::first_word(text).is_some_and(|word| is_query(&word)) {
            self.run(&format!("explain {text}"), origin)?;
        }
        self.run(text, origin)
    }

    fn run(&mut self, text: &str, origin: Origin<'_>) -> Result<()> {
        interrupt::watch();
        let start = Instant::now();
        let progress = Progress::start();
        let result = self.run_and_show(text, start, progress);
        match result {
            Ok(done) => self.tell(&done),
            Err(Stop::Sql(error)) => Err(failure(*error, text, origin, &self.store.dir)),
            Err(Stop::Shell(failure)) => Err(failure),
        }
    }

    /// Whether the lines behind a statement are rows for it: `COPY t FROM STDIN`.
    pub fn takes_rows(&mut self, text: &str) -> bool {
        is_copy(text) && matches!(self.connection.stream_copy(text), Ok(Some(copy)) if copy.is_in)
    }

    /// Runs a COPY FROM STDIN of these bytes.
    pub fn copy_in(&mut self, text: &str, rows: &[u8], origin: Origin<'_>) -> Result<()> {
        interrupt::watch();
        let start = Instant::now();
        match self.connection.copy_in(text, &mut &*rows) {
            Ok(rows) => self.tell(&Done::copied(rows, start)),
            Err(error) => Err(failure(error, text, origin, &self.store.dir)),
        }
    }

    fn run_and_show(&mut self, text: &str, start: Instant, mut progress: Progress) -> Result<Done, Stop> {
        let (is_watched, reader) = (self.is_watched(), self.reader());
        if is_copy(text) && matches!(self.connection.stream_copy(text), Ok(Some(copy)) if !copy.is_in) {
            let out = self.file.as_mut().map_or(&mut *self.out, |(_, file)| file);
            return Ok(Done::copied(self.connection.copy_out(text, out)?, start));
        }
        let zone = self.connection.time_zone();
        let rows = self.connection.sql(text)?;
        let (tag, affected) = (rows.tag(), rows.affected());
        if rows.schema().fields().is_empty() {
            return Ok(Done { tag, rows: None, affected, shown: None, time: start.elapsed() });
        }
        let schema = show::in_zone(rows.schema(), &zone);
        let mode = self.settings.mode;
        let is_plan = mode == Mode::Table && split::first_word(text).is_some_and(|word| word == "explain");
        let mut show: Box<dyn show::Show> = match is_plan {
            true => Box::new(show::Plan::new(reader)),
            false => show::show(mode, &schema, reader),
        };
        let out = match &mut self.file {
            Some((_, file)) => file,
            None => &mut *self.out,
        };
        let keeps_back = mode == Mode::Table && reader.max_rows.is_some_and(|max| max < KEPT_BACK);
        let mut count = 0;
        for batch in rows.batches() {
            let batch = match batch {
                Ok(batch) => batch,
                Err(error) => {
                    drop(progress);
                    if count > 0 && mode == Mode::Table {
                        show.end(out)?;
                    }
                    return Err(error.into());
                }
            };
            let batch = show::batch_in_zone(batch, &zone)?;
            count += batch.num_rows() as u64;
            progress.rows(count);
            if is_watched && !keeps_back {
                progress.stop();
            }
            show.batch(&batch, out)?;
            if is_watched && !keeps_back {
                out.flush().map_err(Failure::from)?;
            }
        }
        let time = start.elapsed();
        drop(progress);
        let shown = show.end(out)?;
        let (tag, rows) = if is_plan { ("EXPLAIN", None) } else { (tag, Some(count)) };
        Ok(Done { tag, rows, affected, shown, time })
    }

    /// Says how many rows there were, and how long it took.
    fn tell(&mut self, done: &Done) -> Result<()> {
        let watched =
            self.is_watched() && !matches!(self.settings.mode, Mode::Csv | Mode::Json | Mode::Arrow);
        if !watched {
            self.flush()?;
            if self.settings.timer {
                remark(&done.text(true));
            }
            return Ok(());
        }
        writeln!(self.out, "{}", done.text(self.settings.timer))?;
        Ok(())
    }
}

/// Why a statement ended early.
pub(super) enum Stop {
    Sql(Box<Error>),
    Shell(Failure),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Sql(Box::new(error))
    }
}

impl From<ambo_files::Error> for Stop {
    fn from(error: ambo_files::Error) -> Self {
        Self::Shell(error.into())
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Shell(failure)
    }
}

impl Done {
    fn copied(rows: u64, start: Instant) -> Self {
        Self { tag: "COPY", rows: None, affected: Some(rows), shown: None, time: start.elapsed() }
    }

    /// `INSERT 3 rows, 0.4 ms`.
    fn text(&self, timed: bool) -> String {
        let rows = |count: u64| match count {
            1 => "1 row".to_owned(),
            count => format!("{} rows", output::count(count)),
        };
        let what = match (self.affected, self.rows, self.shown) {
            (Some(affected), ..) => format!("{} {}", self.tag, rows(affected)),
            (None, None, _) => self.tag.to_owned(),
            (None, Some(all), None) => rows(all),
            (None, Some(all), Some(shown)) => {
                format!("{} of {} shown, .maxrows all shows all", output::count(shown), rows(all))
            }
        };
        if timed { format!("{what}, {}", output::duration(self.time)) } else { what }
    }
}

fn is_copy(text: &str) -> bool {
    split::first_word(text).is_some_and(|word| word == "copy")
}

fn is_query(word: &str) -> bool {
    ["select", "with", "values", "from", "table"].contains(&word)
}

/// An error of a statement as this program's, with the line it is about and a mark below the place.
pub(super) fn failure(error: Error, statement: &str, origin: Origin<'_>, dir: &Path) -> Failure {
    if error.kind() == ErrorKind::Cancelled {
        return Failure::Interrupted("interrupted; the statement changed nothing".into());
    }
    let line = origin.line + error.place().map_or(0, |place| place.line - 1);
    let at = origin.name.map_or(String::new(), |name| format!("{name}{line}: "));
    let shown = error.show(statement);
    let mut text = at + shown.strip_prefix("error: ").unwrap_or(&shown);
    if error.kind() == ErrorKind::Syntax
        && let Some(word) =
            split::first_word(statement).filter(|word| commands::is_name(word) && !keywords::is_keyword(word))
    {
        text.push_str(&format!("\nhint: commands of the shell begin with a dot: .{word}"));
    }
    match error.kind() {
        ErrorKind::NotFound => Failure::Negative(text),
        ErrorKind::Syntax | ErrorKind::Invalid => Failure::Usage(text),
        _ if matches!(error.storage(), Some(ambo::Error::Damaged { .. })) => {
            let dir = dir.display();
            let text = format!("{text}\nhint: `ambo check {dir}` tells how much is affected");
            Failure::Corrupt { text, what: error.to_string() }
        }
        _ => Failure::Database(text),
    }
}
