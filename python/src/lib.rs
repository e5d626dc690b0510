//! Ambo for Python: the extension module `ambo._ambo`. What is Python's own, such as exceptions, stands in the package `ambo` beside it.
//!
//! 1. The engine works without the GIL. A lock of ours is waited for without it, too, so that nobody who has the GIL waits for one who
//!    wants it.
//! 2. Nothing of Python is called from inside the engine, but for the hook that looks for signals, names of frames before a statement is
//!    planned, and readers, which have threads of their own.
//! 3. No method of ours that has the GIL calls what may give it away and come back to us, such as taking a stream of Arrow: PyO3 takes the
//!    GIL for ours then. So the methods that make frames are Python's: `ambo._frames`.
//! 4. Panics become `InternalError`: [`ambo_face::caught`].
//! 5. What outlives a connection, such as a cursor, holds nothing of the database once that is closed.

mod arrow;
mod connection;
mod cursor;
mod drawing;
mod errors;
mod feed;
mod frames;
mod key_value;
mod parameters;
mod session;
mod store;
mod values;
mod views;

use pyo3::prelude::*;

// The driver of ADBC is exported by the same library.
#[allow(clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc, missing_docs)]
mod adbc {
    adbc_ffi::export_driver!(AdbcDriverAmboInit, ambo_adbc::AmboDriver);
}

#[pymodule]
mod _ambo {
    #[pymodule_export]
    use super::connection::Connection;
    #[pymodule_export]
    use super::cursor::Cursor;
    #[pymodule_export]
    use super::feed::Feed;
    #[pymodule_export]
    use super::key_value::{KeyValue, KvCursor, Pairs};
    #[pymodule_export]
    use super::store::{Changes, restore, verify_backup};
    #[pymodule_export]
    use super::views::{Batch, Snapshot};
}
