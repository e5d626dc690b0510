//! COPY with the client: rows to it, and rows from it.

#[cfg(feature = "http")]
mod fuzz;
mod input;
mod options;
mod output;
mod rows;

#[cfg(feature = "http")]
pub(crate) use fuzz::rows as fuzz_rows;
pub(super) use options::Copy;
