//! The statements, a file each or for each kind.

mod alter_table;
mod assignment;
mod cast;
mod check_rows;
mod client_values;
mod column_type;
mod comment;
mod conflict;
mod copy;
mod copy_format;
mod copy_forms;
mod copy_partitions;
mod create_as;
mod create_index;
mod create_table;
mod create_text;
mod definition;
mod delete;
mod drop;
mod evaluate;
mod explain;
mod explain_json;
mod expression;
mod fields;
mod for_update;
mod function;
mod generated;
mod grant;
mod incoming;
mod insert;
mod length;
mod like;
mod load;
mod maintain;
mod merge;
mod merge_returning;
mod merge_short;
mod narrow;
mod options;
mod owner;
mod pragma;
mod prepare;
mod quantity;
mod query;
mod references;
mod returning;
mod role;
mod rules;
mod schema;
mod sequence;
mod set;
mod show;
mod sought;
mod target;
mod transaction;
mod truncate;
mod types;
mod update;
mod user_type;
mod values;
mod view;
mod with_writes;

use ambo::{Definitions, Records, Storage, Table};
use datafusion::{
    common::ScalarValue,
    sql::sqlparser::ast::{self, ObjectName},
};

use crate::{
    Connection, Error, Result, Rows,
    connection::Work,
    databases,
    names::{about_object, object, split},
    parse::{Renamed, Statement},
    planner::find_table,
};

pub(crate) use copy::{from_stream as copy_from_stream, to_stream as copy_to_stream, width as copy_width};
pub(crate) use create_text::{of_kind, table_text, view_text};
pub(crate) use drop::all_indexes;
pub(crate) use expression::refuse_parameters;
pub(crate) use length::limit as length_limit;
pub(crate) use set::{SETTINGS, is_hint, is_of_all, setting};
pub(crate) use show::is_show;
pub use types::stored_literal;
pub(crate) use types::{column_type_in_full, declared, is_serial, literal, type_text};
pub(crate) use with_writes::writes;

pub(crate) use prepare::Prepared;
pub(crate) use target::{Parts, TARGET, item, relation, table_alias};

/// Runs a statement.
pub(crate) fn run(
    connection: &mut Connection,
    statement: Statement,
    params: &[ScalarValue],
) -> Result<Rows<'static>> {
    match statement {
        Statement::CreateTable(create, settings) => {
            connection.whole(|connection| create_table::run(connection, &create, &settings, params))
        }
        Statement::AlterTable(name, settings) => {
            connection.whole(|connection| alter_table::set(connection, &name, &settings))
        }
        Statement::AlterField(alter) => connection.whole(|connection| fields::run(connection, &alter)),
        Statement::Maintain(what) => maintain::run(connection, what),
        Statement::CreateSequence(create) => sequence::create(connection, &create),
        Statement::CreateFunction(create) => function::create(connection, &create),
        Statement::DropFunctions(drop) => function::drop(connection, &drop),
        Statement::CreateType(create) => user_type::create(connection, &create),
        Statement::AlterSequence(alter) => sequence::alter(connection, &alter),
        Statement::Rename { what: Renamed::Index, name, if_exists, to } => {
            create_index::rename(connection, &name, if_exists, &to)
        }
        Statement::Rename { what: Renamed::Sequence, name, if_exists, to } => {
            sequence::rename(connection, &name, if_exists, &to)
        }
        Statement::RenameConstraint { table, if_exists, from, to } => connection
            .whole(|connection| alter_table::rename_constraint(connection, &table, if_exists, &from, &to)),
        Statement::RenameView { name, if_exists, to } => view::rename(connection, &name, if_exists, &to),
        Statement::Attach(attach) => databases::attach(connection, &attach),
        Statement::Detach { name, if_exists } => databases::detach(connection, &name, if_exists),
        Statement::Use(name) => databases::use_database(connection, &name),
        Statement::SetOwner(set) => connection.whole(|connection| owner::run(connection, &set)),
        Statement::AddIdentity(add) => {
            connection.whole(|connection| sequence::add_identity(connection, &add))
        }
        Statement::Grant(grant) => connection.whole(|connection| grant::run(connection, &grant)),
        Statement::Role(of) => connection.whole(|connection| role::run(connection, &of)),
        Statement::Sql(statement) => run_sql(connection, *statement, params),
    }
}

/// Runs a statement of the parser's. Its parameters are numbered.
fn run_sql(
    connection: &mut Connection,
    mut statement: ast::Statement,
    params: &[ScalarValue],
) -> Result<Rows<'static>> {
    use ast::Statement as S;
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
    if let S::Query(query) = &mut statement
        && with_writes::has_writes(query.with.as_ref())
        && let Some(with) = query.with.take()
    {
        return with_writes::run(connection, statement, &with, params);
    }
    match statement {
        S::Query(_) => query::run(connection, statement, params),
        S::Explain { .. } => explain::run(connection, statement, params),
        S::Insert(_) | S::Update(_) | S::Delete(_) | S::Merge(_) => {
            write(connection, statement, None, params)
        }
        S::StartTransaction { .. }
        | S::Commit { .. }
        | S::Rollback { .. }
        | S::Savepoint { .. }
        | S::ReleaseSavepoint { .. } => transaction::run(connection, statement),
        S::Copy { .. } => copy::run(connection, statement, params),
        S::Prepare { name, data_types, statement } => {
            prepare::prepare(connection, &name, data_types, *statement)
        }
        S::Execute { .. } => prepare::execute(connection, statement, params),
        S::Deallocate { name, .. } => prepare::deallocate(connection, &name),
        other => connection.whole(|connection| define(connection, other)),
    }
}

/// Statements about what there is, not about rows.
fn define(connection: &mut Connection, statement: ast::Statement) -> Result<Rows<'static>> {
    use ast::Statement as S;
    match statement {
        S::Drop { .. } => drop::run(connection, statement),
        S::AlterTable(alter) => alter_table::run(connection, alter),
        S::AlterType(alter) => user_type::alter(connection, &alter),
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
        S::ExplainTable { .. } => show::run(connection, &statement),
        statement if show::is_show(&statement) => show::run(connection, &statement),
        S::Set(set) => set::run(connection, &set),
        S::Pragma { name, value, .. } => pragma::run(connection, &name, value.as_ref()),
        S::Reset(reset) => set::reset(connection, &reset),
        S::Vacuum(vacuum) => maintain::vacuum(connection, &vacuum),
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
    if let Some(with) = with.filter(|with| with_writes::has_writes(Some(with))) {
        return with_writes::run(connection, statement, with, params);
    }
    match &statement {
        S::Insert(of) => insert::run(connection, of, with, params),
        S::Update(of) => load::write(connection, params, "UPDATE", |work| update::apply(work, of, with)),
        S::Delete(of) => load::write(connection, params, "DELETE", |work| delete::apply(work, of, with)),
        S::Merge(of) => Ok(connection.write(params, |work| merge::apply(work, of, with))?.rows("MERGE")),
        other => Err(Error::invalid(format!("not supported: {other}"))),
    }
}

/// Runs an UPDATE or a DELETE as a part of another statement.
pub(crate) fn write_within(work: &mut Work<'_>, statement: &ast::Statement) -> Result<()> {
    let done = match statement {
        ast::Statement::Update(of) => update::apply(work, of, None)?,
        ast::Statement::Delete(of) => delete::apply(work, of, None)?,
        other => return Err(Error::invalid(format!("not supported here: {other}"))),
    };
    match done {
        load::Outcome::Written(_) => Ok(()),
        load::Outcome::Bulk(_) => unreachable!("a statement within another is no transaction of its own"),
    }
}

/// The storage of a new table, and what its records are like, where nothing is said.
fn new_table(connection: &Connection) -> (Storage, Records) {
    let engine = connection.engine();
    let storage = engine.settings.storage();
    let records = if storage.traits().records { engine.options.default_records } else { Records::default() };
    (storage, records)
}

/// The schema of what is to be created.
///
/// # Errors
/// [`crate::ErrorKind::NotFound`] with the place and the nearest name.
fn require_schema(db: &Definitions<'_>, name: &ObjectName) -> Result<()> {
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
/// As [`find_table`], with the place.
fn table(db: &Definitions<'_>, name: &ObjectName) -> Result<Table> {
    find_table(db, &object(name)?).map_err(|error| about_object(error, name))
}
