//! BEGIN, COMMIT, ROLLBACK, SAVEPOINT.

use datafusion::sql::sqlparser::ast::{
    self, TransactionAccessMode, TransactionIsolationLevel, TransactionMode,
};

use crate::{Connection, Error, Result, Rows, connection::Isolation, names::ident};

pub(super) fn run(connection: &mut Connection, statement: ast::Statement) -> Result<Rows<'static>> {
    use ast::Statement as S;
    let tag = match statement {
        S::StartTransaction { modes, modifier: None, statements, exception: None, .. }
            if statements.is_empty() =>
        {
            begin(connection, &modes)?;
            "BEGIN"
        }
        S::Commit { chain: false, modifier: None, .. } => {
            connection.commit()?;
            "COMMIT"
        }
        S::Rollback { chain: false, savepoint: None } => {
            connection.rollback()?;
            "ROLLBACK"
        }
        S::Rollback { chain: false, savepoint: Some(name) } => {
            connection.rollback_to(&ident(&name))?;
            "ROLLBACK"
        }
        S::Savepoint { name } => {
            connection.savepoint(&ident(&name))?;
            "SAVEPOINT"
        }
        S::ReleaseSavepoint { name } => {
            connection.release(&ident(&name))?;
            "RELEASE"
        }
        other => return Err(Error::invalid(format!("not supported: {other}"))),
    };
    Ok(Rows::done(tag, None))
}

fn begin(connection: &mut Connection, modes: &[TransactionMode]) -> Result<()> {
    let (mut read_only, mut isolation) = (false, Isolation::Snapshot);
    for mode in modes {
        match mode {
            TransactionMode::AccessMode(mode) => read_only = *mode == TransactionAccessMode::ReadOnly,
            TransactionMode::IsolationLevel(level) => match level {
                TransactionIsolationLevel::Serializable => isolation = Isolation::Serializable,
                TransactionIsolationLevel::Snapshot | TransactionIsolationLevel::RepeatableRead => {
                    isolation = Isolation::Snapshot;
                }
                // What is not committed is seen by nobody.
                TransactionIsolationLevel::ReadCommitted | TransactionIsolationLevel::ReadUncommitted => {
                    isolation = Isolation::ReadCommitted;
                }
            },
        }
    }
    connection.begin(read_only, isolation)
}
