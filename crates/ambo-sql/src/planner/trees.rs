//! Trees of statements, made of their text, and gone through.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::{
    ast::{
        self, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Select, SelectItem, SetExpr,
        TableFactor, Value, VisitorMut,
    },
    parser::Parser,
};

use crate::{Error, Result, parse::DIALECT, walk::WalkMut};

/// Does something to each table of FROM, until that fails.
///
/// # Errors
/// That of what is done.
pub(super) fn each_table_factor(
    tree: &mut impl WalkMut,
    act: fn(&mut TableFactor) -> Result<()>,
) -> Result<()> {
    struct Each(fn(&mut TableFactor) -> Result<()>);
    impl VisitorMut for Each {
        type Break = Error;

        fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
            match (self.0)(factor) {
                Err(error) => ControlFlow::Break(error),
                Ok(()) => ControlFlow::Continue(()),
            }
        }
    }
    match tree.walk_mut(&mut Each(act)) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// The query of a text that is ours.
pub(super) fn query(text: &str) -> ast::Query {
    let parsed = Parser::new(&DIALECT).try_with_sql(text).and_then(|mut parser| parser.parse_query());
    *parsed.expect("the text of a query is one")
}

/// The expression of a text that is ours.
pub(super) fn expr(text: &str) -> Expr {
    let parsed = Parser::new(&DIALECT).try_with_sql(text).and_then(|mut parser| parser.parse_expr());
    parsed.expect("the text of an expression is one")
}

/// The SELECT that a query of ours is.
pub(super) fn select(query: &mut ast::Query) -> &mut Select {
    match query.body.as_mut() {
        SetExpr::Select(select) => select,
        _ => unreachable!("a query of ours is a SELECT"),
    }
}

/// A column by its very name.
pub(super) fn column(name: &str) -> Expr {
    Expr::Identifier(Ident::with_quote('"', name))
}

pub(super) fn text(value: &str) -> Expr {
    Expr::value(Value::SingleQuotedString(value.to_owned()))
}

pub(super) fn named(expr: Expr, name: &str) -> SelectItem {
    SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', name) }
}

pub(super) fn cast_to_text(value: Expr) -> Expr {
    let mut cast = expr("CAST(1 AS VARCHAR)");
    if let Expr::Cast { expr, .. } = &mut cast {
        **expr = Expr::Nested(Box::new(value));
    }
    cast
}

pub(super) fn all_of(conditions: impl IntoIterator<Item = Expr>) -> Option<Expr> {
    let nested = |expr: Expr| Box::new(Expr::Nested(Box::new(expr)));
    conditions.into_iter().reduce(|left, right| Expr::BinaryOp {
        left: nested(left),
        op: ast::BinaryOperator::And,
        right: nested(right),
    })
}

/// The name that a mark of ours is, in a list or as a function.
pub(super) fn mark(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Identifier(name) if name.value.starts_with(super::rewrite::MARK) => Some(&name.value),
        _ => None,
    }
}

/// Gives a function another argument.
pub(super) fn set_argument(function: &mut ast::Function, place: usize, argument: Expr) {
    if let FunctionArguments::List(list) = &mut function.args {
        list.args[place] = FunctionArg::Unnamed(FunctionArgExpr::Expr(argument));
    }
}

/// The arguments of a function that are expressions; `None` if others are among them.
pub(super) fn arguments(function: &ast::Function) -> Option<Vec<&Expr>> {
    let FunctionArguments::List(list) = &function.args else { return None };
    let argument = |arg| match arg {
        &FunctionArg::Unnamed(FunctionArgExpr::Expr(ref expr)) => Some(expr),
        _ => None,
    };
    list.args.iter().map(argument).collect()
}

/// Whether a list begins with a mark of ours: what its names mean is to be seen.
pub(super) fn is_marked(items: &[SelectItem]) -> bool {
    matches!(items.first(), Some(SelectItem::UnnamedExpr(first)) if mark(first).is_some())
}
