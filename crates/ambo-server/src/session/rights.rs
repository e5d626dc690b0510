//! What a session may do.

use ambo_sql::{Error, ErrorKind, PreparedStatement, Result};

/// What cares for the whole database or changes what all its sessions share, or writes files.
const OF_ALL: [&str; 9] =
    ["analyze", "attach", "checkpoint", "compact", "copy", "detach", "pragma", "use", "vacuum"];

/// Whether a statement is one that is not part of a transaction.
pub(crate) fn is_maintenance(text: &str) -> bool {
    let word =
        text.split(|c: char| !c.is_ascii_alphabetic()).find(|word| !word.is_empty()).unwrap_or_default();
    OF_ALL.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// # Errors
/// A role that may only read would change something.
pub(super) fn check(statement: &PreparedStatement, text: &str, is_read_only: bool) -> Result<()> {
    match is_read_only && (statement.writes() || is_maintenance(text)) {
        true => Err(Error::new(ErrorKind::Invalid, "the transaction is read only: this role may only read")),
        false => Ok(()),
    }
}
