//! dump: a table as CSV or JSON lines that `load` reads back.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::command::record::record_json;
use crate::datum;
use crate::engine::{Access, Store, Tuning};
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::load::{Format, delimiter};
use crate::output::{self, Form, Output};
use crate::text::escape;
use crate::view::{Range, Record, View};

/// What to write, and where.
#[derive(Args, Clone, Debug)]
pub struct DumpArguments {
    /// The database's directory
    pub dir: PathBuf,
    /// The table [default: `default`, or the only one]
    #[arg(short, long)]
    pub table: Option<String>,
    /// csv or jsonl [default: jsonl with --json, else by the file's name, else csv]
    #[arg(long)]
    pub format: Option<Format>,
    /// Write to this file instead of standard output
    #[arg(short, long)]
    pub output: Option<PathBuf>,
    /// Between the fields of CSV
    #[arg(long, value_name = "CHARACTER", default_value = ",")]
    pub delimiter: String,
    /// What stands for NULL in CSV; the default, nothing, reads back empty texts as NULL
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub null: String,
}

/// Runs the command.
pub fn run(arguments: &DumpArguments, tuning: &Tuning, out: &mut Output) -> Result<()> {
    interrupt::watch();
    let store = Store::open(&arguments.dir, Access::Read, tuning)?;
    let table = store.table_to_read(arguments.table.as_deref())?;
    let view = View { dir: &arguments.dir, table: &table, tx: None };
    let format = arguments.format.unwrap_or_else(|| match (&arguments.output, out.is_json()) {
        (_, true) => Format::Jsonl,
        (Some(path), false) => Format::of(path),
        (None, false) => Format::Csv,
    });
    if format == Format::Parquet {
        // Before a file is made.
        return Err(Failure::usage("a dump is CSV or JSON lines; say --format csv or --format jsonl"));
    }
    let Some(path) = &arguments.output else {
        write(&view, arguments, format, out)?;
        return Ok(());
    };
    let file = File::create(path).map_err(|error| Failure::file(path, &error))?;
    let mut to = Output::to(file, Form::Json);
    let records = write(&view, arguments, format, &mut to)?;
    to.flush().map_err(|error| Failure::file(path, &error))?;
    output::remark(&format!("{} records in {}", output::count(records), path.display()));
    Ok(())
}

fn write(view: &View<'_>, arguments: &DumpArguments, format: Format, out: &mut Output) -> Result<u64> {
    match format {
        Format::Csv => write_csv(view, arguments, out),
        _ => write_json(view, out),
    }
}

fn write_json(view: &View<'_>, out: &mut Output) -> Result<u64> {
    let columns = view.columns();
    let mut records = 0;
    for record in view.scan(&Range::default(), false)? {
        let record = record.map_err(|error| Failure::engine(view.dir, error))?;
        out.json(&record_json(&columns, &record))?;
        records += 1;
        stop_when_interrupted(records)?;
    }
    Ok(records)
}

fn write_csv(view: &View<'_>, arguments: &DumpArguments, out: &mut Output) -> Result<u64> {
    let mut to = csv::WriterBuilder::new().delimiter(delimiter(&arguments.delimiter)?).from_writer(out);
    let names = view.columns().into_iter().map(|column| column.name);
    to.write_record(names).map_err(csv_failure)?;
    let mut records = 0;
    for record in view.scan(&Range::default(), false)? {
        let written = match record.map_err(|error| Failure::engine(view.dir, error))? {
            Record::Pair(key, value) => to.write_record([escape(&key), escape(&value)]),
            Record::Row(row) => to.write_record(row.iter().map(|value| match value {
                ambo::Datum::Null => arguments.null.as_bytes().to_vec(),
                value => datum::field(value).into_owned().into_bytes(),
            })),
        };
        written.map_err(csv_failure)?;
        records += 1;
        stop_when_interrupted(records)?;
    }
    to.flush()?;
    Ok(records)
}

fn csv_failure(error: csv::Error) -> Failure {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error.into(),
        other => Failure::Database(format!("cannot write the output: {other:?}")),
    }
}

fn stop_when_interrupted(records: u64) -> Result<()> {
    match interrupt::raised() {
        true => {
            Err(Failure::Interrupted(format!("stopped by Ctrl-C after {} records", output::count(records))))
        }
        false => Ok(()),
    }
}
