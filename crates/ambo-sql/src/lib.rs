//! **SQL for Ambo**: both halves of an application's data in one language.
//!
//! ```
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("db");
//! let db = ambo_sql::Database::open(&path)?;
//! let mut connection = db.connect();
//! connection.script(
//!     "create table sales (id bigint primary key, country text, amount decimal(12, 2));
//!      insert into sales values (1, 'NO', 2.50), (2, 'PT', 1.00), (3, 'NO', 9.99);",
//! )?;
//! for row in connection.sql("select country, count(*) from sales group by country order by country")? {
//!     let (country, sales): (String, i64) = row?.into_values()?;
//!     println!("{country}: {sales}");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! * [`Database`]: an open database; what it does without SQL it does as [`ambo::Database`].
//! * [`Connection`]: statements, transactions, prepared statements.
//! * [`Rows`]: what a statement returns, as values, tuples or Arrow batches.
//! * [`Error`]: what is wrong, where in the statement, and what may help.

mod catalog;
mod connection;
mod convert;
mod cooperative;
mod database;
mod engine;
mod error;
mod fast;
mod files;
mod names;
mod parse;
mod planner;
mod prepared;
mod rows;
mod settings;
mod statement;
mod table;
mod value;
mod wait;

pub use connection::Connection;
pub use convert::{FromRow, FromValue, Params};
pub use database::Database;
pub use engine::SqlOptions;
pub use error::{Error, ErrorKind, Place, Result};
pub use prepared::PreparedStatement;
pub use rows::{Batches, Row, Rows};
pub use wait::Interrupter;
