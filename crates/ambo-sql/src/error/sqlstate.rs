//! SQLSTATE: five letters and digits that say what is wrong, as the standard and PostgreSQL give them.

use std::sync::LazyLock;

use ambo::Error as StorageError;
use regex::Regex;

use super::{Error, ErrorKind};

/// What messages begin or end with, and what they mean; the first that fits.
const STATES: [(ErrorKind, &str, &str); 38] = [
    (ErrorKind::NotFound, r#"^there is no column "#, "42703"),
    (ErrorKind::NotFound, r#"^there is no (table )?function "#, "42883"),
    (ErrorKind::NotFound, r#"^there is no schema "#, "3F000"),
    (ErrorKind::NotFound, r#"^there is no database "#, "3D000"),
    (ErrorKind::NotFound, r#"^there is no savepoint "#, "3B001"),
    (ErrorKind::NotFound, r#"^there is no prepared statement "#, "26000"),
    (ErrorKind::NotFound, r#"^there is no file "#, "58P01"),
    (ErrorKind::NotFound, r#"^there is no (table|view) "#, "42P01"),
    (ErrorKind::NotFound, r"^not found: (table|view) ", "42P01"),
    (ErrorKind::NotFound, r"^not found: column ", "42703"),
    (ErrorKind::NotFound, r"^not found: schema ", "3F000"),
    (ErrorKind::NotFound, "", "42704"),
    (ErrorKind::Constraint, r" cannot be NULL", "23502"),
    (ErrorKind::Constraint, r"^exists already: schema ", "42P06"),
    (ErrorKind::Constraint, r"^exists already: (table|view|index|sequence) ", "42P07"),
    (ErrorKind::Constraint, r"^exists already: column ", "42701"),
    (ErrorKind::Constraint, r"^exists already: (check|type|function) ", "42710"),
    (ErrorKind::Constraint, r"^there is a (table|view|schema|sequence|function) ", "42P07"),
    (ErrorKind::Constraint, r"^there is a prepared statement ", "42P05"),
    (ErrorKind::Constraint, r#"check (constraint )?""#, "23514"),
    (ErrorKind::Constraint, r"foreign key", "23503"),
    (ErrorKind::Constraint, "", "23505"),
    (ErrorKind::Invalid, r"permission denied(: | for )", "42501"),
    (ErrorKind::Invalid, r"^not supported: ", "0A000"),
    (ErrorKind::Invalid, r"^the transaction is read only", "25006"),
    (ErrorKind::Invalid, r"is attached read only$", "25006"),
    (ErrorKind::Invalid, r"^a transaction is open already|is not done inside of a transaction$", "25001"),
    (ErrorKind::Invalid, r"^no transaction is open", "25P01"),
    (ErrorKind::Invalid, r"out of range|beyond its range", "22003"),
    (ErrorKind::Invalid, r"cannot be read as |is no [a-z ]+$", "22P02"),
    (ErrorKind::Invalid, r"is ambiguous", "42702"),
    (ErrorKind::Invalid, r"^there is no value for the parameter|values were given$", "08P01"),
    (ErrorKind::Invalid, "does not take |cannot be compared|is of type |cannot be cast", "42804"),
    (ErrorKind::Execution, r"^division by zero", "22012"),
    (ErrorKind::Execution, r"out of range|beyond its range|[Oo]verflow", "22003"),
    (ErrorKind::Execution, r"cannot be read as ", "22P02"),
    (ErrorKind::Execution, r"^out of memory", "53200"),
    (ErrorKind::Execution, r"returned more than one row", "21000"),
];

static PATTERNS: LazyLock<Vec<(ErrorKind, Regex, &str)>> = LazyLock::new(|| {
    let pattern = |(kind, pattern, state)| (kind, Regex::new(pattern).expect("the pattern is one"), state);
    STATES.into_iter().map(pattern).collect()
});

/// The state of an error.
pub(super) fn of(error: &Error) -> &'static str {
    match error.storage() {
        Some(StorageError::Lock(message)) if message.contains("deadlock") => return "40P01",
        Some(StorageError::Lock(_)) => return "55P03",
        Some(StorageError::Damaged { .. }) => return "XX001",
        Some(StorageError::DiskFull(_)) => return "53100",
        Some(StorageError::Io { .. } | StorageError::Poisoned(_)) => return "58030",
        Some(StorageError::InUse(_)) => return "55006",
        _ => {}
    }
    let known =
        PATTERNS.iter().find(|(kind, is_like, _)| *kind == error.kind() && is_like.is_match(error.message()));
    if let Some((.., state)) = known {
        return state;
    }
    match error.kind() {
        ErrorKind::Syntax => "42601",
        ErrorKind::NotFound => "42704",
        ErrorKind::Constraint => "23000",
        ErrorKind::Invalid => "42000",
        ErrorKind::Conflict => "40001",
        ErrorKind::Cancelled => "57014",
        ErrorKind::Execution => "22000",
        ErrorKind::Storage => "58000",
    }
}
