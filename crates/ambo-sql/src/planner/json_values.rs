//! `VALUES ('{"a": 1}'::json), (NULL), ('2')`: JSON beside texts and NULL in one column.
//!
//! The planner refuses it, for it asks of all rows what beside its type is known of a value. So all of such a column is cast to JSON, and
//! the statement is planned again.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{self, Expr, SetExpr, VisitorMut};

use super::patterns::call;
use crate::{Error, names::written, walk::WalkMut};

const CAST: &str = "cast_to_json";

/// Whether an error may be about a column of VALUES in which some are JSON.
pub(super) fn is_about_json(error: &Error) -> bool {
    error.message().contains("across values list") && error.message().contains("arrow.json")
}

/// Casts all of the columns of VALUES in which some are JSON. Returns whether there are such that were not.
pub(super) fn say_json(tree: &mut impl WalkMut) -> bool {
    let mut lists = Lists { has_changed: false };
    let ControlFlow::Continue(()) = tree.walk_mut(&mut lists);
    lists.has_changed
}

struct Lists {
    has_changed: bool,
}

/// Whether an expression is a function of JSON, by its name.
fn is_of_json(expr: &Expr) -> bool {
    match expr {
        Expr::Function(of) => written(&of.name).is_ok_and(|name| name.contains("json")),
        Expr::Nested(of) => is_of_json(of),
        _ => false,
    }
}

fn is_cast(expr: &Expr) -> bool {
    matches!(expr, Expr::Function(of) if written(&of.name).is_ok_and(|name| name == CAST))
}

impl Lists {
    fn say(&mut self, body: &mut SetExpr) {
        match body {
            SetExpr::SetOperation { left, right, .. } => {
                self.say(left);
                self.say(right);
            }
            SetExpr::Values(values) => {
                for column in 0..values.rows.first().map_or(0, |row| row.content.len()) {
                    let mut cells = values.rows.iter().filter_map(|row| row.content.get(column));
                    if !cells.any(is_of_json) {
                        continue;
                    }
                    for cell in values.rows.iter_mut().filter_map(|row| row.content.get_mut(column)) {
                        if !is_cast(cell) {
                            *cell = call(CAST, vec![cell.clone()]);
                            self.has_changed = true;
                        }
                    }
                }
            }
            _ => {}
        }
    }
}

impl VisitorMut for Lists {
    type Break = std::convert::Infallible;

    fn post_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<Self::Break> {
        self.say(&mut query.body);
        ControlFlow::Continue(())
    }
}
