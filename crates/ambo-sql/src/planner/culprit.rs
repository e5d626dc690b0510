//! Where in a statement something was computed that failed.
//!
//! The operators that compute it say what is wrong, not of which column. If only one expression of a statement can fail in that way, it is
//! named.

use arrow::error::ArrowError;
use datafusion::{
    common::tree_node::{TreeNode, TreeNodeRecursion},
    error::DataFusionError,
    logical_expr::{Expr, LogicalPlan},
};

use crate::{
    Error,
    error::Place,
    numbers::{Operation, operation},
};

/// An error of the rows of a plan.
pub(super) fn explained(error: DataFusionError, plan: &LogicalPlan) -> Error {
    let fails = match error.find_root() {
        DataFusionError::ArrowError(error, _) => match &**error {
            ArrowError::DivideByZero => Some(divides as fn(&Expr) -> bool),
            ArrowError::CastError(_) => Some(casts as fn(&Expr) -> bool),
            _ => None,
        },
        _ => None,
    };
    let error = Error::from(error);
    match fails.and_then(|fails| only(plan, fails)) {
        Some(culprit) => named(error, &culprit),
        None => error,
    }
}

fn divides(expr: &Expr) -> bool {
    use Operation::{Divide, DivideWhole, Remainder};
    matches!(operation(expr), Some((Divide | DivideWhole | Remainder, _, right)) if !matches!(right, Expr::Literal(..)))
}

fn casts(expr: &Expr) -> bool {
    matches!(expr, Expr::Cast(cast) if cast.expr.any_column_refs())
}

/// The expression of a plan that can fail in a way, if there is just one.
fn only(plan: &LogicalPlan, fails: fn(&Expr) -> bool) -> Option<Expr> {
    let mut all: Vec<Expr> = Vec::new();
    let visited = plan.apply_with_subqueries(|plan| {
        plan.apply_expressions(|expr| {
            expr.apply(|expr| {
                if fails(expr) && !all.contains(expr) {
                    all.push(expr.clone());
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    });
    match (visited, all.len()) {
        (Ok(_), 1) => all.pop(),
        _ => None,
    }
}

/// The error with the columns that it is about, and the place of the first of them.
fn named(mut error: Error, culprit: &Expr) -> Error {
    let mut columns: Vec<String> = Vec::new();
    let mut place = None;
    let about = match (culprit, operation(culprit)) {
        (_, Some((_, _, divisor))) => divisor,
        (Expr::Cast(cast), _) => cast.expr.as_ref(),
        _ => return error,
    };
    let visited = about.apply(|expr| {
        if let Expr::Column(column) = expr {
            let name = column.name.clone();
            if !columns.contains(&name) {
                columns.push(name);
            }
            if place.is_none()
                && let Some(span) = column.spans().first()
                && span.start.line > 0
            {
                place = Some(Place { line: span.start.line, column: span.start.column });
            }
        }
        Ok(TreeNodeRecursion::Continue)
    });
    let is_plain = columns.iter().all(|name| !name.starts_with("__") && !name.contains(['\u{1}', '(', '.']));
    if visited.is_ok() && !columns.is_empty() && is_plain {
        let what = if columns.len() == 1 { "column" } else { "columns" };
        let names: Vec<_> = columns.iter().map(|name| format!("\"{name}\"")).collect();
        error.say_of(&format!("{what} {}", names.join(", ")));
    }
    match place {
        Some(place) => error.at(place),
        None => error,
    }
}
