//! The check of a whole database: what the store says of itself, and the checks of tables that only SQL can evaluate.

use std::sync::Arc;

use ambo::{Check, CheckReport, Datum};
use datafusion::datasource::provider_as_source;

use crate::{
    Connection, Result,
    engine::SqlEngine,
    foreign_keys::{self, is_kept_text},
    hidden::HIDDEN,
    names::quoted_object,
    parse::parse_query,
    table::StoredTable,
    value::Values,
};

/// As [`Database::check`](crate::Database::check).
pub(crate) fn check(engine: &Arc<SqlEngine>) -> ambo::Result<CheckReport> {
    let mut report = engine.db.check()?;
    let mut connection = Connection::new(engine.clone());
    for name in engine.db.tables() {
        let Ok(table) = engine.db.table(&name) else { continue };
        if engine.db.has_elsewhere(&table) {
            continue;
        }
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
    if name.starts_with(HIDDEN) {
        return match hidden_problem(connection, table, expression) {
            Ok(0) => None,
            Ok(rows) => Some(format!("{table}: an index has other values than {rows} rows: {expression}")),
            Err(error) => Some(format!("{table}: check \"{name}\": {}", error.message())),
        };
    }
    let query = format!("select count(*) from {} where not ({expression})", quoted_object(table));
    match connection.sql(&query).and_then(|rows| rows.single()?.into_values::<i64>()) {
        Ok(0) => None,
        Ok(rows) => Some(format!("{table}: check \"{name}\" forbids {rows} rows: {expression}")),
        Err(error) => Some(format!("{table}: check \"{name}\": {}", error.message())),
    }
}

/// How many rows have another value in a column that nobody sees than it is to have.
fn hidden_problem(connection: &mut Connection, name: &str, expression: &str) -> Result<i64> {
    const WHOLE: &str = "\u{1}whole";
    let table = connection.definitions().table(name)?;
    let view = Arc::new(connection.engine().db.snapshot());
    let mut planner = connection.own_reader()?;
    planner.add_table(WHOLE, provider_as_source(Arc::new(StoredTable::new(table, view, true))));
    let query = format!("select count(*) from \"{WHOLE}\" where not ({expression})");
    let plan = planner.plan_query(&parse_query(&query)?, &[])?;
    let mut rows = 0;
    for batch in planner.collect(&plan)? {
        for row in 0..batch.num_rows() {
            if let Datum::I64(count) = Values::new(&batch).get(row, 0)? {
                rows += count;
            }
        }
    }
    Ok(rows)
}
