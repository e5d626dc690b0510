//! The `append` base: immutable extents of records of one width, and sets of deleted rows.
//!
//! 1. An extent is a file of records, one behind the other, so that the record of a position is found by multiplication
//!    (`head` has the format). It takes the place of a segment: its pages are the groups, its columns are blocks that are made of the
//!    records when they are asked for (`reader`). Everything that a column table does with segments is done with extents in the same
//!    way: scans, look-ups, deletes, merges, loads, backups, the check.
//! 2. Rows without a key have a number, which is no field: the extent knows its numbers as runs.
//! 3. Nothing that is read from a file is trusted: pages, heaps and directories have checksums, and what they say is checked where it
//!    is used.

mod base;
mod head;
mod layout;
mod numbers;
mod reader;
mod schema;
mod writer;

#[cfg(test)]
mod format_tests;

pub use base::AppendBase;
pub(crate) use head::Head;
pub(crate) use reader::Records;
pub(crate) use schema::RecordSchema;
pub(crate) use writer::RecordWriter;
