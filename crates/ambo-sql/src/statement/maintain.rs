//! Care for the whole database: COMPACT, VACUUM, CHECKPOINT, CHECK DATABASE, BACKUP TO.

use std::sync::Arc;

use ambo::Datum;
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::sql::sqlparser::ast::VacuumStatement;

use crate::{Connection, Error, Result, Rows, check::check, parse::Maintenance, rows::Source};

pub(super) fn run(connection: &Connection, what: Maintenance) -> Result<Rows<'static>> {
    let db = &connection.engine().db;
    match what {
        Maintenance::Compact => {
            connection.require_no_transaction("COMPACT")?;
            db.compact()?;
            Ok(Rows::done("COMPACT", None))
        }
        Maintenance::Checkpoint => {
            connection.require_no_transaction("CHECKPOINT")?;
            db.flush()?;
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
    let plain = VacuumStatement { full: false, ..vacuum.clone() };
    if plain.to_string() != "VACUUM" {
        return Err(Error::invalid(format!("not supported: {vacuum}"))
            .with_hint("VACUUM is for the whole database, and has no options"));
    }
    connection.engine().db.vacuum()?;
    Ok(Rows::done("VACUUM", None))
}
