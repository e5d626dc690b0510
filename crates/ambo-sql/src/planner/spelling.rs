//! Names that a statement writes otherwise than they are, and names of its own that it uses early.
//!
//! The planner finds a column under its very name only. What it does not find is looked for once more, here, in this order:
//!
//! 1. a column of the tables in FROM that has the name but for large and small letters; two such columns are ambiguous;
//! 2. a name that the list of the SELECT gives, in its WHERE, GROUP BY, HAVING, QUALIFY and further items of the list: `SELECT a + 1 AS b,
//!    b * 2 … WHERE b > 3`. It means what it is given to; what is another value each time it is computed is not meant so;
//! 3. the same in the queries around;
//! 4. a table in FROM: its row, as a struct of its columns.
//!
//! A table in FROM with fewer names than columns keeps the names of its others. A query in FROM that uses columns of the tables before it
//! is LATERAL, also where it does not say so.

mod names;
mod scope;

use datafusion::sql::sqlparser::ast::{
    self, ExcludeSelectItem, Expr, GroupByExpr, Ident, JoinConstraint, JoinOperator, OrderByKind, Query,
    Select, SelectItem, SetExpr, Statement, TableFactor, TableWithJoins, With,
};

use names::Names;
use scope::{Found, Known, Scope, series};

use super::{ask::Ask, mentions::Volatile, rewrite::tell_apart, trees};
use crate::{
    Error, ErrorKind, Result,
    names::ident,
    walk::{Walk, WalkMut},
};

/// What the planner says of a table with more columns than names.
const FEWER_NAMES: &str = "names given as column alias";

/// What the planner says of `a.b` where a column of the innermost query is called `a`, and is no struct.
const NO_PARTS: &str = "has no parts: only structs and maps have";

/// Whether the planner may have failed because a name is written otherwise than it is.
pub(super) fn is_about_spelling(error: &Error) -> bool {
    error.kind() == ErrorKind::NotFound
        || [FEWER_NAMES, NO_PARTS].iter().any(|text| error.message().contains(text))
}

/// Writes names as they are. Returns whether there was one to be written otherwise.
///
/// # Errors
/// A name of which it cannot be told what is meant.
pub(super) fn respell(statement: &mut Statement, ask: &Ask<'_>) -> Result<bool> {
    let Statement::Query(query) = statement else { return Ok(false) };
    let mut spelling = Spelling { ask, is_changed: false };
    spelling.query(query, &[], None)?;
    Ok(spelling.is_changed)
}

/// A name that a list of SELECT gives, and what to.
struct Alias {
    name: String,
    expr: Expr,
}

struct Spelling<'a> {
    ask: &'a Ask<'a>,
    is_changed: bool,
}

/// Tables of WITH with those that are around.
fn beside(around: Option<&With>, own: &With, count: usize) -> Option<With> {
    let mut all = around.cloned().unwrap_or_else(|| With { cte_tables: Vec::new(), ..own.clone() });
    all.recursive |= own.recursive;
    let own = &own.cte_tables[..count];
    all.cte_tables.retain(|known| own.iter().all(|table| table.alias.name != known.alias.name));
    all.cte_tables.extend(own.iter().cloned());
    (!all.cte_tables.is_empty()).then_some(all)
}

impl Spelling<'_> {
    fn query(&mut self, query: &mut Query, outer: &[Scope], with: Option<&With>) -> Result<()> {
        let mut sight = with.cloned();
        if let Some(own) = &mut query.with {
            for nth in 0..own.cte_tables.len() {
                let visible = beside(with, own, nth);
                self.query(&mut own.cte_tables[nth].query, outer, visible.as_ref())?;
            }
            sight = beside(with, own, own.cte_tables.len());
        }
        let order_by = query.order_by.as_mut().map(|order_by| &mut order_by.kind);
        self.body(&mut query.body, order_by, outer, sight.as_ref())
    }

    fn body(
        &mut self,
        body: &mut SetExpr,
        order_by: Option<&mut OrderByKind>,
        outer: &[Scope],
        with: Option<&With>,
    ) -> Result<()> {
        match body {
            SetExpr::Select(select) => self.select(select, order_by, outer, with),
            SetExpr::Query(query) => self.query(query, outer, with),
            SetExpr::SetOperation { left, right, .. } => {
                self.body(left, None, outer, with)?;
                self.body(right, None, outer, with)
            }
            SetExpr::Values(values) => {
                for row in &mut values.rows {
                    row.iter_mut().try_for_each(|expr| self.expr(expr, outer, with, &[]))?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn select(
        &mut self,
        select: &mut Select,
        order_by: Option<&mut OrderByKind>,
        outer: &[Scope],
        with: Option<&With>,
    ) -> Result<()> {
        let mut before = Vec::new();
        let mut own = Scope::default();
        for tables in &mut select.from {
            self.tables(tables, &mut own, &mut before, outer, with)?;
        }
        let mut scopes = outer.to_vec();
        scopes.push(own);
        let mut aliases: Vec<Alias> = Vec::new();
        for item in &mut select.projection {
            match item {
                SelectItem::UnnamedExpr(expr) => self.expr(expr, &scopes, with, &aliases)?,
                SelectItem::ExprWithAlias { expr, alias } => {
                    self.expr(expr, &scopes, with, &aliases)?;
                    if expr.walk(&mut Volatile).is_continue() {
                        aliases.push(Alias { name: ident(alias), expr: expr.clone() });
                    }
                }
                SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) => {
                    self.star(options, &scopes)?;
                }
                SelectItem::ExprWithAliases { .. } => {}
            }
        }
        // Two names may be of one column now.
        tell_apart(&mut select.projection);
        let conditions = [&mut select.selection, &mut select.having, &mut select.qualify];
        for condition in conditions.into_iter().flatten() {
            self.expr(condition, &scopes, with, &aliases)?;
        }
        if let GroupByExpr::Expressions(by, _) = &mut select.group_by {
            by.iter_mut().try_for_each(|expr| self.expr(expr, &scopes, with, &aliases))?;
        }
        if let Some(ast::Distinct::On(on)) = &mut select.distinct {
            on.iter_mut().try_for_each(|expr| self.expr(expr, &scopes, with, &aliases))?;
        }
        if let Some(OrderByKind::Expressions(by)) = order_by {
            for by in by {
                let is_alias =
                    |alias: &Alias| matches!(&by.expr, Expr::Identifier(name) if ident(name) == alias.name);
                if !aliases.iter().any(is_alias) {
                    self.expr(&mut by.expr, &scopes, with, &aliases)?;
                }
            }
        }
        Ok(())
    }

    /// Tables of FROM, whose columns come to a scope. `before` are those that stand before them.
    fn tables(
        &mut self,
        tables: &mut TableWithJoins,
        own: &mut Scope,
        before: &mut Vec<TableWithJoins>,
        outer: &[Scope],
        with: Option<&With>,
    ) -> Result<()> {
        self.factor(&mut tables.relation, own, before, outer, with)?;
        for join in &mut tables.joins {
            self.factor(&mut join.relation, own, before, outer, with)?;
            let mut scopes = outer.to_vec();
            scopes.push(own.clone());
            if let Some(condition) = condition_of(&mut join.join_operator) {
                self.expr(condition, &scopes, with, &[])?;
            }
        }
        Ok(())
    }

    fn factor(
        &mut self,
        factor: &mut TableFactor,
        own: &mut Scope,
        before: &mut Vec<TableWithJoins>,
        outer: &[Scope],
        with: Option<&With>,
    ) -> Result<()> {
        match factor {
            TableFactor::NestedJoin { table_with_joins, alias: None } => {
                return self.tables(table_with_joins, own, before, outer, with);
            }
            TableFactor::Derived { lateral, subquery, .. } => {
                let mut scopes = outer.to_vec();
                if *lateral {
                    scopes.push(own.clone());
                }
                self.query(subquery, &scopes, with)?;
            }
            _ => {}
        }
        self.name_others(factor, with);
        let mut columns = self.columns(factor, &[], with);
        if columns.is_none() && !before.is_empty() {
            columns = self.columns(factor, before, with);
        }
        if columns.is_none()
            && let TableFactor::Derived { lateral: false, .. } = factor
            && !before.is_empty()
        {
            let mut other = factor.clone();
            if let TableFactor::Derived { lateral, subquery, .. } = &mut other {
                *lateral = true;
                let mut scopes = outer.to_vec();
                scopes.push(own.clone());
                self.query(subquery, &scopes, with)?;
            }
            columns = self.columns(&other, before, with);
            if columns.is_some() {
                *factor = other;
                self.is_changed = true;
            }
        }
        match columns {
            Some(columns) => own.columns.extend(columns),
            None => own.has_others = true,
        }
        own.series.extend(series(factor));
        before.push(TableWithJoins { relation: factor.clone(), joins: Vec::new() });
        Ok(())
    }

    /// Names the columns of a table that has names for its first ones alone.
    fn name_others(&mut self, factor: &mut TableFactor, with: Option<&With>) {
        let mut plain = factor.clone();
        let (Some(names), Some(own)) = (alias_of(&mut plain), alias_of(factor)) else { return };
        if own.columns.is_empty() {
            return;
        }
        names.columns.clear();
        let Some(columns) = self.columns(&plain, &[], with) else { return };
        for known in columns.into_iter().skip(own.columns.len()) {
            own.columns
                .push(ast::TableAliasColumnDef { name: Ident::with_quote('"', known.name), data_type: None });
            self.is_changed = true;
        }
    }

    /// The columns of a table of FROM, behind others; `None` if they cannot be told.
    fn columns(
        &self,
        factor: &TableFactor,
        before: &[TableWithJoins],
        with: Option<&With>,
    ) -> Option<Vec<Known>> {
        let all = |from: &[TableWithJoins]| {
            let mut query = trees::query("SELECT * FROM it");
            trees::select(&mut query).from = from.to_vec();
            query.with = with.cloned();
            let schema = self.ask.schema(query).ok()?;
            Some(schema.iter().map(|(table, field)| Known::new(table, field)).collect::<Vec<_>>())
        };
        let mut from = before.to_vec();
        from.push(TableWithJoins { relation: factor.clone(), joins: Vec::new() });
        let mut columns = all(&from)?;
        let others = if before.is_empty() { 0 } else { all(before)?.len() };
        Some(columns.split_off(others))
    }

    fn star(&mut self, options: &mut ast::WildcardAdditionalOptions, scopes: &[Scope]) -> Result<()> {
        let names: Vec<&mut ast::ObjectName> = match &mut options.opt_exclude {
            None => Vec::new(),
            Some(ExcludeSelectItem::Single(name)) => vec![name],
            Some(ExcludeSelectItem::Multiple(names)) => names.iter_mut().collect(),
        };
        for name in names {
            if let [ast::ObjectNamePart::Identifier(name)] = &mut name.0[..] {
                self.name(name, scopes)?;
            }
        }
        let replaced = options.opt_replace.iter_mut().flat_map(|replace| &mut replace.items);
        for element in replaced {
            self.name(&mut element.column_name, scopes)?;
            self.expr(&mut element.expr, scopes, None, &[])?;
        }
        Ok(())
    }

    fn name(&mut self, name: &mut Ident, scopes: &[Scope]) -> Result<()> {
        let own = scopes.last().expect("a SELECT has a scope");
        if let Found::As(spelt) = own.column(None, name)? {
            self.write(name, spelt);
        }
        Ok(())
    }

    fn write(&mut self, name: &mut Ident, spelt: String) {
        name.value = spelt;
        name.quote_style = Some('"');
        self.is_changed = true;
    }

    fn expr(
        &mut self,
        expr: &mut Expr,
        scopes: &[Scope],
        with: Option<&With>,
        aliases: &[Alias],
    ) -> Result<()> {
        let mut names =
            Names { spelling: self, scopes, with, aliases, queries: 0, variables: Vec::new(), error: None };
        let _ = expr.walk_mut(&mut names);
        names.error.map_or(Ok(()), Err)
    }

    /// What a name means, if that is to be written otherwise.
    fn meant(&mut self, name: &mut Ident, scopes: &[Scope], aliases: &[Alias]) -> Result<Option<Expr>> {
        let (own, outer) = match scopes.split_last() {
            Some((own, outer)) => (Some(own), outer),
            None => (None, scopes),
        };
        if let Some(own) = own {
            match own.column(None, name)? {
                Found::Exactly => return Ok(None),
                Found::As(spelt) => {
                    self.write(name, spelt);
                    return Ok(None);
                }
                Found::Not if own.has_others => return Ok(None),
                Found::Not => {
                    let wanted = ident(name);
                    let mut called = own.series.iter().filter(|(function, _)| *function == wanted);
                    if let (Some((_, column)), None) = (called.next(), called.next()) {
                        self.write(name, column.clone());
                        return Ok(None);
                    }
                }
            }
        }
        let wanted = ident(name);
        let is_alike = |alias: &&Alias| alias.name.to_lowercase() == wanted.to_lowercase();
        let alias =
            aliases.iter().find(|alias| alias.name == wanted).or_else(|| aliases.iter().find(is_alike));
        if let Some(alias) = alias {
            self.is_changed = true;
            return Ok(Some(Expr::Nested(Box::new(alias.expr.clone()))));
        }
        for scope in outer.iter().rev() {
            match scope.column(None, name)? {
                Found::Exactly => return Ok(None),
                Found::As(spelt) => {
                    self.write(name, spelt);
                    return Ok(None);
                }
                Found::Not if scope.has_others => return Ok(None),
                Found::Not => {}
            }
        }
        let row = scopes.iter().rev().find_map(|scope| scope.table(name).map(|table| scope.row(&table)));
        self.is_changed |= row.is_some();
        Ok(row)
    }

    /// A column with its table before it, or a part of a column. What is no part of a column of this query may be of a table around.
    fn parts(&mut self, parts: &mut Vec<Ident>, scopes: &[Scope]) -> Result<()> {
        let mut is_hidden = false;
        for scope in scopes.iter().rev() {
            let (table, rest) = parts.split_at_mut(1);
            if let (Some(known), Some(column)) = (scope.table(&table[0]), rest.first_mut()) {
                if known != ident(&table[0]) {
                    self.write(&mut table[0], known.clone());
                }
                if let Found::As(spelt) = scope.column(Some(&known), column)? {
                    self.write(column, spelt);
                }
                if is_hidden {
                    parts.splice(..0, scope.qualifier(&known));
                    self.is_changed = true;
                }
                return Ok(());
            }
            if scope.is_plain(&table[0]) {
                is_hidden = true;
                continue;
            }
            match scope.column(None, &table[0])? {
                Found::Exactly => return Ok(()),
                Found::As(spelt) => {
                    self.write(&mut table[0], spelt);
                    return Ok(());
                }
                Found::Not => {}
            }
        }
        Ok(())
    }
}

fn condition_of(operator: &mut JoinOperator) -> Option<&mut Expr> {
    use JoinOperator as J;
    match operator {
        J::Join(JoinConstraint::On(on))
        | J::Inner(JoinConstraint::On(on))
        | J::Left(JoinConstraint::On(on))
        | J::LeftOuter(JoinConstraint::On(on))
        | J::Right(JoinConstraint::On(on))
        | J::RightOuter(JoinConstraint::On(on))
        | J::FullOuter(JoinConstraint::On(on))
        | J::LeftSemi(JoinConstraint::On(on))
        | J::RightSemi(JoinConstraint::On(on))
        | J::LeftAnti(JoinConstraint::On(on))
        | J::RightAnti(JoinConstraint::On(on)) => Some(on),
        _ => None,
    }
}

fn alias_of(factor: &mut TableFactor) -> Option<&mut ast::TableAlias> {
    match factor {
        TableFactor::Table { alias, .. } | TableFactor::Derived { alias, .. } => alias.as_mut(),
        _ => None,
    }
}
