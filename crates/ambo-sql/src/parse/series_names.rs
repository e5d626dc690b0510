//! The column of a table function is called as the function: `SELECT range FROM range(9)`, as in PostgreSQL and DuckDB; or, if the function
//! has another name in FROM, by that: `SELECT r FROM range(9) AS r`. Then `r.range` is the same column, and so is `range` where the query
//! reads nothing but the function.
//!
//! The planner calls it `value`, as SQLite does: so it stays where a query reads nothing but the function and asks for `value`.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Query, TableAlias, TableAliasColumnDef, TableFactor, Visitor, VisitorMut,
};

use super::each_select;
use crate::{
    names::ident,
    walk::{Walk, WalkMut},
};

/// Names the columns of `range` and `generate_series` in FROM, where the statement does not.
pub(super) fn name_series(tree: &mut impl WalkMut) {
    let _ = tree.walk_mut(&mut Naming);
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

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let (mut named, mut is_alone) = (Vec::new(), true);
        each_select(&mut query.body, &mut |select| {
            is_alone &= matches!(&select.from[..], [only] if only.joins.is_empty());
            for tables in &select.from {
                named.extend(own_name(&tables.relation));
                named.extend(tables.joins.iter().filter_map(|join| own_name(&join.relation)));
            }
        });
        if !named.is_empty() {
            let _ = query.walk_mut(&mut Renaming { named, is_alone, queries: 0 });
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        name_column(factor, None);
        ControlFlow::Continue(())
    }
}

/// Names the column of a series that has no name, as its function if nothing else is said.
fn name_column(factor: &mut TableFactor, column: Option<&str>) {
    if let TableFactor::UNNEST { alias, array_exprs, with_offset: false, .. } = factor {
        if let (Some(alias), [_]) = (alias, &array_exprs[..])
            && alias.columns.is_empty()
        {
            let column = TableAliasColumnDef { name: alias.name.clone(), data_type: None };
            alias.columns.push(column);
        }
        return;
    }
    let TableFactor::Table { name, args: Some(_), alias, .. } = factor else { return };
    let [part] = &name.0[..] else { return };
    let Some(function) = part.as_ident().map(ident) else { return };
    if !matches!(function.as_str(), "range" | "generate_series") {
        return;
    }
    let is_value = column.is_some();
    let column = TableAliasColumnDef::from_name(column.unwrap_or(&function));
    match alias {
        Some(alias) if alias.columns.is_empty() && is_value => alias.columns.push(column),
        Some(alias) if alias.columns.is_empty() => {
            let column = TableAliasColumnDef { name: alias.name.clone(), data_type: None };
            alias.columns.push(column);
        }
        Some(_) => {}
        None => {
            let name = Ident::new(function);
            *alias = Some(TableAlias { explicit: true, name, columns: vec![column], at: None });
        }
    }
}

/// A function in FROM whose column is called as the function is there: both names.
fn own_name(factor: &TableFactor) -> Option<(String, Ident)> {
    let (function, alias) = match factor {
        TableFactor::Table { name, args: Some(_), alias: Some(alias), .. } => {
            let [part] = &name.0[..] else { return None };
            (part.as_ident().map(ident)?, alias)
        }
        TableFactor::UNNEST { alias: Some(alias), .. } => ("unnest".to_owned(), alias),
        _ => return None,
    };
    let is_known = matches!(function.as_str(), "range" | "generate_series" | "unnest");
    let is_own = match &alias.columns[..] {
        [column] => column.name == alias.name,
        _ => false,
    };
    (is_known && is_own && ident(&alias.name) != function).then(|| (function, alias.name.clone()))
}

/// Calls columns of functions as they are called.
struct Renaming {
    named: Vec<(String, Ident)>,
    is_alone: bool,
    queries: usize,
}

impl VisitorMut for Renaming {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::CompoundIdentifier(parts) if parts.len() == 2 => {
                let is_it = |(function, alias): &&(String, Ident)| {
                    ident(&parts[0]) == ident(alias) && ident(&parts[1]) == *function
                };
                if let Some((_, alias)) = self.named.iter().find(is_it) {
                    parts[1] = alias.clone();
                }
            }
            Expr::Identifier(name) if self.is_alone && self.queries == 1 => {
                if let [(function, alias)] = &self.named[..]
                    && ident(name) == *function
                    && function != "unnest"
                {
                    *name = alias.clone();
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
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
    query.walk(&mut Asks).is_break()
}
