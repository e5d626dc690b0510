//! COLLATE in comparisons and orders: NOCASE compares texts without regard to large and small letters, as `lower(x)`; BINARY, C, POSIX and
//! DEFAULT compare code points, as no COLLATE does.
//!
//! In groups, in DISTINCT and as a value COLLATE stays refused: there it would have to say which of several texts is meant.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, ObjectName, OrderByKind, Query, SelectItem, SetExpr, TableFactor, Value,
};

use super::trees;
use crate::names::written;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Collation {
    Binary,
    NoCase,
}

fn collation(name: &ObjectName) -> Option<Collation> {
    match written(name).ok()?.to_lowercase().as_str() {
        "nocase" => Some(Collation::NoCase),
        "binary" | "c" | "posix" | "default" | "pg_catalog.c" | "pg_catalog.default" => {
            Some(Collation::Binary)
        }
        _ => None,
    }
}

/// What an expression with a COLLATE around it is, and how it is compared.
fn collated(expr: &Expr) -> Option<(&Expr, Collation)> {
    match expr {
        Expr::Collate { expr, collation: name } => Some((expr, collation(name)?)),
        Expr::Nested(inner) => collated(inner),
        _ => None,
    }
}

/// Says comparisons with a COLLATE.
pub(super) fn say_collation(expr: &mut Expr) {
    use BinaryOperator as Op;
    if let Expr::InSubquery { expr, subquery, .. } = expr {
        if let Some((plain, how)) = collated(expr) {
            let plain = plain.clone();
            **expr = if how == Collation::NoCase { lower(plain) } else { plain };
            if how == Collation::NoCase {
                lower_all(subquery);
            }
        }
        return;
    }
    let mut sides: Vec<&mut Expr> = match expr {
        Expr::BinaryOp { left, op: Op::Eq | Op::NotEq | Op::Lt | Op::LtEq | Op::Gt | Op::GtEq, right } => {
            vec![left, right]
        }
        Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => vec![left, right],
        Expr::InList { expr, list, .. } => std::iter::once(expr.as_mut()).chain(list).collect(),
        Expr::Between { expr, low, high, .. } => vec![expr, low, high],
        _ => return,
    };
    let found: Vec<Collation> = sides.iter().filter_map(|side| collated(side)).map(|(_, of)| of).collect();
    let Some(first) = found.first().copied().filter(|first| found.iter().all(|other| other == first)) else {
        return;
    };
    for side in &mut sides {
        let plain = collated(side).map(|(expr, _)| expr.clone());
        let plain = plain.unwrap_or_else(|| side.clone());
        **side = if first == Collation::NoCase { lower(plain) } else { Expr::Nested(Box::new(plain)) };
    }
}

/// Says orders with a COLLATE.
pub(super) fn say_orders(query: &mut Query) {
    let Some(order_by) = &mut query.order_by else { return };
    let OrderByKind::Expressions(by) = &mut order_by.kind else { return };
    let items = match query.body.as_ref() {
        SetExpr::Select(select) => &select.projection[..],
        _ => &[],
    };
    for by in by {
        if let Some((expr, how)) = collated(&by.expr) {
            let plain = column_of(expr, items).unwrap_or(expr).clone();
            by.expr = if how == Collation::NoCase { lower(plain) } else { plain };
        }
    }
}

/// The column of the list that a number means.
fn column_of<'i>(number: &Expr, items: &'i [SelectItem]) -> Option<&'i Expr> {
    let Expr::Value(value) = number else { return None };
    let Value::Number(number, _) = &value.value else { return None };
    let place = number.parse::<usize>().ok()?.checked_sub(1)?;
    let expr = |item: &'i SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    };
    items.iter().take(place + 1).map(expr).collect::<Option<Vec<_>>>()?.get(place).copied()
}

/// Has the values of a query compared so.
fn lower_all(query: &mut Query) {
    let mut around = trees::query("SELECT lower(v) FROM (SELECT 1) AS compared (v)");
    if let TableFactor::Derived { subquery, .. } = &mut trees::select(&mut around).from[0].relation {
        std::mem::swap(subquery.as_mut(), query);
        std::mem::swap(query, &mut around);
    }
}

fn lower(expr: Expr) -> Expr {
    let mut call = trees::expr("lower(1)");
    if let Expr::Function(function) = &mut call {
        trees::set_argument(function, 0, Expr::Nested(Box::new(expr)));
    }
    call
}
