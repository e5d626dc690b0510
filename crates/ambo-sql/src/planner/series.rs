//! `range` and `generate_series` in FROM with columns of the tables before them: `FROM t, range(t.n)`.
//!
//! The planner's functions in FROM take literals. With columns, and with times that are computed, the list of the values is made rows of:
//! `LATERAL (SELECT unnest(range(t.n)) AS range)`. So are the rows of `unnest` of columns.

use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Query, TableAlias, TableFactor,
};

use super::{own::names_column, trees};
use crate::names::written;

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
    let mut series = trees::expr(&format!("{function}(1)"));
    if let Expr::Function(series) = &mut series
        && let FunctionArguments::List(list) = &mut series.args
    {
        list.args.clone_from(args);
    }
    let subquery = Box::new(rows_of(trees::expr("unnest(1)"), &series, &function));
    let alias = Some(alias.take().unwrap_or_else(|| own_name(function)));
    *factor = TableFactor::Derived { lateral, subquery, alias, sample: None };
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
