//! COPY with the client: rows to it, and rows from it.

mod input;
mod options;
mod output;
mod rows;

pub(super) use options::Copy;
