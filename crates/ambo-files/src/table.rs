//! Text files as a table that queries read: all of the same form, their columns by their names.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use ambo::Type;
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::{
    Batches, Column, Converter, Error, Form, Format, Kind, Look, Part, Result,
    infer::Inference,
    nested,
    records::names,
    source::{Position, Source},
};

/// The files of a path or of a pattern such as `sales/*.csv`, in the order of their names.
///
/// # Errors
/// A pattern that is none, or of which there is no file.
pub fn paths(path: &str) -> Result<Vec<PathBuf>> {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let missing = || Error::new(Kind::NotFound, format!("there is no table and no file \"{path}\""));
    if std::path::Path::new(path).exists() {
        return Ok(vec![path.into()]);
    }
    if !path.contains(['*', '?', '[']) {
        return Err(missing());
    }
    let found = glob::glob(path).map_err(|error| Error::request(format!("\"{path}\": {error}")))?;
    let found: Result<Vec<PathBuf>, _> =
        found.filter(|path| path.as_ref().map_or(true, |path| path.is_file())).collect();
    let found = found.map_err(|error| Error::io(error.path(), error.error()))?;
    if found.is_empty() { Err(missing()) } else { Ok(found) }
}

/// A file, how it is read, and what its columns are called.
type File = (Arc<Source>, Arc<Format>, Arc<[String]>);

/// Text files whose columns are known.
#[derive(Debug)]
pub struct TextTable {
    files: Vec<File>,
    columns: Vec<Column>,
    schema: SchemaRef,
}

impl TextTable {
    /// Looks at all records of the files, to infer their columns. A column that only some of them have is NULL in others.
    ///
    /// # Errors
    /// A file that cannot be read, or what is wrong in it.
    pub fn open(
        paths: &[PathBuf],
        format: &Format,
        threads: usize,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Self> {
        let format = Arc::new(format.clone());
        let mut files = Vec::new();
        let mut inference: Option<Inference> = None;
        for path in paths {
            let source = Arc::new(Source::open(path)?);
            let names = names(&source, &format)?;
            let look = Look {
                sample: None,
                skips_bad: false,
                threads,
                stop,
                tell: &|_| {},
                position: Position::default(),
            };
            let seen = look.at(&source, &format, &names)?;
            match &mut inference {
                None => inference = Some(seen),
                Some(inference) => inference.merge(seen, 1),
            }
            files.push((source, format.clone(), names));
        }
        let inference = inference.unwrap_or_default();
        let mut columns = inference.columns(true);
        if columns.is_empty() {
            let what = match format.form {
                Form::Csv => "the file has no columns",
                _ => "the file has no objects to infer columns from",
            };
            let first = paths.first().map_or(String::new(), |path| format!("{}: ", path.display()));
            return Err(Error::new(Kind::Empty, format!("{first}{what}")));
        }
        let sources: Vec<_> =
            files.iter().map(|(source, format, _)| (source.clone(), format.clone())).collect();
        let mut types = HashMap::new();
        for place in inference.nested() {
            columns[place].ty = Type::Utf8;
            if let Some(ty) = nested::infer(&sources, &columns[place].name, stop)? {
                types.insert(place, ty);
            }
        }
        let field = |(place, column): (usize, &Column)| {
            let ty = types.get(&place).cloned().unwrap_or_else(|| arrow_type(column.ty));
            Field::new(&column.name, ty, true)
        };
        let fields: Vec<_> = columns.iter().enumerate().map(field).collect();
        Ok(Self { files, columns, schema: Arc::new(Schema::new(fields)) })
    }

    /// The columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The rows with some of the columns, by their places.
    pub fn batches(&self, columns: &[usize], threads: usize) -> Batches {
        let wanted: Vec<Column> = columns.iter().map(|place| self.columns[*place].clone()).collect();
        let part = |(source, format, names): &File| {
            let place = |column: &Column| names.iter().position(|name| *name == column.name);
            let positions = match format.form {
                Form::Csv => wanted.iter().map(place).collect(),
                // Where the member is in most objects.
                _ => columns.iter().map(|place| Some(*place)).collect(),
            };
            let converter = Converter::of_some(wanted.clone(), positions);
            Part { source: source.clone(), format: format.clone(), names: names.clone(), converter }
        };
        let fields: Vec<_> = columns.iter().map(|place| self.schema.field(*place).clone()).collect();
        let parts = self.files.iter().map(part).collect();
        Batches::new(parts, Arc::new(Schema::new(fields)), threads, false)
    }
}

/// The Arrow type that statements have for a type: timestamps are without a zone.
pub(crate) fn arrow_type(ty: Type) -> DataType {
    match ambo::arrow::data_type(ty) {
        DataType::Timestamp(unit, _) if ty == Type::Timestamp => DataType::Timestamp(unit, None),
        ty => ty,
    }
}
