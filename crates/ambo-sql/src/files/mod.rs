//! Files of rows: CSV, JSON lines and Parquet, read and written by COPY, or read where they are by queries.

mod listing;
mod quoted;
mod read;
mod write;

use std::path::Path;

use crate::{Error, Result};

pub(crate) use listing::listing;
pub(crate) use read::{Batches, Empty, LINE, Wanted, read};
pub(crate) use write::write;

/// The form of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    Csv,
    Json,
    Parquet,
}

/// How a file is compressed as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

/// How a file is read or written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Format {
    pub form: Form,
    pub compression: Compression,
    /// Between the fields of CSV.
    pub delimiter: u8,
    pub quote: u8,
    /// Before a quote within quotes; doubled quotes if there is none.
    pub escape: Option<u8>,
    /// Whether the first line of CSV holds the names of the columns.
    pub header: bool,
    /// What stands for NULL in CSV.
    pub null: String,
}

impl Format {
    /// By the end of the name; `None` for an unknown one.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let name = Path::new(path).file_name()?.to_string_lossy().to_ascii_lowercase();
        let (name, compression) = match (name.strip_suffix(".gz"), name.strip_suffix(".zst")) {
            (Some(name), _) => (name, Compression::Gzip),
            (_, Some(name)) => (name, Compression::Zstd),
            _ => (&*name, Compression::None),
        };
        let form = match name.rsplit_once('.')?.1 {
            "csv" | "tsv" => Form::Csv,
            "json" | "jsonl" | "ndjson" => Form::Json,
            "parquet" | "pq" => Form::Parquet,
            _ => return None,
        };
        let delimiter = if name.ends_with(".tsv") { b'\t' } else { b',' };
        Some(Self { delimiter, compression, ..Self::new(form) })
    }

    pub(crate) fn new(form: Form) -> Self {
        Self {
            form,
            compression: Compression::None,
            delimiter: b',',
            quote: b'"',
            escape: None,
            header: true,
            null: String::new(),
        }
    }
}

/// What goes wrong with a file.
fn in_file(path: &str, error: &dyn std::fmt::Display) -> Error {
    Error::new(crate::ErrorKind::Execution, format!("{path}: {error}"))
}

/// A byte for what CSV takes one for.
pub(crate) fn byte(what: &str, of: char) -> Result<u8> {
    match u8::try_from(of) {
        Ok(byte) if byte.is_ascii() => Ok(byte),
        _ => Err(Error::invalid(format!("{what} '{of}' is not one byte of ASCII"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_told_by_the_ends_of_names() {
        let of = |path| Format::of(path).map(|format| (format.form, format.compression, format.delimiter));
        assert_eq!(of("a/b.CSV"), Some((Form::Csv, Compression::None, b',')));
        assert_eq!(of("b.tsv.gz"), Some((Form::Csv, Compression::Gzip, b'\t')));
        assert_eq!(of("b.jsonl.zst"), Some((Form::Json, Compression::Zstd, b',')));
        assert_eq!(of("b.c.parquet"), Some((Form::Parquet, Compression::None, b',')));
        assert_eq!(of("main.t"), None);
        assert_eq!(of("csv"), None);
    }
}
