//! The rows of a file for the columns of a table, batch by batch. With those of a text file comes the line that each row begins on, so that
//! whoever refuses a value can say where it is.

use std::{path::Path, sync::Arc};

use ambo_files::{Column, Converter, Form, Format, Kind, ParquetFile, Part, Source};
use arrow::{
    array::RecordBatch,
    datatypes::{DataType, Field, Schema},
};

use crate::{Error, ErrorKind, Result, value::sql_type};

/// What the column with the lines of the rows is called; it is the last of a batch.
pub(crate) const LINE: &str = "\u{1}line";

/// Batches from wherever: a query, a file.
pub(crate) type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// The columns that a reader of files wants.
pub(crate) struct Wanted {
    pub columns: Vec<Column>,
    /// Whether the statement names them: then they are in its order, whatever the first line of a CSV file says.
    pub is_list: bool,
    /// How many threads read.
    pub threads: usize,
}

impl Wanted {
    fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }
}

/// What is wrong with a file, as the statement's fault.
pub(crate) fn refused(error: ambo_files::Error) -> Error {
    match error.kind() {
        Kind::Content => {
            let own = Error::invalid(error.message());
            match error.hint() {
                Some(hint) => own.with_hint(hint),
                None => own,
            }
        }
        Kind::NotFound => Error::new(ErrorKind::NotFound, error.message()),
        _ => error.into(),
    }
}

/// Opens a file.
///
/// # Errors
/// There is none of this name, or it cannot be read.
pub(crate) fn open(path: &str) -> Result<Source> {
    let file = Path::new(path);
    if !file.exists() {
        return Err(Error::new(ErrorKind::NotFound, format!("there is no file \"{path}\"")));
    }
    Source::open(file).map_err(refused)
}

/// The rows of a file, and which of the columns that are wanted each has, by their places.
///
/// # Errors
/// A file that cannot be read, or columns that are not wanted.
pub(crate) fn read(
    path: &str,
    source: &Arc<Source>,
    format: &Format,
    wanted: &Wanted,
) -> Result<(Vec<usize>, Batches)> {
    match format.form {
        Form::Parquet => parquet(path, source, wanted),
        _ => text(path, source, format, wanted),
    }
}

fn text(path: &str, source: &Arc<Source>, format: &Format, wanted: &Wanted) -> Result<(Vec<usize>, Batches)> {
    let names = match ambo_files::names(source, format) {
        Ok(names) => names,
        Err(error) if error.kind() == Kind::Empty => {
            return Ok(((0..wanted.columns.len()).collect(), Box::new(std::iter::empty())));
        }
        Err(error) => return Err(refused(error)),
    };
    let places: Vec<usize> = match format.form == Form::Csv && format.header && !wanted.is_list {
        true => named(path, &names, wanted)?,
        false => (0..wanted.columns.len()).collect(),
    };
    if format.form == Form::Csv && names.len() != places.len() {
        let (found, wanted) = (names.len(), places.len());
        return Err(Error::invalid(format!("{path}: line 1: {found} fields where {wanted} were expected")));
    }
    let columns: Vec<Column> = places.iter().map(|place| wanted.columns[*place].clone()).collect();
    let mut fields: Vec<_> =
        columns.iter().map(|column| Field::new(&column.name, sql_type(column.ty), true)).collect();
    fields.push(Field::new(LINE, DataType::UInt64, false));
    let (source, format) = (source.clone(), Arc::new(format.clone()));
    let converter = Converter::in_order(columns);
    let part = Part { source, format, names, converter, constants: Vec::new() };
    let rows = ambo_files::Batches::new(vec![part], Arc::new(Schema::new(fields)), wanted.threads, true);
    Ok((places, Box::new(rows.map(|batch| batch.map_err(refused)))))
}

/// The places of columns by the names in the first line of a CSV file.
fn named(path: &str, names: &[String], wanted: &Wanted) -> Result<Vec<usize>> {
    let mut places = Vec::new();
    for name in names {
        let place = wanted.names().position(|known| known == name);
        let place = place.or_else(|| wanted.names().position(|known| known.eq_ignore_ascii_case(name)));
        let place = place.ok_or_else(|| {
            let error = Error::not_found("column", name, wanted.names());
            Error::invalid(format!("{path}: line 1: {error}"))
                .with_hint("a file without names in its first line is read WITH (HEADER false)")
        })?;
        if places.contains(&place) {
            return Err(Error::invalid(format!("{path}: line 1: column \"{name}\" is named twice")));
        }
        places.push(place);
    }
    Ok(places)
}

fn parquet(path: &str, source: &Source, wanted: &Wanted) -> Result<(Vec<usize>, Batches)> {
    let file = ParquetFile::open(source).map_err(refused)?;
    let schema = file.schema().clone();
    let place = |field: &Arc<Field>| {
        let place = wanted.names().position(|name| name == field.name());
        place.ok_or_else(|| {
            let error = Error::not_found("column", field.name(), wanted.names());
            Error::invalid(format!("{path}: {error}"))
                .with_hint("COPY t (a, b) FROM takes columns in the order of the file")
        })
    };
    let columns: Vec<usize> = match wanted.is_list {
        true => (0..wanted.columns.len()).collect(),
        false => schema.fields().iter().map(place).collect::<Result<_>>()?,
    };
    if schema.fields().len() != columns.len() {
        let (found, wanted) = (schema.fields().len(), columns.len());
        return Err(Error::invalid(format!("{path}: {found} columns where {wanted} were expected")));
    }
    let batches = file.all().map_err(refused)?;
    Ok((columns, Box::new(batches.map(|batch| batch.map_err(refused)))))
}
