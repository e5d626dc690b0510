//! Queries, and what EXPLAIN says of them.

use std::{collections::HashSet, sync::Arc};

use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use datafusion::{common::ScalarValue, physical_plan::execute_stream, sql::sqlparser::ast};

use crate::{
    Connection, Result, Rows, fast::recognise, names::ident, planner::number_parameters, rows::Source,
};

pub(super) fn run(
    connection: &mut Connection,
    mut statement: ast::Statement,
    params: &[ScalarValue],
) -> Result<Rows<'static>> {
    if let Some(rows) = short_cut(connection, &statement) {
        return Ok(rows);
    }
    tell_apart(&mut statement);
    let planner = connection.reader()?;
    let plan = planner.plan(statement, params)?;
    let physical = planner.physical(&plan)?;
    let threads = connection.engine().runtime()?.clone();
    let stream = {
        let _threads = threads.enter();
        execute_stream(physical, planner.state().task_ctx())?
    };
    let schema = as_asked(plan.schema().as_arrow());
    let interrupter = connection.interrupter_ref().clone();
    Ok(Rows::new(schema, Source::Stream { stream, interrupter, threads }))
}

/// What EXPLAIN says of a statement that needs no planner. With ANALYZE, or VERBOSE, it is the planner's plan that is asked for.
fn short_cut(connection: &Connection, statement: &ast::Statement) -> Option<Rows<'static>> {
    let ast::Statement::Explain { analyze: false, verbose: false, format: None, statement, .. } = statement
    else {
        return None;
    };
    let mut statement = (**statement).clone();
    number_parameters(&mut statement).ok()?;
    let plan = recognise(&connection.engine().db, &statement)?.describe();
    let text = |name| Field::new(name, DataType::Utf8, false);
    let schema = Arc::new(Schema::new(vec![text("plan_type"), text("plan")]));
    Some(Rows::new(schema, Source::Values([vec!["short cut".into(), plan.into()]].into())))
}

/// Begins what is added to a name.
const MARK: char = '\u{1}';

/// Gives columns of a SELECT that are asked for twice names of their own: the planner takes each once.
fn tell_apart(statement: &mut ast::Statement) {
    let ast::Statement::Query(query) = statement else { return };
    let ast::SetExpr::Select(select) = &mut *query.body else { return };
    let mut seen = HashSet::new();
    for (nth, item) in select.projection.iter_mut().enumerate() {
        let ast::SelectItem::UnnamedExpr(expr) = item else { continue };
        let text = expr.to_string().to_lowercase();
        // A column may be called with its table and without.
        let is_there = match &*expr {
            ast::Expr::Identifier(_) => {
                seen.iter().any(|known: &String| known.ends_with(&format!(".{text}")))
            }
            ast::Expr::CompoundIdentifier(parts) => {
                parts.last().is_some_and(|name| seen.contains(&name.to_string().to_lowercase()))
            }
            _ => false,
        };
        if seen.insert(text) && !is_there {
            continue;
        }
        let name = match &*expr {
            ast::Expr::Identifier(name) => ident(name),
            ast::Expr::CompoundIdentifier(parts) => parts.last().map(ident).unwrap_or_default(),
            _ => expr.to_string(),
        };
        let alias = ast::Ident::with_quote('"', format!("{name}{MARK}{nth}"));
        *item = ast::SelectItem::ExprWithAlias { expr: expr.clone(), alias };
    }
}

/// The columns under the names that were asked for.
fn as_asked(schema: &Schema) -> SchemaRef {
    let field = |field: &FieldRef| match field.name().split_once(MARK) {
        Some((name, _)) => Arc::new(field.as_ref().clone().with_name(name)),
        None => field.clone(),
    };
    Arc::new(Schema::new_with_metadata(
        schema.fields().iter().map(field).collect::<Fields>(),
        schema.metadata().clone(),
    ))
}
