//! Why a command ends without success, and the exit code that says so.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | a negative answer: the key or table is not there |
//! | 2 | the request or the input file is wrong |
//! | 3 | the database or the operating system refused |
//! | 4 | `check` found damage |
//! | 130 | stopped by Ctrl-C |

use std::io;
use std::path::Path;
use std::process::ExitCode;

/// The result of every command.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// What to do about a database that another process has open.
const CLOSE_IT: &str = "close it there first, or read beside that one (--beside)";

/// Why a command ends without success. The text is one line: what, where, what to do.
#[derive(Debug)]
pub enum Failure {
    /// A negative answer. An empty text prints nothing: the exit code is the answer.
    Negative(String),
    /// The request or an input file is wrong; the user changes it.
    Usage(String),
    /// The database or the operating system refused.
    Database(String),
    /// Another process has the database open.
    InUse(String),
    /// Bytes on disk are not what was written there.
    Corrupt {
        /// With what to do.
        text: String,
        /// Without: what the engine says.
        what: String,
    },
    /// `check` found damage; the report is printed already.
    Damage,
    /// Ctrl-C came; the text says what is in the database.
    Interrupted(String),
    /// Something before the end failed, and was told then.
    Told(Box<Failure>),
    /// Whoever read our output has gone; nobody is left to tell.
    BrokenPipe,
}

impl Failure {
    /// A request that cannot be right.
    pub fn usage(text: impl Into<String>) -> Self {
        Self::Usage(text.into())
    }

    /// The engine's answer to something done to the database in `dir`.
    pub fn engine(dir: &Path, error: ambo::Error) -> Self {
        let place = dir.display();
        match error {
            ambo::Error::Invalid(_) => Self::Usage(error.to_string()),
            ambo::Error::NotFound(_) => Self::Negative(error.to_string()),
            ambo::Error::Cancelled => Self::Interrupted("interrupted".into()),
            ambo::Error::Damaged { .. } => {
                let what = error.to_string();
                let text = format!("{place}: {what}; `ambo check {place}` tells how much is affected");
                Self::Corrupt { text, what }
            }
            ambo::Error::InUse(_) => Self::InUse(format!("{place}: {error}; {CLOSE_IT}")),
            _ => Self::Database(format!("{place}: {error}")),
        }
    }

    /// A file other than the database's could not be read or written.
    pub fn file(path: &Path, error: &io::Error) -> Self {
        Self::Usage(format!("{}: {}", path.display(), plain(error)))
    }

    /// What to print on standard error, if anything.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Negative(text)
            | Self::Usage(text)
            | Self::Database(text)
            | Self::InUse(text)
            | Self::Corrupt { text, .. }
            | Self::Interrupted(text) => Some(text).filter(|text| !text.is_empty()).map(String::as_str),
            Self::Damage | Self::Told(_) | Self::BrokenPipe => None,
        }
    }

    /// The same with the place before its text.
    #[must_use]
    pub fn at(self, place: &str) -> Self {
        let put = |text: String| format!("{place}{text}");
        match self {
            Self::Negative(text) => Self::Negative(put(text)),
            Self::Usage(text) => Self::Usage(put(text)),
            Self::Database(text) => Self::Database(put(text)),
            Self::InUse(text) => Self::InUse(put(text)),
            Self::Corrupt { text, what } => Self::Corrupt { text: put(text), what },
            other => other,
        }
    }

    /// The process's exit code, from the table above.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Told(failure) => return failure.code(),
            Self::BrokenPipe => 0,
            Self::Negative(_) => 1,
            Self::Usage(_) => 2,
            Self::Database(_) | Self::InUse(_) | Self::Corrupt { .. } => 3,
            Self::Damage => 4,
            Self::Interrupted(_) => 130,
        })
    }
}

/// What is wrong with a file that is read or written.
impl From<ambo_files::Error> for Failure {
    fn from(error: ambo_files::Error) -> Self {
        match error.kind() {
            ambo_files::Kind::Interrupted => Self::Interrupted("interrupted".into()),
            _ => Self::Usage(error.to_string()),
        }
    }
}

/// Only writing to standard output yields a bare I/O error; everything else names its file.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            _ => Self::Database(format!("cannot write the output: {}", plain(&error))),
        }
    }
}

/// "No such file or directory" without "(os error 2)", which tells a person nothing.
pub fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_string(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away a pipe into `head` that ends in an error message, and operating system jargon.
    #[test]
    fn output_errors() {
        let pipe = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(matches!(pipe, Failure::BrokenPipe) && pipe.text().is_none());
        let missing = io::Error::from_raw_os_error(2);
        assert_eq!(
            Failure::file(Path::new("x.csv"), &missing).text(),
            Some("x.csv: No such file or directory")
        );
    }
}
