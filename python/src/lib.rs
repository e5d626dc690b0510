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
mod frames;
mod key_value;
mod parameters;
mod session;
mod values;
mod views;

// The driver of ADBC is exported by the same library.
use ambo_adbc as _;
use pyo3::prelude::*;

/// What was opened before a fork is not to be used in the child.
#[pyfunction]
fn _forked() {
    ambo_face::forked();
}

#[pymodule]
mod _ambo {
    #[pymodule_export]
    use super::_forked;
    #[pymodule_export]
    use super::connection::Connection;
    #[pymodule_export]
    use super::cursor::Cursor;
    #[pymodule_export]
    use super::key_value::{KeyValue, KvCursor, Pairs};
    #[pymodule_export]
    use super::views::{Batch, Snapshot};
}
