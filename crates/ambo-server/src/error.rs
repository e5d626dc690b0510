//! Why a server does not start.

use std::fmt;

/// The result of what may fail before a server runs.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What is wrong, in a sentence that says what to do.
#[derive(Debug)]
pub struct Error(String);

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
