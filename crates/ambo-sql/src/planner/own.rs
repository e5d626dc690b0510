//! Looks at the expressions of a tree, with or without those of queries within it.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, Query, Visitor};

use crate::walk::{Walk, each_expr};

/// Looks at the expressions of a tree that are in no query within it, the outer ones first, until `look` breaks.
pub(super) fn each_own<B>(tree: &impl Walk, look: impl FnMut(&Expr) -> ControlFlow<B>) -> ControlFlow<B> {
    tree.walk(&mut Own { queries: 0, look, broken: std::marker::PhantomData })
}

/// Whether an expression of a tree that is in no query within it is such.
pub(super) fn has_own(tree: &impl Walk, is_such: impl Fn(&Expr) -> bool) -> bool {
    each_own(tree, |expr| if is_such(expr) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        .is_break()
}

/// Whether a tree names a column, of queries within it, too.
pub(super) fn names_column(tree: &impl Walk) -> bool {
    let found = each_expr(tree, |expr| match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

struct Own<L, B> {
    queries: usize,
    look: L,
    broken: std::marker::PhantomData<B>,
}

impl<B, L: FnMut(&Expr) -> ControlFlow<B>> Visitor for Own<L, B> {
    type Break = B;

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<B> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<B> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<B> {
        if self.queries == 0 { (self.look)(expr) } else { ControlFlow::Continue(()) }
    }
}
