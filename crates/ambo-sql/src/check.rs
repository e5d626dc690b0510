//! The check of a whole database: what the store says of itself, and the checks of tables that only SQL can evaluate.

use std::sync::Arc;

use ambo::{Check, CheckReport};

use crate::{
    Connection,
    engine::SqlEngine,
    foreign_keys::{self, is_kept_text},
    names::quoted_object,
};

/// As [`Database::check`](crate::Database::check).
pub(crate) fn check(engine: &Arc<SqlEngine>) -> ambo::Result<CheckReport> {
    let mut report = engine.db.check()?;
    let mut connection = Connection::new(engine.clone());
    for name in engine.db.tables() {
        let Ok(table) = engine.db.table(&name) else { continue };
        let problems =
            table.checks_for_sql().into_iter().filter_map(|check| problem(&mut connection, &name, &check));
        report.problems.extend(problems);
    }
    Ok(report)
}

/// What is wrong with the rows of a table by one check.
fn problem(
    connection: &mut Connection,
    table: &str,
    Check { name, expression, .. }: &Check,
) -> Option<String> {
    if is_kept_text(expression) {
        let definition = connection.definitions().table(table).ok()?.definition().clone();
        return foreign_keys::problem(connection, &definition, name);
    }
    let query = format!("select count(*) from {} where not ({expression})", quoted_object(table));
    match connection.sql(&query).and_then(|rows| rows.single()?.into_values::<i64>()) {
        Ok(0) => None,
        Ok(rows) => Some(format!("{table}: check \"{name}\" forbids {rows} rows: {expression}")),
        Err(error) => Some(format!("{table}: check \"{name}\": {}", error.message())),
    }
}
