//! dump: a table as a file that `load` reads back.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ambo::ColumnBuffer;
use ambo_files::{CsvRows, Form, JsonRows};
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use clap::Args;

use crate::engine::{Access, Store, Tuning};
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::load::{Format, delimiter};
use crate::output::{self, Output};
use crate::schema::Column;
use crate::view::{Range, Record, Records, View};

/// What to write, and where.
#[derive(Args, Clone, Debug)]
pub struct DumpArguments {
    /// The database's directory
    pub dir: PathBuf,
    /// The table [default: `default`, or the only one]
    #[arg(short, long)]
    pub table: Option<String>,
    /// csv, jsonl or parquet [default: jsonl with --json, else by the file's name, else csv]
    #[arg(long)]
    pub format: Option<Format>,
    /// Write to this file instead of standard output
    #[arg(short, long)]
    pub output: Option<PathBuf>,
    /// Between the fields of CSV [default: , or a tab for .tsv]
    #[arg(long, value_name = "CHARACTER")]
    pub delimiter: Option<String>,
    /// What stands for NULL in CSV; a text that is spelled so stands in quotes
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub null: String,
}

/// Runs the command.
pub fn run(arguments: &DumpArguments, tuning: &Tuning, out: &mut Output) -> Result<()> {
    interrupt::watch();
    let store = Store::open(&arguments.dir, Access::Read, tuning)?;
    let table = store.table_to_read(arguments.table.as_deref())?;
    let view = View { dir: &arguments.dir, table: &table, tx: None };
    let output = arguments.output.as_deref();
    let named = output.and_then(|path| ambo_files::Format::of(&path.to_string_lossy()));
    let mut format = named.unwrap_or_else(|| ambo_files::Format::new(Form::Csv));
    match (arguments.format, out.is_json()) {
        (Some(form), _) => format.form = form.form(),
        (None, true) => format.form = Form::Json,
        (None, false) => {}
    }
    format.delimiter = match arguments.delimiter.as_deref() {
        Some(text) => delimiter(text)?,
        None => format.delimiter,
    };
    format.nulls = vec![arguments.null.clone()];
    let columns = view.columns();
    let schema = schema_of(&columns);
    let batches =
        Batches { dir: &arguments.dir, records: view.scan(&Range::default(), false)?, columns, rows: 0 };
    let Some(path) = output else {
        if format.form == Form::Parquet {
            return Err(Failure::usage("Parquet goes to a file; say --output FILE"));
        }
        return print(&format, &schema, batches, out);
    };
    let records = ambo_files::write(path, &format, &schema, batches, |_| {})?;
    output::remark(&format!("{} records in {}", output::count(records), path.display()));
    Ok(())
}

/// Writes to standard output.
fn print(
    format: &ambo_files::Format,
    schema: &SchemaRef,
    batches: Batches<'_>,
    out: &mut Output,
) -> Result<()> {
    let csv = (format.form == Form::Csv).then(|| CsvRows::new(schema, format));
    let mut bytes = Vec::new();
    if let Some(csv) = &csv {
        csv.head(&mut bytes);
    }
    for batch in batches {
        let batch = batch?;
        let appended = match &csv {
            Some(csv) => csv.batch(&batch, &mut bytes),
            None => JsonRows.batch(&batch, &mut bytes),
        };
        appended.map_err(|what| Failure::Database(format!("a value cannot be written: {what}")))?;
        out.write_all(&bytes)?;
        bytes.clear();
    }
    out.write_all(&bytes)?;
    Ok(())
}

fn schema_of(columns: &[Column]) -> SchemaRef {
    let field = |column: &Column| match ambo_files::array(ColumnBuffer::new(column.ty)) {
        Ok(array) => Some(Field::new(&column.name, arrow_array::Array::data_type(&array).clone(), true)),
        Err(_) => None,
    };
    Arc::new(Schema::new(columns.iter().filter_map(field).collect::<Vec<_>>()))
}

/// Rows of a batch, and bytes that are enough for one.
const BATCH_ROWS: usize = 1024;
const BATCH_BYTES: usize = 4 << 20;

/// Records as batches.
struct Batches<'a> {
    dir: &'a Path,
    records: Records<'a>,
    columns: Vec<Column>,
    rows: u64,
}

impl Batches<'_> {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if interrupt::raised() {
            let rows = output::count(self.rows);
            return Err(Failure::Interrupted(format!("stopped by Ctrl-C after {rows} records")));
        }
        let mut buffers: Vec<_> = self.columns.iter().map(|column| ColumnBuffer::new(column.ty)).collect();
        let mut rows = 0;
        let wrong =
            |error: &dyn std::fmt::Display| Failure::Database(format!("{}: {error}", self.dir.display()));
        while rows < BATCH_ROWS && buffers.iter().map(ColumnBuffer::data_bytes).sum::<usize>() < BATCH_BYTES {
            let Some(record) = self.records.next() else { break };
            let row = match record.map_err(|error| Failure::engine(self.dir, error))? {
                Record::Pair(key, value) => vec![ambo::Datum::Binary(key), ambo::Datum::Binary(value)],
                Record::Row(row) => row,
            };
            for (buffer, value) in buffers.iter_mut().zip(&row) {
                buffer.push(value.as_ref()).map_err(|error| wrong(&error))?;
            }
            rows += 1;
        }
        self.rows += rows as u64;
        if rows == 0 {
            return Ok(None);
        }
        let arrays = buffers.into_iter().map(ambo_files::array).collect::<Result<Vec<_>, _>>();
        let arrays = arrays.map_err(|error| wrong(&error))?;
        let batch = RecordBatch::try_new(schema_of(&self.columns), arrays);
        batch.map(Some).map_err(|error: ArrowError| wrong(&error))
    }
}

impl Iterator for Batches<'_> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        self.next_batch().transpose()
    }
}
