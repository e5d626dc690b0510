//! ORDER BY a name that the list gives and that a column has, too: `SELECT *, -a AS a … ORDER BY a`. What AS names is meant, as in SQLite
//! and DuckDB; the planner would take the column.

use datafusion::sql::sqlparser::ast::{Expr, OrderByKind, Select, SelectItem, With};

use super::{
    ask::Ask,
    pivot::columns_of,
    rewrite::{MARK, marked, unmarked},
};
use crate::{Result, names::ident};

/// Gives what is named so a name of its own, by which rows are ordered.
pub(super) fn say_given(
    select: &mut Select,
    order_by: Option<&mut OrderByKind>,
    with: Option<&With>,
    ask: &Ask<'_>,
) -> Result<()> {
    let Some(OrderByKind::Expressions(by)) = order_by else { return Ok(()) };
    for by in by {
        let Expr::Identifier(name) = &by.expr else { continue };
        let wanted = ident(name);
        let is_given = |item: &SelectItem| {
            matches!(item, SelectItem::ExprWithAlias { expr, alias }
                if unmarked(&ident(alias)) == wanted && !is_column(expr, &wanted))
        };
        let mut given = select.projection.iter().enumerate().filter(|(_, item)| is_given(item));
        let (Some((nth, _)), None) = (given.next(), given.next()) else { continue };
        if !has_column(select, &wanted, with, ask)? {
            continue;
        }
        if let SelectItem::ExprWithAlias { alias, .. } = &mut select.projection[nth] {
            if !alias.value.contains(MARK) {
                *alias = marked(&wanted, nth);
            }
            by.expr = Expr::Identifier(alias.clone());
        }
    }
    Ok(())
}

/// Whether an expression is a column of this name.
pub(super) fn is_column(expr: &Expr, wanted: &str) -> bool {
    match expr {
        Expr::Identifier(name) => ident(name) == wanted,
        Expr::CompoundIdentifier(parts) => parts.last().is_some_and(|name| ident(name) == wanted),
        _ => false,
    }
}

/// Whether a column of this name is among those of a SELECT.
fn has_column(select: &Select, wanted: &str, with: Option<&With>, ask: &Ask<'_>) -> Result<bool> {
    let mut has_star = false;
    for item in &select.projection {
        match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }
                if is_column(expr, wanted) =>
            {
                return Ok(true);
            }
            SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => has_star = true,
            _ => {}
        }
    }
    // What is wrong with FROM the planner says.
    let columns = || columns_of(&select.from, with, ask).unwrap_or_default();
    Ok(has_star && columns().iter().any(|(_, name)| name == wanted))
}
