//! Ambo: one embedded store for keys, rows and columns.
//!
//! 1. A function that can fail returns a status. From AMBO_MISUSE on it is an error, and `error`, unless it is NULL, is given an object
//!    that says more. Below are answers, such as AMBO_NOT_FOUND, which have no object. `*error` is NULL before its first use; an object
//!    that is still there is freed when another takes its place. On success it stays as it is.
//! 2. Handles are made by functions that end in _open, _new, _begin and the like, and freed by ambo_close and by functions that take the
//!    address of the handle and set it to NULL. Freeing NULL does nothing.
//! 3. Names and options are texts that end in a zero byte, keys and values are bytes with their number. Texts are UTF-8, and checked.
//! 4. What a function lends, such as the key of a cursor, is there until the next call with that handle.
//! 5. Databases, tables and connections are used by as many threads as like to; a connection runs one statement at a time. The other
//!    handles wait for one another, too, but what is lent is for one thread.
//! 6. ambo_close ends what runs and rolls back what is open. Handles that are left answer AMBO_CLOSED, and are still to be freed.
//! 7. In the child of a fork everything that was opened before answers AMBO_IN_USE. The child opens the database again.
//! 8. Callbacks neither call the library nor leave by longjmp or an exception.
//! 9. No function prints, ends the process, or handles signals.

// Every function that C calls gets pointers, and what is asked of them is rules 1 to 5 for all alike.
#![allow(clippy::missing_safety_doc, reason = "the rules are those of the crate")]

#[cfg(feature = "sql")]
#[allow(clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc, missing_docs)]
mod adbc {
    //! The driver of ADBC, which driver managers of other languages load.

    adbc_ffi::export_driver!(AdbcDriverAmboInit, ambo_adbc::AmboDriver);
}
mod backup;
mod c;
mod changes;
#[cfg(feature = "sql")]
mod connection;
mod cursor;
mod database;
mod datum;
mod definition;
mod error;
mod feed;
mod handle;
mod key_value;
mod load;
mod operations;
mod options;
mod owned;
#[cfg(feature = "sql")]
mod result;
mod rows;
#[cfg(feature = "sql")]
mod running;
#[cfg(feature = "sql")]
mod statement;
mod status;
#[cfg(feature = "sql")]
mod stream;
mod table;
mod transaction;
mod uqi;
mod version;

pub use backup::*;
pub use c::AMBO_ZERO_ENDED;
pub use changes::*;
pub use cursor::*;
pub use database::*;
pub use datum::*;
pub use definition::*;
pub use error::*;
pub use feed::*;
pub use key_value::*;
pub use load::*;
pub use operations::*;
pub use options::*;
pub use owned::*;
pub use rows::*;
pub use status::*;
pub use table::*;
pub use transaction::*;
pub use uqi::*;
pub use version::*;
#[cfg(feature = "sql")]
pub use {connection::*, result::*, statement::*};
