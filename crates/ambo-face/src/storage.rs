//! Errors of the store as those of faces, also where there is no SQL.

use crate::Class;
#[cfg(any(test, not(feature = "sql")))]
use crate::Error;

/// The class of an error of the store, where that says more than what SQL knows of it.
pub(crate) fn class(error: &ambo::Error) -> Option<Class> {
    Some(match error {
        ambo::Error::DiskFull(_) => Class::DiskFull,
        ambo::Error::InUse(_) => Class::InUse,
        ambo::Error::Poisoned(_) => Class::Poisoned,
        ambo::Error::Damaged { .. } => Class::Damaged,
        ambo::Error::Io { .. } => Class::Operational,
        _ => return None,
    })
}

/// An error of the store, as SQL would tell it.
#[cfg(any(test, not(feature = "sql")))]
pub(crate) fn error(error: &ambo::Error) -> Error {
    let message = error.to_string();
    let is_of = |beginning: &str| message.starts_with(beginning);
    let (other, sqlstate) = match error {
        ambo::Error::Conflict(_) => (Class::Conflict, "40001"),
        ambo::Error::Lock(why) if why.contains("deadlock") => (Class::Conflict, "40P01"),
        ambo::Error::Lock(_) => (Class::Conflict, "55P03"),
        ambo::Error::NotFound(_) if is_of("not found: table ") => (Class::NotFound, "42P01"),
        ambo::Error::NotFound(_) if is_of("not found: column ") => (Class::NotFound, "42703"),
        ambo::Error::NotFound(_) if is_of("not found: schema ") => (Class::NotFound, "3F000"),
        ambo::Error::NotFound(_) => (Class::NotFound, "42704"),
        ambo::Error::Exists(_) if is_of("exists already: table ") => (Class::Integrity, "42P07"),
        ambo::Error::Exists(_) if is_of("exists already: schema ") => (Class::Integrity, "42P06"),
        ambo::Error::Exists(_) => (Class::Integrity, "23505"),
        ambo::Error::Cancelled => (Class::Cancelled, "57014"),
        ambo::Error::Damaged { .. } => (Class::Damaged, "XX001"),
        ambo::Error::DiskFull(_) => (Class::DiskFull, "53100"),
        ambo::Error::InUse(_) => (Class::InUse, "55006"),
        ambo::Error::Io { .. } | ambo::Error::Poisoned(_) => (Class::Operational, "58030"),
        ambo::Error::Invalid(_) => (Class::Request, "42000"),
        _ => (Class::Operational, "58000"),
    };
    let mut told = Error::new(class(error).unwrap_or(other), message);
    told.sqlstate = sqlstate;
    told
}

#[cfg(all(test, feature = "sql"))]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_as_sql_tells_them() {
        let text = |text: &str| text.to_owned();
        let errors = [
            ambo::Error::Conflict(text("row 1")),
            ambo::Error::Lock(text("a deadlock")),
            ambo::Error::Lock(text("after 5 s")),
            ambo::Error::Invalid(text("a key of 70000 bytes")),
            ambo::Error::NotFound(text("table \"t\"")),
            ambo::Error::NotFound(text("column \"c\"")),
            ambo::Error::NotFound(text("schema \"s\"")),
            ambo::Error::NotFound(text("row 7 of a key")),
            ambo::Error::Exists(text("table \"t\"")),
            ambo::Error::Exists(text("schema \"s\"")),
            ambo::Error::Exists(text("a row with this key")),
            ambo::Error::damaged("pages", 4096, "a checksum"),
            ambo::Error::DiskFull(text("writing")),
            ambo::Error::Io { what: text("reading"), source: std::io::ErrorKind::NotFound.into() },
            ambo::Error::Poisoned(text("a sync failed")),
            ambo::Error::InUse(text("by process 7")),
            ambo::Error::Cancelled,
        ];
        for store in errors {
            let here = error(&store);
            let there = Error::from(store);
            assert_eq!(
                (here.class, here.sqlstate, &here.message),
                (there.class, there.sqlstate, &there.message)
            );
        }
    }
}
