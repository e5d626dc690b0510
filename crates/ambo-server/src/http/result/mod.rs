//! Results in the forms that clients ask for. Each form is written batch by batch, so that a result needs no more memory than a batch.
//!
//! 1. What goes wrong behind the first byte is said in the form's own words ([`Writer::broken`]), where it has any, and the transfer is
//!    broken off: nobody takes half a result for a whole one.
//! 2. A form that has an end (JSON, Arrow, Parquet) has it only if all rows were written.

mod arrow;
pub(crate) mod cells;
mod csv;
mod json;
mod lines;
mod parquet;
mod table;

#[cfg(feature = "flight")]
pub(crate) use parquet::{of_schema, with_uuids};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use serde_json::Value as Json;

/// The forms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// One JSON object: columns, rows as arrays.
    Json,
    /// The same with rows as objects.
    Objects,
    /// A JSON object a line.
    Lines,
    /// CSV with a line of names.
    Csv,
    /// A stream of Arrow IPC.
    Arrow,
    /// A file of Parquet.
    Parquet,
    /// A table to look at.
    Text,
}

/// Names in `?format=`, what they are, and the media type.
const FORMS: [(&str, Form, &str); 7] = [
    ("json", Form::Json, "application/json"),
    ("objects", Form::Objects, "application/json; rows=objects"),
    ("ndjson", Form::Lines, "application/x-ndjson"),
    ("csv", Form::Csv, "text/csv; charset=utf-8; header=present"),
    ("arrow", Form::Arrow, "application/vnd.apache.arrow.stream"),
    ("parquet", Form::Parquet, "application/vnd.apache.parquet"),
    ("text", Form::Text, "text/plain; charset=utf-8"),
];

impl Form {
    /// By its name.
    pub(crate) fn named(name: &str) -> Result<Self, String> {
        let found = FORMS.iter().find(|(known, ..)| *known == name);
        found.map(|(_, form, _)| *form).ok_or_else(|| {
            let known: Vec<_> = FORMS.iter().map(|(known, ..)| *known).collect();
            format!("there is no format \"{name}\"; there are {}", known.join(", "))
        })
    }

    /// The first that an Accept header names; JSON if it takes anything. `None`: nothing that there is.
    pub(crate) fn accepted(accept: &str) -> Option<Self> {
        let mut wanted: Vec<_> = accept.split(',').map(media).collect();
        wanted.sort_by(|one, other| other.1.total_cmp(&one.1));
        wanted.iter().filter(|(_, weight)| *weight > 0.0).find_map(|(media, _)| Self::of_media(media))
    }

    fn of_media(media: &str) -> Option<Self> {
        Some(match media {
            "*/*" | "application/*" | "application/json" | "" => Self::Json,
            "application/x-ndjson" | "application/ndjson" | "application/jsonl" => Self::Lines,
            "text/csv" => Self::Csv,
            "application/vnd.apache.arrow.stream" => Self::Arrow,
            "application/vnd.apache.parquet" => Self::Parquet,
            "text/plain" | "text/*" => Self::Text,
            _ => return None,
        })
    }

    /// What the answer says it is.
    pub(crate) fn content_type(self) -> &'static str {
        FORMS
            .iter()
            .find(|(_, form, _)| *form == self)
            .map_or("application/octet-stream", |(.., media)| *media)
    }

    /// Writes rows of these columns.
    pub(crate) fn writer(self, schema: &SchemaRef, zone: &str) -> Result<Box<dyn Writer>, String> {
        Ok(match self {
            Self::Json => Box::new(json::Writer::new(schema, zone, false)),
            Self::Objects => Box::new(json::Writer::new(schema, zone, true)),
            Self::Lines => Box::new(lines::Writer::new(schema, zone)),
            Self::Csv => Box::new(csv::Writer::new(schema)?),
            Self::Arrow => Box::new(arrow::Writer::new(schema)?),
            Self::Parquet => Box::new(parquet::Writer::new(schema)?),
            Self::Text => Box::new(table::Writer::new(schema, zone)),
        })
    }
}

/// A media type without its parameters, and its weight.
fn media(part: &str) -> (&str, f32) {
    let mut pieces = part.split(';').map(str::trim);
    let media = pieces.next().unwrap_or_default();
    let weight = pieces.find_map(|piece| piece.strip_prefix("q=")).and_then(|weight| weight.parse().ok());
    (media, weight.unwrap_or(1.0))
}

/// What is said at the end of a result.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Summary {
    /// What kind of statement it was.
    pub tag: &'static str,
    /// Rows that it inserted, changed or deleted, if it is one that does.
    pub affected: Option<u64>,
    /// Rows that it returned.
    pub rows: u64,
    /// Whether there were more rows than were asked for.
    pub is_cut: bool,
    /// How long it took, in milliseconds.
    pub millis: f64,
}

/// Writes a result in a form.
pub(crate) trait Writer: Send {
    /// What comes before all rows.
    fn head(&mut self, out: &mut Vec<u8>) -> Result<(), String>;
    /// Rows.
    fn batch(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), String>;
    /// What comes behind all rows.
    fn end(&mut self, summary: &Summary, out: &mut Vec<u8>) -> Result<(), String>;
    /// What is said where rows end too early, in forms that can say something.
    fn broken(&mut self, _: &Json, _: &mut Vec<u8>) {}
}

pub(crate) use json::{array as row, summary_json};

/// The names of columns, each once: objects have no two of one name.
pub(crate) fn unique_names(schema: &SchemaRef) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for field in schema.fields() {
        let mut name = field.name().clone();
        let mut next = 1;
        while names.contains(&name) {
            next += 1;
            name = format!("{}_{next}", field.name());
        }
        names.push(name);
    }
    names
}

/// The columns as JSON: names and types.
pub(crate) fn columns_json(schema: &SchemaRef) -> Json {
    let names = unique_names(schema);
    let columns =
        schema.fields().iter().zip(names).map(
            |(field, name)| serde_json::json!({ "name": name, "type": crate::http::types::name(field) }),
        );
    Json::Array(columns.collect())
}
