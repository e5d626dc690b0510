//! The `column` base: immutable segments of encoded columns, and sets of deleted rows.
//!
//! A [`Segment`] is a file of up to [`SEGMENT_ROWS_MAX`] rows, in key order, column by column in blocks of a few
//! thousand rows ([`directory`]). Segments whose keys follow each other are a [`ColumnRun`]; the runs of a table are its
//! [`ColumnSet`]. Rows are replaced and deleted by marking them in the [`Deleted`] rows of their segment, so each key is
//! left at most once, and a scan looks at each segment by itself.
//!
//! Nothing that is read from a file is trusted: blocks and directories have checksums, and what they say is checked where it
//! is used.

mod base;
mod builder;
mod cache;
mod check;
mod chunk;
mod compact;
mod counted;
mod cursor;
mod difference;
pub mod directory;
mod encoder;
mod finder;
mod fresh;
mod gallop;
mod key_filter;
mod key_stream;
mod keys;
mod manifest;
mod many_rows;
mod merge;
mod merge_source;
mod morsels;
mod partials;
mod posting;
mod postings;
mod reach;
mod read;
mod rebase;
mod roots;
mod row_cache;
mod row_keys;
mod row_reader;
mod run;
mod schema;
mod scratch;
mod search;
mod seen;
mod segment;
mod selection;
mod set;
mod space;
mod statistics;
mod unique;
mod whole_rows;
mod writer;

#[cfg(test)]
pub(crate) mod format_tests;
#[cfg(test)]
pub(crate) mod tests;

pub use base::{ColumnBase, Exchanged, exchanged, store_deleted};
pub use builder::RunBuilder;
pub use cache::BlockCache;
pub use check::ColumnReport;
pub use chunk::{ChunkOptions, ChunkWriter, LoadedPart};
pub use compact::ReadBlob;
pub use counted::{PartCounts, counting_index};
pub use cursor::{CursorRows, RunCursor};
pub use directory::{Directory, SEGMENT_ROWS_MAX};
pub use finder::Finder;
pub use fresh::{FreshBuilder, FreshGroup, FreshLayer, Replaced};
pub use keys::Duplicates;
pub use manifest::SegmentRow;
pub use partials::{Partial, Partials, PartialsKept, Question};
pub use posting::{IndexSpec, Tended, Tending, is_posting_file, sweep_postings};
pub use reach::Reach;
pub use row_keys::RowKeys;
pub use row_reader::RowReader;
pub use run::{ColumnRun, Deleted, Part, RunRow};
pub use schema::ColumnSchema;
pub use segment::{Segment, SegmentStore};
pub use selection::{Selected, Selection, answers_at_once, asked_indexes, is_answered, is_answered_at_once};
pub use set::{ColumnSet, RowPlace};
pub use space::{ColumnFigures, ColumnSpace, PostingFigures};
pub use statistics::SetColumn;
pub use unique::{Joined, LoadedParts};
pub use whole_rows::WholeRow;
