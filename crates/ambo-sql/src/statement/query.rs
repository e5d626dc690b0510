//! Queries, and what EXPLAIN says of them.

use std::sync::Arc;

use datafusion::{common::ScalarValue, physical_plan::execute_stream, sql::sqlparser::ast};

use crate::{Connection, Result, Rows, rows::Source};

pub(super) fn run(
    connection: &mut Connection,
    statement: ast::Statement,
    params: &[ScalarValue],
) -> Result<Rows<'static>> {
    let planner = connection.reader()?;
    let plan = planner.plan(statement, params)?;
    let physical = planner.physical(&plan)?;
    let threads = connection.engine().runtime()?.clone();
    let stream = {
        let _threads = threads.enter();
        execute_stream(physical, planner.state().task_ctx())?
    };
    let schema = Arc::clone(plan.schema().inner());
    let interrupter = connection.interrupter_ref().clone();
    Ok(Rows::new(schema, Source::Stream { stream, interrupter, threads }))
}
