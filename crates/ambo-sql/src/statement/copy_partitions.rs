//! `COPY … TO 'folder' (PARTITION_BY (a, b))`: a file for the rows of each pair of values, in folders `a=1/b=x` as Hive has them, which
//! `read_parquet('folder/*/*/*.parquet', hive_partitioning = true)` reads again.
//!
//! Each open file has a thread that writes it. Beyond so many open files the one that was opened first is finished, and rows for it that
//! come later go to another file beside it.

use std::{
    collections::HashMap,
    fmt::Write,
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread::{self, ScopedJoinHandle},
};

use ambo_files::{Compression, Form, Format, RowsOf};
use arrow::{
    array::{Array, ArrayRef, AsArray, RecordBatch, UInt32Array},
    compute::{cast, take_record_batch},
    datatypes::{DataType, SchemaRef},
};
use datafusion::sql::sqlparser::ast::CopyOption;

use crate::{Error, Result, parse::copy_option, value::wrong};

/// So many files are written at once.
const OPEN_MAX: usize = 64;
/// Batches that wait for a file.
const WAITING_MAX: usize = 2;
/// The folder of rows whose value is NULL.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// What PARTITION_BY and the options beside it say.
#[derive(Debug, Default)]
pub(super) struct Partitions {
    /// Names of columns; `*` for all.
    columns: Vec<String>,
    /// Whether files have the columns that folders are named by, too.
    keeps_columns: bool,
    /// Whether the folder may have something in it.
    adds: bool,
}

impl Partitions {
    /// What options say of it, and the others.
    ///
    /// # Errors
    /// Options that have no meaning without it, and values that they do not have.
    pub(super) fn of(options: Vec<CopyOption>) -> Result<(Option<Self>, Vec<CopyOption>)> {
        let mut parts = Self::default();
        let (mut rest, mut needs_it, mut overwrites) = (Vec::new(), None, false);
        for option in options {
            let said = match &option {
                CopyOption::Encoding(text) => copy_option(text),
                _ => None,
            };
            match said {
                Some(("partition_by", names)) => parts.columns = names_of(names)?,
                Some(("write_partition_columns", value)) => {
                    parts.keeps_columns = truth("WRITE_PARTITION_COLUMNS", value)?;
                    needs_it = Some("WRITE_PARTITION_COLUMNS");
                }
                Some((name @ ("overwrite_or_ignore" | "append"), value)) => {
                    parts.adds = truth(&name.to_uppercase(), value)?;
                    if name == "append" {
                        needs_it = Some("APPEND");
                    }
                }
                Some(("overwrite", value)) => {
                    overwrites = truth("OVERWRITE", value)?;
                    rest.push(option);
                }
                _ => rest.push(option),
            }
        }
        match (parts.columns.is_empty(), needs_it) {
            (true, Some(name)) => Err(Error::invalid(format!("{name} stands with PARTITION_BY"))),
            (true, None) => Ok((None, rest)),
            (false, _) if overwrites => Err(Error::invalid("not supported: OVERWRITE with PARTITION_BY")
                .with_hint("remove the folder first, or OVERWRITE_OR_IGNORE")),
            (false, _) => Ok((Some(parts), rest)),
        }
    }

    /// Writes rows to files below a folder. Returns how many.
    ///
    /// # Errors
    /// A column that is not there; a folder with something in it; as [`ambo_files::write`].
    pub(super) fn write(
        &self,
        folder: &Path,
        format: &Format,
        schema: &SchemaRef,
        batches: impl Iterator<Item = Result<RecordBatch>>,
        mut tell: impl FnMut(u64),
    ) -> Result<u64> {
        let places = self.places(schema)?;
        let is_kept = |place: &usize| self.keeps_columns || !places.contains(place);
        let kept: Vec<usize> = (0..schema.fields().len()).filter(is_kept).collect();
        if kept.is_empty() {
            return Err(Error::invalid("PARTITION_BY all columns leaves none to write")
                .with_hint("WRITE_PARTITION_COLUMNS writes them, too"));
        }
        self.require_empty(folder)?;
        let of_file = std::sync::Arc::new(schema.project(&kept).map_err(wrong)?);
        thread::scope(|scope| {
            let mut open = Open {
                scope,
                folder,
                format,
                schema: &of_file,
                files: HashMap::new(),
                order: Vec::new(),
                done: HashMap::new(),
            };
            let mut rows = 0;
            for batch in batches {
                let batch = batch?;
                rows += batch.num_rows() as u64;
                let names = names(schema, &places, &batch)?;
                let written = batch.project(&kept).map_err(wrong)?;
                let mut by_folder: HashMap<&str, Vec<u32>> = HashMap::new();
                for (row, name) in names.iter().enumerate() {
                    by_folder.entry(name).or_default().push(row as u32);
                }
                for (name, rows) in by_folder {
                    let part = take_record_batch(&written, &UInt32Array::from(rows)).map_err(wrong)?;
                    open.put(name, part)?;
                }
                tell(rows);
            }
            open.finish()?;
            Ok(rows)
        })
    }

    /// The columns by which rows go to folders.
    ///
    /// # Errors
    /// A column that is not there, or is named twice.
    pub(super) fn places(&self, schema: &SchemaRef) -> Result<Vec<usize>> {
        if self.columns == ["*"] {
            return Ok((0..schema.fields().len()).collect());
        }
        let mut places = Vec::new();
        for name in &self.columns {
            let exact = schema.fields().iter().position(|field| field.name() == name);
            let alike = || schema.fields().iter().position(|field| field.name().eq_ignore_ascii_case(name));
            let place = exact.or_else(alike).ok_or_else(|| {
                Error::not_found("column", name, schema.fields().iter().map(|field| field.name().as_str()))
            })?;
            if places.contains(&place) {
                return Err(Error::invalid(format!("PARTITION_BY names column \"{name}\" twice")));
            }
            places.push(place);
        }
        Ok(places)
    }

    /// Refuses a folder that has something in it, if nothing says that this is meant.
    fn require_empty(&self, folder: &Path) -> Result<()> {
        let has_some = std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
        match has_some && !self.adds {
            false => Ok(()),
            true => Err(Error::invalid(format!("the folder {} has something in it", folder.display()))
                .with_hint("OVERWRITE_OR_IGNORE, or APPEND, writes files beside what is there")),
        }
    }
}

/// Names between commas, in parentheses or not.
fn names_of(text: &str) -> Result<Vec<String>> {
    let text = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text);
    let names: Vec<_> = text.split(',').map(|name| name.trim().trim_matches('\'').to_owned()).collect();
    match names.iter().any(String::is_empty) {
        true => Err(Error::invalid("PARTITION_BY takes names of columns: PARTITION_BY (a, b)")),
        false => Ok(names),
    }
}

fn truth(name: &str, value: &str) -> Result<bool> {
    match value.to_lowercase().as_str() {
        "true" | "1" | "on" => Ok(true),
        "false" | "0" | "off" => Ok(false),
        other => Err(Error::invalid(format!("{name} is true or false, and not {other}"))),
    }
}

/// The folder of each row.
fn names(schema: &SchemaRef, places: &[usize], batch: &RecordBatch) -> Result<Vec<String>> {
    let text = |place: &usize| -> Result<ArrayRef> {
        let column = batch.column(*place);
        match column.data_type().is_nested() {
            true => Err(Error::invalid(format!(
                "PARTITION_BY column \"{}\": lists, structs and maps are no names of folders",
                schema.field(*place).name()
            ))),
            false => cast(column, &DataType::Utf8).map_err(wrong),
        }
    };
    let texts = places.iter().map(text).collect::<Result<Vec<_>>>()?;
    let name = |row: usize| {
        let mut name = String::new();
        for (nth, (place, texts)) in places.iter().zip(&texts).enumerate() {
            let texts = texts.as_string::<i32>();
            let separator = if nth > 0 { "/" } else { "" };
            let column = encoded(schema.field(*place).name());
            let value = match texts.is_null(row) {
                true => NULL.to_owned(),
                false => encoded(texts.value(row)),
            };
            // Memory takes any text.
            let _ = write!(name, "{separator}{column}={value}");
        }
        name
    };
    Ok((0..batch.num_rows()).map(name).collect())
}

/// A text as a part of a path: all but letters, digits and `-_.~` by their bytes in hexadecimal, as in addresses of the web.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            // Memory takes any text.
            _ => drop(write!(out, "%{byte:02X}")),
        }
    }
    out
}

/// A file that is being written.
struct Writing<'scope> {
    rows: SyncSender<RecordBatch>,
    thread: ScopedJoinHandle<'scope, Result<u64>>,
}

/// The files that are being written.
struct Open<'scope, 'env, 'a> {
    scope: &'scope thread::Scope<'scope, 'env>,
    folder: &'a Path,
    format: &'env Format,
    schema: &'env SchemaRef,
    files: HashMap<String, Writing<'scope>>,
    /// Their folders, in the order in which they were opened.
    order: Vec<String>,
    /// How many files of each folder are finished.
    done: HashMap<String, usize>,
}

impl<'scope, 'env> Open<'scope, 'env, '_> {
    fn put(&mut self, name: &str, rows: RecordBatch) -> Result<()> {
        if !self.files.contains_key(name) {
            if self.files.len() == OPEN_MAX {
                let oldest = self.order.remove(0);
                self.close(&oldest)?;
            }
            self.open(name)?;
        }
        match self.files[name].rows.send(rows) {
            Ok(()) => Ok(()),
            // It has stopped, and says why.
            Err(_) => self.close(name),
        }
    }

    fn open(&mut self, name: &str) -> Result<()> {
        let folder = self.folder.join(name);
        std::fs::create_dir_all(&folder).map_err(|error| ambo_files::Error::io(&folder, &error))?;
        let path = self.free(&folder, name);
        let (rows, given) = sync_channel(WAITING_MAX);
        let (format, schema) = (self.format, self.schema);
        let thread = self.scope.spawn(move || write_file(&path, format, schema, given));
        self.files.insert(name.to_owned(), Writing { rows, thread });
        self.order.push(name.to_owned());
        Ok(())
    }

    /// A name that no file of the folder has.
    fn free(&mut self, folder: &Path, name: &str) -> PathBuf {
        let number = self.done.entry(name.to_owned()).or_default();
        loop {
            let path = folder.join(format!("data_{number}.{}", ending(self.format)));
            *number += 1;
            if !path.exists() {
                return path;
            }
        }
    }

    fn close(&mut self, name: &str) -> Result<()> {
        let Some(Writing { rows, thread }) = self.files.remove(name) else { return Ok(()) };
        drop(rows);
        thread
            .join()
            .unwrap_or_else(|_| Err(Error::invalid("a thread that writes a file has failed")))
            .map(drop)
    }

    fn finish(mut self) -> Result<()> {
        std::mem::take(&mut self.order).iter().try_for_each(|name| self.close(name))
    }
}

fn write_file(path: &Path, format: &Format, schema: &SchemaRef, rows: Receiver<RecordBatch>) -> Result<u64> {
    ambo_files::write(path, format, schema, rows.into_iter().map(Ok::<_, Error>), |_| {})
}

/// How names of files end.
fn ending(format: &Format) -> String {
    let form = match format.form {
        Form::Csv => "csv",
        Form::Json if format.rows == RowsOf::Features && !format.is_list => "geojsonl",
        Form::Json if format.rows == RowsOf::Features => "geojson",
        Form::Json => "json",
        Form::Parquet => "parquet",
    };
    let compression = match format.compression {
        Compression::None => "",
        Compression::Gzip => ".gz",
        Compression::Zstd => ".zst",
    };
    format!("{form}{compression}")
}
