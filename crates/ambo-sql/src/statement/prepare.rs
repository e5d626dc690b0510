//! PREPARE, EXECUTE, DEALLOCATE.

use std::sync::Arc;

use datafusion::{
    common::ScalarValue,
    sql::sqlparser::ast::{self, CastKind, DataType, Expr, Ident, SelectItem, Statement},
};

use super::target::Parts;
use crate::{
    Connection, Error, ErrorKind, Result, Rows,
    names::{ident, object},
    planner::number_parameters,
};

/// A statement that was named by PREPARE.
pub(crate) struct Prepared {
    statement: Statement,
    parameters: usize,
    /// Of the first parameters, as far as they were declared.
    types: Vec<DataType>,
}

pub(super) fn prepare(
    connection: &mut Connection,
    name: &Ident,
    types: Vec<DataType>,
    mut statement: Statement,
) -> Result<Rows<'static>> {
    let name = ident(name);
    if connection.prepared().contains_key(&name) {
        return Err(Error::new(
            ErrorKind::Constraint,
            format!("there is a prepared statement \"{name}\" already"),
        )
        .with_hint(format!("DEALLOCATE {name} first")));
    }
    let parameters = number_parameters(&mut statement)?;
    connection.prepared().insert(name, Arc::new(Prepared { statement, parameters, types }));
    Ok(Rows::done("PREPARE", None))
}

pub(super) fn execute(
    connection: &mut Connection,
    statement: Statement,
    params: &[ScalarValue],
) -> Result<Rows<'static>> {
    let Statement::Execute {
        name: Some(name), parameters, using, into, immediate: false, output: false, ..
    } = &statement
    else {
        return Err(Error::invalid(format!("not supported: {statement}")));
    };
    if !into.is_empty() || using.iter().any(|value| value.alias.is_some()) {
        return Err(Error::invalid(format!("not supported: {statement}")));
    }
    let name = object(name)?;
    let Some(prepared) = connection.prepared().get(&name).cloned() else {
        let known: Vec<_> = connection.prepared().keys().cloned().collect();
        return Err(Error::not_found("prepared statement", &name, known.iter().map(String::as_str)));
    };
    let given: Vec<Expr> = parameters.iter().chain(using.iter().map(|value| &value.expr)).cloned().collect();
    if given.len() != prepared.parameters {
        return Err(Error::invalid(format!(
            "the prepared statement \"{name}\" has {} parameters, {} values were given",
            prepared.parameters,
            given.len()
        )));
    }
    let values = values(connection, given, &prepared.types, params)?;
    super::run_sql(connection, prepared.statement.clone(), &values)
}

/// The values of expressions, in the types that were declared for them.
fn values(
    connection: &Connection,
    given: Vec<Expr>,
    types: &[DataType],
    params: &[ScalarValue],
) -> Result<Vec<ScalarValue>> {
    if given.is_empty() {
        return Ok(Vec::new());
    }
    let typed = given.into_iter().enumerate().map(|(nth, expr)| match types.get(nth) {
        None => expr,
        Some(ty) => Expr::Cast {
            kind: CastKind::Cast,
            expr: Box::new(expr),
            data_type: ty.clone(),
            array: false,
            format: None,
        },
    });
    let item = |(nth, expr): (usize, Expr)| super::target::item(expr, &format!("${}", nth + 1));
    let items: Vec<SelectItem> = typed.enumerate().map(item).collect();
    let query: ast::Query = Parts { items, ..Parts::default() }.query();
    let planner = connection.reader()?;
    let plan = planner.plan_query(&query, params)?;
    let batches = planner.collect(&plan)?;
    let row = batches.iter().find(|batch| batch.num_rows() > 0);
    let row = row.ok_or_else(|| Error::invalid("the values of the parameters are no row"))?;
    row.columns().iter().map(|column| Ok(ScalarValue::try_from_array(column, 0)?)).collect()
}

pub(super) fn deallocate(connection: &mut Connection, name: &Ident) -> Result<Rows<'static>> {
    let key = ident(name);
    if key == "all" && name.quote_style.is_none() {
        connection.prepared().clear();
    } else if connection.prepared().remove(&key).is_none() {
        let known: Vec<_> = connection.prepared().keys().cloned().collect();
        return Err(Error::not_found("prepared statement", &key, known.iter().map(String::as_str)));
    }
    Ok(Rows::done("DEALLOCATE", None))
}
