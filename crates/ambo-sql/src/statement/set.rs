//! SET and RESET: settings of the open database, for all its connections until it is closed.

use ambo::Storage;
use datafusion::sql::sqlparser::ast::{self, Expr, Reset, ResetStatement, Value};

use super::options;
use crate::{
    Connection, Error, Result, Rows,
    names::{ident, written},
};

/// The settings, each with what it is.
pub(super) const SETTINGS: [(&str, &str); 3] = [
    ("default_storage", "the storage of tables whose CREATE TABLE does not say"),
    (
        "memory_limit",
        "bytes that the operators of all statements may use together; said when the database is opened",
    ),
    ("threads", "parts that the work of a statement is split into"),
];

/// The value of a setting.
pub(super) fn value(connection: &Connection, name: &str) -> Result<String> {
    let engine = connection.engine();
    Ok(match name {
        "threads" => engine.settings.threads().to_string(),
        "default_storage" => engine.settings.storage().name().to_owned(),
        "memory_limit" => engine.options.parts().1.to_string(),
        other => return Err(Error::not_found("setting", other, SETTINGS.iter().map(|(name, _)| *name))),
    })
}

pub(super) fn run(connection: &Connection, set: &ast::Set) -> Result<Rows<'static>> {
    let (name, values) = match set {
        ast::Set::SingleAssignment {
            variable,
            values,
            scope: None | Some(ast::ContextModifier::Global),
            ..
        } => (written(variable)?, values),
        other => {
            return Err(Error::invalid(format!("not supported: {other}"))
                .with_hint("a setting is for all connections to the open database: SET threads = 4"));
        }
    };
    let [given] = &values[..] else {
        return Err(Error::invalid(format!("setting {name} has one value")));
    };
    let given = match given {
        Expr::Identifier(name) => ident(name),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => text.clone(),
            other => other.to_string(),
        },
        other => other.to_string(),
    };
    put(connection, &name, Some(&given))?;
    Ok(Rows::done("SET", None))
}

pub(super) fn reset(connection: &Connection, reset: &ResetStatement) -> Result<Rows<'static>> {
    match &reset.reset {
        Reset::ALL => {
            ["threads", "default_storage"].iter().try_for_each(|name| put(connection, name, None))?
        }
        Reset::ConfigurationParameter(name) => put(connection, &written(name)?, None)?,
    }
    Ok(Rows::done("RESET", None))
}

/// Sets a setting, or to what the database was opened with.
fn put(connection: &Connection, name: &str, to: Option<&str>) -> Result<()> {
    let engine = connection.engine();
    let (threads, _, storage): (usize, usize, Storage) = engine.options.parts();
    match (name, to) {
        (_, Some(to)) if to.eq_ignore_ascii_case("default") => return put(connection, name, None),
        ("threads", None) => engine.settings.set_threads(threads),
        ("threads", Some(to)) => match to.parse() {
            Ok(threads @ 1..=1024) => engine.settings.set_threads(threads),
            _ => return Err(Error::invalid(format!("threads are a number from 1 to 1024, not {to}"))),
        },
        ("default_storage", None) => engine.settings.set_storage(storage),
        ("default_storage", Some(to)) => engine.settings.set_storage(options::storage(to)?),
        ("memory_limit", _) => {
            return Err(Error::invalid("the memory limit is said when the database is opened")
                .with_hint("SqlOptions::memory_bytes"));
        }
        (other, _) => {
            return Err(Error::not_found("setting", other, SETTINGS.iter().map(|(name, _)| *name)));
        }
    }
    Ok(())
}
