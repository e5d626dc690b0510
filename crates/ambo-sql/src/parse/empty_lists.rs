//! SELECT lists without columns.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, Query, SelectItem, Value, VisitorMut};

use super::each_select;
use crate::{Error, Result, walk::WalkMut};

/// Refuses a SELECT without columns: rows of nothing are of no use, and mostly a name was forgotten. EXISTS asks for no columns.
///
/// # Errors
/// A list is empty, at its SELECT.
pub(super) fn refuse(tree: &mut impl WalkMut) -> Result<()> {
    match tree.walk_mut(&mut Refusal) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Refusal;

impl VisitorMut for Refusal {
    type Break = Error;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if let Expr::Exists { subquery, .. } = expr {
            each_select(&mut subquery.body, &mut |select| {
                if select.projection.is_empty() {
                    let one = Expr::value(Value::Number("1".to_owned(), false));
                    select.projection.push(SelectItem::UnnamedExpr(one));
                }
            });
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let mut found = None;
        each_select(&mut query.body, &mut |select| {
            if select.projection.is_empty() {
                found = found.or(Some(select.select_token.0.span.start));
            }
        });
        let Some(start) = found else { return ControlFlow::Continue(()) };
        let error = Error::invalid("SELECT has no columns").with_hint("SELECT * has all columns");
        ControlFlow::Break(error.at_start(start.line, start.column))
    }
}
