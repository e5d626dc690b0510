//! Text files as a table that queries read: all of the same form, their columns by their names.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use ambo::Type;
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::{
    Batches, Column, Converter, Error, Form, Format, Kind, Look, Part, Result, RowsOf,
    infer::Inference,
    nested,
    records::names,
    rewritten::GEOMETRY,
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

/// A file, how it is read, what its columns are called, and what it has in columns that are of the file as a whole.
type File = (Arc<Source>, Arc<Format>, Arc<[String]>, Vec<String>);

/// What of text files is read, and how, beside their form.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Whether all columns are texts.
    pub all_text: bool,
    /// Columns that are texts.
    pub texts: Vec<String>,
    /// The columns that there are, instead of those that the file names: of CSV the first ones, of JSON all.
    pub names: Vec<String>,
    /// What the column with the names of the files is called, if there is one.
    pub filename: Option<String>,
    /// Whether folders called `name=value` are columns.
    pub hive: bool,
}

impl Reading {
    /// What a file has in the columns of files, and what these are called.
    pub fn of_file(&self, path: &Path) -> Vec<(String, String)> {
        let mut columns = Vec::new();
        if self.hive {
            for part in path.parent().into_iter().flat_map(Path::iter) {
                if let Some((name, value)) = part.to_string_lossy().split_once('=')
                    && !name.is_empty()
                {
                    columns.push((decoded(name), decoded(value)));
                }
            }
        }
        columns.extend(self.filename.iter().map(|name| (name.clone(), path.display().to_string())));
        columns
    }
}

/// A part of a path in which bytes may stand in hexadecimal, as in addresses of the web: `%5B` is `[`. What is not such stays.
fn decoded(part: &str) -> String {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digit = |at: usize| behind.get(at).and_then(|digit| char::from(*digit).to_digit(16));
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = &behind[2..];
            }
            _ => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| part.to_owned())
}

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
        Self::open_as(paths, format, &Reading::default(), threads, stop)
    }

    /// The same, read in a manner of its own.
    ///
    /// # Errors
    /// As [`TextTable::open`]; columns that are named twice, or that are not there.
    pub fn open_as(
        paths: &[PathBuf],
        format: &Format,
        reading: &Reading,
        threads: usize,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Self> {
        let format = Arc::new(format.clone());
        let mut files: Vec<File> = Vec::new();
        let mut inference: Option<Inference> = None;
        let mut of_files: Option<Vec<String>> = None;
        for path in paths {
            let source = Arc::new(Source::open(path)?.in_format(&format)?);
            let names = reading.names(&source, &format)?;
            let (columns, values): (Vec<_>, Vec<_>) = reading.of_file(path).into_iter().unzip();
            if *of_files.get_or_insert_with(|| columns.clone()) != columns {
                let what = "its folders are not those of the files before it";
                return Err(Error::in_file(path, what).with_hint("read without hive_partitioning"));
            }
            let look = Look {
                sample: None,
                skips_bad: format.skips_bad,
                threads,
                stop,
                tell: &|_| {},
                position: Position::default(),
            };
            let seen = match reading.is_known(format.form) {
                true => Inference::new(&reading.names),
                false => look.at(&source, &format, &names)?,
            };
            match &mut inference {
                None => inference = Some(seen),
                Some(inference) => inference.merge(seen, 1),
            }
            files.push((source, format.clone(), names, values));
        }
        let inference = inference.unwrap_or_default();
        let mut columns = inference.columns(true);
        let of_files = of_files.unwrap_or_default();
        if columns.is_empty() && of_files.is_empty() && format.rows == RowsOf::Features {
            // A collection without features.
            columns.push(Column { name: GEOMETRY.to_owned(), ty: Type::Utf8, nullable: true });
        }
        // What the file says of such a column is not what its folder says.
        if let Some(twice) = of_files.iter().find(|name| columns.iter().any(|column| column.name == **name)) {
            let what = format!("the files have a column \"{twice}\" of their own");
            return Err(
                Error::request(what).with_hint("filename := 'other' gives the names of files another name")
            );
        }
        if columns.is_empty() && of_files.is_empty() {
            let what = match format.form {
                Form::Csv => "the file has no columns",
                _ => "the file has no objects to infer columns from",
            };
            let first = paths.first().map_or(String::new(), |path| format!("{}: ", path.display()));
            return Err(Error::new(Kind::Empty, format!("{first}{what}")));
        }
        let sources: Vec<_> =
            files.iter().map(|(source, format, ..)| (source.clone(), format.clone())).collect();
        let mut types = HashMap::new();
        for place in inference.nested() {
            columns[place].ty = Type::Utf8;
            if !reading.is_text(&columns[place].name)
                && let Some(ty) = nested::infer(&sources, &columns[place].name, stop)?
            {
                types.insert(place, ty);
            }
        }
        for column in columns.iter_mut().filter(|column| reading.is_text(&column.name)) {
            column.ty = Type::Utf8;
        }
        let field = |(place, column): (usize, &Column)| {
            let ty = types.get(&place).cloned().unwrap_or_else(|| arrow_type(column.ty));
            Field::new(&column.name, ty, true)
        };
        let fields = columns.iter().enumerate().map(field);
        let of_files = of_files.iter().map(|name| Field::new(name, DataType::Utf8, false));
        let schema = Arc::new(Schema::new(fields.chain(of_files).collect::<Vec<_>>()));
        Ok(Self { files, columns, schema })
    }

    /// The columns that are texts of geometries in all files.
    pub fn geometries(&self) -> Vec<&str> {
        let is_of_all = |name: &&str| {
            let mut files = self.files.iter();
            files.all(|(source, ..)| source.geometries.iter().any(|known| known == name))
        };
        let names = self.columns.iter().map(|column| column.name.as_str());
        names.filter(is_of_all).collect()
    }

    /// The columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The rows with some of the columns, by their places.
    pub fn batches(&self, columns: &[usize], threads: usize) -> Batches {
        let own: Vec<usize> = columns.iter().copied().filter(|place| *place < self.columns.len()).collect();
        let wanted: Vec<Column> = own.iter().map(|place| self.columns[*place].clone()).collect();
        let part = |(source, format, names, values): &File| {
            let place = |column: &Column| names.iter().position(|name| *name == column.name);
            let positions = match format.form {
                Form::Csv => wanted.iter().map(place).collect(),
                // Where the member is in most objects.
                _ => own.iter().map(|place| Some(*place)).collect(),
            };
            let converter = Converter::of_some(wanted.clone(), positions);
            let constant = |place: &usize| {
                place.checked_sub(self.columns.len()).and_then(|place| values.get(place)).cloned()
            };
            let constants = columns.iter().map(constant).collect();
            Part {
                source: source.clone(),
                format: format.clone(),
                names: names.clone(),
                converter,
                constants,
            }
        };
        let fields: Vec<_> = columns.iter().map(|place| self.schema.field(*place).clone()).collect();
        let parts = self.files.iter().map(part).collect();
        Batches::new(parts, Arc::new(Schema::new(fields)), threads, false)
    }
}

impl Reading {
    fn is_text(&self, column: &str) -> bool {
        self.all_text || self.texts.iter().any(|text| text == column)
    }

    /// Whether nothing of the columns is to be found out.
    fn is_known(&self, form: Form) -> bool {
        self.all_text && !self.names.is_empty() && form != Form::Csv
    }

    /// The names of the columns of a file.
    fn names(&self, source: &Source, format: &Format) -> Result<Arc<[String]>> {
        let found = names(source, format)?;
        if format.form != Form::Csv || self.names.is_empty() {
            return Ok(found);
        }
        if self.names.len() > found.len() {
            let what = format!("{} columns are named, and the file has {}", self.names.len(), found.len());
            return Err(Error::in_file(&source.path, what));
        }
        let others = found[self.names.len()..].iter();
        let all: Vec<String> = self.names.iter().chain(others).cloned().collect();
        match (1..all.len()).find(|at| all[..*at].contains(&all[*at])) {
            Some(twice) => {
                let what = format!("two columns would be named \"{}\"", all[twice]);
                Err(Error::in_file(&source.path, what))
            }
            None => Ok(all.into()),
        }
    }
}

/// The Arrow type that statements have for a type: timestamps are without a zone.
pub(crate) fn arrow_type(ty: Type) -> DataType {
    match ambo::arrow::data_type(ty) {
        DataType::Timestamp(unit, _) if ty == Type::Timestamp => DataType::Timestamp(unit, None),
        ty => ty,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away: values of folders that are not those that were written.
    #[test]
    fn folders_are_read_as_they_were_written() {
        for (part, wanted) in
            [("a%20b", "a b"), ("%5B0%5D", "[0]"), ("100%", "100%"), ("%zz%C3%A9", "%zzé"), ("%ff", "%ff")]
        {
            assert_eq!(decoded(part), wanted);
        }
    }
}
