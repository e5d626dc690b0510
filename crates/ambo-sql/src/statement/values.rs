//! VALUES as the source of an INSERT.
//!
//! In a query all rows of VALUES have the same types, and a text beside a number makes the planner guess. In an INSERT it is the column
//! that says what each value becomes; so rows are put together only as far as their values are alike.

use std::ops::ControlFlow;

use datafusion::{
    common::{DFSchema, ScalarValue},
    logical_expr::ExprSchemable,
    sql::sqlparser::ast::{self, Expr, SetExpr, UnaryOperator, Value, Visitor},
};

use super::{
    assignment::or_default,
    incoming::Batches,
    incoming::Stream,
    target::{Parts, Target, item},
};
use crate::{Error, Result, planner::Planner, walk::Walk};

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
    let part = |body: SetExpr| -> Result<Stream> {
        let query = ast::Query { body: Box::new(body), ..query.clone() };
        Stream::new(planner, &planner.plan_query(&query, params)?)
    };
    let alike = |from: usize, to: usize| {
        let rows = values.rows[from..to].to_vec();
        part(SetExpr::Values(ast::Values { rows, ..values.clone() }))
    };
    // Most of the time all rows are alike, and the query is what it was.
    let (mut begin, mut common): (usize, Vec<Kind>) = (0, Vec::new());
    for (nth, row) in values.rows.iter().enumerate() {
        if row.content.iter().any(has_query) {
            // The planner computes values before queries: so it is a SELECT.
            if begin < nth {
                all = Box::new(all.chain(alike(begin, nth)?));
            }
            let items = row.content.iter().enumerate();
            let items = items.map(|(nth, expr)| item(expr.clone(), &format!("c{nth}"))).collect();
            all = Box::new(all.chain(part(*Parts { items, ..Parts::default() }.query().body)?));
            (begin, common) = (nth + 1, Vec::new());
            continue;
        }
        // What is wrong with an expression is told when the query is planned.
        let kind = |expr| kind(planner, expr, params).unwrap_or(Kind::Any);
        let kinds: Vec<_> = row.content.iter().map(kind).collect();
        match merged(&common, &kinds) {
            Some(merged) => common = merged,
            None => {
                all = Box::new(all.chain(alike(begin, nth)?));
                (begin, common) = (nth, kinds);
            }
        }
    }
    match begin == values.rows.len() {
        true => Ok(all),
        false => Ok(Box::new(all.chain(alike(begin, values.rows.len())?))),
    }
}

/// Whether there is a query in an expression.
fn has_query(expr: &Expr) -> bool {
    struct Queries;
    impl Visitor for Queries {
        type Break = ();
        fn pre_visit_query(&mut self, _: &ast::Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    expr.walk(&mut Queries).is_break()
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
