//! Walks over syntax trees.
//!
//! sqlparser compiles its walk over the whole syntax once for each kind of visitor: some 2,000 functions, 0.7 MB of
//! machine code. With a hundred visitors, that was four fifths of this crate. So all visitors go through one, which asks
//! them by a table of functions.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, ObjectName, Query, Select, Statement, TableFactor, ValueWithSpan, Visit, VisitMut, Visitor,
    VisitorMut,
};

/// A syntax tree, or a part of one, that visitors read.
pub(crate) trait Walk: Visit + Sized {
    /// Shows `visitor` each node, and ends with what it breaks with.
    fn walk<V: Visitor>(&self, visitor: &mut V) -> ControlFlow<V::Break> {
        let mut kept = Kept { visitor, broken: None };
        let _ = visit_by_table(self, &mut Table(&mut kept));
        kept.broken.map_or(ControlFlow::Continue(()), ControlFlow::Break)
    }
}

impl<T: Visit> Walk for T {}

/// A syntax tree, or a part of one, that visitors change.
pub(crate) trait WalkMut: VisitMut + Sized {
    /// Shows `visitor` each node to change, and ends with what it breaks with.
    fn walk_mut<V: VisitorMut>(&mut self, visitor: &mut V) -> ControlFlow<V::Break> {
        let mut kept = KeptMut { visitor, broken: None };
        let _ = visit_by_table_mut(self, &mut TableMut(&mut kept));
        kept.broken.map_or(ControlFlow::Continue(()), ControlFlow::Break)
    }
}

impl<T: VisitMut> WalkMut for T {}

/// Shows `look` each expression of `tree`, an outer one before those in it.
pub(crate) fn each_expr<B>(tree: &impl Walk, look: impl FnMut(&Expr) -> ControlFlow<B>) -> ControlFlow<B> {
    struct Each<F>(F);
    impl<B, F: FnMut(&Expr) -> ControlFlow<B>> Visitor for Each<F> {
        type Break = B;
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<B> {
            self.0(expr)
        }
    }
    tree.walk(&mut Each(look))
}

/// Shows `change` each expression of `tree`, an outer one after those in it.
pub(crate) fn each_expr_mut<B>(
    tree: &mut impl WalkMut,
    change: impl FnMut(&mut Expr) -> ControlFlow<B>,
) -> ControlFlow<B> {
    struct Each<F>(F);
    impl<B, F: FnMut(&mut Expr) -> ControlFlow<B>> VisitorMut for Each<F> {
        type Break = B;
        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<B> {
            self.0(expr)
        }
    }
    tree.walk_mut(&mut Each(change))
}

#[expect(clippy::disallowed_methods, reason = "the one visitor")]
fn visit_by_table(tree: &impl Visit, table: &mut Table<'_>) -> ControlFlow<()> {
    tree.visit(table)
}

#[expect(clippy::disallowed_methods, reason = "the one visitor")]
fn visit_by_table_mut(tree: &mut impl VisitMut, table: &mut TableMut<'_>) -> ControlFlow<()> {
    tree.visit(table)
}

/// The one visitor that is compiled with sqlparser's walk: asks another by its table of functions.
struct Table<'a>(&'a mut dyn Visitor<Break = ()>);

/// The same for trees that change.
struct TableMut<'a>(&'a mut dyn VisitorMut<Break = ()>);

/// A visitor of any kind, and what it broke with.
struct Kept<'a, V: Visitor> {
    visitor: &'a mut V,
    broken: Option<V::Break>,
}

/// The same for trees that change.
struct KeptMut<'a, V: VisitorMut> {
    visitor: &'a mut V,
    broken: Option<V::Break>,
}

/// The type of a node as visitors get it.
macro_rules! reference {
    (shared $node:ty) => {
        &$node
    };
    (exclusive $node:ty) => {
        &mut $node
    };
}

/// Passes each step of a walk on: by the table, or to the visitor whose break is kept.
macro_rules! pass_on {
    ($visitor:ident, $table:ident, $kept:ident, $how:ident: $($before:ident $after:ident $node:ty),+) => {
        impl $visitor for $table<'_> {
            type Break = ();
            $(
                fn $before(&mut self, node: reference!($how $node)) -> ControlFlow<()> {
                    self.0.$before(node)
                }
                fn $after(&mut self, node: reference!($how $node)) -> ControlFlow<()> {
                    self.0.$after(node)
                }
            )+
        }

        impl<V: $visitor> $visitor for $kept<'_, V> {
            type Break = ();
            $(
                fn $before(&mut self, node: reference!($how $node)) -> ControlFlow<()> {
                    kept(self.visitor.$before(node), &mut self.broken)
                }
                fn $after(&mut self, node: reference!($how $node)) -> ControlFlow<()> {
                    kept(self.visitor.$after(node), &mut self.broken)
                }
            )+
        }
    };
}

/// Calls `pass_on` with all steps of a walk.
macro_rules! pass_all_on {
    ($($visitor:tt)+) => {
        pass_on! { $($visitor)+:
            pre_visit_query post_visit_query Query,
            pre_visit_select post_visit_select Select,
            pre_visit_relation post_visit_relation ObjectName,
            pre_visit_table_factor post_visit_table_factor TableFactor,
            pre_visit_expr post_visit_expr Expr,
            pre_visit_statement post_visit_statement Statement,
            pre_visit_value post_visit_value ValueWithSpan
        }
    };
}

pass_all_on!(Visitor, Table, Kept, shared);
pass_all_on!(VisitorMut, TableMut, KeptMut, exclusive);

/// Keeps what a visitor broke with in `broken`.
fn kept<B>(step: ControlFlow<B>, broken: &mut Option<B>) -> ControlFlow<()> {
    step.map_break(|with| *broken = Some(with))
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::{ast::Value, dialect::GenericDialect, parser::Parser};

    use super::*;

    #[derive(Default)]
    struct Log(Vec<String>);

    impl Visitor for Log {
        type Break = String;
        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<String> {
            self.0.push("query".into());
            ControlFlow::Continue(())
        }
        fn post_visit_query(&mut self, _: &Query) -> ControlFlow<String> {
            self.0.push("end of query".into());
            ControlFlow::Continue(())
        }
        fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<String> {
            self.0.push(name.to_string());
            ControlFlow::Continue(())
        }
        fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<String> {
            match &value.value {
                Value::Number(number, _) => ControlFlow::Break(number.to_string()),
                _ => ControlFlow::Continue(()),
            }
        }
    }

    fn parsed(sql: &str) -> Vec<Statement> {
        Parser::parse_sql(&GenericDialect {}, sql).expect("a statement")
    }

    #[test]
    fn a_walk_shows_each_node_and_ends_with_the_break() {
        let mut log = Log::default();
        assert_eq!(
            parsed("select * from a where exists (select * from b)").walk(&mut log),
            ControlFlow::Continue(())
        );
        assert_eq!(log.0, ["query", "a", "query", "b", "end of query", "end of query"]);

        let mut log = Log::default();
        assert_eq!(
            parsed("select * from a where x = 7 and y = 8").walk(&mut log),
            ControlFlow::Break("7".to_string())
        );
        assert_eq!(log.0, ["query", "a"]);
    }

    #[test]
    fn expressions_are_read_from_outside_and_changed_from_inside() {
        let mut tree = parsed("select -(-x)");
        let mut read = Vec::new();
        let _ = each_expr(&tree, |expr| {
            read.push(expr.to_string());
            ControlFlow::<()>::Continue(())
        });
        assert_eq!(read, ["-(-x)", "(-x)", "-x", "x"]);

        let broken = each_expr_mut(&mut tree, |expr| match expr {
            Expr::Identifier(name) => {
                name.value = "y".into();
                ControlFlow::Continue(())
            }
            Expr::Nested(inner) => ControlFlow::Break(inner.to_string()),
            _ => ControlFlow::Continue(()),
        });
        assert_eq!(broken, ControlFlow::Break("-y".to_string()));
        assert_eq!(tree[0].to_string(), "SELECT -(-y)");
    }
}
