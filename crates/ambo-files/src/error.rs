//! What is wrong with a file, in one form: `file: line 3, column "n": 'x' is no bigint; whole numbers from … to … fit`.

use std::{fmt, io, path::Path};

/// The result of reading or writing a file.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of thing is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// There is no such file.
    NotFound,
    /// The request: options, or columns that are not there.
    Request,
    /// There is nothing in the file.
    Empty,
    /// What is in the file.
    Content,
    /// The operating system.
    System,
    /// Somebody asked to stop.
    Interrupted,
}

/// What is wrong, and where.
#[derive(Clone, Debug)]
pub struct Error {
    kind: Kind,
    message: String,
    hint: Option<String>,
}

impl Error {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    pub(crate) fn request(message: impl Into<String>) -> Self {
        Self::new(Kind::Request, message)
    }

    /// Something about a file as a whole.
    pub(crate) fn in_file(path: &Path, what: impl fmt::Display) -> Self {
        Self::new(Kind::Content, format!("{}: {what}", path.display()))
    }

    /// What the operating system says of a file.
    pub fn io(path: &Path, error: &io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::NotFound => Kind::NotFound,
            // Decompressors say so of what they read.
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof => {
                Kind::Content
            }
            _ => Kind::System,
        };
        let text = error.to_string();
        // "No such file or directory" without "(os error 2)", which tells a person nothing.
        let words = text.split_once(" (os error").map_or(text.as_str(), |(words, _)| words);
        Self::new(kind, format!("{}: {words}", path.display()))
    }

    /// Somebody asked to stop.
    pub(crate) fn interrupted() -> Self {
        Self::new(Kind::Interrupted, "the statement was interrupted")
    }

    #[must_use]
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What kind of thing is wrong.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What is wrong, in a sentence.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What may help.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

/// What is wrong with one record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadRecord {
    /// The line it begins on, from 1.
    pub line: u64,
    /// The column, if it is about one.
    pub column: Option<String>,
    /// What is wrong.
    pub what: String,
}

impl BadRecord {
    /// The record as an error of a file.
    pub fn in_file(&self, path: &Path) -> Error {
        Error::in_file(path, self)
    }
}

impl fmt::Display for BadRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.column {
            Some(column) => write!(f, "line {}, column \"{column}\": {}", self.line, self.what),
            None => write!(f, "line {}: {}", self.line, self.what),
        }
    }
}
