//! Files of rows: CSV, JSON lines and Parquet. **One** reader and **one** writer, used by COPY, files in FROM, `.import`, `.export`, `ambo
//! load` and `ambo dump`.
//!
//! * [`Format`] is the one set of options.
//! * A text file ([`Source`]) is cut into [`Regions`] of whole records, which several threads read ([`Records`]); a [`Converter`] makes
//!   values of their cells. What the columns are is inferred from all of the file ([`Inference`]), never from its beginning alone unless
//!   that is asked for.
//! * [`Batches`] are the rows of files as Arrow batches, in the order of the files.
//! * [`ParquetFile`] reads Parquet, whatever state it is in.
//! * [`write`](write()) writes rows in any form so that reading brings back each value.
//! * What is wrong is told in one form: file, line, column, and what would fit ([`Error`]).

#[cfg(not(unix))]
compile_error!("files are read at places, as unix does it");

mod batches;
mod column;
mod convert;
mod copy_text;
mod csv;
pub mod datum;
mod error;
mod format;
mod geojson;
mod guard;
mod infer;
mod json;
mod json_values;
mod look;
mod nested;
mod number;
mod parquet;
mod records;
mod regions;
mod rewritten;
mod source;
mod table;
pub mod text;
mod write;

pub use batches::{Batches, Part, array};
pub use column::Column;
pub use convert::Converter;
pub use copy_text::{CopyText, CopyTextRows, write_copy_text};
pub use error::{BadRecord, Error, Kind, Result};
pub use format::{Compression, Form, Format, RowsOf, byte};
pub use geojson::{box_of_geometry, geometry_of_json, json_of_geometry};
pub use guard::guarded;
pub use infer::Inference;
pub use json_values::json_values;
pub use look::Look;
pub use parquet::{ParquetBatches, ParquetFile, damaged};
pub use records::{Cell, Records, Stream, names, unnamed};
pub use regions::{Region, Regions};
pub use source::{Position, Source};
pub use table::{Reading, TextTable, paths};
pub use write::{CsvRows, JsonRows, write, write_text, write_text_to, write_to_stream};
