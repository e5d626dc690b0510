//! What EXPLAIN says: of a statement on a key that it needs no planner, of a query its plan, of another statement that writes the plan of
//! the query for its rows.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::{
    common::ScalarValue,
    sql::sqlparser::ast::{self, SetExpr, Statement},
};

use super::{delete, explain_json, insert::merge_with, merge, query, target::Target, update};
use crate::{
    Connection, Error, Result, Rows, connection::Work, fast::recognise, planner::Planner, rows::Source,
    value::Values,
};

pub(super) fn run(
    connection: &mut Connection,
    mut statement: Statement,
    params: &[ScalarValue],
) -> Result<Rows<'static>> {
    match explain_json::take_options(&mut statement)? {
        true => explain_json::as_json(explain(connection, statement, params)?),
        false => explain(connection, statement, params),
    }
}

fn explain(
    connection: &mut Connection,
    statement: Statement,
    params: &[ScalarValue],
) -> Result<Rows<'static>> {
    let Statement::Explain { analyze, verbose, statement: of, .. } = &statement else {
        return query::run(connection, statement, params);
    };
    // With ANALYZE, or VERBOSE, it is the planner's plan that is asked for.
    if !analyze
        && !verbose
        && connection.is_plain()
        && let Some(plan) = recognise(&connection.engine().db, of)
        // How many rows there are decides when it is run.
        && !plan.is_of_range()
    {
        return Ok(rows(vec![("short cut".into(), plan.describe())]));
    }
    if !is_write(of) {
        return query::run(connection, statement, params);
    }
    if *analyze {
        return Err(Error::invalid("EXPLAIN ANALYZE runs what it explains, and is for queries only")
            .with_hint("EXPLAIN shows the plan of a statement that writes, and changes nothing"));
    }
    connection.write(params, |work| explained(work, &statement)).map(rows)
}

fn is_write(statement: &Statement) -> bool {
    use Statement as S;
    match statement {
        S::Insert(_) | S::Update(_) | S::Delete(_) | S::Merge(_) => true,
        S::Query(query) => {
            use SetExpr as E;
            matches!(*query.body, E::Insert(_) | E::Update(_) | E::Delete(_) | E::Merge(_))
        }
        _ => false,
    }
}

/// What is written how, and the plan of the query for it.
fn explained(work: &mut Work<'_>, explain: &Statement) -> Result<Vec<(String, String)>> {
    let Statement::Explain { statement, .. } = explain else { return Ok(Vec::new()) };
    let (write, with) = match &**statement {
        Statement::Query(query) => match &*query.body {
            SetExpr::Insert(of) | SetExpr::Update(of) | SetExpr::Delete(of) | SetExpr::Merge(of) => {
                (of, query.with.as_ref())
            }
            _ => (&**statement, None),
        },
        other => (other, None),
    };
    let sought = match write {
        Statement::Insert(insert) => return explained_insert(work, insert, with, explain),
        Statement::Update(update) => update::Asked::new(work, update, with)?.sought,
        Statement::Delete(delete) => delete::Asked::new(work, delete, with)?.sought,
        Statement::Merge(merge) => merge::Asked::new(work, merge, with)?.sought,
        other => return Err(Error::invalid(format!("not supported: {other}"))),
    };
    let done = match write {
        Statement::Update(_) => "rows of {} are updated as this query says",
        Statement::Delete(_) => "rows of {} that this query finds are deleted",
        _ => "rows of {} are written as this query says",
    };
    let name = sought.target.table.definition().name.clone();
    let planner = sought.target.planner(work)?;
    let mut rows = vec![("write".to_owned(), done.replace("{}", &name))];
    rows.extend(plan_of(&planner, explain, sought.query, &sought.params)?);
    Ok(rows)
}

fn explained_insert(
    work: &mut Work<'_>,
    insert: &ast::Insert,
    with: Option<&ast::With>,
    explain: &Statement,
) -> Result<Vec<(String, String)>> {
    let name = Target::of_insert(work, insert)?.table.definition().name.clone();
    let Some(source) = &insert.source else {
        return Ok(vec![("write".into(), format!("a row of defaults is inserted into {name}"))]);
    };
    if let SetExpr::Values(values) = &*source.body {
        let count = values.rows.len();
        return Ok(vec![("write".into(), format!("{count} rows of values are inserted into {name}"))]);
    }
    let mut query = (**source).clone();
    if let Some(with) = with {
        merge_with(&mut query, with)?;
    }
    let mut rows = vec![("write".to_owned(), format!("rows of this query are inserted into {name}"))];
    rows.extend(plan_of(&work.planner()?, explain, query, work.params)?);
    Ok(rows)
}

/// What EXPLAIN says of a query, with the options of the statement.
fn plan_of(
    planner: &Planner<'_>,
    explain: &Statement,
    query: ast::Query,
    params: &[ScalarValue],
) -> Result<Vec<(String, String)>> {
    let mut explain = explain.clone();
    if let Statement::Explain { statement, .. } = &mut explain {
        **statement = Statement::Query(Box::new(query));
    }
    let plan = planner.plan(explain, params)?;
    let mut rows = Vec::new();
    for batch in planner.collect(&plan)? {
        let values = Values::new(&batch);
        for row in 0..batch.num_rows() {
            // Columns of ours have names that begin with a character that is not to be seen.
            let text = |column| values.get(row, column).map(|text| text.to_string().replace('\u{1}', ""));
            rows.push((text(0)?, text(1)?));
        }
    }
    Ok(rows)
}

fn rows(rows: Vec<(String, String)>) -> Rows<'static> {
    let rows = rows.into_iter().map(|(kind, plan)| vec![kind.into(), plan.into()]);
    Rows::new(schema(), Source::Values(rows.collect()))
}

fn schema() -> SchemaRef {
    let text = |name| Field::new(name, DataType::Utf8, false);
    Arc::new(Schema::new(vec![text("plan_type"), text("plan")]))
}
