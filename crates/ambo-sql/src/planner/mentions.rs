//! Aggregates and windows of what is another value each time are computed once for each mention.
//!
//! The planner takes two of the same words for one: `any_value(uuid()), any_value(uuid())` was one value twice. So further ones get a mark,
//! which has no part in what they compute. ORDER BY and GROUP BY mean by the same words what stands in the list.

use std::{
    collections::HashSet,
    ops::ControlFlow,
    sync::{Arc, LazyLock},
};

use datafusion::{
    execution::SessionStateDefaults,
    logical_expr::{ScalarUDF, Volatility},
    sql::sqlparser::ast::{self, Expr, Select, Visitor, VisitorMut},
};

use super::alike::named;
use crate::{
    names::object,
    parse::each_select,
    walk::{Walk, WalkMut},
};

/// Marks what a query mentions again. To be done when functions are what they mean.
pub(super) fn tell_apart_mentions(query: &mut ast::Query) {
    each_select(&mut query.body, &mut |select: &mut Select| {
        if select.walk(&mut Volatile).is_continue() {
            return;
        }
        let mut marking = Marking { queries: 0, seen: Vec::new() };
        let _ = select.projection.walk_mut(&mut marking);
        let _ = select.having.walk_mut(&mut marking);
        let _ = select.qualify.walk_mut(&mut marking);
    });
}

/// Whether a function is another value each time it is called.
pub(super) fn is_volatile(expr: &Expr) -> bool {
    static NAMES: LazyLock<HashSet<String>> = LazyLock::new(|| {
        let functions = SessionStateDefaults::default_scalar_functions();
        let volatile =
            functions.iter().filter(|function| function.signature().volatility == Volatility::Volatile);
        let names = |function: &Arc<ScalarUDF>| {
            let aliases = function.aliases().to_vec();
            std::iter::once(function.name().to_owned()).chain(aliases)
        };
        volatile.flat_map(names).chain(["gen_random_uuid".to_owned()]).collect()
    });
    matches!(expr, Expr::Function(function) if object(&function.name).is_ok_and(|name| NAMES.contains(&name)))
}

/// Breaks at a volatile function, in queries within, too.
pub(super) struct Volatile;

impl Visitor for Volatile {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if is_volatile(expr) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn has_volatile(expr: &Expr) -> bool {
    expr.walk(&mut Volatile).is_break()
}

/// Whether it is computed of several rows, so that the planner looks for another of its kind.
fn is_of_rows(expr: &Expr) -> bool {
    static NAMES: LazyLock<HashSet<String>> = LazyLock::new(|| {
        let functions = SessionStateDefaults::default_aggregate_functions();
        let names = functions.iter().flat_map(|function| {
            let aliases = function.aliases().to_vec();
            std::iter::once(function.name().to_owned()).chain(aliases)
        });
        names.chain(["mode", "arg_max", "arg_min"].map(str::to_owned)).collect()
    });
    matches!(expr, Expr::Function(function)
        if function.over.is_some() || object(&function.name).is_ok_and(|name| NAMES.contains(&name)))
}

struct Marking {
    queries: usize,
    seen: Vec<Expr>,
}

impl VisitorMut for Marking {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut ast::Query) -> ControlFlow<()> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut ast::Query) -> ControlFlow<()> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.queries == 0 && is_of_rows(expr) && has_volatile(expr) {
            let is_known = self.seen.contains(expr);
            self.seen.push(expr.clone());
            if is_known {
                let _ = expr.walk_mut(&mut First { mark: format!("mention {}", self.seen.len()) });
            }
        }
        ControlFlow::Continue(())
    }
}

/// Marks the first volatile function of an expression.
struct First {
    mark: String,
}

impl VisitorMut for First {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if !is_volatile(expr) {
            return ControlFlow::Continue(());
        }
        if let Some(marked) = named(expr, &self.mark) {
            *expr = marked;
        }
        ControlFlow::Break(())
    }
}
