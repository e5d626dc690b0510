//! VALUES as the source of an INSERT.
//!
//! In a query all rows of VALUES have the same types, and a text beside a number makes the planner guess. In an INSERT it is the column
//! that says what each value becomes; so rows are put together only as far as their values are alike.

use datafusion::{
    common::{DFSchema, ScalarValue},
    logical_expr::ExprSchemable,
    sql::sqlparser::ast::{self, Expr, SetExpr, UnaryOperator, Value},
};

use super::{assignment::or_default, incoming::Batches, incoming::Stream, target::Target};
use crate::{Error, Result, planner::Planner};

/// What values have in common if they may be in one column of a query.
#[derive(Clone, PartialEq)]
enum Kind {
    /// NULL, which may be with any.
    Any,
    /// Integers and decimals.
    Exact,
    Text,
    Other(arrow::datatypes::DataType),
}

/// Sees to it that all rows of VALUES are as long as there are columns, and that DEFAULT among them is a value.
pub(super) fn prepare(
    target: &Target,
    columns: &[usize],
    values: &mut ast::Values,
    params: &mut Vec<ScalarValue>,
) -> Result<()> {
    for (nth, row) in values.rows.iter_mut().enumerate() {
        if row.content.len() != columns.len() {
            let (row, given, named) = (nth + 1, row.content.len(), columns.len());
            return Err(Error::invalid(format!("row {row}: {given} values for {named} columns")));
        }
        for (expr, &place) in row.content.iter_mut().zip(columns) {
            let null = Expr::value(Value::Null);
            *expr = or_default(target, place, std::mem::replace(expr, null), params);
        }
    }
    Ok(())
}

/// The rows, in their order. REQUIRES: the body of the query are values.
pub(super) fn batches(planner: &Planner<'_>, query: &ast::Query, params: &[ScalarValue]) -> Result<Batches> {
    let SetExpr::Values(values) = &*query.body else { return Err(Error::invalid("no values")) };
    let mut all: Batches = Box::new(std::iter::empty());
    let mut begin = 0;
    let mut common: Vec<Kind> = Vec::new();
    let part = |from: usize, to: usize| -> Result<Stream> {
        let mut query = query.clone();
        if let SetExpr::Values(values) = &mut *query.body {
            values.rows = values.rows.drain(from..to).collect();
        }
        Stream::new(planner, &planner.plan_query(&query, params)?)
    };
    // Most of the time all rows are alike, and the query is what it was.
    for (nth, row) in values.rows.iter().enumerate() {
        let kinds = row.content.iter().map(|expr| kind(planner, expr, params)).collect::<Result<Vec<_>>>()?;
        match merged(&common, &kinds) {
            Some(merged) => common = merged,
            None => {
                all = Box::new(all.chain(part(begin, nth)?));
                (begin, common) = (nth, kinds);
            }
        }
    }
    Ok(Box::new(all.chain(part(begin, values.rows.len())?)))
}

fn merged(common: &[Kind], kinds: &[Kind]) -> Option<Vec<Kind>> {
    if common.is_empty() {
        return Some(kinds.to_vec());
    }
    let both = common.iter().zip(kinds).map(|(common, kind)| match (common, kind) {
        (Kind::Any, kind) | (kind, Kind::Any) => Some(kind.clone()),
        (common, kind) => (common == kind).then(|| kind.clone()),
    });
    both.collect()
}

fn kind(planner: &Planner<'_>, expr: &Expr, params: &[ScalarValue]) -> Result<Kind> {
    match expr {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => return kind(planner, expr, params),
        Expr::Value(value) => match &value.value {
            Value::Null => return Ok(Kind::Any),
            Value::Number(number, _) if !number.contains(['e', 'E']) => return Ok(Kind::Exact),
            Value::SingleQuotedString(_) => return Ok(Kind::Text),
            _ => {}
        },
        _ => {}
    }
    let none = DFSchema::empty();
    Ok(match planner.expr(expr.clone(), &none, params)?.get_type(&none)? {
        arrow::datatypes::DataType::Null => Kind::Any,
        ty if ty.is_integer() || ty.is_decimal() => Kind::Exact,
        ty if ty.is_string() => Kind::Text,
        ty => Kind::Other(ty),
    })
}
