//! CREATE TABLE … LIKE another, without its indexes and rows.
//!
//! `CREATE TABLE t LIKE other` has its keys, checks and options, too, as in MySQL. `CREATE TABLE t (LIKE other)` has its columns alone, as
//! in PostgreSQL: their names, types and NOT NULL, and their defaults if it says so.

use ambo::{TableDefinition, qualify};
use datafusion::sql::sqlparser::ast::{CreateTableLikeDefaults, CreateTableLikeKind, ObjectName};

use super::length;
use crate::{
    Connection, Error, Result,
    databases::table_anywhere,
    foreign_keys::is_kept_text,
    hidden::{is_hidden, seen},
    parse::parse_expression,
};

pub(super) fn table(
    connection: &Connection,
    name: &str,
    like: &CreateTableLikeKind,
) -> Result<TableDefinition> {
    match like {
        CreateTableLikeKind::Plain(like) if like.defaults.is_none() => whole(connection, name, &like.name),
        CreateTableLikeKind::Plain(_) => Err(Error::invalid("LIKE copies defaults")
            .with_hint("CREATE TABLE t (LIKE other EXCLUDING DEFAULTS) copies columns alone")),
        CreateTableLikeKind::Parenthesized(like) => {
            let with_defaults = matches!(like.defaults, Some(CreateTableLikeDefaults::Including));
            columns(connection, name, &like.name, with_defaults)
        }
    }
}

fn columns(
    connection: &Connection,
    name: &str,
    like: &ObjectName,
    with_defaults: bool,
) -> Result<TableDefinition> {
    let other = table_anywhere(connection, like)?;
    let other = other.definition();
    let (storage, records) = super::new_table(connection);
    let mut table = TableDefinition::new(qualify(name)?).storage(storage).records(records);
    table.columns = seen(other).map(|place| other.columns[place].clone()).collect();
    for column in &mut table.columns {
        if !with_defaults || column.generated().is_some() {
            (column.default, column.default_expression) = (None, None);
        }
    }
    let is_length = |check: &&ambo::Check| {
        parse_expression(&check.expression).is_ok_and(|expr| length::limit(&expr).is_some())
    };
    table.checks = other.checks.iter().filter(is_length).cloned().collect();
    Ok(table)
}

fn whole(connection: &Connection, name: &str, like: &ObjectName) -> Result<TableDefinition> {
    let other = table_anywhere(connection, like)?;
    let other = other.definition();
    if other.is_raw() {
        return Ok(TableDefinition::key_value(qualify(name)?).storage(other.storage).log(other.log));
    }
    let mut table = TableDefinition::new(qualify(name)?);
    table.columns.clone_from(&other.columns);
    let names =
        |places: &[usize]| places.iter().map(|place| other.columns[*place].name.as_str()).collect::<Vec<_>>();
    table = table.primary_key(&names(other.primary_columns()));
    if other.has_sort_key() {
        table = table.sort_key(&names(other.sort_columns()));
    }
    table = table.storage(other.storage).log(other.log);
    table.auto_increment = other.auto_increment;
    table.duplicates = other.duplicates;
    table.key_compression = other.key_compression;
    table.record_compression = other.record_compression;
    table.record_dictionary = other.record_dictionary;
    let hidden: Vec<_> = other.columns.iter().filter(|column| is_hidden(column)).collect();
    let is_of_hidden = |check: &ambo::Check| {
        hidden.iter().any(|column| check.name == TableDefinition::generated_check(&column.name))
    };
    let is_own = |check: &&ambo::Check| !is_kept_text(&check.expression) && !is_of_hidden(check);
    table.checks = other.checks.iter().filter(is_own).cloned().collect();
    table.comment.clone_from(&other.comment);
    table.records = other.records;
    Ok(table)
}
