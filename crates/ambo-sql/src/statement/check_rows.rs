//! Whether the rows of a table obey a condition that it is to have from now on.

use ambo::{CatalogEdit, Check, TableChange, TableDefinition};
use futures::StreamExt;

use super::{expression::row_schema, rules::condition};
use crate::{
    Connection, Error, ErrorKind, Result,
    names::{quoted, quoted_object, shown},
    parse::{DIALECT, parse_expression},
};
use datafusion::sql::sqlparser::parser::Parser;

/// Adds a check to a table whose rows all obey it. They are looked at before and after: it holds for what is written from the moment on in
/// which it is there, and for what was written before.
///
/// # Errors
/// [`ErrorKind::Constraint`] with a row that it forbids: the table has no such check then.
pub(super) fn add(connection: &mut Connection, table: &TableDefinition, check: Check) -> Result<()> {
    verify(connection, table, &check)?;
    let undo = vec![TableChange::DropCheck(check.name.clone())];
    change(connection, table, vec![TableChange::AddCheck(check.clone())], &[check], undo)
}

/// Changes a table, whose rows are all to obey these checks then. Otherwise it is changed back; an open transaction does that by itself.
pub(super) fn change(
    connection: &mut Connection,
    table: &TableDefinition,
    changes: Vec<TableChange>,
    checks: &[Check],
    undo: Vec<TableChange>,
) -> Result<()> {
    let edit = |changes| [CatalogEdit::ChangeTable { name: table.name.clone(), changes }];
    connection.define(&edit(changes))?;
    let verified = checks.iter().try_for_each(|check| verify(connection, table, check));
    if verified.is_err() && !connection.in_transaction() {
        connection.define(&edit(undo))?;
    }
    verified
}

/// # Errors
/// A row of the table of which the check is false.
fn verify(connection: &Connection, table: &TableDefinition, check: &Check) -> Result<()> {
    let planner = connection.own_reader()?;
    let table = connection.definitions().table(&table.name)?;
    let table = table.definition();
    let columns: Vec<_> = table.columns.iter().map(|column| quoted(&column.name)).collect();
    let text = format!("select {} from {}", columns.join(", "), quoted_object(&table.name));
    let query = *Parser::new(&DIALECT).try_with_sql(&text)?.parse_query()?;
    let plan = planner.plan_query(&query, &[])?;
    let condition = condition(&planner, parse_expression(&check.expression)?, &row_schema(table))?;
    let mut stream = planner.stream(&plan)?;
    let _threads = connection.engine().runtime()?.enter();
    while let Some(batch) = connection.interrupter_ref().wait(stream.next())? {
        let batch = batch?;
        if let Some(row) = condition.first_false(&batch)? {
            let row = super::rules::show(&batch, row)?;
            return Err(Error::new(
                ErrorKind::Constraint,
                format!(
                    "check \"{}\" is false of the row {row} of table \"{}\": {}",
                    check.name,
                    shown(&table.name),
                    check.expression
                ),
            ));
        }
    }
    Ok(())
}
