//! The server with clients of others: psql, pgbench, and programs in Python.
//!
//! What a test needs and does not find it says: `make test` makes and finds all of it.

mod clients;
#[cfg(feature = "flight")]
mod flight;
mod grants;
mod hostile;
mod limits;
mod others;
mod psql;
mod python;
mod support;

mod wire;
