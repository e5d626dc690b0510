//! PRAGMA: settings as SQLite and DuckDB set them, and questions to the catalog.

use datafusion::sql::sqlparser::ast::{ObjectName, Value, ValueWithSpan};

use super::{set, show, types::literal};
use crate::{
    Connection, Error, Result, Rows,
    names::{about_object, written},
};

const DATABASES: &str =
    "select row_number() over () - 1 as seq, database_name as name, path as file from ambo_catalog.databases";

pub(super) fn run(
    connection: &mut Connection,
    name: &ObjectName,
    value: Option<&ValueWithSpan>,
) -> Result<Rows<'static>> {
    let wanted = written(name)?.to_lowercase();
    let value = value.map(|value| match &value.value {
        Value::SingleQuotedString(text) => text.clone(),
        other => other.to_string(),
    });
    let query = match (wanted.as_str(), value.as_deref()) {
        ("database_list", None) => DATABASES.to_owned(),
        ("table_info", Some(table)) => {
            let table = literal(&table.into(), &arrow::datatypes::DataType::Utf8)?;
            format!("select * from pragma_table_info({table})")
        }
        ("show_tables", None) => "select table_name as name from information_schema.tables \
             where table_type in ('BASE TABLE', 'LOCAL TEMPORARY', 'VIEW') order by name"
            .to_owned(),
        ("show_databases", None) => "select database_name from ambo_catalog.databases \
             where database_type <> 'temporary' order by database_name"
            .to_owned(),
        ("version", None) => "select version() as library_version".to_owned(),
        // They are always held to.
        ("foreign_keys", Some(on)) if ["1", "on", "true", "yes"].contains(&on.to_lowercase().as_str()) => {
            return Ok(Rows::done("PRAGMA", None));
        }
        ("foreign_keys", None) => "select 1 as foreign_keys".to_owned(),
        (setting, Some(value)) => {
            return set::by_text(connection, setting, value).map_err(|error| about_object(error, name));
        }
        (hint, None) if set::is_hint(hint) => return Ok(Rows::done("PRAGMA", None)),
        (other, None) => {
            let error = Error::invalid(format!("not supported: PRAGMA {other}")).with_hint(
                "there are database_list, table_info(t), show_tables, and settings: PRAGMA threads = 4",
            );
            return Err(about_object(error, name));
        }
    };
    show::ask(connection, &query)
}
