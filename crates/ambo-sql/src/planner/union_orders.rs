//! ORDER BY of set operations by what a later query calls a column, `SELECT a FROM t UNION SELECT b FROM u ORDER BY b`, or by the column of
//! a table, `ORDER BY t.a`: by the place of that column. And `#2` for the second column of a result, as `2`.

use datafusion::sql::sqlparser::ast::{
    self, Expr, GroupByExpr, OrderByKind, SelectItem, SetExpr, SetQuantifier, Value,
};

use super::{ask::Ask, rewrite::unmarked};
use crate::{names::ident, parse::each_select};

/// `ORDER BY #2`, `GROUP BY #1` are `ORDER BY 2`, `GROUP BY 1`.
pub(super) fn say_numbers(query: &mut ast::Query) {
    if let Some(ast::OrderBy { kind: OrderByKind::Expressions(by), .. }) = &mut query.order_by {
        by.iter_mut().for_each(|by| say_number(&mut by.expr));
    }
    each_select(&mut query.body, &mut |select| {
        if let GroupByExpr::Expressions(by, _) = &mut select.group_by {
            by.iter_mut().for_each(say_number);
        }
    });
}

fn say_number(expr: &mut Expr) {
    if let Expr::Identifier(name) = expr
        && name.quote_style.is_none()
        && let Some(number) = name.value.strip_prefix('#')
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && number.parse::<usize>().is_ok_and(|number| number > 0)
    {
        *expr = place(number.to_owned());
    }
}

fn place(number: String) -> Expr {
    Expr::value(Value::Number(number, false))
}

/// Says places for names that the planner does not find: it knows those of the first query.
pub(super) fn say_orders_of_union(query: &mut ast::Query, with: Option<&ast::With>, ask: &Ask<'_>) {
    use SetQuantifier::{AllByName, ByName, DistinctByName};
    let SetExpr::SetOperation { set_quantifier, .. } = query.body.as_ref() else { return };
    if matches!(set_quantifier, ByName | AllByName | DistinctByName) {
        return;
    }
    let Some(ast::OrderBy { kind: OrderByKind::Expressions(by), .. }) = &mut query.order_by else { return };
    let is_name = |expr: &Expr| matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
    if !by.iter().any(|by| is_name(&by.expr)) {
        return;
    }
    let mut queries = Vec::new();
    leaves(&query.body, &mut queries);
    let columns = |of: &SetExpr| columns(of, with, ask);
    let Some(queries) = queries.into_iter().map(columns).collect::<Option<Vec<_>>>() else { return };
    for by in by.iter_mut() {
        let found = match &by.expr {
            Expr::Identifier(name) if at(&queries[0], &ident(name)).is_none() => {
                queries.iter().find_map(|columns| at(columns, &ident(name)))
            }
            whole @ Expr::CompoundIdentifier(parts) => {
                let is_it = |column: &Column| column.expr.as_ref() == Some(whole);
                let name = parts.last().map(ident).unwrap_or_default();
                let very = queries.iter().find_map(|columns| columns.iter().position(is_it));
                very.or_else(|| queries.iter().find_map(|columns| at(columns, &name)))
            }
            _ => None,
        };
        if let Some(found) = found {
            by.expr = place((found + 1).to_string());
        }
    }
}

/// A column of a query, with what computes it if the list of the SELECT says it.
struct Column {
    name: String,
    expr: Option<Expr>,
}

/// Where the only column of this name is.
fn at(columns: &[Column], name: &str) -> Option<usize> {
    let mut all = columns.iter().enumerate().filter(|(_, column)| column.name == name);
    all.next().map(|(at, _)| at).filter(|_| all.next().is_none())
}

/// The queries that a set operation is of, from the left.
fn leaves<'q>(body: &'q SetExpr, all: &mut Vec<&'q SetExpr>) {
    match body {
        SetExpr::SetOperation { left, right, .. } => {
            leaves(left, all);
            leaves(right, all);
        }
        SetExpr::Query(query) if query.with.is_none() => leaves(&query.body, all),
        other => all.push(other),
    }
}

/// The columns of a query; `None` if that cannot be told.
fn columns(of: &SetExpr, with: Option<&ast::With>, ask: &Ask<'_>) -> Option<Vec<Column>> {
    let is_wildcard =
        |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
    if let SetExpr::Select(select) = of
        && !select.projection.iter().any(is_wildcard)
    {
        let column = |item: &SelectItem| match item {
            SelectItem::ExprWithAlias { expr, alias } => {
                Column { name: unmarked(&ident(alias)).to_owned(), expr: Some(expr.clone()) }
            }
            SelectItem::UnnamedExpr(expr) => {
                let name = match expr {
                    Expr::Identifier(name) => ident(name),
                    Expr::CompoundIdentifier(parts) => parts.last().map(ident).unwrap_or_default(),
                    other => other.to_string(),
                };
                Column { name, expr: Some(expr.clone()) }
            }
            other => Column { name: other.to_string(), expr: None },
        };
        return Some(select.projection.iter().map(column).collect());
    }
    let mut alone = super::trees::query("SELECT 1");
    alone.with = with.cloned();
    *alone.body = of.clone();
    let schema = ask.schema(alone).ok()?;
    let column = |field: &std::sync::Arc<arrow::datatypes::Field>| Column {
        name: unmarked(field.name()).to_owned(),
        expr: None,
    };
    Some(schema.fields().iter().map(column).collect())
}
