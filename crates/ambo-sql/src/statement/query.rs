//! Queries, and what EXPLAIN says of them.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use datafusion::{common::ScalarValue, sql::sqlparser::ast};

use crate::{Connection, Result, Rows, fast::recognise, planner::result_schema, rows::Source};

pub(super) fn run(
    connection: &mut Connection,
    statement: ast::Statement,
    params: &[ScalarValue],
) -> Result<Rows<'static>> {
    if let Some(rows) = short_cut(connection, &statement) {
        return Ok(rows);
    }
    let planner = connection.reader()?;
    let plan = planner.plan(statement, params)?;
    let (stream, interrupter, threads) = planner.stream_with(&plan)?;
    Ok(Rows::new(result_schema(&plan), Source::Stream { stream, interrupter, threads }))
}

/// What EXPLAIN says of a statement that needs no planner. With ANALYZE, or VERBOSE, it is the planner's plan that is asked for.
fn short_cut(connection: &Connection, statement: &ast::Statement) -> Option<Rows<'static>> {
    let ast::Statement::Explain { analyze: false, verbose: false, format: None, statement, .. } = statement
    else {
        return None;
    };
    let plan = recognise(&connection.engine().db, statement)?.describe();
    let text = |name| Field::new(name, DataType::Utf8, false);
    let schema = Arc::new(Schema::new(vec![text("plan_type"), text("plan")]));
    Some(Rows::new(schema, Source::Values([vec!["short cut".into(), plan.into()]].into())))
}
