//! Reading files batch by batch. Fields of CSV and values of JSON come as text, which the columns of the table make of what they are; with
//! them comes the line that each row begins on, so that whoever refuses a value can say where it is.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    sync::Arc,
};

use arrow::{
    array::{ArrayRef, RecordBatch, StringBuilder, UInt64Array},
    datatypes::{DataType, Field, Schema},
};
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Map, Value as Json};

use super::{
    Compression, Form, Format, in_file,
    quoted::{Kept, Marks},
};
use crate::{Error, Result, value};

/// What the column with the lines of the rows is called; it is the last of a batch.
pub(crate) const LINE: &str = "\u{1}line";

const BATCH_ROWS: usize = 8192;

/// Batches from wherever: a query, a file.
pub(crate) type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// The columns that a reader of files wants.
pub(crate) struct Wanted {
    /// Their names.
    pub names: Vec<String>,
    /// Whether the statement names them: then they are in its order, whatever the first line of a CSV file says.
    pub is_list: bool,
    /// What an empty field of CSV is there.
    pub empty: Vec<Empty>,
}

/// What an empty field of CSV is in a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Empty {
    /// NULL, with quotes or without.
    Null,
    /// NULL, but with quotes an empty text.
    TextInQuotes,
    Text,
}

/// The rows of a file, and which of the columns that are wanted each has, by their places.
///
/// # Errors
/// A file that cannot be opened, or columns that are not wanted.
pub(crate) fn read(path: &str, format: &Format, wanted: &Wanted) -> Result<(Vec<usize>, Batches)> {
    let file = File::open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            Error::new(crate::ErrorKind::NotFound, format!("there is no file \"{path}\""))
        }
        _ => in_file(path, &error),
    })?;
    match format.form {
        Form::Csv => csv(path, open(path, file, format)?, format, wanted),
        Form::Json => {
            let names = wanted.names.clone();
            let reader = BufReader::with_capacity(64 << 10, open(path, file, format)?);
            let rows = JsonLines { path: path.to_owned(), reader, names, line: 0, text: Vec::new() };
            Ok(((0..wanted.names.len()).collect(), Box::new(rows)))
        }
        Form::Parquet => parquet(path, file, wanted),
    }
}

fn open(path: &str, file: File, format: &Format) -> Result<Box<dyn Read + Send>> {
    Ok(match format.compression {
        Compression::None => Box::new(file),
        Compression::Gzip => Box::new(flate2::read::MultiGzDecoder::new(BufReader::new(file))),
        Compression::Zstd => {
            Box::new(zstd::stream::read::Decoder::new(file).map_err(|error| in_file(path, &error))?)
        }
    })
}

/// Texts of rows that become a batch.
struct Texts {
    columns: Vec<StringBuilder>,
    lines: Vec<u64>,
}

impl Texts {
    fn new(columns: usize) -> Self {
        Self { columns: (0..columns).map(|_| StringBuilder::new()).collect(), lines: Vec::new() }
    }

    fn batch(mut self) -> Result<RecordBatch> {
        let mut arrays: Vec<ArrayRef> =
            self.columns.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef).collect();
        arrays.push(Arc::new(UInt64Array::from(self.lines)));
        let mut fields: Vec<_> =
            (1..arrays.len()).map(|nth| Field::new(format!("c{nth}"), DataType::Utf8, true)).collect();
        fields.push(Field::new(LINE, DataType::UInt64, false));
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(value::wrong)
    }
}

/// What is wrong with a line.
fn in_line(path: &str, line: u64, what: &dyn std::fmt::Display) -> Error {
    Error::invalid(format!("{path}: line {line}: {what}"))
}

struct Csv {
    path: String,
    reader: csv::Reader<Kept<Box<dyn Read + Send>>>,
    record: csv::ByteRecord,
    marks: Marks,
    /// Which fields of the record stand in quotes, if that matters.
    quoted: Vec<bool>,
    /// How many fields a line has.
    width: usize,
    null: Vec<u8>,
    empty: Vec<Empty>,
}

fn csv(
    path: &str,
    input: Box<dyn Read + Send>,
    format: &Format,
    wanted: &Wanted,
) -> Result<(Vec<usize>, Batches)> {
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(format.delimiter)
        .quote(format.quote)
        .escape(format.escape)
        .double_quote(format.escape.is_none())
        .has_headers(format.header)
        .flexible(true)
        .buffer_capacity(64 << 10)
        .from_reader(Kept::new(input));
    let mut columns: Vec<usize> = (0..wanted.names.len()).collect();
    if format.header && !wanted.is_list {
        let names = reader.headers().map_err(|error| in_file(path, &error))?;
        columns.clear();
        for name in names {
            let name = name.trim();
            let known = wanted.names.iter().map(String::as_str);
            let place = wanted.names.iter().position(|known| known == name);
            let place =
                place.or_else(|| wanted.names.iter().position(|known| known.eq_ignore_ascii_case(name)));
            let place = place.ok_or_else(|| {
                let error = Error::not_found("column", name, known);
                in_line(path, 1, &error)
                    .with_hint("a file without names in its first line is read WITH (HEADER false)")
            })?;
            if columns.contains(&place) {
                return Err(in_line(path, 1, &format!("column \"{name}\" is named twice")));
            }
            columns.push(place);
        }
    }
    let rows = Csv {
        path: path.to_owned(),
        reader,
        record: csv::ByteRecord::new(),
        marks: Marks { delimiter: format.delimiter, quote: format.quote, escape: format.escape },
        quoted: Vec::new(),
        width: columns.len(),
        null: format.null.clone().into_bytes(),
        empty: columns.iter().map(|&place| wanted.empty[place]).collect(),
    };
    Ok((columns, Box::new(rows)))
}

impl Csv {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let mut texts = Texts::new(self.width);
        while texts.lines.len() < BATCH_ROWS {
            let next_line = self.reader.position().line();
            let more = self.reader.read_byte_record(&mut self.record).map_err(|error| {
                in_line(&self.path, error.position().map_or(next_line, csv::Position::line), &error)
            })?;
            if !more {
                break;
            }
            let line = self.record.position().map_or(next_line, csv::Position::line);
            if self.record.len() != self.width {
                let (found, wanted) = (self.record.len(), self.width);
                return Err(in_line(
                    &self.path,
                    line,
                    &format!("{found} fields where {wanted} were expected"),
                ));
            }
            self.find_quotes();
            for (nth, field) in self.record.iter().enumerate() {
                let is_text = match self.empty[nth] {
                    Empty::Null => false,
                    Empty::TextInQuotes => self.quoted.get(nth) == Some(&true),
                    Empty::Text => field.is_empty() || self.quoted.get(nth) == Some(&true),
                };
                match field == self.null && !is_text {
                    true => texts.columns[nth].append_null(),
                    false => {
                        let text = std::str::from_utf8(field).map_err(|_| {
                            in_line(&self.path, line, &format!("field {}: the text is not UTF-8", nth + 1))
                        })?;
                        texts.columns[nth].append_value(text);
                    }
                }
            }
            texts.lines.push(line);
        }
        match texts.lines.is_empty() {
            true => Ok(None),
            false => texts.batch().map(Some),
        }
    }
}

impl Csv {
    /// Looks which fields of the record stand in quotes, if one of them may be NULL.
    fn find_quotes(&mut self) {
        self.quoted.clear();
        let end = self.reader.position().byte();
        let begin = self.record.position().map_or(end, csv::Position::byte);
        if self.record.iter().any(|field| field == self.null) {
            let raw = self.reader.get_ref().range(begin, end);
            if raw.contains(&self.marks.quote) {
                self.marks.quoted(raw, &mut self.quoted);
            }
        }
        self.reader.get_mut().forget(end);
    }
}

impl Iterator for Csv {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        self.next_batch().transpose()
    }
}

struct JsonLines {
    path: String,
    reader: BufReader<Box<dyn Read + Send>>,
    names: Vec<String>,
    line: u64,
    text: Vec<u8>,
}

impl JsonLines {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let mut texts = Texts::new(self.names.len());
        while texts.lines.len() < BATCH_ROWS {
            self.text.clear();
            self.line += 1;
            let length = self.reader.read_until(b'\n', &mut self.text);
            if length.map_err(|error| in_line(&self.path, self.line, &error))? == 0 {
                break;
            }
            if self.text.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let row: Map<String, Json> = serde_json::from_slice(&self.text).map_err(|error| {
                let text = error.to_string();
                let what = text.split(" at line ").next().unwrap_or_default();
                in_line(&self.path, self.line, &format!("column {}: no JSON object: {what}", error.column()))
            })?;
            if let Some(unknown) = row.keys().find(|name| !self.names.contains(name)) {
                let error = Error::not_found("column", unknown, self.names.iter().map(String::as_str));
                return Err(in_line(&self.path, self.line, &error));
            }
            for (name, column) in self.names.iter().zip(&mut texts.columns) {
                match row.get(name) {
                    None | Some(Json::Null) => column.append_null(),
                    Some(Json::String(text)) => column.append_value(text),
                    Some(other) => column.append_value(other.to_string()),
                }
            }
            texts.lines.push(self.line);
        }
        match texts.lines.is_empty() {
            true => Ok(None),
            false => texts.batch().map(Some),
        }
    }
}

impl Iterator for JsonLines {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        self.next_batch().transpose()
    }
}

fn parquet(path: &str, file: File, wanted: &Wanted) -> Result<(Vec<usize>, Batches)> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| in_file(path, &error))?;
    let schema = builder.schema().clone();
    let place = |field: &Arc<Field>| {
        let known = wanted.names.iter().map(String::as_str);
        let place = wanted.names.iter().position(|name| name == field.name());
        place.ok_or_else(|| {
            let error = Error::not_found("column", field.name(), known);
            in_file(path, &error).with_hint("COPY t (a, b) FROM takes columns in the order of the file")
        })
    };
    let columns: Vec<usize> = match wanted.is_list {
        true => (0..wanted.names.len()).collect(),
        false => schema.fields().iter().map(place).collect::<Result<_>>()?,
    };
    if schema.fields().len() != columns.len() {
        let (found, wanted) = (schema.fields().len(), columns.len());
        return Err(in_file(path, &format!("{found} columns where {wanted} were expected")));
    }
    let reader = builder.with_batch_size(BATCH_ROWS).build().map_err(|error| in_file(path, &error))?;
    let path = path.to_owned();
    Ok((columns, Box::new(reader.map(move |batch| batch.map_err(|error| in_file(&path, &error))))))
}
