//! DISTINCT ON with any order: of each group the first row by the order, and the rows in that order.
//!
//! The planner takes orders that begin with the expressions of DISTINCT ON. Others become `SELECT … QUALIFY row_number() OVER (PARTITION
//! BY … ORDER BY …) = 1 ORDER BY …`.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    self, Distinct, Expr, GroupByExpr, OrderByKind, Query, Select, SelectItem, SetExpr, Value, VisitorMut,
};

use super::trees;
use crate::{names::ident, walk::WalkMut};

/// Says what DISTINCT ON means in another order.
pub(super) fn say_first_rows(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_mut() else { return };
    let Some(ast::OrderBy { kind: OrderByKind::Expressions(by), .. }) = &query.order_by else { return };
    let Some(Distinct::On(on)) = &select.distinct else { return };
    let is_grouped = !matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty());
    if select.qualify.is_some() || is_grouped || by.is_empty() {
        return;
    }
    let meant: Option<Vec<Expr>> = by.iter().map(|by| meant(&by.expr, select)).collect();
    let Some(meant) = meant else { return };
    let on: Vec<Expr> = on.iter().filter_map(|on| self::meant(on, select)).collect();
    let first = meant.iter().take(on.len());
    if first.len() == on.len() && first.clone().all(|by| on.contains(by)) {
        return;
    }
    let mut number = trees::expr("row_number() OVER (PARTITION BY 1 ORDER BY 1) = 1");
    if let Expr::BinaryOp { left, .. } = &mut number
        && let Expr::Function(function) = left.as_mut()
        && let Some(ast::WindowType::WindowSpec(window)) = &mut function.over
    {
        window.partition_by = on;
        let orders = by.iter().zip(meant);
        window.order_by = orders.map(|(by, expr)| ast::OrderByExpr { expr, ..by.clone() }).collect();
    }
    select.qualify = Some(number);
    select.distinct = None;
}

/// What an expression means: names and numbers of the list are what stands there. `None` if a star stands in front of the number.
fn meant(expr: &Expr, select: &Select) -> Option<Expr> {
    let item = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr.clone()),
        _ => None,
    };
    if let Expr::Value(value) = expr
        && let Value::Number(number, _) = &value.value
    {
        let place = number.parse::<usize>().ok()?.checked_sub(1)?;
        let is_plain = select.projection.iter().take(place + 1).all(|one| item(one).is_some());
        return select.projection.get(place).filter(|_| is_plain).and_then(item);
    }
    struct Aliases<'s>(&'s Select);
    impl VisitorMut for Aliases<'_> {
        type Break = ();

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            let named = |item: &SelectItem| match (item, &*expr) {
                (SelectItem::ExprWithAlias { expr: of, alias }, Expr::Identifier(name))
                    if ident(alias) == ident(name) =>
                {
                    Some(of.clone())
                }
                _ => None,
            };
            if let Some(of) = self.0.projection.iter().find_map(named) {
                *expr = of;
            }
            ControlFlow::Continue(())
        }
    }
    let mut meant = expr.clone();
    let _ = meant.walk_mut(&mut Aliases(select));
    Some(meant)
}
