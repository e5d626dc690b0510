//! Names of tables as statements write them.

use datafusion::sql::sqlparser::ast::{Ident, ObjectName};

use crate::{Error, Result};

/// A name as it is kept: as it stands between quotes, or in small letters.
pub(crate) fn ident(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    }
}

/// The name of a table: `schema.table`, or `table` for the one of the default schema. One that has a dot itself has its schema before it:
/// `main.a.b`.
///
/// # Errors
/// A name of more than two parts, or a schema with a dot, which none has.
pub(crate) fn object(name: &ObjectName) -> Result<String> {
    let parts: Option<Vec<_>> = name.0.iter().map(|part| part.as_ident().map(ident)).collect();
    match parts.as_deref() {
        Some([table]) => Ok(of_default_schema(table)),
        Some([schema, _]) if schema.contains('.') => {
            Err(about_object(Error::not_found("schema", schema, std::iter::empty()), name))
        }
        Some([schema, table]) => Ok(format!("{schema}.{table}")),
        _ => {
            Err(Error::invalid(format!("\"{name}\" is no name of a table: those are table or schema.table")))
        }
    }
}

/// The name of a table of the default schema, with the schema where it would be taken for another's.
pub(crate) fn of_default_schema(table: &str) -> String {
    match table.contains('.') {
        true => format!("{}.{table}", ambo::DEFAULT_SCHEMA),
        false => table.to_owned(),
    }
}

/// A name of something that is no table, as it is written: its parts with dots between them.
///
/// # Errors
/// A part is no name.
pub(crate) fn written(name: &ObjectName) -> Result<String> {
    let parts: Option<Vec<_>> = name.0.iter().map(|part| part.as_ident().map(ident)).collect();
    match parts {
        Some(parts) => Ok(parts.join(".")),
        None => Err(Error::invalid(format!("{name} is no name"))),
    }
}

/// The name of the table without its schema.
pub(crate) fn last(qualified: &str) -> &str {
    split(qualified).1
}

/// A qualified name as users see it: without the default schema.
pub(crate) fn shown(qualified: &str) -> &str {
    qualified.strip_prefix("main.").unwrap_or(qualified)
}

/// The schema of a name, and the name in it.
pub(crate) fn split(qualified: &str) -> (&str, &str) {
    qualified.split_once('.').unwrap_or((ambo::DEFAULT_SCHEMA, qualified))
}

/// A part of a name as statements have to write it.
pub(crate) fn quoted(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let is_keyword = || {
        let upper = name.to_ascii_uppercase();
        datafusion::sql::sqlparser::keywords::ALL_KEYWORDS.binary_search(&upper.as_str()).is_ok()
    };
    match plain && !is_keyword() {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// A qualified name as statements have to write it.
pub(crate) fn quoted_object(qualified: &str) -> String {
    match split(qualified) {
        (ambo::DEFAULT_SCHEMA, name) => quoted(name),
        (schema, name) => format!("{}.{}", quoted(schema), quoted(name)),
    }
}

/// An error that is about a name in the statement.
pub(crate) fn about(error: impl Into<Error>, ident: &Ident) -> Error {
    let start = ident.span.start;
    error.into().at_start(start.line, start.column)
}

/// An error that is about the name of a table or the like in the statement.
pub(crate) fn about_object(error: impl Into<Error>, name: &ObjectName) -> Error {
    match name.0.first().and_then(|part| part.as_ident()) {
        Some(ident) => about(error, ident),
        None => error.into(),
    }
}
