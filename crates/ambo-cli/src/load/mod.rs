//! load: a CSV or JSON lines file into a table.
//!
//! 1. Unless the table is there or `--schema` names the columns, the file is read once to infer them ([`infer`]).
//! 2. The file is read again; rows are converted and committed in batches. What an interrupted load has
//!    committed stays, whole batches of it; the batch under way is not committed.

mod arguments;
mod convert;
mod infer;
mod progress;
mod records;
mod source;

use std::path::Path;
use std::time::Instant;

use ambo::{Datum, Storage, Table};
use serde_json::json;

use crate::engine::{Access, OrFail, Store, Tuning};
use crate::failure::{Failure, Result};
use crate::output::{self, Output};
use crate::schema::{self, Column};
use crate::{interrupt, text};
use convert::Converter;
use infer::Inference;
use progress::Progress;
use records::{BadRecord, Dialect, Records};
use source::Source;

pub use arguments::{LoadArguments, OnError, delimiter};
pub use records::Format;

/// What was done.
#[derive(Debug, Default)]
struct Tally {
    /// Rows committed.
    rows: u64,
    skipped: u64,
}

/// Runs the command.
pub fn run(arguments: &LoadArguments, tuning: &Tuning, out: &mut Output) -> Result<()> {
    interrupt::watch();
    let source = Source::open(&arguments.file)?;
    let dialect = arguments.dialect()?;
    let name = arguments.table_name()?;
    let store = Store::open(&arguments.dir, Access::Create, tuning)?;
    let table = match store.find_table(&name)? {
        Some(table) => {
            refuse_schema(arguments, &name)?;
            table
        }
        None => create(arguments, &store, &name, &source, &dialect)?,
    };
    let load =
        Load { arguments, source: &source, dialect: &dialect, store: &store, table: &table, name: &name };
    let mut tally = Tally::default();
    let (outcome, elapsed) = load.rows(&mut tally)?;
    let start = Instant::now();
    let outcome = outcome.and_then(|()| load.settle()).map_err(|failure| load.explain(failure, &tally));
    let elapsed = elapsed + start.elapsed();
    if outcome.is_ok() {
        load.report(&tally, elapsed, out)?;
    }
    store.close()?;
    outcome
}

fn refuse_schema(arguments: &LoadArguments, name: &str) -> Result<()> {
    if arguments.new_table.storage.is_some() {
        return Err(Failure::usage(format!(
            "table {name} is there already, and keeps its storage; leave --storage away, or name another table"
        )));
    }
    if !arguments.new_table.compression.options().is_empty() {
        return Err(Failure::usage(format!(
            "table {name} is there already; `ambo alter {} {name}` changes how it is compressed",
            arguments.dir.display()
        )));
    }
    let given = arguments.schema.is_some() || !arguments.key.is_empty();
    match given {
        true => Err(Failure::usage(format!(
            "table {name} is there already, with its own columns and key; leave --schema and --key away, or name \
             another table"
        ))),
        false => Ok(()),
    }
}

/// Makes the table, with the columns that were named or inferred.
fn create(
    arguments: &LoadArguments,
    store: &Store,
    name: &str,
    source: &Source,
    dialect: &Dialect,
) -> Result<Table> {
    // What is wrong with the options is told before the file is read.
    let key_value = arguments.new_table.apply(ambo::TableDefinition::key_value(name))?;
    if key_value.storage == Storage::Memory {
        output::remark(&format!(
            "table {name} is of storage memory: its rows are gone when this command ends"
        ));
    }
    if arguments.key_value {
        return store.db.create_table(key_value).or_fail(&store.dir);
    }
    let columns = match &arguments.schema {
        Some(text) => schema::parse(text).map_err(Failure::Usage)?,
        None => infer_columns(arguments, source, dialect)?,
    };
    let definition = schema::definition(name, &columns, &arguments.key).map_err(Failure::Usage)?;
    store.db.create_table(arguments.new_table.apply(definition)?).or_fail(&store.dir)
}

fn infer_columns(arguments: &LoadArguments, source: &Source, dialect: &Dialect) -> Result<Vec<Column>> {
    let (input, position) = source.rewind()?;
    let mut records = Records::open(input, dialect, &source.path)?;
    let progress = Progress::new("looking", source.bytes, position);
    let mut inference = Inference::new(&records.names);
    while arguments.sample.is_none_or(|sample| inference.records() < sample) {
        let seen = records.advance().and_then(|more| match more {
            true => inference.see(&records).map(|()| true),
            false => Ok(false),
        });
        match seen {
            Ok(true) => progress.rows(inference.records()),
            Ok(false) => break,
            Err(_) if arguments.on_error == OnError::Skip => {}
            Err(bad) => return Err(bad_record(&source.path, &bad)),
        }
        if interrupt::raised() {
            return Err(Failure::Interrupted(
                "stopped by Ctrl-C before the first row; nothing was loaded".into(),
            ));
        }
    }
    if let Some((column, line)) = inference.null_in_key(&arguments.key)
        && arguments.on_error == OnError::Stop
    {
        return Err(Failure::usage(format!(
            "{}: line {line}, column {column}: a key column without a value; choose another key, or --on-error skip",
            source.path.display()
        )));
    }
    for (column, text, ty) in inference.spoiled() {
        let text = text::shorten(text, 20);
        progress.say(&format!(
            "column {column} is text because of '{text}' alone; --null '{text}' would make it {ty}"
        ));
    }
    let columns = inference.columns(arguments.sample.is_some());
    match columns.is_empty() {
        true => Err(Failure::usage(format!(
            "{}: the file has no records to infer columns from",
            source.path.display()
        ))),
        false => Ok(columns),
    }
}

fn bad_record(path: &Path, bad: &BadRecord) -> Failure {
    Failure::usage(format!(
        "{}: line {}, {}; mend it, or use --on-error skip",
        path.display(),
        bad.line,
        bad.what
    ))
}

/// So many skipped records are shown one by one.
const SHOWN_MAX: u64 = 10;

struct Load<'a> {
    arguments: &'a LoadArguments,
    source: &'a Source,
    dialect: &'a Dialect,
    store: &'a Store,
    table: &'a Table,
    name: &'a str,
}

/// Why a batch is not committed.
enum Stop {
    Bad(BadRecord),
    Failed(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Load<'_> {
    /// Loads all rows. The outer result is about the file as a whole, the inner about the rows in it.
    fn rows(&self, tally: &mut Tally) -> Result<(Result<()>, std::time::Duration)> {
        let (input, position) = self.source.rewind()?;
        let mut records = Records::open(input, self.dialect, &self.source.path)?;
        let progress = Progress::new("loading", self.source.bytes, position);
        let key_value = self.table.definition().is_raw();
        let converter =
            Converter::new(schema::of(self.table.definition()), key_value, &records, &self.source.path)?;
        let outcome = loop {
            match self.batch(&mut records, &converter, &progress, tally) {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(Stop::Failed(failure)) => break Err(failure),
                Err(Stop::Bad(bad)) => break Err(bad_record(&self.source.path, &bad)),
            }
        };
        Ok((outcome, progress.elapsed()))
    }

    /// A column table should have its rows in segments before the database is closed, which waits for no merges.
    fn settle(&self) -> Result<()> {
        match self.table.definition().storage {
            Storage::Column => self.store.db.settle_due().or_fail(&self.store.dir),
            Storage::BTree | Storage::Memory => Ok(()),
        }
    }

    /// One transaction; false when the file is at its end.
    fn batch(
        &self,
        records: &mut Records,
        converter: &Converter,
        progress: &Progress,
        tally: &mut Tally,
    ) -> Result<bool, Stop> {
        let mut tx = self.store.db.begin().or_fail(&self.store.dir)?;
        let mut rows: Vec<Vec<Datum>> = Vec::new();
        let mut more = true;
        while (rows.len() as u64) < self.arguments.batch {
            if interrupt::raised() {
                tx.rollback();
                return Err(Stop::Failed(Failure::Interrupted(String::new())));
            }
            let row = match records.advance() {
                Ok(false) => {
                    more = false;
                    break;
                }
                Ok(true) => converter.convert(records),
                Err(bad) => Err(bad),
            };
            let stored =
                row.map(|row| self.store_row(&mut tx, &row, records.line).map(|stored| (row, stored)));
            match stored {
                Ok(stored) => match stored? {
                    (row, Ok(())) => rows.push(row),
                    (_, Err(bad)) => self.skip(bad, progress, tally)?,
                },
                Err(bad) => self.skip(bad, progress, tally)?,
            }
            progress.rows(tally.rows + rows.len() as u64);
        }
        match tx.commit() {
            Err(error) if error.is_retryable() => self.repeat(&rows, records.line)?,
            outcome => outcome.or_fail(&self.store.dir)?,
        }
        tally.rows += rows.len() as u64;
        Ok(more)
    }

    /// Commits the rows of a batch that met a conflict: with another writer, or with a checkpoint.
    fn repeat(&self, rows: &[Vec<Datum>], line: u64) -> Result<(), Stop> {
        loop {
            let mut tx = self.store.db.begin().or_fail(&self.store.dir)?;
            for row in rows {
                self.store_row(&mut tx, row, line)?.map_err(Stop::Bad)?;
            }
            match tx.commit() {
                Err(error) if error.is_retryable() => {}
                outcome => return Ok(outcome.or_fail(&self.store.dir)?),
            }
        }
    }

    /// Puts a row into the transaction. A row that the table refuses is a bad record.
    fn store_row(
        &self,
        tx: &mut ambo::Transaction,
        row: &[Datum],
        line: u64,
    ) -> Result<Result<(), BadRecord>, Stop> {
        let stored = match (self.table.definition().is_raw(), row) {
            (true, [Datum::Binary(key), Datum::Binary(value)]) => tx.put(self.table, key, value),
            _ if self.arguments.replace => tx.upsert_row(self.table, row).map(drop),
            _ => tx.insert_row(self.table, row).map(drop),
        };
        match stored {
            Ok(()) => Ok(Ok(())),
            Err(error @ ambo::Error::Exists(_)) => {
                Ok(Err(BadRecord { line, what: format!("{error} (--replace overwrites)") }))
            }
            Err(error @ ambo::Error::Invalid(_)) => Ok(Err(BadRecord { line, what: error.to_string() })),
            Err(error) => Err(Stop::Failed(Failure::engine(&self.store.dir, error))),
        }
    }

    fn skip(&self, bad: BadRecord, progress: &Progress, tally: &mut Tally) -> Result<(), Stop> {
        if self.arguments.on_error == OnError::Stop {
            return Err(Stop::Bad(bad));
        }
        tally.skipped += 1;
        if tally.skipped <= SHOWN_MAX {
            progress.say(&format!(
                "{}: line {}, {}; skipped",
                self.source.path.display(),
                bad.line,
                bad.what
            ));
        }
        if tally.skipped == SHOWN_MAX {
            progress.say("further skipped records are only counted");
        }
        Ok(())
    }

    /// Adds to a failure what is in the table now.
    fn explain(&self, failure: Failure, tally: &Tally) -> Failure {
        let rows = output::count(tally.rows);
        let state = format!("{rows} rows of it are in table {}", self.name);
        match failure {
            Failure::Interrupted(_) => Failure::Interrupted(format!(
                "stopped by Ctrl-C: {state}; the batch under way was not committed"
            )),
            Failure::Usage(text) => Failure::Usage(format!("{text} ({state})")),
            Failure::Database(text) => Failure::Database(format!("{text} ({state})")),
            other => other,
        }
    }

    fn report(&self, tally: &Tally, elapsed: std::time::Duration, out: &mut Output) -> Result<()> {
        use std::io::Write;
        if out.is_json() {
            let definition = self.table.definition();
            out.json(&json!({
                "table": self.name,
                "rows": tally.rows,
                "skipped": tally.skipped,
                "bytes": self.source.bytes,
                "seconds": elapsed.as_secs_f64(),
                "schema": schema::show(&schema::of(definition)),
                "key": schema::key_of(definition),
            }))?;
            return Ok(());
        }
        let skipped = match tally.skipped {
            0 => String::new(),
            n => format!(", {} records skipped", output::count(n)),
        };
        writeln!(
            out,
            "{} rows into table {} in {} ({} rows a second, {} of {}){skipped}",
            output::count(tally.rows),
            self.name,
            output::duration(elapsed),
            output::count(output::rate(tally.rows, elapsed)),
            output::bytes(self.source.bytes),
            self.source.path.display(),
        )?;
        Ok(())
    }
}
