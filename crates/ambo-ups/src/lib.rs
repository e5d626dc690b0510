//! The programming interface of upscaledb, over Ambo: programs that were written for it are compiled with `include/ups/upscaledb.h` and
//! linked with this library.
//!
//! 1. A database of upscaledb's is a table `db_N` with the columns `key` and `value`, which SQL reads, too. What else is known of it stands
//!    in the table's comment.
//! 2. An environment has one lock, as upscaledb's has. What handles stand for is kept behind it by numbers: a handle whose thing is gone
//!    answers `UPS_NOT_READY`.
//! 3. What cannot be done is a status, and the handler of `ups_set_error_handler` is told why.
//! 4. Nothing unwinds into C.

// Every function that C calls gets pointers, and what is asked of them is upscaledb's for all alike.
#![allow(clippy::missing_safety_doc, reason = "the rules are those of upscaledb")]

mod bulk;
mod cursor;
mod data;
mod database;
mod environment;
mod settings;
mod state;
mod status;
mod structs;
mod transaction;
mod uqi;

pub use bulk::*;
pub use cursor::*;
pub use database::*;
pub use environment::*;
pub use state::{ups_cursor_t, ups_db_t, ups_env_t, ups_txn_t};
pub use status::*;
pub use structs::*;
pub use transaction::*;
pub use uqi::*;
