//! Rows of a statement in the forms that the shell has. Rows are written as they come; only an aligned table keeps some back.

mod arrow;
mod cells;
mod grid;
mod json;
mod plan;
mod text;
mod zone;

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::settings::Mode;
use crate::failure::{Failure, Result};

pub use grid::Grid;
pub use plan::Plan;
pub use zone::{batch_in_zone, in_zone};

/// Takes the rows of a statement and writes them.
pub trait Show {
    /// Some rows more.
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()>;

    /// There are no more rows. Returns how many were shown, if not all.
    fn end(&mut self, out: &mut dyn Write) -> Result<Option<u64>>;
}

/// For whom rows are shown.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    /// Characters in a line; a file or a program has no such limit.
    pub width: Option<usize>,
    /// Whether escape sequences for colours are understood.
    pub colours: bool,
    /// At most so many rows of a table.
    pub max_rows: Option<u64>,
}

impl Reader {
    /// A file or a program.
    pub const PROGRAM: Self = Self { width: None, colours: false, max_rows: None };
}

/// What writes rows in a form.
pub fn show(mode: Mode, schema: &SchemaRef, reader: Reader) -> Box<dyn Show> {
    match mode {
        Mode::Table => Box::new(Grid::new(schema, reader)),
        Mode::Line => Box::new(text::Lines::new(schema, reader)),
        Mode::List => Box::new(text::List),
        Mode::Csv => Box::new(text::Csv::new(schema)),
        Mode::Markdown => Box::new(text::Markdown::new(schema)),
        Mode::Json => Box::new(json::Json),
        Mode::Arrow => Box::new(arrow::Stream::new(schema.clone())),
    }
}

/// A value that has no form as text, or none in the format.
pub fn unwritable(error: impl std::fmt::Display) -> Failure {
    Failure::Database(format!("a value cannot be written: {error}"))
}
