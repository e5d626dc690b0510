//! Common table expressions that are computed once, however often they are named.
//!
//! The planner puts the query of a common table expression wherever its name stands. If there is a volatile function in it, or a LIMIT that
//! leaves open which rows it takes, each mention has other rows then: `WITH c AS (SELECT random() AS r) SELECT a.r = b.r FROM c AS a, c AS
//! b`. Such queries get a mark, by which the optimizer knows them ([`crate::optimizer`]): they become `SELECT * FROM (…) AS "␁once 1"`.

use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicU64, Ordering},
};

use datafusion::sql::sqlparser::{
    ast::{self, Cte, Ident, ObjectName, SetExpr, TableFactor, Visitor, With},
    parser::Parser,
};

use super::{mentions::Volatile, recursion::is_recursive};
use crate::{
    names::{ident, object},
    optimizer::ONCE,
    parse::DIALECT,
    walk::Walk,
};

/// Marks those of a query. To be done when those within it are marked.
pub(super) fn mark_once(query: &mut ast::Query) {
    let Some(mut with) = query.with.take() else { return };
    let mut varying = Vec::new();
    for nth in 0..with.cte_tables.len() {
        let table = &with.cte_tables[nth];
        let name = ident(&table.alias.name);
        if !(varies(&table.query) || names(&table.query, &varying)) {
            continue;
        }
        if mentions(&with, nth, query) > 1
            && let Some(marked) = marked(&with.cte_tables[nth], with.recursive)
        {
            *with.cte_tables[nth].query = marked;
        } else {
            varying.push(name);
        }
    }
    query.with = Some(with);
}

/// Whether a query has other rows each time.
fn varies(query: &ast::Query) -> bool {
    struct Limited;
    impl Visitor for Limited {
        type Break = ();

        fn pre_visit_query(&mut self, query: &ast::Query) -> ControlFlow<()> {
            let is_limited = query.limit_clause.is_some() || query.fetch.is_some();
            if is_limited { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    query.walk(&mut Volatile).is_break() || query.walk(&mut Limited).is_break()
}

/// Counts tables of some names.
struct Tables<'n> {
    names: &'n [String],
    count: usize,
}

impl Visitor for Tables<'_> {
    type Break = ();

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        self.count += usize::from(object(relation).is_ok_and(|name| self.names.contains(&name)));
        ControlFlow::Continue(())
    }
}

fn names(query: &ast::Query, names: &[String]) -> bool {
    let mut tables = Tables { names, count: 0 };
    let _ = query.walk(&mut tables);
    tables.count > 0
}

/// How often a table is computed if nothing is done: once for each mention, as often as what names it, and again in each round of a table
/// that recurses.
fn mentions(with: &With, nth: usize, query: &ast::Query) -> usize {
    let names = [ident(&with.cte_tables[nth].alias.name)];
    let mut tables = Tables { names: &names, count: 0 };
    let _ = query.walk(&mut tables);
    for (later, table) in with.cte_tables.iter().enumerate().skip(nth + 1) {
        let before = tables.count;
        let _ = table.query.walk(&mut tables);
        let recurses = || with.recursive && matches!(*table.query.body, SetExpr::SetOperation { .. });
        if tables.count > before && tables.count < 2 && (recurses() || mentions(with, later, query) > 1) {
            tables.count += 1;
        }
    }
    tables.count
}

/// The query of a table as one that is computed once. A table that recurses stays one, within it.
fn marked(table: &Cte, recursive: bool) -> Option<ast::Query> {
    static GIVEN: AtomicU64 = AtomicU64::new(0);
    let parsed =
        |text: &str| Parser::new(&DIALECT).try_with_sql(text).and_then(|mut parser| parser.parse_query());
    let query = match recursive && is_recursive(table) {
        false => (*table.query).clone(),
        true => {
            let mut within = *parsed("WITH RECURSIVE t AS (SELECT 1) SELECT * FROM t").ok()?;
            let SetExpr::Select(select) = within.body.as_mut() else { return None };
            let TableFactor::Table { name, .. } = &mut select.from.first_mut()?.relation else { return None };
            *name = ObjectName::from(vec![table.alias.name.clone()]);
            *within.with.as_mut()?.cte_tables.first_mut()? = table.clone();
            within
        }
    };
    let mut around = *parsed("SELECT * FROM (SELECT 1) AS once").ok()?;
    let SetExpr::Select(select) = around.body.as_mut() else { return None };
    let TableFactor::Derived { subquery, alias, .. } = &mut select.from.first_mut()?.relation else {
        return None;
    };
    **subquery = query;
    let number = GIVEN.fetch_add(1, Ordering::Relaxed);
    alias.as_mut()?.name = Ident::with_quote('"', format!("{ONCE}{number}"));
    Some(around)
}
