//! Errors of few kinds, each documented by what the caller does next.

use std::io;

/// The result of every fallible operation of the engine.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, and by its kind what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another transaction was first. **Retry** the whole transaction.
    #[error("conflict: {0}; retry the transaction")]
    Conflict(String),

    /// A row lock could not be had in time, or waiting for it would have been a deadlock.
    /// **Roll back and retry** the transaction.
    #[error("row lock not granted: {0}; roll back and retry the transaction")]
    Lock(String),

    /// The request itself cannot be right (a limit, a type, a name). **Change the request.**
    #[error("invalid request: {0}")]
    Invalid(String),

    /// A named thing does not exist. **Create it or correct the name.**
    #[error("not found: {0}")]
    NotFound(String),

    /// A named thing, or a key that must be unique, exists already. **Choose another or update it.**
    #[error("exists already: {0}")]
    Exists(String),

    /// Bytes on disk are not what was written there. **Restore from a backup, or run `ambo check`** to
    /// learn how much is affected; undamaged tables can still be read.
    #[error("damaged: {file} at byte {offset}: {what}")]
    Damaged {
        /// The file's name inside the database directory.
        file: String,
        /// The byte offset of the damaged structure.
        offset: u64,
        /// What was expected and what was found.
        what: String,
    },

    /// No space is left on the device. Nothing that was committed is lost; **free some space and retry.**
    #[error("no space left on the device while {0}; free some space and retry")]
    DiskFull(String),

    /// The operating system refused an operation on a file. **Mend the cause, then reopen.**
    #[error("{what}: {source}")]
    Io {
        /// What was being done to which file.
        what: String,
        /// The operating system's answer.
        #[source]
        source: io::Error,
    },

    /// A write or sync failed earlier, so what is on disk is no longer certain; reads go on.
    /// **Reopen the database.**
    #[error("the database refuses writes since an earlier failure ({0}); reopen it")]
    Poisoned(String),

    /// Another process has the database open. **Close it there, or open read-only.**
    #[error("in use: {0}")]
    InUse(String),

    /// The operation was cancelled by the caller. What was committed before stays.
    #[error("cancelled")]
    Cancelled,
}

impl Error {
    /// Wraps an operating system error with what was being done; "no space" and "quota" become
    /// [`Error::DiskFull`].
    pub fn io(what: impl Into<String>, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull(what.into()),
            _ => Self::Io { what: what.into(), source },
        }
    }

    /// Damage in `file` at `offset`.
    pub fn damaged(file: impl Into<String>, offset: u64, what: impl Into<String>) -> Self {
        Self::Damaged { file: file.into(), offset, what: what.into() }
    }

    /// Whether the same transaction may succeed when it is run again.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Conflict(_) | Self::Lock(_))
    }
}
