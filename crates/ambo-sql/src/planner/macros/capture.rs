//! Whether a column that is given to a function would be taken for one of the tables that the function reads.
//!
//! What is given is written out in the place of the parameter. Within a query of the function a name means a column of its tables first, so
//! `f(b)` of `f(x) AS (SELECT count(*) FROM t WHERE t.b <= x)` would compare `t.b` with itself.

use std::{collections::HashSet, ops::ControlFlow};

use ambo::Definitions;
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, ObjectName, Query, Select, SelectItem, TableAlias, TableFactor, Visitor,
};

use crate::{
    Error, Result,
    names::{ident, last, object, shown},
    walk::{Walk, each_expr},
};

/// The names that mean something within the queries of a function.
#[derive(Default)]
struct Inner {
    has_query: bool,
    tables: HashSet<String>,
    /// Of tables, by their whole names.
    read: HashSet<String>,
    columns: HashSet<String>,
}

/// # Errors
/// A column that is given may be taken for another.
pub(super) fn refuse(
    function: &str,
    body: &impl Walk,
    given: &[FunctionArg],
    definitions: &Definitions<'_>,
) -> Result<()> {
    let mut inner = Inner::default();
    let _ = body.walk(&mut inner);
    if !inner.has_query {
        return Ok(());
    }
    let mut is_known = true;
    for name in &inner.read {
        match definitions.table(name) {
            Ok(table) => {
                inner.columns.extend(table.definition().columns.iter().map(|column| column.name.clone()))
            }
            Err(_) => is_known &= inner.tables.contains(last(name)) && definitions.view(name).is_err(),
        }
    }
    let found = each_expr(&given.to_vec(), |expr| {
        let is_captured = match expr {
            Expr::Identifier(name) => !is_known || inner.columns.contains(&ident(name)),
            Expr::CompoundIdentifier(names) => {
                names.first().is_some_and(|name| inner.tables.contains(&ident(name)))
            }
            _ => false,
        };
        if is_captured { ControlFlow::Break(expr.to_string()) } else { ControlFlow::Continue(()) }
    });
    match found {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(column) => Err(Error::invalid(format!(
            "{column} may be taken for a column that function \"{}\" reads, in the query that it is made of",
            shown(function)
        ))
        .with_hint("give it another name: SELECT f(q.other) FROM (SELECT … AS other FROM …) AS q")),
    }
}

impl Inner {
    fn alias(&mut self, alias: &TableAlias) {
        self.tables.insert(ident(&alias.name));
        self.columns.extend(alias.columns.iter().map(|column| ident(&column.name)));
    }
}

impl Visitor for Inner {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.has_query = true;
        query.with.iter().flat_map(|with| &with.cte_tables).for_each(|cte| self.alias(&cte.alias));
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                self.columns.insert(ident(alias));
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        if let Ok(name) = object(name) {
            self.tables.insert(last(&name).to_owned());
            self.read.insert(name);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        let alias = match factor {
            TableFactor::Table { alias, .. }
            | TableFactor::Derived { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. } => alias,
            _ => &None,
        };
        alias.iter().for_each(|alias| self.alias(alias));
        ControlFlow::Continue(())
    }
}
