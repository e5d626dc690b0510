//! What a file is and how it is read: its form, its compression, and the marks of CSV. One set of options for all who read and write.

use std::path::Path;

use crate::{Error, Result};

/// The form of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Fields between delimiters, with a line of names at the top.
    Csv,
    /// One JSON object a line.
    Json,
    /// Apache Parquet.
    Parquet,
}

/// How a file is compressed as a whole. Who reads goes by what the file begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compression {
    /// Not at all.
    None,
    /// As `gzip` does it.
    Gzip,
    /// As `zstd` does it.
    Zstd,
}

/// What the rows of a file of JSON are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RowsOf {
    /// Objects, whose members are columns.
    Objects,
    /// Objects, or, where the first value is none, values of a column `json`.
    Either,
    /// Values of a column of this name.
    Values(String),
    /// Features of GeoJSON. What is written has one column, which is JSON itself.
    Features,
}

/// How a file is read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// Its form.
    pub form: Form,
    /// How it is written; who reads looks at the file.
    pub compression: Compression,
    /// Between the fields of CSV.
    pub delimiter: u8,
    /// Around the fields of CSV that need it; 0: around none, which is for writing alone.
    pub quote: u8,
    /// Before a quote within quotes; doubled quotes if there is none.
    pub escape: Option<u8>,
    /// Whether the first line of CSV holds the names of the columns.
    pub header: bool,
    /// What stands for NULL in CSV, without quotes; the first of them is written.
    pub nulls: Vec<String>,
    /// Whether records that cannot be read are passed over.
    pub skips_bad: bool,
    /// Whether JSON is written as one list. Who reads looks at the file.
    pub is_list: bool,
    /// What the values of a JSON file are to who reads it.
    pub rows: RowsOf,
}

impl Format {
    /// A form with what is usual for it.
    pub fn new(form: Form) -> Self {
        Self {
            form,
            compression: Compression::None,
            delimiter: b',',
            quote: b'"',
            escape: None,
            header: true,
            nulls: vec![String::new()],
            skips_bad: false,
            is_list: false,
            rows: RowsOf::Objects,
        }
    }

    /// By the end of the name; `None` for an unknown one.
    pub fn of(path: &str) -> Option<Self> {
        let name = Path::new(path).file_name()?.to_string_lossy().to_ascii_lowercase();
        let (name, compression) = match (name.strip_suffix(".gz"), name.strip_suffix(".zst")) {
            (Some(name), _) => (name, Compression::Gzip),
            (_, Some(name)) => (name, Compression::Zstd),
            _ => (&*name, Compression::None),
        };
        let form = match name.rsplit_once('.')?.1 {
            "csv" | "tsv" => Form::Csv,
            "json" | "jsonl" | "ndjson" | "geojson" | "geojsonl" => Form::Json,
            "parquet" | "pq" => Form::Parquet,
            _ => return None,
        };
        let delimiter = if name.ends_with(".tsv") { b'\t' } else { b',' };
        let of_name = Self { delimiter, compression, ..Self::new(form) };
        Some(match name.rsplit_once('.')?.1 {
            "geojson" => Self { rows: RowsOf::Features, is_list: true, ..of_name },
            "geojsonl" => Self { rows: RowsOf::Features, ..of_name },
            _ => of_name,
        })
    }

    /// # Errors
    /// Marks that cannot be told apart.
    pub fn check(&self) -> Result<()> {
        let marks = [
            ("the delimiter", Some(self.delimiter)),
            ("the quote", Some(self.quote).filter(|quote| *quote != 0)),
            ("the escape", self.escape),
        ];
        for (at, (what, mark)) in marks.iter().enumerate() {
            let Some(mark) = mark else { continue };
            if matches!(mark, b'\r' | b'\n') {
                return Err(Error::request(format!("{what} cannot be the end of a line")));
            }
            if let Some((other, _)) = marks[..at].iter().find(|(_, other)| *other == Some(*mark)) {
                let mark = char::from(*mark);
                return Err(Error::request(format!(
                    "{other} and {what} are both '{mark}'; they must differ"
                )));
            }
        }
        Ok(())
    }

    /// What is written for NULL.
    pub(crate) fn null(&self) -> &str {
        self.nulls.first().map_or("", String::as_str)
    }

    pub(crate) fn is_null(&self, text: &str) -> bool {
        self.nulls.iter().any(|null| null == text)
    }
}

/// A byte for what CSV takes one for.
///
/// # Errors
/// A character of several bytes.
pub fn byte(what: &str, of: char) -> Result<u8> {
    match u8::try_from(of) {
        Ok(byte) if byte.is_ascii() => Ok(byte),
        _ => Err(Error::request(format!("{what} '{of}' is not one byte of ASCII"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away: a file that is read as what it is not.
    #[test]
    fn forms_are_told_by_the_ends_of_names() {
        let of = |path| Format::of(path).map(|format| (format.form, format.compression, format.delimiter));
        assert_eq!(of("a/b.CSV"), Some((Form::Csv, Compression::None, b',')));
        assert_eq!(of("b.tsv.gz"), Some((Form::Csv, Compression::Gzip, b'\t')));
        assert_eq!(of("b.jsonl.zst"), Some((Form::Json, Compression::Zstd, b',')));
        assert_eq!(of("b.c.parquet"), Some((Form::Parquet, Compression::None, b',')));
        assert_eq!(of("main.t"), None);
        assert_eq!(of("csv"), None);
        let same = Format { quote: b',', ..Format::new(Form::Csv) };
        assert!(same.check().unwrap_err().message().contains("must differ"));
    }
}
