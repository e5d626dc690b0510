//! Errors in the classes that languages have exceptions for.

use std::{
    fmt,
    ops::{Deref, DerefMut},
    panic::{AssertUnwindSafe, catch_unwind},
};

#[cfg(feature = "sql")]
use ambo_sql::ErrorKind;
#[cfg(feature = "sql")]
pub use ambo_sql::Place;

use crate::storage;

/// A place in the text of a statement; both count from 1, columns in characters.
#[cfg(not(feature = "sql"))]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The line.
    pub line: u64,
    /// The character in the line.
    pub column: u64,
}

/// The result of what a face does.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of thing is wrong. What is caught by one exception somewhere is one class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Class {
    /// The text is no SQL.
    Syntax,
    /// Something that is named is not there.
    NotFound,
    /// The request cannot be done as it is meant.
    Request,
    /// It is understood, and not supported.
    NotSupported,
    /// A value is out of range, or no value of its type.
    Data,
    /// A rule of a table forbids it, or a name is taken.
    Integrity,
    /// Another transaction was in the way: the same one may succeed when it is run again.
    Conflict,
    /// It was interrupted.
    Cancelled,
    /// No space is left.
    DiskFull,
    /// Somebody else has the database open, or it was opened before a fork.
    InUse,
    /// It refuses writes since an earlier failure.
    Poisoned,
    /// What is on the disk is not what was written.
    Damaged,
    /// What is used was closed.
    Closed,
    /// Something else went wrong on the way: memory, a file.
    Operational,
    /// A fault of Ambo's own.
    Internal,
}

/// What went wrong. It derefs to its parts.
#[derive(Clone, Debug)]
pub struct Error(Box<Parts>);

/// What is known of an error.
#[derive(Clone, Debug)]
pub struct Parts {
    /// What kind of thing.
    pub class: Class,
    /// A sentence.
    pub message: String,
    /// Five letters and digits, as the standard and PostgreSQL have them.
    pub sqlstate: &'static str,
    /// Where in the statement.
    pub place: Option<Place>,
    /// What may help.
    pub hint: Option<String>,
    /// The name that is not there.
    pub object: Option<String>,
    /// The statement, if it is about one.
    pub statement: Option<String>,
}

impl Error {
    /// An error of a class, with the SQLSTATE that such errors have.
    pub fn new(class: Class, message: impl Into<String>) -> Self {
        let sqlstate = match class {
            Class::Syntax => "42601",
            Class::NotFound => "42704",
            Class::Request => "42000",
            Class::NotSupported => "0A000",
            Class::Data => "22000",
            Class::Integrity => "23000",
            Class::Conflict => "40001",
            Class::Cancelled => "57014",
            Class::DiskFull => "53100",
            Class::InUse => "55006",
            Class::Poisoned => "58030",
            Class::Damaged => "XX001",
            Class::Closed => "08003",
            Class::Operational => "58000",
            Class::Internal => "XX000",
        };
        Self(Box::new(Parts {
            class,
            message: message.into(),
            sqlstate,
            place: None,
            hint: None,
            object: None,
            statement: None,
        }))
    }

    /// The same with what may help.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same, of a statement.
    #[must_use]
    pub fn of(mut self, statement: &str) -> Self {
        self.statement = Some(statement.to_owned());
        self
    }

    /// Whether the same transaction may succeed when it is run again.
    pub fn is_retryable(&self) -> bool {
        self.class == Class::Conflict
    }

    /// The message, the line of the statement with a mark below the place, and what may help.
    pub fn show(&self) -> String {
        let mut text = self.message.clone();
        #[cfg(feature = "sql")]
        if let (Some(place), Some(statement)) = (self.place, &self.statement) {
            let error = ambo_sql::Error::new(ErrorKind::Syntax, "");
            // The line with its mark is what stands behind the first line of what SQL shows.
            let shown = error.at(place).show(statement);
            if let Some((_, line)) = shown.split_once('\n') {
                text.push('\n');
                text.push_str(line);
            }
        }
        if let Some(hint) = &self.hint {
            text.push_str("\nhint: ");
            text.push_str(hint);
        }
        text
    }
}

impl Deref for Error {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl DerefMut for Error {
    fn deref_mut(&mut self) -> &mut Parts {
        &mut self.0
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.show())
    }
}

impl std::error::Error for Error {}

#[cfg(feature = "sql")]
impl From<ambo_sql::Error> for Error {
    fn from(error: ambo_sql::Error) -> Self {
        let sqlstate = error.sqlstate();
        let class = match (error.storage(), error.kind()) {
            (Some(storage), kind) => storage::class(storage).unwrap_or_else(|| of_kind(kind, sqlstate)),
            (None, kind) => of_kind(kind, sqlstate),
        };
        Self(Box::new(Parts {
            class,
            message: error.message().to_owned(),
            sqlstate,
            place: error.place(),
            hint: error.hint().map(str::to_owned),
            object: error.object().map(str::to_owned),
            statement: None,
        }))
    }
}

impl From<ambo::Error> for Error {
    #[cfg(feature = "sql")]
    fn from(error: ambo::Error) -> Self {
        ambo_sql::Error::from(error).into()
    }

    #[cfg(not(feature = "sql"))]
    fn from(error: ambo::Error) -> Self {
        storage::error(&error)
    }
}

#[cfg(feature = "sql")]
fn of_kind(kind: ErrorKind, sqlstate: &str) -> Class {
    match kind {
        ErrorKind::Syntax => Class::Syntax,
        ErrorKind::NotFound => Class::NotFound,
        ErrorKind::Constraint => Class::Integrity,
        ErrorKind::Conflict => Class::Conflict,
        ErrorKind::Cancelled => Class::Cancelled,
        _ if sqlstate.starts_with("22") || sqlstate.starts_with("21") => Class::Data,
        ErrorKind::Invalid if sqlstate == "0A000" => Class::NotSupported,
        ErrorKind::Invalid => Class::Request,
        _ => Class::Operational,
    }
}

/// Does something whose panics are errors: nothing unwinds into another language.
///
/// # Errors
/// What it returns, or [`Class::Internal`].
pub fn caught<T>(act: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        let text = text.unwrap_or_else(|| "something that is no text".to_owned());
        Err(Error::new(Class::Internal, format!("a fault of Ambo's own: {text}"))
            .with_hint("close the connection, and report what was done"))
    })
}

#[cfg(all(test, feature = "sql"))]
mod tests {
    use super::*;

    fn of(statement: &str) -> Error {
        let db = ambo_sql::Database::in_memory().unwrap();
        db.sql("create table t (id int primary key)").unwrap();
        db.sql("insert into t values (1)").unwrap();
        let error = db.sql(statement).and_then(|mut rows| rows.try_for_each(|row| row.map(drop)));
        Error::from(error.unwrap_err()).of(statement)
    }

    #[test]
    fn errors_of_statements_have_classes() {
        assert_eq!(of("selekt 1").class, Class::Syntax);
        assert_eq!(of("select * from u").class, Class::NotFound);
        assert_eq!(of("insert into t values (1)").class, Class::Integrity);
        assert_eq!(of("select 1 / (id - 1) from t").class, Class::Data);
        assert_eq!(of("commit").class, Class::Request);
    }

    #[test]
    fn what_is_shown_has_the_line_and_the_place() {
        let error = of("select id\nfrom missing");
        let shown = error.show();
        assert!(shown.contains("\nfrom missing\n     ^"), "{shown}");
        assert!(!shown.starts_with("error"), "{shown}");
    }

    #[test]
    fn panics_are_errors() {
        let error = caught(|| -> Result<()> { panic!("of {}", "a test") }).unwrap_err();
        assert_eq!((error.class, error.sqlstate), (Class::Internal, "XX000"));
        assert!(error.message.contains("of a test"));
    }
}
