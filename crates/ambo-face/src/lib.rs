//! What all faces of Ambo to other languages share, in plain Rust: so that they behave alike, and are tested once.
//!
//! * [`open`]: databases by their paths, each open once in a process, however many have it ([`Opened`]).
//! * [`restore`], [`verify_backup`]: backups that nobody has open.
//! * [`Options`]: how a database is opened, by names and texts.
//! * [`Error`]: what went wrong as classes that languages have exceptions for, with SQLSTATE and place.
//! * [`Column`] and [`Cell`]: values of Arrow's arrays, whatever they are stored as.
//! * [`KeyValue`]: key-value tables over bytes, texts and integers.
//! * [`Era`]: what was opened before a fork is refused in the child.
//! * [`caught`]: panics as errors.
//!
//! Without the feature `sql`, which is on by default, nothing of SQL and of Arrow is there.

mod backup;
#[cfg(feature = "sql")]
mod cell;
mod error;
mod fork;
mod key_value;
#[cfg(feature = "sql")]
mod mode;
mod options;
mod registry;
mod storage;

pub use backup::{restore, verify_backup};
#[cfg(feature = "sql")]
pub use cell::{Cell, Column};
pub use error::{Class, Error, Parts, Place, Result, caught};
pub use fork::Era;
pub use key_value::{KeyValue, Kind, Value, View};
#[cfg(feature = "sql")]
pub use mode::ingest_mode;
pub use options::Options;
pub use registry::{MEMORY, Opened, open};
