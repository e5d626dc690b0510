//! Care for the whole database: COMPACT, VACUUM, CHECKPOINT, CHECK DATABASE, BACKUP TO.

use std::{sync::Arc, time::Duration};

use ambo::Datum;
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::sql::sqlparser::ast::VacuumStatement;

use crate::{
    Connection, Result, Rows, check::check, names::about_object, parse::Maintenance, planner::find_table,
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
        Maintenance::Check => {
            let problems = check(connection.engine())?.problems;
            let rows = problems.into_iter().map(|problem| vec![Datum::Utf8(problem)]).collect();
            let schema = Arc::new(Schema::new(vec![Field::new("problem", DataType::Utf8, false)]));
            Ok(Rows::new(schema, Source::Values(rows)).with_tag("CHECK DATABASE", None))
        }
    }
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
