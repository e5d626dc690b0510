//! The records of a CSV or JSON lines file, one at a time, with their line numbers.

use std::io::{self, BufRead, BufReader};
use std::path::Path;

use clap::ValueEnum;
use serde_json::{Map, Value as Json};

use super::regions::Region;
use super::source::Input;
use crate::failure::{Failure, Result};

/// The form of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// Fields separated by a delimiter, with a line of names at the top.
    Csv,
    /// One JSON object a line.
    Jsonl,
    /// Apache Parquet.
    Parquet,
}

impl Format {
    /// By the name's end; `.gz` behind it does not matter.
    pub fn of(path: &Path) -> Self {
        let name = path.to_string_lossy().to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let json = [".jsonl", ".ndjson", ".json"].iter().any(|ending| name.ends_with(ending));
        let parquet = [".parquet", ".pq"].iter().any(|ending| name.ends_with(ending));
        match (json, parquet) {
            (true, _) => Self::Jsonl,
            (_, true) => Self::Parquet,
            _ => Self::Csv,
        }
    }
}

/// How to read a file.
#[derive(Clone, Debug)]
pub struct Dialect {
    /// Its form.
    pub format: Format,
    /// Between the fields of CSV.
    pub delimiter: u8,
    /// Whether the first line of CSV holds the names.
    pub header: bool,
    /// Texts that stand for NULL.
    pub nulls: Vec<String>,
}

/// What is wrong with one record.
#[derive(Debug)]
pub struct BadRecord {
    /// The line it begins on, from 1.
    pub line: u64,
    /// What is wrong, and in which column.
    pub what: String,
}

/// One field.
#[derive(Clone, Copy, Debug)]
pub enum Cell<'a> {
    /// No value.
    Null,
    /// A field of CSV.
    Text(&'a str),
    /// A member of a JSON object.
    Json(&'a Json),
}

enum Reader {
    Csv { reader: Box<csv::Reader<Input>>, record: csv::ByteRecord },
    Jsonl { reader: BufReader<Input>, text: Vec<u8>, record: Map<String, Json> },
}

/// A file's records. [`Records::advance`] goes to the next, [`Records::cell`] looks at its fields.
pub struct Records {
    reader: Reader,
    dialect: Dialect,
    /// The names in CSV's first line; JSON's objects name their members themselves.
    pub names: Vec<String>,
    /// The line that the current record begins on.
    pub line: u64,
    /// Lines of the file before those that are read here.
    lines_before: u64,
}

impl Records {
    /// Reads the names, if the form has them.
    pub fn open(input: Input, dialect: &Dialect, path: &Path) -> Result<Self> {
        let dialect = dialect.clone();
        if dialect.format == Format::Jsonl {
            let reader = BufReader::with_capacity(1 << 10, input);
            let reader = Reader::Jsonl { reader, text: Vec::new(), record: Map::new() };
            return Ok(Self { reader, dialect, names: Vec::new(), line: 0, lines_before: 0 });
        }
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(dialect.delimiter)
            .has_headers(dialect.header)
            .flexible(true)
            .from_reader(input);
        let first = reader.byte_headers().map_err(|error| csv_failure(path, &error))?;
        let names = match dialect.header {
            true => first.iter().map(|name| String::from_utf8_lossy(name).trim().to_string()).collect(),
            false => (1..=first.len()).map(|i| format!("column{i}")).collect::<Vec<_>>(),
        };
        check_names(&names, path)?;
        let reader = Reader::Csv { reader: Box::new(reader), record: csv::ByteRecord::new() };
        Ok(Self { reader, dialect, names, line: 0, lines_before: 0 })
    }

    /// Records of a region of a file, whose names are known. The first region has the names as its first record still.
    pub fn of_region(region: Region, dialect: &Dialect, names: &[String]) -> Self {
        let lines_before = region.first_line - 1;
        let input: Input = Box::new(io::Cursor::new(region.bytes));
        let (dialect, names) = (dialect.clone(), names.to_vec());
        let reader = match dialect.format {
            Format::Jsonl | Format::Parquet => {
                let reader = BufReader::with_capacity(64 << 10, input);
                Reader::Jsonl { reader, text: Vec::new(), record: Map::new() }
            }
            Format::Csv => {
                let reader = csv::ReaderBuilder::new()
                    .delimiter(dialect.delimiter)
                    .has_headers(dialect.header && lines_before == 0)
                    .flexible(true)
                    .buffer_capacity(64 << 10)
                    .from_reader(input);
                Reader::Csv { reader: Box::new(reader), record: csv::ByteRecord::new() }
            }
        };
        let line = match dialect.format {
            Format::Csv => 0,
            Format::Jsonl | Format::Parquet => lines_before,
        };
        Self { reader, dialect, names, line, lines_before }
    }

    /// Goes to the next record; false at the end. After an error the next call goes on behind the bad record.
    pub fn advance(&mut self) -> Result<bool, BadRecord> {
        match &mut self.reader {
            Reader::Csv { reader, record } => {
                let next_line = reader.position().line();
                let more = reader.read_byte_record(record).map_err(|error| {
                    let bad = csv_bad(next_line, &error);
                    BadRecord { line: bad.line + self.lines_before, ..bad }
                })?;
                self.line = record.position().map_or(next_line, csv::Position::line) + self.lines_before;
                let (found, expected) = (record.len(), self.names.len());
                match more && found != expected {
                    true => Err(self.bad(format!("{found} fields where {expected} were expected"))),
                    false => Ok(more),
                }
            }
            Reader::Jsonl { .. } => self.advance_json(),
        }
    }

    fn advance_json(&mut self) -> Result<bool, BadRecord> {
        let Reader::Jsonl { reader, text, record } = &mut self.reader else { return Ok(false) };
        loop {
            self.line += 1;
            let line = self.line;
            text.clear();
            let length = reader.read_until(b'\n', text);
            let length = length.map_err(|error| BadRecord { line, what: error.to_string() })?;
            if length == 0 {
                return Ok(false);
            }
            if text.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            *record = serde_json::from_slice(text).map_err(|error| {
                let what = format!("column {}: no JSON object: {}", error.column(), json_words(&error));
                BadRecord { line, what }
            })?;
            return Ok(true);
        }
    }

    /// A field of the current record: of CSV by its position, of JSON by its name.
    pub fn cell(&self, position: usize, name: &str) -> Result<Cell<'_>, BadRecord> {
        let cell = match &self.reader {
            Reader::Csv { record, .. } => {
                let field = record.get(position).unwrap_or_default();
                let text = std::str::from_utf8(field);
                Cell::Text(text.map_err(|_| self.bad(format!("column {name}: the text is not UTF-8")))?)
            }
            Reader::Jsonl { record, .. } => record.get(name).map_or(Cell::Null, Cell::Json),
        };
        Ok(if self.is_null(cell) { Cell::Null } else { cell })
    }

    fn is_null(&self, cell: Cell<'_>) -> bool {
        match cell {
            Cell::Null | Cell::Json(Json::Null) => true,
            Cell::Text(text) => self.dialect.nulls.iter().any(|null| null == text),
            Cell::Json(_) => false,
        }
    }

    /// The names of the current JSON object's members.
    pub fn members(&self) -> impl Iterator<Item = &str> {
        let record = match &self.reader {
            Reader::Jsonl { record, .. } => Some(record),
            Reader::Csv { .. } => None,
        };
        record.into_iter().flat_map(|record| record.keys().map(String::as_str))
    }

    /// Something wrong with the current record.
    pub fn bad(&self, what: String) -> BadRecord {
        BadRecord { line: self.line, what }
    }
}

fn check_names(names: &[String], path: &Path) -> Result<()> {
    for (i, name) in names.iter().enumerate() {
        if name.is_empty() {
            let what =
                format!("{}: line 1: column {} has no name; --no-header numbers them", path.display(), i + 1);
            return Err(Failure::usage(what));
        }
        if names[..i].contains(name) {
            return Err(Failure::usage(format!("{}: line 1: two columns are named {name}", path.display())));
        }
    }
    match names.is_empty() {
        true => Err(Failure::usage(format!("{}: the file is empty", path.display()))),
        false => Ok(()),
    }
}

fn csv_failure(path: &Path, error: &csv::Error) -> Failure {
    Failure::usage(format!("{}: {error}", path.display()))
}

fn csv_bad(line: u64, error: &csv::Error) -> BadRecord {
    let line = error.position().map_or(line, csv::Position::line);
    BadRecord { line, what: error.to_string() }
}

/// serde_json ends its messages with a line number of its own, which is always 1 here.
fn json_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_string()
}
