//! put, get, del, scan and count.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use ambo::Datum;
use serde_json::{Map, Value as Json};

use crate::arguments::{RangeArguments, ScanArguments};
use crate::datum;
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::output::{self, Align, Form, Output, Table};
use crate::schema::Column;
use crate::text::escape;
use crate::view::{Range, Record, View};
use crate::word::{self, Spelling, Word};

/// Stores a pair, or a row of as many values as there are columns.
pub fn put(view: &mut View<'_>, words: &[Word]) -> Result<()> {
    if !view.is_key_value() {
        let row = word::row(words, &view.columns(), "put")?;
        return view.put_row(&row);
    }
    match words {
        [key, value] => view.put(&key.bytes, &value.bytes),
        _ => Err(Failure::usage(format!(
            "put takes a key and a value, not {} words; quote blanks",
            words.len()
        ))),
    }
}

/// Stores a file's contents as the value of a key.
pub fn put_file(view: &mut View<'_>, words: &[Word], file: &Path) -> Result<()> {
    let [key] = words else {
        return Err(Failure::usage("put --file takes a key and no value"));
    };
    if !view.is_key_value() {
        return Err(Failure::usage("put --file is for key-value tables; this one has typed columns"));
    }
    let mut source = std::fs::File::open(file).map_err(|error| Failure::file(file, &error))?;
    view.put_stream(&key.bytes, &mut source, file)
}

fn key_row(view: &View<'_>, words: &[Word], what: &str) -> Result<Vec<Datum>> {
    let columns = view.key_columns();
    if columns.is_empty() {
        return Err(Failure::usage(format!(
            "{what} needs a key, and this table has none but a hidden row number"
        )));
    }
    word::row(words, &columns, what)
}

fn one_key<'a>(words: &'a [Word], what: &str) -> Result<&'a Word> {
    match words {
        [key] => Ok(key),
        _ => Err(Failure::usage(format!("{what} takes one key, not {} words; quote blanks", words.len()))),
    }
}

fn absent(words: &[Word]) -> Failure {
    let key: Vec<String> = words.iter().map(|word| escape(&word.bytes)).collect();
    Failure::Negative(format!("not found: {}", key.join(" ")))
}

/// Shows the value of a key, or the row. `raw`: the value's bytes as they are and nothing else.
pub fn get(view: &View<'_>, words: &[Word], raw: bool, out: &mut Output) -> Result<()> {
    if !view.is_key_value() {
        let row = view.get_row(&key_row(view, words, "get")?)?.ok_or_else(|| absent(words))?;
        return show_row(&view.columns(), &row, out);
    }
    let key = &one_key(words, "get")?.bytes;
    let value = view.get(key)?.ok_or_else(|| absent(words))?;
    show_value(key, &value, raw, out)
}

/// Shows the value of a key.
pub fn show_value(key: &[u8], value: &[u8], raw: bool, out: &mut Output) -> Result<()> {
    match (raw, out.form) {
        (true, _) => out.write_all(value)?,
        (false, Form::Json) => out.json(&pair_json(key, value))?,
        (false, _) => writeln!(out, "{}", escape(value))?,
    }
    Ok(())
}

fn show_row(columns: &[Column], row: &[Datum], out: &mut Output) -> Result<()> {
    match out.form {
        Form::Json => out.json(&row_json(columns, row))?,
        Form::Plain => writeln!(out, "{}", row.iter().map(datum::show).collect::<Vec<_>>().join("\t"))?,
        Form::Human => {
            let mut table = Table::new([("column", Align::Left), ("value", Align::Left)]);
            for (column, value) in columns.iter().zip(row) {
                table.row(vec![column.name.clone(), datum::show(value)]);
            }
            table.write(out, false)?;
        }
    }
    Ok(())
}

/// Removes a key; a key that is not there is a negative answer.
pub fn delete(view: &mut View<'_>, words: &[Word]) -> Result<()> {
    let was_there = match view.is_key_value() {
        true => view.delete(&one_key(words, "del")?.bytes)?,
        false => {
            let key = key_row(view, words, "del")?;
            view.delete_row(&key)?
        }
    };
    if was_there { Ok(()) } else { Err(absent(words)) }
}

/// Reads the bounds of a range.
fn range(view: &View<'_>, arguments: &RangeArguments, spelling: Spelling) -> Result<Range> {
    let read = |raw: Option<&OsString>| -> Result<Option<Vec<u8>>> {
        raw.map(|raw| spelling.read(raw).map(|word| word.bytes)).transpose()
    };
    let (from, to) = (read(arguments.from.as_ref())?, read(arguments.to.as_ref())?);
    if view.is_key_value() {
        return match arguments.prefix.as_slice() {
            [] | [_] => Ok(Range { from, to, prefix: read(arguments.prefix.first())?, key: Vec::new() }),
            _ => Err(Failure::usage("the keys of this table have one part, so there is one --prefix")),
        };
    }
    if from.is_some() || to.is_some() {
        return Err(Failure::usage(
            "--from and --to are for key-value tables; here, --prefix VALUE chooses the first key column, and a \
             second --prefix the next",
        ));
    }
    let words = spelling.read_all(&arguments.prefix)?;
    let columns = view.key_columns();
    if words.len() > columns.len() {
        return Err(Failure::usage(format!("the key has {} columns, not {}", columns.len(), words.len())));
    }
    let key = words.iter().zip(&columns).map(|(word, column)| word.datum(column)).collect::<Result<_>>()?;
    Ok(Range { key, ..Range::default() })
}

/// Rows are aligned in groups of so many, so that the first are shown before the last are read.
const GROUP: usize = 200;

/// Shows the records of a range; true when a limit left some out.
pub fn scan(
    view: &View<'_>,
    arguments: &ScanArguments,
    spelling: Spelling,
    out: &mut Output,
) -> Result<bool> {
    let range = range(view, &arguments.range, spelling)?;
    let columns = view.columns();
    let mut table = Table::new(columns.iter().map(|column| (column.name.as_str(), align(column))));
    let (mut shown, mut headed) = (0, true);
    for record in view.scan(&range, arguments.reverse)? {
        if arguments.limit.is_some_and(|limit| shown >= limit) {
            table.write(out, headed)?;
            return Ok(true);
        }
        if interrupt::raised() {
            out.flush()?;
            return Err(Failure::Interrupted(format!("stopped after {} records", output::count(shown))));
        }
        let record = record.map_err(|error| Failure::engine(view.dir, error))?;
        match out.form {
            Form::Json => out.json(&record_json(&columns, &record))?,
            _ => table.row(cells(&record)),
        }
        shown += 1;
        if table.waiting() >= GROUP {
            table.write(out, headed)?;
            headed = false;
        }
    }
    table.write(out, headed && shown > 0)?;
    Ok(false)
}

fn align(column: &Column) -> Align {
    if column.ty.is_numeric() { Align::Right } else { Align::Left }
}

pub fn cells(record: &Record) -> Vec<String> {
    match record {
        Record::Pair(key, value) => vec![escape(key), escape(value)],
        Record::Row(row) => row.iter().map(datum::show).collect(),
    }
}

/// A record as a JSON object. Bytes are text with escapes.
pub fn record_json(columns: &[Column], record: &Record) -> Json {
    match record {
        Record::Pair(key, value) => pair_json(key, value),
        Record::Row(row) => row_json(columns, row),
    }
}

fn pair_json(key: &[u8], value: &[u8]) -> Json {
    serde_json::json!({ "key": escape(key), "value": escape(value) })
}

fn row_json(columns: &[Column], row: &[Datum]) -> Json {
    let fields = columns.iter().zip(row).map(|(column, value)| (column.name.clone(), datum::to_json(value)));
    Json::Object(fields.collect::<Map<_, _>>())
}

/// Shows how many records a range has.
pub fn count(
    view: &View<'_>,
    arguments: &RangeArguments,
    spelling: Spelling,
    out: &mut Output,
) -> Result<()> {
    show_count(view.count(&range(view, arguments, spelling)?)?, out)
}

/// Shows how many records there are.
pub fn show_count(count: u64, out: &mut Output) -> Result<()> {
    match out.form {
        Form::Json => out.json(&serde_json::json!({ "count": count }))?,
        Form::Plain => writeln!(out, "{count}")?,
        Form::Human => writeln!(out, "{}", output::count(count))?,
    }
    Ok(())
}
