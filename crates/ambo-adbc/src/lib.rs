//! Ambo as a driver of [ADBC](https://arrow.apache.org/adbc). The libraries of the Python package and of C export it:
//! `adbc_ffi::export_driver!`.
//!
//! 1. Values go in and out as Arrow; nothing is copied on the way out.
//! 2. A result holds its connection, and a connection its database: each is let go with the last that holds it.
//! 3. Panics become errors: [`ambo_face::caught`].
//! 4. With `autocommit` off a transaction begins with the first statement, and reads what is there then.

mod bind;
mod connection;
mod database;
mod error;
mod info;
mod nested;
mod objects;
mod result;
mod session;
mod statement;

pub use connection::AmboConnection;
pub use database::{AmboDatabase, AmboDriver};
pub use statement::AmboStatement;
