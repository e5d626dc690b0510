//! UQI: aggregates of a table's keys and records, in the manner of upscaledb's query interface, with plug-ins.
//!
//! # Language
//! ```text
//! select = [DISTINCT] function "(" input ["," input] ")" FROM (DATABASE number | table) [WHERE condition] [LIMIT number] [";"]
//! input  = "$key" | "$record" | column
//! ```
//! Key words are of any case, and all of the text has to be taken. `DATABASE n` is the table `db_n`; numbers may be `0x` and octal. In a
//! condition stand comparisons (`=`, `<>`, `<`, `BETWEEN`, `IN`, `IS NULL`, `LIKE`) of inputs, constants and arithmetic on them, calls of
//! predicates, AND, OR, NOT and parentheses. A function of a library is called `"function@library"`.
//!
//! # Rules
//! 1. What is read is of one moment: a snapshot, or what a transaction sees.
//! 2. Aggregates read columns by batches, in parts that threads take; what keys and inner pages know is asked of them: COUNT and SUM of
//!    keys, MIN, MAX, TOP and BOTTOM of keys.
//! 3. Sums are exact, and an error if they do not fit 64 bits; of no rows there is no average, no least and no greatest value.
//! 4. DISTINCT passes over further rows of a key. That is not SQL's, but upscaledb's meaning. TOP and BOTTOM then have each value once.
//! 5. NULL is no number: SUM, AVERAGE, MIN, MAX, TOP and BOTTOM pass over it; COUNT and VALUE do not.
//! 6. An aggregate that cannot be merged runs in one thread and sees rows in the order of keys.
//! 7. A library is code in this process. None is loaded but from the directory that was said: see [`Plugins::set_directory`].

mod batch;
mod by_key;
mod c_abi;
mod c_plugin;
mod condition;
mod functions;
mod library;
mod numbers;
mod plugin;
mod reader;
mod result;
mod rows_for_c;
mod run;
mod text;
mod tops;
mod ups_abi;

pub use batch::Batch;
pub use c_abi::{AMBO_UQI_ABI, AmboBytes, AmboUqiBatch, AmboUqiInput, AmboUqiPlugin, AmboUqiResult};
pub use plugin::{Aggregate, AggregatePlugin, Input, Plugins, PredicatePlugin, RowTest};
pub use result::{Stream, UqiResult};
pub use run::Prepared;
pub use text::{Statement, Target};
pub use ups_abi::UpsPlugin;
