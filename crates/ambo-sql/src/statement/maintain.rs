//! Care for the whole database: COMPACT, VACUUM, CHECKPOINT, CHECK DATABASE, BACKUP TO, PUBLISH TO.

use std::{sync::Arc, time::Duration};

use ambo::{Datum, PublishOptions};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::sql::sqlparser::ast::{Ident, VacuumStatement};

use crate::{
    Connection, Error, Result, Rows,
    check::check,
    names::{about, about_object},
    parse::Maintenance,
    planner::find_table,
    rows::Source,
};

/// How long CHECKPOINT waits for the process that writes, where the database is read beside it.
const ASKED: Duration = Duration::from_secs(10);

pub(super) fn run(connection: &Connection, what: Maintenance) -> Result<Rows<'static>> {
    let db = &connection.engine().db;
    match what {
        Maintenance::Compact => {
            connection.require_no_transaction("COMPACT")?;
            db.compact()?;
            Ok(Rows::done("COMPACT", None))
        }
        Maintenance::Checkpoint(name) => {
            connection.require_no_transaction("CHECKPOINT")?;
            match name {
                // It is made by the process that writes.
                None if db.is_beside() => drop(db.refresh(ASKED)?),
                None => db.flush()?,
                Some(name) => connection.flush_database(&name)?,
            }
            Ok(Rows::done("CHECKPOINT", None))
        }
        Maintenance::Backup(path) => {
            connection.require_no_transaction("BACKUP TO")?;
            db.backup_to(&path)?;
            Ok(Rows::done("BACKUP", None))
        }
        Maintenance::Publish(path, options) => {
            connection.require_no_transaction("PUBLISH TO")?;
            db.publish_to(&path, &publish_options(&options)?)?;
            Ok(Rows::done("PUBLISH", None))
        }
        Maintenance::Check => {
            let problems = check(connection.engine())?.problems;
            let rows = problems.into_iter().map(|problem| vec![Datum::Utf8(problem)]).collect();
            let schema = Arc::new(Schema::new(vec![Field::new("problem", DataType::Utf8, false)]));
            Ok(Rows::new(schema, Source::Values(rows)).with_tag("CHECK DATABASE", None))
        }
    }
}

/// `(keep 3, grace 600)`: how many publications, and for how many seconds.
fn publish_options(given: &[(Ident, Option<String>)]) -> Result<PublishOptions> {
    let mut options = PublishOptions::default();
    for (name, value) in given {
        let number = value.as_deref().and_then(|value| value.parse::<u32>().ok());
        let number = || {
            let what = format!("{} of PUBLISH is a whole number", name.value.to_uppercase());
            number.ok_or_else(|| about(Error::invalid(what), name))
        };
        match name.value.to_lowercase().as_str() {
            "keep" => options.keep = number()? as usize,
            "grace" => options.grace = Duration::from_secs(number()?.into()),
            other => {
                let known = ["keep", "grace"].into_iter();
                return Err(about(Error::not_found("option of PUBLISH", other, known), name));
            }
        }
    }
    Ok(options)
}

/// VACUUM compacts, and gives free space back.
pub(super) fn vacuum(connection: &Connection, vacuum: &VacuumStatement) -> Result<Rows<'static>> {
    connection.require_no_transaction("VACUUM")?;
    // It is for the whole database, whichever table it names.
    if let Some(name) = &vacuum.table_name {
        let (definitions, named) = connection.definitions_with(name)?;
        find_table(&definitions, &named.local()).map_err(|error| about_object(error, name))?;
    }
    connection.engine().db.vacuum()?;
    Ok(Rows::done("VACUUM", None))
}
