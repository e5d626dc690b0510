//! Parts of values: `({'a': 1}).a` is `({'a': 1})['a']`, and `list[:2]` begins with the first element. Values of parts: `[a, b]` is
//! `make_array(a, b)`, since the planner does not find columns from outside of a subquery in the brackets.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    AccessExpr, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Subscript, Value, Visit, Visitor,
};

use super::trees;
use crate::names::ident;

/// Says them as the planner knows them.
pub(super) fn say_parts(expr: &mut Expr) {
    let Expr::CompoundFieldAccess { root, access_chain } = expr else { return };
    let is_name = matches!(root.as_ref(), Expr::Identifier(_) | Expr::CompoundIdentifier(_));
    for access in access_chain {
        match access {
            AccessExpr::Dot(Expr::Identifier(name)) if !is_name => {
                *access = AccessExpr::Subscript(Subscript::Index { index: trees::text(&ident(name)) });
            }
            AccessExpr::Subscript(Subscript::Slice { lower_bound: lower @ None, .. }) => {
                *lower = Some(Expr::value(Value::Number("1".to_owned(), false)));
            }
            _ => {}
        }
    }
}

/// The function that makes a list, if columns are in it.
pub(super) fn list_of_columns(expr: &Expr) -> Option<Expr> {
    struct Columns;
    impl Visitor for Columns {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    let Expr::Array(array) = expr else { return None };
    if Visit::visit(&array.elem, &mut Columns).is_continue() {
        return None;
    }
    let mut call = trees::expr("make_array(1)");
    if let Expr::Function(function) = &mut call
        && let FunctionArguments::List(list) = &mut function.args
    {
        let elements = array.elem.iter().cloned().map(FunctionArgExpr::Expr);
        list.args = elements.map(FunctionArg::Unnamed).collect();
    }
    Some(call)
}
