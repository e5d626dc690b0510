//! `rowid`: the number of a row, from 0 on, in tables without a primary key. Rows have it for as long as they are there, and later ones
//! have greater ones.
//!
//! It is no column: `*` is without it, and a column that is called so comes first. So statements that name it are planned as others are;
//! where there is no such column, the tables that have numbers become queries with one.

use std::{collections::HashSet, ops::ControlFlow, sync::Arc};

use ambo::Table;
use datafusion::{
    datasource::provider_as_source,
    logical_expr::TableSource,
    sql::sqlparser::ast::{
        ExcludeSelectItem, Expr, Ident, ObjectName, Query, Select, SelectItem,
        SelectItemQualifiedWildcardKind, Statement, TableFactor, Visitor, VisitorMut,
    },
};

use super::{
    Planner,
    tables::{find_table, find_view},
    trees,
};
use crate::{
    Result,
    hidden::seen,
    names::{ident, object, quoted},
    parse::each_select,
    statement::{TARGET, table_alias},
    table::{ROW_NUMBER, StoredTable},
    walk::{Walk, WalkMut},
};

const ROWID: &str = "rowid";

/// What stands before the name of a table that has the numbers of its rows as a column.
const NUMBERED: &str = "\u{1}numbered ";

/// Gives tables their row numbers where a statement asks for them. Returns whether there was one.
pub(super) fn write_out(statement: &mut Statement, planner: &Planner<'_>) -> bool {
    if !names_it(statement) {
        return false;
    }
    let mut with = HashSet::new();
    let _ = statement.walk(&mut With(&mut with));
    let mut numbering = Numbering { planner, with, is_changed: false };
    let _ = statement.walk_mut(&mut numbering);
    numbering.is_changed
}

impl Planner<'_> {
    /// The table with row numbers that a name of ours means.
    pub(super) fn numbered(&self, name: &str) -> Option<Result<Arc<dyn TableSource>>> {
        let (place, name) = name.strip_prefix(NUMBERED)?.split_once(' ')?;
        let place = place.parse::<usize>().ok()?;
        let seen = self.places.get(place)?;
        Some(find_table(&seen.definitions(), name).and_then(|table| {
            self.require_read(place, &table.definition().name, "table")?;
            if let Some(transaction) = seen.transaction {
                transaction.note_scan(&table);
            }
            Ok(provider_as_source(Arc::new(StoredTable::new(table, seen.view.clone(), true))))
        }))
    }

    /// The stored table that a name means, and in which database it is.
    fn placed(&self, name: &ObjectName) -> Option<(usize, Table)> {
        let parts = name.0.iter().filter_map(|part| part.as_ident().map(ident));
        for named in self.candidates_of(&parts.collect::<Vec<_>>()).ok()? {
            let definitions = self.place(named.place).definitions();
            if let Ok(table) = find_table(&definitions, &named.local()) {
                return Some((named.place, table));
            }
            if find_view(&definitions, &named.local()).is_ok_and(|view| view.is_some()) {
                return None;
            }
        }
        None
    }
}

/// Whether `rowid` stands somewhere.
fn names_it(tree: &impl Walk) -> bool {
    struct Names;
    impl Visitor for Names {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let last = match expr {
                Expr::Identifier(name) => Some(name),
                Expr::CompoundIdentifier(parts) => parts.last(),
                _ => None,
            };
            match last.is_some_and(is_rowid) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
    }
    tree.walk(&mut Names).is_break()
}

fn is_rowid(name: &Ident) -> bool {
    ident(name).eq_ignore_ascii_case(ROWID)
}

/// The names that WITH gives.
struct With<'a>(&'a mut HashSet<String>);

impl Visitor for With<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.0.extend(
            query.with.iter().flat_map(|with| &with.cte_tables).map(|table| ident(&table.alias.name)),
        );
        ControlFlow::Continue(())
    }
}

struct Numbering<'a> {
    planner: &'a Planner<'a>,
    with: HashSet<String>,
    is_changed: bool,
}

impl VisitorMut for Numbering<'_> {
    type Break = ();

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let mut order_by = query.order_by.clone();
        each_select(&mut query.body, &mut |select| {
            if names_it(select) || order_by.take().is_some_and(|order_by| names_it(&order_by)) {
                self.select(select);
            }
        });
        ControlFlow::Continue(())
    }
}

impl Numbering<'_> {
    fn select(&mut self, select: &mut Select) {
        if let Some(target) = select.from.first().and_then(|tables| self.target(&tables.relation)) {
            let is_alone = matches!(&select.from[..], [only] if only.joins.is_empty());
            let mut columns = TargetColumns { target, is_alone, queries: 0, is_changed: false };
            let _ = select.walk_mut(&mut columns);
            self.is_changed |= columns.is_changed;
            return;
        }
        let mut numbered = Vec::new();
        for tables in &mut select.from {
            numbered.extend(self.factor(&mut tables.relation));
            for join in &mut tables.joins {
                numbered.extend(self.factor(&mut join.relation));
            }
        }
        if numbered.is_empty() {
            return;
        }
        self.is_changed = true;
        let all: Option<Vec<_>> = select
            .from
            .iter()
            .flat_map(|tables| {
                std::iter::once(&tables.relation).chain(tables.joins.iter().map(|join| &join.relation))
            })
            .map(alias)
            .collect();
        let items = std::mem::take(&mut select.projection);
        select.projection =
            items.into_iter().flat_map(|item| without(item, &numbered, all.as_deref())).collect();
    }

    /// What the table is called that the statement writes to, if it is this one and has numbers: they are a column of it already.
    fn target(&self, factor: &TableFactor) -> Option<Ident> {
        let source = self.planner.extra.get(TARGET)?;
        source.schema().index_of(ROW_NUMBER).ok()?;
        let TableFactor::Table { name, alias: Some(alias), .. } = factor else { return None };
        object(name).is_ok_and(|name| name == TARGET).then(|| alias.name.clone())
    }

    /// Makes a query of a table that has numbers. Returns what it is called.
    fn factor(&self, factor: &mut TableFactor) -> Option<String> {
        let TableFactor::Table { name, args: None, alias: named, .. } = factor else { return None };
        let of = object(name).ok()?;
        if self.with.contains(&of) {
            return None;
        }
        let (place, table) = self.planner.placed(name)?;
        let definition = table.definition();
        let is_there = definition.columns.iter().any(|column| column.name.eq_ignore_ascii_case(ROWID));
        if !definition.is_numbered() || is_there {
            return None;
        }
        let columns: Vec<_> = seen(definition).map(|place| quoted(&definition.columns[place].name)).collect();
        let text = format!(
            "SELECT {}, {} AS {ROWID} FROM {}",
            columns.join(", "),
            number(None),
            quoted(&format!("{NUMBERED}{place} {}", definition.name)),
        );
        let short = name.0.last()?.as_ident()?.clone();
        let mut named = named.clone().unwrap_or_else(|| table_alias(&ident(&short)));
        // Names for all columns, but for that.
        if named.columns.len() == columns.len() {
            named.columns.push(datafusion::sql::sqlparser::ast::TableAliasColumnDef::from_name(ROWID));
        }
        let called = ident(&named.name);
        let mut around = trees::query("SELECT 1 FROM (SELECT 1) AS numbered");
        let derived = &mut trees::select(&mut around).from[0].relation;
        if let TableFactor::Derived { subquery, alias, .. } = derived {
            **subquery = trees::query(&text);
            *alias = Some(named);
        }
        *factor = derived.clone();
        Some(called)
    }
}

/// The number of a row, counted from 0, as text; those that are stored count from 1.
fn number(table: Option<&Ident>) -> String {
    let table = table.map(|table| format!("{}.", quoted(&ident(table)))).unwrap_or_default();
    format!("(CAST({table}{} AS BIGINT) - 1)", quoted(ROW_NUMBER))
}

/// Numbers of the table that is written to, but for those in queries within.
struct TargetColumns {
    target: Ident,
    /// Whether no other table could be meant.
    is_alone: bool,
    queries: usize,
    is_changed: bool,
}

impl VisitorMut for TargetColumns {
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
        let is_it = match expr {
            Expr::Identifier(name) => self.is_alone && is_rowid(name),
            Expr::CompoundIdentifier(parts) => match &parts[..] {
                [table, name] => is_rowid(name) && ident(table) == ident(&self.target),
                _ => false,
            },
            _ => false,
        };
        if is_it && self.queries == 0 {
            *expr = trees::expr(&number(Some(&self.target)));
            self.is_changed = true;
        }
        ControlFlow::Continue(())
    }
}

/// What a table of FROM is called.
fn alias(factor: &TableFactor) -> Option<Ident> {
    match factor {
        TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } => {
            Some(alias.name.clone())
        }
        TableFactor::Table { name, .. } => name.0.last()?.as_ident().cloned(),
        _ => None,
    }
}

/// An item of a list, without the numbers where it means all columns. `all` are the tables of FROM.
fn without(item: SelectItem, numbered: &[String], all: Option<&[Ident]>) -> Vec<SelectItem> {
    let excluded = || Some(ExcludeSelectItem::Single(ObjectName::from(vec![Ident::new(ROWID)])));
    match (item, all) {
        (SelectItem::Wildcard(options), Some(all)) if options.opt_exclude.is_none() => {
            let of = |table: &Ident| {
                let mut options = options.clone();
                if numbered.contains(&ident(table)) {
                    options.opt_exclude = excluded();
                }
                let name = ObjectName::from(vec![table.clone()]);
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options)
            };
            all.iter().map(of).collect()
        }
        (
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), mut options),
            _,
        ) if options.opt_exclude.is_none() && object(&name).is_ok_and(|name| numbered.contains(&name)) => {
            options.opt_exclude = excluded();
            vec![SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options)]
        }
        (item, _) => vec![item],
    }
}
