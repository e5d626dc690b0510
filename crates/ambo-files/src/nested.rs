//! Lists and objects of JSON: what they are, and values of what they are.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, cast::AsArray};
use arrow_json::{ReaderBuilder, reader::infer_json_schema_from_iterator};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema};
use serde_json::Value as Json;

use crate::{
    BadRecord, Error, Format, Result,
    records::{Cell, Stream},
    source::{Position, Source},
};

/// The lists and objects of a column, as they are written, from some files.
struct Texts<'a> {
    sources: &'a [(Arc<Source>, Arc<Format>)],
    stream: Option<Stream>,
    column: &'a str,
    stop: &'a dyn Fn() -> bool,
}

impl Texts<'_> {
    fn next(&mut self) -> Result<Option<String>> {
        while let [(source, format), rest @ ..] = self.sources {
            let stream = match &mut self.stream {
                Some(stream) => stream,
                none => {
                    let names: Arc<[String]> = Arc::new([]);
                    none.insert(Stream::open(source, format, &names, &Position::default())?)
                }
            };
            if (self.stop)() {
                return Err(Error::interrupted());
            }
            let Some(record) = stream.next(&source.path)?.map_err(|bad| bad.in_file(&source.path))? else {
                (self.stream, self.sources) = (None, rest);
                continue;
            };
            if let Cell::Nested(text) =
                record.cell(0, self.column).map_err(|bad| bad.in_file(&source.path))?
            {
                return Ok(Some(text.to_owned()));
            }
        }
        Ok(None)
    }
}

impl Iterator for Texts<'_> {
    type Item = Result<String>;

    fn next(&mut self) -> Option<Result<String>> {
        Self::next(self).transpose()
    }
}

/// The type of a column of lists or objects. `None` if they are not alike, or have numbers that would be changed.
pub(crate) fn infer(
    sources: &[(Arc<Source>, Arc<Format>)],
    column: &str,
    stop: &dyn Fn() -> bool,
) -> Result<Option<DataType>> {
    let texts = || Texts { sources, stream: None, column, stop };
    let mut failed = None;
    let objects = texts().map(|text| {
        let text = text.map_err(|error| {
            let words = error.to_string();
            failed = Some(error);
            ArrowError::JsonError(words)
        })?;
        if has_long_numbers(&text) {
            return Err(ArrowError::JsonError("long numbers".into()));
        }
        let value: Json =
            serde_json::from_str(&text).map_err(|error| ArrowError::JsonError(error.to_string()))?;
        Ok(Json::Object([("c".to_owned(), value)].into_iter().collect()))
    });
    let schema = infer_json_schema_from_iterator(objects);
    if let Some(error) = failed {
        return Err(error);
    }
    let Ok(schema) = schema else { return Ok(None) };
    let Some(field) = schema.fields().first() else { return Ok(None) };
    let ty = with_text(field.data_type());
    let schema = Arc::new(Schema::new(vec![Field::new("c", ty.clone(), true)]));
    for text in texts() {
        if read(&schema, &object(&text?), 1).is_err() {
            return Ok(None);
        }
    }
    Ok(ty.is_nested().then_some(ty))
}

/// Whether some number within may not be told from others as a double.
fn has_long_numbers(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_digit() && c != '.').any(|run| run.len() > 16)
}

/// A list without any value, and a member that is always null, are of text.
fn with_text(ty: &DataType) -> DataType {
    let of = |field: &FieldRef| -> FieldRef {
        Arc::new(Field::clone(field).with_data_type(with_text(field.data_type())).with_nullable(true))
    };
    match ty {
        DataType::Null => DataType::Utf8,
        DataType::List(item) => DataType::List(of(item)),
        // Of objects without members nothing is known.
        DataType::Struct(fields) if fields.is_empty() => DataType::Utf8,
        // In an order that is the same each time.
        DataType::Struct(fields) => {
            let mut fields: Vec<_> = fields.iter().map(of).collect();
            fields.sort_by(|a, b| a.name().cmp(b.name()));
            DataType::Struct(fields.into())
        }
        ty => ty.clone(),
    }
}

fn object(text: &str) -> String {
    format!("{{\"c\":{text}}}\n")
}

fn read(schema: &Arc<Schema>, text: &str, rows: usize) -> Result<ArrayRef, ArrowError> {
    let mut decoder = ReaderBuilder::new(schema.clone()).with_batch_size(rows.max(1)).build_decoder()?;
    decoder.decode(text.as_bytes())?;
    let batch = decoder.flush()?;
    batch
        .map(|batch| batch.column(0).clone())
        .ok_or_else(|| ArrowError::JsonError("there is no value".into()))
}

/// Texts of JSON as values of a type.
pub(crate) fn decode(texts: &ArrayRef, field: &Field, lines: &[u64]) -> Result<ArrayRef, BadRecord> {
    let texts = texts.as_string::<i32>();
    let schema = Arc::new(Schema::new(vec![field.clone().with_name("c").with_nullable(true)]));
    let whole: String = texts.iter().map(|text| object(text.unwrap_or("null"))).collect();
    let error = match read(&schema, &whole, texts.len()) {
        Ok(array) => return Ok(array),
        Err(error) => error,
    };
    let is_bad = |row: &usize| texts.is_valid(*row) && read(&schema, &object(texts.value(*row)), 1).is_err();
    let row = (0..texts.len()).find(is_bad).unwrap_or(0);
    let line = lines.get(row).copied().unwrap_or(0);
    Err(BadRecord { line, column: Some(field.name().clone()), what: error.to_string() })
}
