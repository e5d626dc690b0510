//! The records of a region of a CSV or JSON lines file, one at a time, with their line numbers.

use std::{path::Path, sync::Arc};

use crate::{
    BadRecord, Error, Form, Format, Result,
    csv::{Marks, Record, skip_blank},
    json::{Kind, Object},
    regions::{Region, Regions},
    source::{Position, Source},
};

/// One field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cell<'a> {
    /// No value.
    Null,
    /// A field of CSV without anything that stands for NULL: an empty text where there are no NULLs.
    Empty,
    /// A field of CSV.
    Text(&'a str),
    /// A string of JSON.
    String(&'a str),
    /// A field of CSV in quotes that is spelled as NULL is: a text in a column of text, NULL in others.
    Quoted(&'a str),
    /// A number of JSON, with all of its digits.
    Number(&'a str),
    /// `true` or `false` of JSON.
    Bool(&'a str),
    /// A list or an object of JSON.
    Nested(&'a str),
}

enum Reader {
    Csv { record: Record, marks: Marks, is_narrow: bool },
    Json { line: (usize, usize), object: Object },
}

/// A region's records. [`Records::advance`] goes to the next, [`Records::cell`] looks at its fields.
pub struct Records {
    bytes: Vec<u8>,
    /// Behind the current record.
    at: usize,
    reader: Reader,
    format: Arc<Format>,
    names: Arc<[String]>,
    /// The line that the current record begins on.
    pub line: u64,
    next_line: u64,
}

/// The names in CSV's first line, or numbers for the columns if it has none; JSON's objects name their members themselves.
///
/// # Errors
/// A file without anything, or with two columns of a name.
pub fn names(source: &Source, format: &Format) -> Result<Arc<[String]>> {
    Ok(head(source, format)?.0.into())
}

/// The first column of a CSV file with names that has none of its own.
///
/// # Errors
/// As [`names`].
pub fn unnamed(source: &Source, format: &Format) -> Result<Option<usize>> {
    Ok(head(source, format)?.1)
}

/// The names, and the first column that has none.
fn head(source: &Source, format: &Format) -> Result<(Vec<String>, Option<usize>)> {
    if format.form != Form::Csv {
        return Ok((Vec::new(), None));
    }
    let path = &source.path;
    let mut regions = Regions::new(source.read(&Position::default())?, format, 1);
    let region = regions.cut().map_err(|error| Error::io(path, &error))?;
    let bytes = region.map_or(Vec::new(), |region| region.bytes);
    let (mut record, mut at) = (Record::default(), 0);
    let line = 1 + skip_blank(&bytes, &mut at);
    if at == bytes.len() {
        return Err(Error::new(crate::Kind::Empty, format!("{}: the file is empty", path.display())));
    }
    if record.read(&bytes, &mut at, Marks::of(format)).is_err() {
        return Err(open_quote(line).in_file(path));
    }
    let (mut names, mut unnamed) = (Vec::new(), None);
    for nth in 0..record.len() {
        let (name, is_quoted) = record.field(&bytes, nth).unwrap_or_default();
        let name = std::str::from_utf8(name).map_err(|_| {
            Error::in_file(path, format!("line {line}: the name of column {} is not UTF-8", nth + 1))
        })?;
        let name = if is_quoted { name } else { name.trim() };
        let is_named = format.header && (is_quoted || !name.is_empty());
        if format.header && !is_named {
            unnamed.get_or_insert(nth);
        }
        let name = if is_named { name.to_owned() } else { format!("column{}", nth + 1) };
        if names.contains(&name) {
            let what = format!("line {line}: two columns are named \"{name}\"");
            return Err(Error::in_file(path, what).with_hint("give each column a name of its own"));
        }
        names.push(name);
    }
    Ok((names, unnamed))
}

fn open_quote(line: u64) -> BadRecord {
    BadRecord { line, column: None, what: "a quote is opened and never closed".into() }
}

/// How an error names what a file says, at most.
pub(crate) const SHOWN_CHARS: usize = 40;

impl Records {
    /// Records of a region of a file with these names.
    pub fn new(region: Region, format: &Arc<Format>, names: &Arc<[String]>) -> Self {
        let Region { bytes, first_line, is_first } = region;
        let (mut at, mut next_line) = (0, first_line);
        let reader = match format.form {
            Form::Csv => {
                let (mut record, marks) = (Record::default(), Marks::of(format));
                if is_first {
                    next_line += skip_blank(&bytes, &mut at);
                    if format.header && at < bytes.len() {
                        // It was read before.
                        next_line += record.read(&bytes, &mut at, marks).unwrap_or(1);
                    }
                }
                Reader::Csv { record, marks, is_narrow: names.len() == 1 }
            }
            Form::Json | Form::Parquet => Reader::Json { line: (0, 0), object: Object::default() },
        };
        let (format, names) = (format.clone(), names.clone());
        Self { bytes, at, reader, format, names, line: next_line, next_line }
    }

    /// Goes to the next record; false at the end. After an error the next call goes on behind the bad record.
    ///
    /// # Errors
    /// A record with too few or too many fields, or that cannot be read.
    pub fn advance(&mut self) -> Result<bool, BadRecord> {
        match &mut self.reader {
            Reader::Csv { record, marks, is_narrow } => {
                // Where there is but one column, an empty line is a NULL.
                if !*is_narrow {
                    self.next_line += skip_blank(&self.bytes, &mut self.at);
                }
                self.line = self.next_line;
                if self.at == self.bytes.len() {
                    return Ok(false);
                }
                match record.read(&self.bytes, &mut self.at, *marks) {
                    Ok(lines) => self.next_line += lines,
                    Err(_) => {
                        self.next_line += 1;
                        return Err(open_quote(self.line));
                    }
                }
                let (found, expected) = (record.len(), self.names.len());
                match found == expected {
                    true => Ok(true),
                    false => Err(self.bad(None, format!("{found} fields where {expected} were expected"))),
                }
            }
            Reader::Json { .. } => self.advance_json(),
        }
    }

    fn advance_json(&mut self) -> Result<bool, BadRecord> {
        let Reader::Json { line, object } = &mut self.reader else { return Ok(false) };
        loop {
            self.line = self.next_line;
            if self.at == self.bytes.len() {
                return Ok(false);
            }
            let rest = &self.bytes[self.at..];
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            *line = (self.at, self.at + end);
            self.at = (self.at + end + 1).min(self.bytes.len());
            self.next_line += 1;
            let text = &self.bytes[line.0..line.1];
            if text.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let read = std::str::from_utf8(text)
                .map_err(|_| "the text is not UTF-8".to_owned())
                .and_then(|text| object.read(text));
            return match read {
                Ok(()) => Ok(true),
                Err(what) => Err(self.bad(None, what)),
            };
        }
    }

    /// A field of the current record: of CSV by its position, of JSON by its name.
    ///
    /// # Errors
    /// Text that is not UTF-8.
    pub fn cell(&self, position: usize, name: &str) -> Result<Cell<'_>, BadRecord> {
        match &self.reader {
            Reader::Csv { record, .. } => {
                let (field, is_quoted) = record.field(&self.bytes, position).unwrap_or_default();
                let text = std::str::from_utf8(field)
                    .map_err(|_| self.bad(Some(name), "the text is not UTF-8".into()))?;
                Ok(match (self.format.is_null(text), is_quoted) {
                    (false, _) => Cell::Text(text),
                    (true, true) => Cell::Quoted(text),
                    (true, false) if text.is_empty() => Cell::Empty,
                    (true, false) => Cell::Null,
                })
            }
            Reader::Json { object, .. } => {
                let line = self.json_line();
                let is_meant = |nth: &usize| object.name(line, *nth) == name;
                let near = Some(position).filter(|nth| *nth < object.len() && is_meant(nth));
                let Some(nth) = near.or_else(|| (0..object.len()).find(is_meant)) else {
                    return Ok(Cell::Null);
                };
                let (text, kind) = object.value(line, nth);
                Ok(match kind {
                    Kind::Null => Cell::Null,
                    Kind::Bool => Cell::Bool(text),
                    Kind::Number => Cell::Number(text),
                    Kind::String => Cell::String(text),
                    Kind::Nested => Cell::Nested(text),
                })
            }
        }
    }

    /// The line of a JSON object that was read.
    fn json_line(&self) -> &str {
        let Reader::Json { line, .. } = &self.reader else { return "" };
        // It is UTF-8 wherever it was read.
        std::str::from_utf8(&self.bytes[line.0..line.1]).unwrap_or_default()
    }

    /// The names of the current JSON object's members.
    pub fn members(&self) -> impl Iterator<Item = &str> {
        let line = self.json_line();
        let members = match &self.reader {
            Reader::Json { object, .. } => object.len(),
            Reader::Csv { .. } => 0,
        };
        (0..members).map(move |nth| match &self.reader {
            Reader::Json { object, .. } => object.name(line, nth),
            Reader::Csv { .. } => "",
        })
    }

    /// Whether the current record says nothing of a column: the file has no such column, or the JSON object no such member.
    pub(crate) fn lacks(&self, position: Option<usize>, name: &str) -> bool {
        match &self.reader {
            Reader::Csv { .. } => position.is_none(),
            Reader::Json { object, .. } => {
                let line = self.json_line();
                let is_meant = |nth: usize| object.name(line, nth) == name;
                let is_near = position.is_some_and(|nth| nth < object.len() && is_meant(nth));
                !is_near && !(0..object.len()).any(is_meant)
            }
        }
    }

    /// Whether the columns go by names that each record has.
    pub(crate) fn has_members(&self) -> bool {
        matches!(self.reader, Reader::Json { .. })
    }

    /// Something wrong with the current record.
    pub fn bad(&self, column: Option<&str>, what: String) -> BadRecord {
        BadRecord { line: self.line, column: column.map(str::to_owned), what }
    }
}

/// All regions of a file, read one after the other.
pub struct Stream {
    regions: Regions,
    records: Option<Records>,
    format: Arc<Format>,
    names: Arc<[String]>,
}

/// What one thread reads at a time.
pub(crate) const REGION_BYTES: usize = 4 << 20;

impl Stream {
    /// The records of a file with these names. What is read of it is added to `position`.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn open(
        source: &Source,
        format: &Arc<Format>,
        names: &Arc<[String]>,
        position: &Position,
    ) -> Result<Self> {
        let regions = Regions::new(source.read(position)?, format, REGION_BYTES);
        Ok(Self { regions, records: None, format: format.clone(), names: names.clone() })
    }

    /// Goes to the next record; `None` at the end.
    ///
    /// # Errors
    /// A bad record, or a file that cannot be read.
    pub fn next(&mut self, path: &Path) -> Result<Result<Option<&Records>, BadRecord>> {
        loop {
            if let Some(records) = &mut self.records {
                match records.advance() {
                    Ok(true) => break,
                    Ok(false) => self.records = None,
                    Err(bad) => return Ok(Err(bad)),
                }
            }
            match self.regions.cut().map_err(|error| Error::io(path, &error))? {
                Some(region) => self.records = Some(Records::new(region, &self.format, &self.names)),
                None => return Ok(Ok(None)),
            }
        }
        Ok(Ok(self.records.as_ref()))
    }

    /// The line of the record that was read last.
    pub fn line(&self) -> u64 {
        self.records.as_ref().map_or(0, |records| records.line)
    }
}
