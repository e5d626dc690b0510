//! Recursive tables that the planner cannot compute: those with `USING KEY`, and those whose later part names them several times. Their
//! rows are computed, round by round, before the statement is planned; it reads them as a table of its own.
//!
//! `WITH RECURSIVE t (a, b) USING KEY (a, max(b)) AS (first UNION later)`, as in DuckDB: a row for each key `a`. All rows that the parts
//! give are candidates. `b` is the maximum of those of the candidates of a key; a column without an aggregate has the value of the last.
//! `t` is, in the later part, with UNION the keys whose row is another than a round before, with UNION ALL the candidates of the round
//! before; `recurring.t` are all rows that there are by now.

mod finished;
mod rounds;

use std::{
    ops::ControlFlow,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use arrow::{array::RecordBatch, datatypes::SchemaRef};
use datafusion::{
    catalog::MemTable,
    datasource::provider_as_source,
    sql::sqlparser::ast::{
        Cte, Expr, Ident, ObjectName, ObjectNamePart, Query, SelectItem, SetExpr, SetOperator, SetQuantifier,
        TableAlias, TableFactor, Visitor, VisitorMut, With,
    },
};

use super::{ask::Ask, trees};
use crate::{
    Error, Result,
    names::{about, ident, object},
    parse::USING_KEY,
    walk::{Walk, WalkMut},
};
use rounds::{Rounds, SO_FAR, batch_of};

/// The schema of what there is by now.
const RECURRING: &str = "recurring";

/// Computes such tables of a tree.
///
/// # Errors
/// Those of their queries; keys that say nothing.
pub(super) fn say_keyed<T: Walk + WalkMut>(tree: &mut T, ask: &Ask<'_>) -> Result<()> {
    if tree.walk(&mut Finding).is_continue() {
        return Ok(());
    }
    match tree.walk_mut(&mut Saying { ask, around: Vec::new() }) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// Finds out whether there is one.
struct Finding;

impl Visitor for Finding {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let is_there = |with: &With| with.cte_tables.iter().any(|table| is_computed(table, with.recursive));
        match query.with.as_ref().is_some_and(is_there) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// Whether the planner cannot compute a table.
fn is_computed(table: &Cte, may_recurse: bool) -> bool {
    if keys_of(table).is_some() || !may_recurse {
        return keys_of(table).is_some();
    }
    let SetExpr::SetOperation { op: SetOperator::Union, right, .. } = table.query.body.as_ref() else {
        return false;
    };
    let mut mentions = Mentions { name: ident(&table.alias.name), count: 0 };
    let _ = right.walk(&mut mentions);
    mentions.count > 1
}

/// The text of the keys of a table.
fn keys_of(table: &Cte) -> Option<String> {
    let first = table.query.with.as_ref()?.cte_tables.first()?;
    let SetExpr::Select(select) = first.query.body.as_ref() else { return None };
    match &select.projection[..] {
        [
            SelectItem::UnnamedExpr(Expr::Value(keys))
            | SelectItem::ExprWithAlias { expr: Expr::Value(keys), .. },
        ] if first.alias.name.value == USING_KEY => keys.value.clone().into_string(),
        _ => None,
    }
}

struct Mentions {
    name: String,
    count: usize,
}

impl Visitor for Mentions {
    type Break = ();

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        let name = object(relation).unwrap_or_default();
        self.count += usize::from(name == self.name);
        // What there is by now is not known to the planner.
        self.count += 2 * usize::from(name.strip_prefix("recurring.") == Some(&self.name));
        ControlFlow::Continue(())
    }
}

struct Saying<'a> {
    ask: &'a Ask<'a>,
    /// The tables of the queries around.
    around: Vec<Vec<Cte>>,
}

impl VisitorMut for Saying<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        if let Some(with) = &mut query.with {
            let may_recurse = with.recursive;
            for nth in 0..with.cte_tables.len() {
                let (before, rest) = with.cte_tables.split_at_mut(nth);
                if !is_computed(&rest[0], may_recurse) {
                    continue;
                }
                let visible = self.around.iter().flatten().chain(before.iter()).cloned().collect();
                if let Err(error) = compute(&mut rest[0], visible, self.ask) {
                    return ControlFlow::Break(error);
                }
            }
        }
        self.around.push(query.with.iter().flat_map(|with| with.cte_tables.iter().cloned()).collect());
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.around.pop();
        ControlFlow::Continue(())
    }
}

/// Writes in the place of a table's query that its rows are read, which are computed here.
fn compute(table: &mut Cte, visible: Vec<Cte>, ask: &Ask<'_>) -> Result<()> {
    let keys = keys_of(table);
    let name = ident(&table.alias.name);
    let mut own = table.query.with.take().map(|with| with.cte_tables).unwrap_or_default();
    if keys.is_some() {
        own.remove(0);
    }
    let refused = |words: &str| Err(about(Error::invalid(words.to_owned()), &table.alias.name));
    if table.query.order_by.is_some() || table.query.limit_clause.is_some() || table.query.fetch.is_some() {
        return refused("not supported: ORDER BY, LIMIT and OFFSET of a recursive table");
    }
    let SetExpr::SetOperation { op: SetOperator::Union, set_quantifier, left, right } =
        table.query.body.as_ref()
    else {
        return refused("USING KEY is for a recursive table: first query UNION later query");
    };
    let is_all = match set_quantifier {
        SetQuantifier::All => true,
        SetQuantifier::None | SetQuantifier::Distinct => false,
        _ => return refused("not supported: UNION BY NAME in a recursive table"),
    };
    let mut later = right.as_ref().clone();
    let _ = later.walk_mut(&mut SayRecurring { name: &name });
    let tables: Vec<Cte> = visible.into_iter().chain(own).collect();
    let rounds = Rounds { ask, name, tables, alias: &table.alias, later };
    let rows = match keys {
        Some(keys) => rounds.with_keys(left, is_all, &keys),
        None => rounds.all(left, is_all),
    };
    let rows = rows.map_err(|error| about(error, &table.alias.name))?;
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let called = format!("\u{1}rows {}", COUNT.fetch_add(1, Ordering::Relaxed));
    *table.query = trees::query(&format!("SELECT * FROM \"{called}\""));
    ask.planner.add_rows(&called, rows.schema, rows.batches)
}

/// `recurring.t` is the table of what there is by now.
struct SayRecurring<'n> {
    name: &'n str,
}

impl VisitorMut for SayRecurring<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, alias, args: None, .. } = factor
            && let [ObjectNamePart::Identifier(schema), ObjectNamePart::Identifier(table)] = &name.0[..]
            && ident(schema) == RECURRING
            && ident(table) == self.name
        {
            let called = TableAlias { explicit: true, name: table.clone(), columns: Vec::new(), at: None };
            alias.get_or_insert(called);
            *name = ObjectName::from(vec![Ident::with_quote('"', SO_FAR)]);
        }
        ControlFlow::Continue(())
    }
}

impl super::Planner<'_> {
    /// Adds rows as a table that only this statement knows, or puts them in the place of those that are called so.
    fn add_rows(&self, name: &str, schema: SchemaRef, batches: Vec<RecordBatch>) -> Result<()> {
        let batches = batches.into_iter().map(|batch| batch_of(schema.clone(), batch.columns().to_vec()));
        let rows = MemTable::try_new(schema.clone(), vec![batches.collect::<Result<_>>()?])?;
        let mut known = self.computed.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(name.to_owned(), provider_as_source(Arc::new(rows)));
        Ok(())
    }
}
