//! **SQL for Ambo**: both halves of an application's data in one language.
//!
//! ```
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("db");
//! let db = ambo_sql::Database::open(&path)?;
//! let mut connection = db.connect();
//! connection.script(
//!     "create table seats (flight bigint, seat text, passenger text, primary key (flight, seat)) storage = column;
//!      insert into seats values (7, '12A', null), (7, '12B', null);",
//! )?;
//! let mut book = connection.prepare("update seats set passenger = $3 where flight = $1 and seat = $2")?;
//! book.execute(&mut connection, (7i64, "12A", "Ada"))?;
//! for row in connection.sql("select flight, count(passenger) from seats group by flight")? {
//!     let (flight, taken): (i64, i64) = row?.into_values()?;
//!     assert_eq!((flight, taken), (7, 1));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! * [`Database`]: an open database; what it does without SQL it does as [`ambo::Database`].
//! * [`Connection`]: statements, transactions, prepared statements.
//! * [`Rows`]: what a statement returns, as values, tuples or Arrow batches.
//! * [`Error`]: what is wrong, where in the statement, and what may help.

mod catalog;
mod check;
mod collations;
mod connection;
mod convert;
mod copy_stream;
mod database;
mod databases;
mod describe;
mod deserialize;
mod engine;
mod error;
mod fast;
mod files;
mod foreign_keys;
mod functions;
mod hidden;
mod identity;
mod ingest;
mod joins;
mod kept;
mod logical;
mod names;
mod nested;
mod numbers;
mod one_input;
mod optimizer;
mod parse;
mod pg_catalog;
mod planner;
mod prepared;
mod progress;
mod projected;
mod rights;
mod rows;
mod sequences;
mod session;
mod settings;
mod share;
mod sources;
mod stack;
mod statement;
mod table;
mod times;
mod user_types;
mod value;
mod wait;
mod walk;
mod window;
mod yielding;

/// The page of the book about SQL, whose example in Rust is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/book/src/sql.md")]
struct Page;

/// The same, of that about programs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/book/src/sql/programs.md")]
struct Programs;

pub use connection::Connection;
pub use convert::{FromRow, FromValue, Params};
pub use copy_stream::StreamCopy;
pub use database::Database;
pub use describe::Description;
pub use engine::SqlOptions;
pub use error::{Error, ErrorKind, Place, Result, type_in_sql};
pub use files::{value_texts, with_texts};
pub use ingest::IngestMode;
pub use pg_catalog::{PG_TYPE, PostgresColumn, PostgresSession, Wishes};
pub use prepared::PreparedStatement;
pub use progress::Progress;
pub use rights::{Access, Files, Keeper, Level, Role};
pub use rows::{Batches, ENUM_LABELS, Row, Rows};
pub use sources::{OpenReader, Reader, Source};
pub use stack::OF_THREADS as THREAD_STACK_BYTES;
pub use statement::stored_literal;
pub use value::{batch_of, rows_of};
pub use wait::Interrupter;
