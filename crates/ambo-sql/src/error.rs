//! What can go wrong with a statement, where in it, and what may help.

mod instead;
mod nested_types;
mod planner;
mod sqlstate;
mod wording;

use std::fmt;

use ambo::{Error as StorageError, nearest};
use datafusion::error::DataFusionError;

pub(crate) use instead::{of_table_function as instead_of_table_function, of_type as instead_of_type};
pub(crate) use wording::NO_COMMON_TYPE;
pub use wording::type_in_sql;

/// The result of a statement.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of thing is wrong: what to do next depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text is no SQL that is understood.
    Syntax,
    /// A table, column, function or the like is not there.
    NotFound,
    /// A name or a key is taken, or a rule of the table forbids the row.
    Constraint,
    /// The statement cannot be done as it is meant: types that do not fit, what is not supported.
    Invalid,
    /// Another transaction was in the way: roll back and run the transaction again.
    Conflict,
    /// The statement was interrupted.
    Cancelled,
    /// Something went wrong while the statement ran: a division by zero, memory at an end, a file that cannot be read.
    Execution,
    /// The database: its disk, its files, its state.
    Storage,
}

/// A place in the text of a statement; both count from 1, columns in characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The line.
    pub line: u64,
    /// The character in the line.
    pub column: u64,
}

/// A statement that failed. It changed nothing.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    place: Option<Place>,
    hint: Option<String>,
    /// The name that is not there.
    object: Option<String>,
    source: Option<Box<StorageError>>,
}

impl Error {
    /// An error of a kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), place: None, hint: None, object: None, source: None }
    }

    /// What the statement asks for cannot be done.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// Something that is named is not there; `known` are the names that are.
    pub(crate) fn not_found<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Self {
        let mut error = Self::new(ErrorKind::NotFound, format!("there is no {what} \"{name}\""));
        error.object = Some(name.to_owned());
        match nearest(name, known) {
            Some(near) => error.with_hint(format!("did you mean \"{near}\"?")),
            None => error,
        }
    }

    /// The same with what may help.
    #[must_use]
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same, with other names for what the message names.
    #[must_use]
    pub(crate) fn with_names(mut self, names: &[(String, String)]) -> Self {
        for (named, meant) in names {
            self.message = self.message.replace(named, meant);
        }
        self
    }

    /// Adds what the message is about.
    pub(crate) fn say_of(&mut self, about: &str) {
        self.message = format!("{}, in {about}", self.message);
    }

    /// The same with the place in the statement.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place.get_or_insert(place);
        self
    }

    /// The same with the place that the parser knows of, which counts lines from 1. Line 0: it knows none.
    #[must_use]
    pub(crate) fn at_start(self, line: u64, column: u64) -> Self {
        if line > 0 { self.at(Place { line, column }) } else { self }
    }

    /// What kind of thing is wrong.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What is wrong, in a sentence.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Where in the statement, if that is known.
    pub fn place(&self) -> Option<Place> {
        self.place
    }

    /// What may help.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// What is wrong as five letters and digits, in the words of the standard and of PostgreSQL: `42P01` for a table that is not there,
    /// `23505` for a key that is taken, `40001` for a conflict.
    ///
    /// ```
    /// let db = ambo_sql::Database::in_memory()?;
    /// let error = db.sql("select * from nothing").err().unwrap();
    /// assert_eq!((error.sqlstate(), error.object()), ("42P01", Some("nothing")));
    /// # Ok::<(), ambo_sql::Error>(())
    /// ```
    pub fn sqlstate(&self) -> &'static str {
        sqlstate::of(self)
    }

    /// The name that the error is about, if it is one of something that is not there.
    pub fn object(&self) -> Option<&str> {
        self.object.as_deref()
    }

    /// Whether the same transaction may succeed when it is run again.
    pub fn is_retryable(&self) -> bool {
        self.kind == ErrorKind::Conflict
    }

    /// The error of the store that is behind it.
    pub fn storage(&self) -> Option<&StorageError> {
        self.source.as_deref()
    }

    /// The message with the line of the statement that it is about, and a mark below the place.
    pub fn show(&self, statement: &str) -> String {
        let mut text = format!("error: {}", self.message);
        if let Some(place) = self.place
            && let Some(line) = statement.lines().nth(place.line as usize - 1)
        {
            let (line, before) = excerpt(line, place.column as usize - 1);
            let blank = line.chars().take(before).map(|c| if c == '\t' { c } else { ' ' });
            text.push_str(&format!("\n{line}\n{}^", blank.collect::<String>()));
        }
        if let Some(hint) = &self.hint {
            text.push_str(&format!("\nhint: {hint}"));
        }
        text
    }
}

/// A line as it is shown, and how many characters of that stand before the place: of a long line what is around the place.
fn excerpt(line: &str, before: usize) -> (String, usize) {
    /// Of characters on each side.
    const AROUND: usize = 60;
    let length = line.chars().count();
    if length <= 2 * AROUND {
        return (line.to_owned(), before);
    }
    let begin = before.saturating_sub(AROUND);
    let mut shown: String = line.chars().skip(begin).take(2 * AROUND).collect();
    if begin + 2 * AROUND < length {
        shown.push('…');
    }
    match begin {
        0 => (shown, before),
        _ => (format!("…{shown}"), before - begin + 1),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(place) = self.place {
            write!(f, " (line {}, column {})", place.line, place.column)?;
        }
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<StorageError> for Error {
    fn from(error: StorageError) -> Self {
        let (kind, message) = (kind_of(&error), error.to_string());
        Self { kind, message, place: None, hint: None, object: None, source: Some(Box::new(error)) }
    }
}

fn kind_of(error: &StorageError) -> ErrorKind {
    match error {
        StorageError::Conflict(_) | StorageError::Lock(_) => ErrorKind::Conflict,
        StorageError::Exists(_) => ErrorKind::Constraint,
        StorageError::NotFound(_) => ErrorKind::NotFound,
        StorageError::Invalid(_) => ErrorKind::Invalid,
        StorageError::Cancelled => ErrorKind::Cancelled,
        _ => ErrorKind::Storage,
    }
}

/// An error on its way through the planner's operators.
pub(crate) fn outer(error: impl Into<Error>) -> DataFusionError {
    DataFusionError::External(Box::new(error.into()))
}
