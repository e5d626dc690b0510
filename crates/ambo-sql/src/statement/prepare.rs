//! PREPARE, EXECUTE, DEALLOCATE.

use std::sync::Arc;

use ambo::Datum;
use datafusion::{
    common::ScalarValue,
    sql::sqlparser::ast::{self, BinaryOperator, CastKind, DataType, Expr, Ident, SelectItem, Statement},
};

use super::{target::Parts, types::declared};
use crate::{
    Connection, Error, ErrorKind, Result, Rows,
    fast::{Expression, cast},
    names::{about, ident, written},
    parse::{self, split_names},
    prepared::Known,
    user_types::UserTypes,
    value::datum,
};

/// A statement that was named by PREPARE.
#[derive(Clone)]
pub(crate) struct Prepared {
    known: Arc<Known>,
    /// Of the first parameters, as far as they were declared.
    types: Arc<[DataType]>,
    /// Of parameters that have names, in the order of their numbers.
    names: Arc<[String]>,
}

pub(super) fn prepare(
    connection: &mut Connection,
    name: &Ident,
    types: Vec<DataType>,
    statement: Statement,
) -> Result<Rows<'static>> {
    let name = ident(name);
    if connection.prepared().contains_key(&name) {
        return Err(Error::new(
            ErrorKind::Constraint,
            format!("there is a prepared statement \"{name}\" already"),
        )
        .with_hint(format!("DEALLOCATE {name} first")));
    }
    let known = Known::of(&connection.engine().db, parse::Statement::Sql(Box::new(statement)))?;
    let (types, names) = split_names(types);
    let prepared = Prepared { known: Arc::new(known), types: types.into(), names: names.into() };
    connection.prepared().insert(name, prepared);
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
    let name = written(name)?;
    let prepared = current(connection, &name)?;
    let given: Vec<Expr> = parameters.iter().chain(using.iter().map(|value| &value.expr)).cloned().collect();
    let given = in_order(given, &prepared.names)?;
    let wanted = prepared.known.parameters;
    if given.len() != wanted {
        let given = given.len();
        return Err(Error::invalid(format!(
            "the prepared statement \"{name}\" has {wanted} parameters, {given} values were given"
        )));
    }
    if let Some(values) = constants(&given, &prepared.types) {
        return connection.run_known(&prepared.known, values);
    }
    let values = values(connection, given, &prepared.types, params)?;
    match values.iter().map(datum).collect() {
        Some(values) => connection.run_known(&prepared.known, values),
        // Lists and the like.
        None => connection.run_at_home(prepared.known.statement.clone(), &values),
    }
}

/// Values in the order of the parameters: `EXECUTE p(b := 2, a := 1)` says which is which.
fn in_order(given: Vec<Expr>, names: &[String]) -> Result<Vec<Expr>> {
    let mut placed: Vec<Option<Expr>> = vec![None; names.len()];
    let is_named = |expr: &Expr| matches!(expr, Expr::BinaryOp { op: BinaryOperator::Assignment, .. });
    if !given.iter().any(is_named) {
        return Ok(given);
    }
    for one in given {
        let Expr::BinaryOp { left, op: BinaryOperator::Assignment, right } = one else {
            return Err(Error::invalid(format!("{one} has no name, and other values have")));
        };
        let Expr::Identifier(name) = left.as_ref() else {
            return Err(Error::invalid(format!("{left} is no name of a parameter")));
        };
        let wanted = ident(name).to_lowercase();
        let Some(place) = names.iter().position(|known| *known == wanted) else {
            return Err(about(
                Error::not_found("parameter", &wanted, names.iter().map(String::as_str)),
                name,
            ));
        };
        if placed[place].replace(*right).is_some() {
            return Err(about(Error::invalid(format!("the parameter ${wanted} has two values")), name));
        }
    }
    match placed.iter().position(Option::is_none) {
        Some(missing) => {
            Err(Error::invalid(format!("there is no value for the parameter ${}", names[missing])))
        }
        None => Ok(placed.into_iter().flatten().collect()),
    }
}

/// The prepared statement of a name, as the tables are now.
fn current(connection: &mut Connection, name: &str) -> Result<Prepared> {
    let prepared = connection.prepared().get(name).cloned().ok_or_else(|| missing(connection, name))?;
    if prepared.known.is_current() {
        return Ok(prepared);
    }
    let known = Known::of(&connection.engine().db, prepared.known.statement.clone())?;
    let prepared = Prepared { known: Arc::new(known), ..prepared };
    connection.prepared().insert(name.to_owned(), prepared.clone());
    Ok(prepared)
}

fn missing(connection: &mut Connection, name: &str) -> Error {
    Error::not_found("prepared statement", name, connection.prepared().keys().map(String::as_str))
}

/// The values of expressions that need no planner; `None` if one does.
fn constants(given: &[Expr], types: &[DataType]) -> Option<Vec<Datum>> {
    let value = |(nth, expr): (usize, &Expr)| {
        let value = Expression::of(expr, &|_| None)?.value(&[], &[])?;
        match types.get(nth) {
            None => Some(value),
            // Types of users the planner knows.
            Some(ty) => match declared(ty, &UserTypes::default()).ok()? {
                ambo::Part::Plain(ty) => cast(value, ty),
                ambo::Part::Logical(_) => None,
            },
        }
    };
    given.iter().enumerate().map(value).collect()
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
        return Err(missing(connection, &key));
    }
    Ok(Rows::done("DEALLOCATE", None))
}
