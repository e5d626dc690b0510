//! The column of a table function is called as the function: `SELECT range FROM range(9)`, as in PostgreSQL and DuckDB.
//!
//! The planner calls it `value`, as SQLite does: so it stays where a query reads nothing but the function and asks for `value`.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Query, TableAlias, TableAliasColumnDef, TableFactor, Visit, VisitMut, Visitor, VisitorMut,
};

use super::each_select;
use crate::names::ident;

/// Names the columns of `range` and `generate_series` in FROM, where the statement does not.
pub(super) fn name_series(tree: &mut impl VisitMut) {
    let _ = tree.visit(&mut Naming);
}

struct Naming;

impl VisitorMut for Naming {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if !asks_for_value(query) {
            return ControlFlow::Continue(());
        }
        each_select(&mut query.body, &mut |select| {
            if let [tables] = &mut select.from[..]
                && tables.joins.is_empty()
            {
                name_column(&mut tables.relation, Some("value"));
            }
        });
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        name_column(factor, None);
        ControlFlow::Continue(())
    }
}

/// Names the column of a series that has no name, as its function if nothing else is said.
fn name_column(factor: &mut TableFactor, column: Option<&str>) {
    let TableFactor::Table { name, args: Some(_), alias, .. } = factor else { return };
    let [part] = &name.0[..] else { return };
    let Some(function) = part.as_ident().map(ident) else { return };
    if !matches!(function.as_str(), "range" | "generate_series") {
        return;
    }
    let column = TableAliasColumnDef::from_name(column.unwrap_or(&function));
    match alias {
        Some(alias) if alias.columns.is_empty() => alias.columns.push(column),
        Some(_) => {}
        None => {
            let name = Ident::new(function);
            *alias = Some(TableAlias { explicit: true, name, columns: vec![column], at: None });
        }
    }
}

/// Whether a column of this name stands somewhere in a query.
fn asks_for_value(query: &Query) -> bool {
    struct Asks;
    impl Visitor for Asks {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let name = match expr {
                Expr::Identifier(name) => Some(name),
                Expr::CompoundIdentifier(parts) => parts.last(),
                _ => None,
            };
            match name.is_some_and(|name| ident(name) == "value") {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
    }
    query.visit(&mut Asks).is_break()
}
