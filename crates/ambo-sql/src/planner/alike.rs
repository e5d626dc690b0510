//! Names for what the planner calls alike: `max(t)` beside `max(CAST(t AS DATE))`.
//!
//! The planner calls a cast by what is cast, all queries that are values alike, and refuses two columns of one name. So what it refuses is
//! planned once more, each cast `cast_as(CAST(x AS T), 'T')`, which has another name for each type, and each query `cast_as((SELECT …),
//! 'SELECT …')`. The optimizer takes the function away. What is still refused may be for a column beside a `*` that has one of its name:
//! such columns get marks, as does what AS gives the name of a column that ORDER BY has.

use std::{
    collections::HashSet,
    ops::ControlFlow,
    sync::{Arc, LazyLock},
};

use datafusion::{
    common::tree_node::TreeNode,
    logical_expr::{LogicalPlan, ScalarUDF},
    sql::sqlparser::{
        ast::{self, Expr, OrderByKind, SelectItem, VisitorMut},
        parser::Parser,
    },
};

use super::{
    given_orders::is_column,
    rewrite::{MARK, each_select_list, marked, without_parentheses},
};
use crate::{
    Error, Result,
    identity::identity,
    names::ident,
    optimizer::ASOF_CONDITION,
    parse::DIALECT,
    walk::{WalkMut, each_expr},
};

/// Whether the planner refused a statement for two columns of one name.
pub(super) fn is_about_names(error: &Error) -> bool {
    ["stands twice in FROM", "field name", "unique expression names"]
        .iter()
        .any(|words| error.message().contains(words))
}

/// Whether groups have two columns of one name, which the planner refuses only later.
pub(super) fn are_alike(plan: &LogicalPlan) -> Result<bool> {
    Ok(plan.exists(|node| {
        let LogicalPlan::Aggregate(aggregate) = node else { return Ok(false) };
        let mut seen = HashSet::new();
        let mut names = aggregate.schema.field_names().into_iter();
        Ok(names.any(|name| !seen.insert(name)))
    })?)
}

/// Gives names to what the planner calls alike. Returns whether there is something of that kind.
pub(super) fn name_alike(tree: &mut impl WalkMut) -> bool {
    let mut naming = Naming { is_changed: false };
    let _ = tree.walk_mut(&mut naming);
    naming.is_changed
}

/// The function that is around what has a name, or around the condition of an ASOF JOIN, if it is called so.
pub(super) fn function(name: &str) -> Option<Arc<ScalarUDF>> {
    static FUNCTIONS: LazyLock<[Arc<ScalarUDF>; 2]> = LazyLock::new(|| {
        let named = identity(format!("cast_as{MARK}"), 2, false);
        [Arc::new(named), Arc::new(identity(ASOF_CONDITION, 1, true))]
    });
    FUNCTIONS.iter().find(|function| function.name() == name).cloned()
}

struct Naming {
    is_changed: bool,
}

impl VisitorMut for Naming {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
        each_select_list(&mut query.body, &mut name_columns);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let name = match expr {
            Expr::Cast { data_type, .. } => data_type.to_string(),
            Expr::TypedString(text) => text.data_type.to_string(),
            Expr::Subquery(query) => query.to_string(),
            // All of these have one name, too.
            Expr::Exists { .. } | Expr::InSubquery { .. } => expr.to_string(),
            Expr::AnyOp { right, .. } | Expr::AllOp { right, .. } => {
                without_name(right);
                return ControlFlow::Continue(());
            }
            _ => return ControlFlow::Continue(()),
        };
        if let Some(named) = named(expr, &name) {
            *expr = named;
            self.is_changed = true;
        }
        ControlFlow::Continue(())
    }
}

/// Columns that a cast is in are called as they would be without its name.
fn name_columns(items: &mut [SelectItem]) {
    for (nth, item) in items.iter_mut().enumerate() {
        if let SelectItem::UnnamedExpr(expr) = item
            && !matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
        {
            let alias = marked(&expr, nth);
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
        }
    }
}

/// Gives marks to columns that stand beside a `*`, which may have columns of their names. Returns whether there is one.
pub(super) fn mark_beside_wildcards(tree: &mut impl WalkMut) -> bool {
    let mut marking = Marking { is_changed: false };
    let _ = tree.walk_mut(&mut marking);
    marking.is_changed
}

struct Marking {
    is_changed: bool,
}

impl VisitorMut for Marking {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
        each_select_list(&mut query.body, &mut |items| self.mark(items));
        ControlFlow::Continue(())
    }
}

impl Marking {
    fn mark(&mut self, items: &mut [SelectItem]) {
        let is_wildcard =
            |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
        if !items.iter().any(is_wildcard) {
            return;
        }
        for (nth, item) in items.iter_mut().enumerate() {
            let (expr, name) = match &*item {
                SelectItem::ExprWithAlias { expr, alias } => (expr, alias),
                SelectItem::UnnamedExpr(expr) => match without_parentheses(expr) {
                    Expr::Identifier(name) => (expr, name),
                    Expr::CompoundIdentifier(parts) => (expr, parts.last().expect("a name has parts")),
                    _ => continue,
                },
                _ => continue,
            };
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias: marked(ident(name), nth) };
            self.is_changed = true;
        }
    }
}

/// Gives marks to what a list names as a column of a table that the rows are put in order by: `SELECT a AS b … ORDER BY t.b`. Returns
/// whether there is one.
pub(super) fn mark_beside_orders(tree: &mut impl WalkMut) -> bool {
    let mut ordering = Ordering { is_changed: false };
    let _ = tree.walk_mut(&mut ordering);
    ordering.is_changed
}

struct Ordering {
    is_changed: bool,
}

impl VisitorMut for Ordering {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
        let Some(OrderByKind::Expressions(by)) = query.order_by.as_ref().map(|order| &order.kind) else {
            return ControlFlow::Continue(());
        };
        let mut columns = Vec::new();
        for order in by {
            let _ = each_expr(&order.expr, |expr| {
                if let Expr::CompoundIdentifier(parts) = expr {
                    columns.extend(parts.last().map(ident));
                }
                ControlFlow::<()>::Continue(())
            });
        }
        each_select_list(&mut query.body, &mut |items| {
            for (nth, item) in items.iter_mut().enumerate() {
                if let SelectItem::ExprWithAlias { expr, alias } = item
                    && columns.contains(&ident(alias))
                    && !is_column(expr, &ident(alias))
                {
                    *alias = marked(ident(alias), nth);
                    self.is_changed = true;
                }
            }
        });
        ControlFlow::Continue(())
    }
}

/// An expression under another name.
pub(super) fn named(expr: &Expr, name: &str) -> Option<Expr> {
    let call = format!("\"cast_as{MARK}\"(0, '{}')", name.replace('\'', "''"));
    let parsed = Parser::new(&DIALECT).try_with_sql(&call).and_then(|mut parser| parser.parse_expr());
    let Ok(Expr::Function(mut function)) = parsed else { return None };
    let ast::FunctionArguments::List(list) = &mut function.args else { return None };
    list.args[0] = ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr.clone()));
    Some(Expr::Function(function))
}

/// The query that ANY and ALL compare with is no value.
fn without_name(expr: &mut Expr) {
    if let Expr::Function(function) = expr
        && let ast::FunctionArguments::List(list) = &function.args
        && let Some(ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(query @ Expr::Subquery(_)))) =
            list.args.first()
    {
        *expr = query.clone();
    }
}
