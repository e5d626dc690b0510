//! Queries.

use datafusion::{common::ScalarValue, sql::sqlparser::ast};

use crate::{Connection, Result, Rows, planner::result_schema, rows::Source};

pub(super) fn run(
    connection: &mut Connection,
    statement: ast::Statement,
    params: &[ScalarValue],
) -> Result<Rows<'static>> {
    let planner = connection.reader()?;
    let plan = planner.plan(statement, params)?;
    let (stream, interrupter, threads) = planner.stream_with(&plan)?;
    Ok(Rows::new(result_schema(&plan), Source::Stream { stream, interrupter, threads }))
}
