//! The statements, a file each or for each kind.

mod create_table;
mod drop;
mod insert;
mod query;
mod transaction;

use datafusion::{common::ScalarValue, sql::sqlparser::ast};

use crate::{Connection, Error, Result, Rows, parse::Statement};

/// A statement that was named by PREPARE.
pub(crate) struct Prepared;

/// Runs a statement.
pub(crate) fn run(
    connection: &mut Connection,
    statement: Statement,
    params: &[ScalarValue],
) -> Result<Rows<'static>> {
    match statement {
        Statement::CreateTable(create, settings) => create_table::run(connection, *create, settings),
        Statement::AlterTable(..) => Err(Error::invalid("ALTER TABLE … SET is not supported yet")),
        Statement::Sql(statement) => run_sql(connection, *statement, params),
    }
}

fn run_sql(
    connection: &mut Connection,
    statement: ast::Statement,
    params: &[ScalarValue],
) -> Result<Rows<'static>> {
    use ast::Statement as S;
    match statement {
        S::Query(_) | S::Explain { .. } => query::run(connection, statement, params),
        S::Insert(insert) => insert::run(connection, insert, params),
        S::StartTransaction { .. }
        | S::Commit { .. }
        | S::Rollback { .. }
        | S::Savepoint { .. }
        | S::ReleaseSavepoint { .. } => transaction::run(connection, statement),
        S::Drop { .. } => drop::run(connection, statement),
        other => {
            let text = other.to_string();
            let words: Vec<_> = text.split_whitespace().take(3).collect();
            Err(Error::invalid(format!("not supported: {} …", words.join(" "))))
        }
    }
}
