//! Parts of values: `({'a': 1}).a` is `({'a': 1})['a']`, and `list[:2]` begins with the first element, and
//! `list[2:]` ends with the last. Values of parts: `[a, b]` is
//! `make_array(a, b)`, since the planner does not find columns from outside of a subquery in the brackets.

use datafusion::sql::sqlparser::ast::{
    AccessExpr, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Subscript, TableFactor,
    Value,
};

use super::{own::names_column, trees};
use crate::names::{ident, object};

/// Says them as the planner knows them.
pub(super) fn say_parts(expr: &mut Expr) {
    let Expr::CompoundFieldAccess { root, access_chain } = expr else { return };
    let is_name = matches!(root.as_ref(), Expr::Identifier(_) | Expr::CompoundIdentifier(_));
    for access in access_chain {
        match access {
            AccessExpr::Dot(Expr::Identifier(name)) if !is_name => {
                *access = AccessExpr::Subscript(Subscript::Index { index: trees::text(&ident(name)) });
            }
            AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, stride }) => {
                let number = |number: &str| Expr::value(Value::Number(number.to_owned(), false));
                lower_bound.get_or_insert_with(|| number("1"));
                // With a step, the end may be the first element.
                if stride.is_none() {
                    upper_bound.get_or_insert_with(|| trees::expr("-1"));
                }
            }
            _ => {}
        }
    }
}

/// `ARRAY(SELECT …)` is the list of the rows of a query, in its order; an empty one, if it has none.
pub(super) fn say_list_of_rows(expr: &mut Expr) {
    let Expr::Function(Function { name, args: FunctionArguments::Subquery(query), .. }) = expr else {
        return;
    };
    if !object(name).is_ok_and(|name| name == "array") {
        return;
    }
    let mut list = trees::query("SELECT coalesce(array_agg(v), []) FROM (SELECT 1) AS rows (v)");
    if let TableFactor::Derived { subquery, .. } = &mut trees::select(&mut list).from[0].relation {
        *subquery = query.clone();
    }
    *expr = Expr::Subquery(Box::new(list));
}

/// The function that makes a list, if columns are in it.
pub(super) fn list_of_columns(expr: &Expr) -> Option<Expr> {
    let Expr::Array(array) = expr else { return None };
    if !names_column(&array.elem) {
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
