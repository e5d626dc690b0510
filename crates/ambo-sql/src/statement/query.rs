//! Queries.

use datafusion::{common::ScalarValue, sql::sqlparser::ast};

use crate::{Connection, Result, Rows, planner::schema_of_result, rows::Source};

pub(super) fn run(
    connection: &mut Connection,
    statement: ast::Statement,
    params: &[ScalarValue],
) -> Result<Rows<'static>> {
    let planner = connection.reader()?;
    let plan = planner.plan(statement, params)?;
    let (stream, interrupter, threads) = planner.stream_with(&plan)?;
    let schema = schema_of_result(&plan, &stream.schema());
    Ok(Rows::new(schema, Source::Stream { stream, interrupter, threads }))
}
