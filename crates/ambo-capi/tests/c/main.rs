//! The C library from C: its header, its symbols, and programs that are compiled and run.
//!
//! The library is the one that cargo made beside this test. Where a compiler or a tool is not there, the test says so and does nothing:
//! `AMBO_C_TOOLS=all` makes that a failure, for machines that have them.

mod adbc;
mod header;
mod library;
mod programs;
mod symbols;

/// What cargo made, and the names that it is installed by.
const BUILT: &str = "libambo_capi.so";
const INSTALLED: [&str; 2] = ["libambo.so", "libambo.so.0"];
