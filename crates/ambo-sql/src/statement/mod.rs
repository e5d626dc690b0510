//! The statements, a file each or for each kind.

mod assignment;
mod conflict;
mod copy;
mod create_table;
mod delete;
mod drop;
mod evaluate;
mod for_update;
mod incoming;
mod insert;
mod load;
mod merge;
mod prepare;
mod query;
mod returning;
mod target;
mod transaction;
mod update;
mod values;

use datafusion::{common::ScalarValue, sql::sqlparser::ast};

use crate::{Connection, Error, Result, Rows, parse::Statement, planner::number_parameters};

pub(crate) use prepare::Prepared;

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
    mut statement: ast::Statement,
    params: &[ScalarValue],
) -> Result<Rows<'static>> {
    use ast::Statement as S;
    if let S::Query(_) | S::Insert(_) | S::Update(_) | S::Delete(_) | S::Merge(_) | S::Copy { .. } =
        &statement
    {
        number_parameters(&mut statement)?;
    }
    match (for_update::locking_queries(&statement), &statement) {
        // What is prepared is looked at when it is run.
        (0, _) | (_, S::Prepare { .. }) => {}
        (1, S::Query(query)) if !query.locks.is_empty() => {
            let locked = connection.write(params, |work| for_update::apply(work, query))?;
            return Ok(locked.rows("SELECT").with_tag("SELECT", None));
        }
        _ => {
            return Err(Error::invalid(
                "FOR UPDATE stands at the end of a SELECT of its own, not inside of another statement",
            ));
        }
    }
    if let S::Query(query) = &mut statement
        && let ast::SetExpr::Insert(inner)
        | ast::SetExpr::Update(inner)
        | ast::SetExpr::Delete(inner)
        | ast::SetExpr::Merge(inner) = &*query.body
    {
        return write(connection, inner.clone(), query.with.take(), params);
    }
    match statement {
        S::Query(_) | S::Explain { .. } => query::run(connection, statement, params),
        S::Insert(_) | S::Update(_) | S::Delete(_) | S::Merge(_) => {
            write(connection, statement, None, params)
        }
        S::StartTransaction { .. }
        | S::Commit { .. }
        | S::Rollback { .. }
        | S::Savepoint { .. }
        | S::ReleaseSavepoint { .. } => transaction::run(connection, statement),
        S::Drop { .. } => drop::run(connection, statement),
        S::Copy { .. } => copy::run(connection, statement, params),
        S::Prepare { name, data_types, statement } => {
            prepare::prepare(connection, &name, data_types, *statement)
        }
        S::Execute { .. } => prepare::execute(connection, statement, params),
        S::Deallocate { name, .. } => prepare::deallocate(connection, &name),
        other => {
            let text = other.to_string();
            let words: Vec<_> = text.split_whitespace().take(3).collect();
            Err(Error::invalid(format!("not supported: {} …", words.join(" "))))
        }
    }
}

/// A statement that writes rows, with the CTEs before it.
fn write(
    connection: &mut Connection,
    statement: ast::Statement,
    with: Option<ast::With>,
    params: &[ScalarValue],
) -> Result<Rows<'static>> {
    use ast::Statement as S;
    let with = with.as_ref();
    match &statement {
        S::Insert(of) => insert::run(connection, of, with, params),
        S::Update(of) => Ok(connection.write(params, |work| update::apply(work, of, with))?.rows("UPDATE")),
        S::Delete(of) => Ok(connection.write(params, |work| delete::apply(work, of, with))?.rows("DELETE")),
        S::Merge(of) => Ok(connection.write(params, |work| merge::apply(work, of, with))?.rows("MERGE")),
        other => Err(Error::invalid(format!("not supported: {other}"))),
    }
}
