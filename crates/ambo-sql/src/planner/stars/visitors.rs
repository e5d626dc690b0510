//! COLUMNS in expressions: known, and replaced by columns.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    self, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, VisitorMut,
};

use super::Stars;
use crate::{
    Error,
    names::{ident, written},
    parse::UNPACKED,
};

pub(super) fn is_columns(expr: &Expr) -> Option<&Function> {
    match expr {
        Expr::Function(function)
            if written(&function.name).is_ok_and(|name| name == "columns" || name == UNPACKED) =>
        {
            Some(function)
        }
        _ => None,
    }
}

/// Puts a column where COLUMNS stands.
pub(super) struct Replacing<'a> {
    pub with: &'a Expr,
    pub queries: usize,
}

impl VisitorMut for Replacing<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut ast::Query) -> ControlFlow<()> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut ast::Query) -> ControlFlow<()> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.queries == 0 && is_columns(expr).is_some() {
            *expr = match self.with {
                column @ (Expr::Identifier(_) | Expr::CompoundIdentifier(_)) => column.clone(),
                other => Expr::Nested(Box::new(other.clone())),
            };
        }
        ControlFlow::Continue(())
    }
}

/// Puts all columns where `*COLUMNS(…)` stands in the arguments of a function.
pub(super) struct Unpacking<'a> {
    pub stars: &'a Stars<'a>,
    pub queries: usize,
    pub error: Option<Error>,
}

impl VisitorMut for Unpacking<'_> {
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
        let is_unpacked = |expr: &Expr| {
            is_columns(expr).is_some_and(|of| written(&of.name).is_ok_and(|name| name == UNPACKED))
        };
        if self.queries > 0 {
            return ControlFlow::Continue(());
        }
        if is_unpacked(expr) {
            self.error = Some(Error::invalid("*COLUMNS(…) stands in the arguments of a function"));
            return ControlFlow::Break(());
        }
        let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = expr else {
            return ControlFlow::Continue(());
        };
        let mut arguments = Vec::with_capacity(list.args.len());
        for argument in std::mem::take(&mut list.args) {
            match &argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(inner)) if is_unpacked(inner) => {
                    let Some(function) = is_columns(inner) else { continue };
                    match self.stars.meant(function) {
                        Ok(columns) => {
                            let exprs = columns.into_iter().map(|column| FunctionArgExpr::Expr(column.expr));
                            arguments.extend(exprs.map(FunctionArg::Unnamed));
                        }
                        Err(error) => {
                            self.error = Some(error);
                            return ControlFlow::Break(());
                        }
                    }
                }
                _ => arguments.push(argument),
            }
        }
        list.args = arguments;
        ControlFlow::Continue(())
    }
}

/// Puts a value where a variable stands.
pub(super) struct Binding<'a> {
    pub variable: &'a Ident,
    pub with: &'a Expr,
}

impl VisitorMut for Binding<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if matches!(expr, Expr::Identifier(name) if ident(name) == ident(self.variable)) {
            *expr = self.with.clone();
        }
        ControlFlow::Continue(())
    }
}
