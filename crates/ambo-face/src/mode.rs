//! What rows that are ingested are to a table, by name.

use ambo_sql::IngestMode;

use crate::{Class, Error, Result};

/// The mode of a name.
///
/// # Errors
/// [`Class::Request`] with the names that there are.
pub fn ingest_mode(name: &str) -> Result<IngestMode> {
    Ok(match name {
        "create" => IngestMode::Create,
        "append" => IngestMode::Append,
        "replace" => IngestMode::Replace,
        "create_append" => IngestMode::CreateAppend,
        _ => {
            return Err(Error::new(Class::Request, format!("there is no mode \"{name}\""))
                .with_hint("there are create, append, replace and create_append"));
        }
    })
}
