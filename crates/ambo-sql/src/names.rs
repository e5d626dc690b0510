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

/// The name of a table: `schema.table`, or `table` for the one of the default schema.
///
/// # Errors
/// A name of more than two parts.
pub(crate) fn object(name: &ObjectName) -> Result<String> {
    let parts: Option<Vec<_>> = name.0.iter().map(|part| part.as_ident().map(ident)).collect();
    match parts.as_deref() {
        Some([table]) => Ok(table.clone()),
        Some([schema, table]) => Ok(format!("{schema}.{table}")),
        _ => {
            Err(Error::invalid(format!("\"{name}\" is no name of a table: those are table or schema.table")))
        }
    }
}

/// The name of the table without its schema.
pub(crate) fn last(qualified: &str) -> &str {
    qualified.split_once('.').map_or(qualified, |(_, name)| name)
}
