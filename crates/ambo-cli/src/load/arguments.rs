//! What a load's user can say, and what follows from saying nothing.

use std::path::{Path, PathBuf};

use ambo_files::Form;
use clap::{Args, ValueEnum};

use crate::failure::{Failure, Result};
use crate::storage::NewTableArguments;
use crate::text;

/// The form of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// Fields separated by a delimiter, with a line of names at the top.
    Csv,
    /// One JSON object a line.
    #[value(alias = "json")]
    Jsonl,
    /// Apache Parquet.
    Parquet,
}

impl Format {
    /// What it is called elsewhere.
    pub fn form(self) -> Form {
        match self {
            Self::Csv => Form::Csv,
            Self::Jsonl => Form::Json,
            Self::Parquet => Form::Parquet,
        }
    }
}

/// What to do about a record that cannot be loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum OnError {
    /// End there; batches before it stay, but of a column table nothing.
    Stop,
    /// Go on without it, and say how many were skipped.
    Skip,
}

/// What to load, and how.
#[derive(Args, Clone, Debug)]
pub struct LoadArguments {
    /// The database's directory; made when there is none
    pub dir: PathBuf,
    /// The files: CSV or JSON lines, which may be compressed with gzip or zstd, or Parquet; - is standard input
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// The table; made when there is none [default: the first file's name]
    #[arg(short, long)]
    pub table: Option<String>,
    /// The files' form [default: by what is in them and by their names, else csv]
    #[arg(long)]
    pub format: Option<Format>,
    /// The key's columns, in the key's order; without them rows get a hidden number
    #[arg(short, long, value_name = "COLUMN,…", value_delimiter = ',')]
    pub key: Vec<String>,
    /// The columns, as name:type with ? for nullable; without them they are inferred
    #[arg(long, value_name = "NAME:TYPE,…")]
    pub schema: Option<String>,
    /// Make a key-value table of the columns `key` and `value`
    #[arg(long, conflicts_with_all = ["schema", "key"])]
    pub key_value: bool,
    /// Infer the columns of text from the first N records instead of from all
    #[arg(long, value_name = "N")]
    pub sample: Option<u64>,
    /// Between the fields of CSV; \t is a tab [default: , or a tab for .tsv]
    #[arg(long, value_name = "CHARACTER")]
    pub delimiter: Option<String>,
    /// The first line of CSV holds no names
    #[arg(long)]
    pub no_header: bool,
    /// Rows in a transaction; a column table takes all or nothing
    #[arg(long, value_name = "N", default_value_t = BATCH_ROWS, value_parser = clap::value_parser!(u64).range(1..))]
    pub batch: u64,
    /// Texts that stand for NULL [default: the empty text]
    #[arg(long, value_name = "TEXT", num_args = 0..)]
    pub null: Option<Vec<String>>,
    /// What to do about a record that cannot be loaded
    #[arg(long, value_name = "WHAT", default_value = "stop")]
    pub on_error: OnError,
    /// Overwrite rows that have the same key
    #[arg(long)]
    pub replace: bool,
    /// How the new table is kept.
    #[command(flatten)]
    pub new_table: NewTableArguments,
}

const BATCH_ROWS: u64 = 10_000;

impl Default for LoadArguments {
    /// What the command line says when it says nothing.
    fn default() -> Self {
        Self {
            dir: PathBuf::new(),
            files: Vec::new(),
            table: None,
            format: None,
            key: Vec::new(),
            schema: None,
            key_value: false,
            sample: None,
            delimiter: None,
            no_header: false,
            batch: BATCH_ROWS,
            null: None,
            on_error: OnError::Stop,
            replace: false,
            new_table: NewTableArguments::default(),
        }
    }
}

impl LoadArguments {
    /// How to read a file that begins as Parquet does, or not.
    pub fn format(&self, file: &Path, is_parquet: bool) -> Result<ambo_files::Format> {
        let named = ambo_files::Format::of(&file.to_string_lossy());
        let mut format = named.unwrap_or_else(|| ambo_files::Format::new(Form::Csv));
        match self.format {
            Some(form) => format.form = form.form(),
            None if is_parquet => format.form = Form::Parquet,
            None => {}
        }
        if let Some(text) = &self.delimiter {
            format.delimiter = delimiter(text)?;
        }
        format.header = !self.no_header;
        if let Some(nulls) = &self.null {
            format.nulls.clone_from(nulls);
        }
        if format.form == Form::Csv {
            format.check()?;
        }
        Ok(format)
    }

    /// The file's name without its endings.
    pub fn table_name(&self) -> Result<String> {
        if let Some(name) = &self.table {
            return Ok(name.clone());
        }
        let file = self.files.first().and_then(|file| file.file_name());
        let name = file.unwrap_or_default().to_string_lossy();
        match name.split('.').next() {
            Some(stem) if !stem.is_empty() && stem != "-" => Ok(stem.to_string()),
            _ => Err(Failure::usage("into which table? say --table NAME")),
        }
    }
}

/// A delimiter is one byte, possibly as an escape.
pub fn delimiter(text: &str) -> Result<u8> {
    match text::unescape(text.as_bytes()).as_deref() {
        Ok(&[byte]) => Ok(byte),
        _ => Err(Failure::usage(format!("--delimiter takes one character, such as ; or \\t, not '{text}'"))),
    }
}
