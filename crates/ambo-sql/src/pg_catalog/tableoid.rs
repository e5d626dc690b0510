//! `tableoid`, which PostgreSQL's tables all have and no `*` shows: of a table of the catalog it is a number that is known. psql's `\dd`
//! and pg_dump tell by it what their rows are.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, Ident, Select, SelectItem, TableFactor, Value};

use super::{shape::CATALOG, syntax::plain};
use crate::{names::ident, walk::each_expr_mut};

const TABLEOID: &str = "tableoid";

/// Writes the number where a SELECT has the column.
pub(super) fn say(select: &mut Select) {
    let joined = select
        .from
        .iter()
        .flat_map(|from| std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation)));
    let known: Vec<(String, i64)> = joined.filter_map(known).collect();
    if known.is_empty() {
        return;
    }
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) = item
            && number(expr, &known).is_some()
        {
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias: Ident::new(TABLEOID) };
        }
    }
    let _ = each_expr_mut(select, |expr| {
        if let Some(oid) = number(expr, &known) {
            *expr = Expr::value(Value::Number(oid.to_string(), false));
        }
        ControlFlow::<()>::Continue(())
    });
}

/// What a table of the catalog is called, and its number.
fn known(factor: &TableFactor) -> Option<(String, i64)> {
    let TableFactor::Table { name, alias, args: None, .. } = factor else { return None };
    let name = plain(name)?;
    let oid = CATALOG.iter().find(|shape| shape.name == name)?.oid;
    Some((alias.as_ref().map_or(name, |alias| ident(&alias.name)), oid))
}

fn number(expr: &Expr, known: &[(String, i64)]) -> Option<i64> {
    match expr {
        Expr::CompoundIdentifier(parts) => match &parts[..] {
            [table, column] if ident(column) == TABLEOID => {
                let table = ident(table);
                known.iter().find(|(name, _)| *name == table).map(|(_, oid)| *oid)
            }
            _ => None,
        },
        Expr::Identifier(column) if ident(column) == TABLEOID => match known {
            [(_, oid)] => Some(*oid),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::ast::SetExpr;

    use super::*;
    use crate::parse::parse_query;

    #[test]
    fn it_is_a_number_of_the_catalog_alone() {
        let said = |sql: &str| {
            let SetExpr::Select(mut select) = *parse_query(sql).unwrap().body else { panic!("{sql}") };
            say(&mut select);
            select.to_string()
        };
        assert_eq!(
            said(
                "SELECT x.tableoid, n.oid FROM pg_catalog.pg_extension AS x JOIN pg_namespace n ON n.tableoid = 1"
            ),
            "SELECT 3079 AS tableoid, n.oid FROM pg_catalog.pg_extension AS x JOIN pg_namespace n ON 2615 = 1"
        );
        assert_eq!(said("SELECT tableoid AS t FROM pg_class"), "SELECT 1259 AS t FROM pg_class");
        for other in ["SELECT tableoid FROM t", "SELECT u.tableoid FROM pg_class AS c, t AS u"] {
            assert_eq!(said(other), other);
        }
    }
}
