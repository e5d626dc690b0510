//! `range` and `generate_series` in FROM with columns of the tables before them: `FROM t, range(t.n)`.
//!
//! The planner's functions in FROM take literals. With columns, and with times that are computed, the list of the values is made rows of:
//! `LATERAL (SELECT unnest(range(t.n)) AS range)`. So are the rows of `unnest` of columns, and those that are numbered WITH ORDINALITY.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, Query, TableAlias, TableFactor,
    VisitorMut,
};

use super::{own::names_column, trees};
use crate::{names::written, walk::WalkMut};

/// Says such functions as queries.
pub(super) fn say_lateral(factor: &mut TableFactor) {
    if let TableFactor::UNNEST { alias, array_exprs, with_offset: false, with_ordinality: false, .. } = factor
        && let [list] = &array_exprs[..]
        && names_column(list)
    {
        let rows = rows_of(trees::expr("unnest(1)"), list, "unnest");
        let alias = Some(alias.take().unwrap_or_else(|| own_name("unnest".to_owned())));
        *factor = TableFactor::Derived { lateral: true, subquery: Box::new(rows), alias, sample: None };
        return;
    }
    let (name, args, alias) = match factor {
        TableFactor::Table { name, args: Some(args), alias, with_ordinality: false, .. } => {
            (&*name, &args.args, alias)
        }
        TableFactor::Function { lateral: true, name, args, with_ordinality: false, alias } => {
            (&*name, &*args, alias)
        }
        _ => return,
    };
    let Ok(function) = written(name) else { return };
    let lateral = args.iter().any(names_column);
    if !matches!(function.as_str(), "range" | "generate_series") || !(lateral || args.iter().any(is_time)) {
        return;
    }
    let series = series(&function, args);
    let subquery = Box::new(rows_of(trees::expr("unnest(1)"), &series, &function));
    let alias = Some(alias.take().unwrap_or_else(|| own_name(function)));
    *factor = TableFactor::Derived { lateral, subquery, alias, sample: None };
}

/// `unnest(list) WITH ORDINALITY`, and of a series: its places beside the elements, from 1.
pub(super) fn say_ordinality(factor: &mut TableFactor) {
    let (list, function, alias) = match factor {
        TableFactor::UNNEST { alias, array_exprs, with_offset: false, with_ordinality: true, .. } => {
            let [list] = &array_exprs[..] else { return };
            (list.clone(), "unnest".to_owned(), alias)
        }
        TableFactor::Table { name, args: Some(args), alias, with_ordinality: true, .. } => {
            let Some((list, function)) = list_of(name, &args.args) else { return };
            (list, function, alias)
        }
        TableFactor::Function { name, args, alias, with_ordinality: true, .. } => {
            let Some((list, function)) = list_of(name, args) else { return };
            (list, function, alias)
        }
        _ => return,
    };
    let mut query = rows_of(trees::expr("unnest(1)"), &list, &function);
    let mut places = trees::expr("unnest(range(1, CAST(array_length(1, 1) AS BIGINT) + 1))");
    let _ = places.walk_mut(&mut Lengths(&list));
    trees::select(&mut query).projection.push(trees::named(places, "ordinality"));
    let alias = Some(alias.take().unwrap_or_else(|| own_name(function)));
    let lateral = names_column(&list);
    *factor = TableFactor::Derived { lateral, subquery: Box::new(query), alias, sample: None };
}

/// The list that a function in FROM makes rows of, and what its column is called.
fn list_of(name: &ObjectName, args: &[FunctionArg]) -> Option<(Expr, String)> {
    let function = written(name).ok()?;
    match (function.as_str(), args) {
        ("unnest", [FunctionArg::Unnamed(FunctionArgExpr::Expr(list))]) => Some((list.clone(), function)),
        ("range" | "generate_series", args) => Some((series(&function, args), function)),
        _ => None,
    }
}

/// Sets the list whose length is asked for.
struct Lengths<'l>(&'l Expr);

impl VisitorMut for Lengths<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr
            && written(&function.name).is_ok_and(|name| name == "array_length")
        {
            trees::set_argument(function, 0, self.0.clone());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// The list of the values of a series.
fn series(function: &str, args: &[FunctionArg]) -> Expr {
    let mut series = trees::expr(&format!("{function}(1)"));
    if let Expr::Function(series) = &mut series
        && let FunctionArguments::List(list) = &mut series.args
    {
        list.args = args.to_vec();
    }
    series
}

/// `SELECT unnest(list) AS name`.
fn rows_of(mut unnest: Expr, list: &Expr, name: &str) -> Query {
    if let Expr::Function(unnest) = &mut unnest {
        trees::set_argument(unnest, 0, list.clone());
    }
    let mut query = trees::query("SELECT 1");
    trees::select(&mut query).projection = vec![trees::named(unnest, name)];
    query
}

fn own_name(function: String) -> TableAlias {
    TableAlias { explicit: true, name: Ident::with_quote('"', function), columns: Vec::new(), at: None }
}

/// Whether an argument is a time that is no literal of the planner's.
fn is_time(argument: &FunctionArg) -> bool {
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = argument else { return false };
    let mut expr = expr;
    while let Expr::Nested(inner) = expr {
        expr = inner;
    }
    matches!(
        expr,
        Expr::Cast { .. }
            | Expr::TypedString(_)
            | Expr::Interval(_)
            | Expr::BinaryOp { .. }
            | Expr::Function(_)
    )
}
