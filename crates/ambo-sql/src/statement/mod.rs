//! The statements, a file each or for each kind.

mod alter_table;
mod check_rows;
mod comment;
mod create_as;
mod create_index;
mod create_table;
mod create_text;
mod definition;
mod drop;
mod expression;
mod insert;
mod maintain;
mod options;
mod query;
mod rules;
mod schema;
mod set;
mod show;
mod transaction;
mod truncate;
mod types;
mod view;

use ambo::{Database, Table};
use datafusion::{
    common::ScalarValue,
    sql::sqlparser::ast::{self, ObjectName},
};

use crate::{
    Connection, Error, Result, Rows,
    names::{about_object, object, shown, split},
    parse::Statement,
};

pub(crate) use types::{literal, type_text};

/// A statement that was named by PREPARE.
pub(crate) struct Prepared;

/// Runs a statement.
pub(crate) fn run(
    connection: &mut Connection,
    statement: Statement,
    params: &[ScalarValue],
) -> Result<Rows<'static>> {
    match statement {
        Statement::CreateTable(create, settings) => create_table::run(connection, &create, &settings),
        Statement::AlterTable(name, settings) => alter_table::set(connection, &name, &settings),
        Statement::Maintain(what) => maintain::run(connection, what),
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
        other => define(connection, other),
    }
}

/// Statements about what there is, not about rows.
fn define(connection: &mut Connection, statement: ast::Statement) -> Result<Rows<'static>> {
    use ast::Statement as S;
    match statement {
        S::Drop { .. } => drop::run(connection, statement),
        S::AlterTable(alter) => alter_table::run(connection, alter),
        S::CreateIndex(create) => create_index::run(connection, &create),
        S::CreateView(create) => view::create(connection, &create),
        S::AlterView { name, columns, query, with_options } if with_options.is_empty() => {
            view::alter(connection, &name, &columns, &query)
        }
        S::CreateSchema { schema_name, if_not_exists, .. } => {
            schema::create(connection, &schema_name, if_not_exists)
        }
        S::Truncate(truncate) => truncate::run(connection, &truncate),
        S::Comment { object_type, object_name, comment, if_exists, .. } => {
            comment::run(connection, object_type, &object_name, comment.as_deref(), if_exists)
        }
        S::ShowTables { .. }
        | S::ShowViews { .. }
        | S::ShowColumns { .. }
        | S::ShowSchemas { .. }
        | S::ShowDatabases { .. }
        | S::ShowCreate { .. }
        | S::ShowVariable { .. }
        | S::ShowVariables { .. }
        | S::ExplainTable { .. } => show::run(connection, &statement),
        S::Set(set) => set::run(connection, &set),
        S::Reset(reset) => set::reset(connection, &reset),
        S::Vacuum(vacuum) => maintain::vacuum(connection, &vacuum),
        other => {
            let text = other.to_string();
            let words: Vec<_> = text.split_whitespace().take(3).collect();
            Err(Error::invalid(format!("not supported: {} …", words.join(" "))))
        }
    }
}

/// The schema of what is to be created.
///
/// # Errors
/// [`crate::ErrorKind::NotFound`] with the place and the nearest name.
fn require_schema(db: &Database, name: &ObjectName) -> Result<()> {
    let wanted = object(name)?;
    let (schema, _) = split(&wanted);
    let known = db.schemas();
    match known.iter().any(|known| known == schema) {
        true => Ok(()),
        false => {
            let error = Error::not_found("schema", schema, known.iter().map(String::as_str));
            Err(about_object(error, name))
        }
    }
}

/// The table that a statement names.
///
/// # Errors
/// [`crate::ErrorKind::NotFound`] with the place and the nearest name.
fn table(db: &Database, name: &ObjectName) -> Result<Table> {
    let wanted = object(name)?;
    let found = match db.table(&wanted) {
        Err(ambo::Error::NotFound(_)) => match ambo::qualify(&wanted)? {
            qualified if db.views().iter().any(|view| view.name == qualified) => {
                Err(Error::invalid(format!("\"{wanted}\" is a view, not a table")))
            }
            _ => {
                let known = db.tables();
                Err(Error::not_found("table", &wanted, known.iter().map(|name| shown(name))))
            }
        },
        found => found.map_err(Error::from),
    };
    found.map_err(|error| about_object(error, name))
}
