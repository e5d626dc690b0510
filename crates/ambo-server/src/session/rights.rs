//! What a session may do.

use ambo_sql::{Error, ErrorKind, PreparedStatement, Result};

/// # Errors
/// A role that may only read would change something, or write files.
pub(super) fn check(statement: &PreparedStatement, is_read_only: bool) -> Result<()> {
    match is_read_only && (statement.writes() || statement.is_maintenance()) {
        true => Err(Error::new(ErrorKind::Invalid, "the transaction is read only: this role may only read")),
        false => Ok(()),
    }
}
