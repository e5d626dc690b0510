//! Two kinds of error: bytes that no encoder wrote, and requests that cannot be right.

/// The result of every fallible operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, and by its kind whose fault it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are not what an encoder wrote. The storage layer reports them as damage, with the file
    /// and the offset that only it knows.
    #[error("malformed at byte {offset}: {what}")]
    Malformed {
        /// Where in the given bytes, in bytes from their beginning.
        offset: usize,
        /// What is wrong there.
        what: &'static str,
    },

    /// The request cannot be right (a type, a count, a NULL). **Change the request.**
    #[error("{0}")]
    Invalid(String),
}

impl Error {
    /// Bytes that no encoder writes.
    pub fn malformed(offset: usize, what: &'static str) -> Self {
        Self::Malformed { offset, what }
    }

    /// A request that cannot be right.
    pub fn invalid(what: impl Into<String>) -> Self {
        Self::Invalid(what.into())
    }
}
