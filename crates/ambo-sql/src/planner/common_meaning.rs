//! What names of columns mean that two sides of a join have in common by USING.
//!
//! Within queries of conditions and lists a name means that only where no table there has such a column.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{self, Expr, Ident, VisitorMut};

use super::using::Known;
use crate::{names::ident, parse::each_select, walk::WalkMut};

/// A column in common.
pub(super) struct Meant {
    pub(super) name: String,
    pub(super) expr: Expr,
    /// The planner finds it by its name alone, but within conditions and other queries.
    pub(super) is_found: bool,
}

/// See the module.
pub(super) struct Meaning<'k> {
    of: Vec<Meant>,
    known: &'k Known<'k>,
    is_condition: bool,
    /// The columns of the tables of each query around, from the outermost on; `None` if these cannot be told.
    within: Vec<Option<Vec<String>>>,
}

impl<'k> Meaning<'k> {
    pub(super) fn new(of: Vec<Meant>, known: &'k Known<'k>) -> Self {
        Self { of, known, is_condition: false, within: Vec::new() }
    }

    /// The same in conditions, where the planner (DataFusion 55) takes all columns in common for ambiguous.
    pub(super) fn of_condition(of: Vec<Meant>, known: &'k Known<'k>) -> Self {
        Self { is_condition: true, ..Self::new(of, known) }
    }

    /// What a name means, if that is another thing than what the planner takes it for.
    pub(super) fn get(&self, name: &Ident) -> Option<&Expr> {
        let name = ident(name);
        let meant = self.of.iter().find(|meant| meant.name == name)?;
        let is_hidden =
            |columns: &Option<Vec<String>>| columns.as_ref().is_none_or(|all| all.contains(&name));
        let is_meant = match &self.within[..] {
            [] => self.is_condition || !meant.is_found,
            within => !within.iter().any(is_hidden),
        };
        is_meant.then_some(&meant.expr)
    }

    /// Forgets what is called so.
    pub(super) fn forget(&mut self, is_other: impl Fn(&str) -> bool) {
        self.of.retain(|meant| !is_other(&meant.name));
    }

    pub(super) fn say(&mut self, tree: &mut impl WalkMut) {
        if !self.of.is_empty() {
            let _ = tree.walk_mut(self);
        }
    }

    /// The columns of the tables that a query is over.
    fn columns_of(&self, query: &mut ast::Query) -> Option<Vec<String>> {
        let mut all = Some(Vec::new());
        each_select(&mut query.body, &mut |select| {
            let joined = select.from.iter().flat_map(|relation| {
                std::iter::once(&relation.relation).chain(relation.joins.iter().map(|join| &join.relation))
            });
            for factor in joined {
                match (&mut all, (self.known)(factor)) {
                    (Some(all), Some(columns)) => all.extend(columns),
                    _ => all = None,
                }
            }
        });
        all
    }
}

impl VisitorMut for Meaning<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
        let columns = self.columns_of(query);
        self.within.push(columns);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut ast::Query) -> ControlFlow<()> {
        self.within.pop();
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expr
            && let Some(meant) = self.get(name)
        {
            *expr = meant.clone();
        }
        ControlFlow::Continue(())
    }
}
