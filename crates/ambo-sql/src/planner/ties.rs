//! `FETCH FIRST n ROWS WITH TIES`: the rows whose rank by ORDER BY is n at most, as a QUALIFY.

use datafusion::sql::sqlparser::ast::{
    self, BinaryOperator, Expr, Fetch, Ident, LimitClause, OrderByExpr, OrderByKind, Select, SelectItem,
    SetExpr, Value, WindowType,
};

use super::trees;
use crate::{Error, Result, names::ident};

/// Says it.
///
/// # Errors
/// There is no order by which rows could be the same, or one that cannot be told here.
pub(super) fn say_ties(query: &mut ast::Query) -> Result<()> {
    let Some(Fetch { with_ties: true, percent, quantity }) = &query.fetch else { return Ok(()) };
    if *percent {
        return Err(Error::invalid("not supported: FETCH FIRST … PERCENT … WITH TIES"));
    }
    let Some(ast::OrderBy { kind: OrderByKind::Expressions(by), .. }) = &query.order_by else {
        return Err(Error::invalid("WITH TIES is of an order: write ORDER BY a, b before it"));
    };
    let one = || Expr::value(Value::Number("1".to_owned(), false));
    let rows = quantity.clone().unwrap_or_else(one);
    let rows = match &query.limit_clause {
        None => rows,
        Some(LimitClause::LimitOffset { limit: None, offset: None, limit_by }) if limit_by.is_empty() => rows,
        Some(LimitClause::LimitOffset { limit: None, offset: Some(offset), limit_by })
            if limit_by.is_empty() =>
        {
            Expr::BinaryOp {
                left: Box::new(Expr::Nested(Box::new(rows))),
                op: BinaryOperator::Plus,
                right: Box::new(Expr::Nested(Box::new(offset.value.clone()))),
            }
        }
        Some(_) => return Err(Error::invalid("LIMIT and FETCH FIRST exclude each other")),
    };
    let mut by = by.clone();
    match query.body.as_mut() {
        SetExpr::Select(select) if select.distinct.is_none() => {
            by.iter_mut().try_for_each(|order| resolve(&mut order.expr, &select.projection))?;
            qualify(select, by, rows);
        }
        body => {
            by.iter_mut().try_for_each(|order| resolve(&mut order.expr, &[]))?;
            let mut around = trees::query("SELECT * FROM (SELECT 1) AS \"\u{1}rows\"");
            let select = trees::select(&mut around);
            if let ast::TableFactor::Derived { subquery, .. } = &mut select.from[0].relation {
                std::mem::swap(subquery.body.as_mut(), body);
            }
            qualify(select, by, rows);
            *body = *around.body;
        }
    }
    query.fetch = None;
    Ok(())
}

/// Adds the condition on the rank to a SELECT.
fn qualify(select: &mut Select, by: Vec<OrderByExpr>, rows: Expr) {
    let mut condition = trees::expr("rank() OVER (ORDER BY 1) <= (1)");
    if let Expr::BinaryOp { left, right, .. } = &mut condition {
        if let Expr::Function(rank) = left.as_mut()
            && let Some(WindowType::WindowSpec(window)) = &mut rank.over
        {
            window.order_by = by;
        }
        **right = Expr::Nested(Box::new(rows));
    }
    select.qualify = trees::all_of(select.qualify.take().into_iter().chain([condition]));
}

/// Writes out what ORDER BY means by the place or the name of a column of the result.
fn resolve(expr: &mut Expr, items: &[SelectItem]) -> Result<()> {
    let named = |name: &Ident| {
        items.iter().find_map(|item| match item {
            SelectItem::ExprWithAlias { expr, alias } if ident(alias) == ident(name) => Some(expr.clone()),
            _ => None,
        })
    };
    let meant = match &*expr {
        Expr::Identifier(name) => named(name),
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => {
                let place = digits.parse::<usize>().ok().and_then(|place| place.checked_sub(1));
                match place.and_then(|place| items.get(place)) {
                    Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. })
                        if !items.iter().any(is_wildcard) =>
                    {
                        Some(expr.clone())
                    }
                    _ => {
                        return Err(Error::invalid(format!(
                            "which column {digits} is cannot be told with WITH TIES; name it in ORDER BY"
                        )));
                    }
                }
            }
            _ => None,
        },
        _ => None,
    };
    if let Some(meant) = meant {
        *expr = meant;
    }
    Ok(())
}

fn is_wildcard(item: &SelectItem) -> bool {
    matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
}
