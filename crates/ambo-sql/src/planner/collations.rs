//! `x COLLATE name` is the function [`COLLATE`] of the text and the name: what it changes of comparisons, orders and groups is known where
//! types are (`crate::collations`).

use datafusion::sql::sqlparser::ast::{Expr, OrderByKind, Query, SelectItem, SetExpr, Value};

use super::{patterns::call, trees};
use crate::{
    Result,
    collations::{COLLATE, Collation},
    names::{about_object, written},
};

/// Says a COLLATE.
///
/// # Errors
/// There is no such collation.
pub(super) fn say_collation(expr: &mut Expr) -> Result<()> {
    let Expr::Collate { expr: text, collation } = expr else { return Ok(()) };
    let how = written(collation).and_then(|name| Collation::named(&name));
    let how = how.map_err(|error| about_object(error, collation))?;
    let text = Expr::Nested(Box::new(std::mem::replace(text.as_mut(), Expr::value(Value::Null))));
    *expr = call(COLLATE, vec![text, trees::text(&how.to_string())]);
    Ok(())
}

/// Says that numbers with a COLLATE in ORDER BY mean columns of the list.
pub(super) fn say_orders(query: &mut Query) {
    let Some(order_by) = &mut query.order_by else { return };
    let OrderByKind::Expressions(by) = &mut order_by.kind else { return };
    let items = match query.body.as_ref() {
        SetExpr::Select(select) => &select.projection[..],
        _ => &[],
    };
    for by in by {
        if let Expr::Collate { expr, .. } = &mut by.expr
            && let Some(column) = column_of(expr, items)
        {
            **expr = column.clone();
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
