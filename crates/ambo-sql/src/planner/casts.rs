//! Casts have names: `max(t)` beside `max(CAST(t AS DATE))`.
//!
//! The planner calls a cast by what is cast, and refuses two columns of one name. So what it refuses is planned once more, each cast `cast_as(CAST(x AS T),
//! 'T')`, which has another name for each type. The optimizer takes the function away.

use std::{
    ops::ControlFlow,
    sync::{Arc, LazyLock},
};

use datafusion::{
    logical_expr::ScalarUDF,
    sql::sqlparser::{
        ast::{self, SelectItem, VisitMut, VisitorMut},
        parser::Parser,
    },
};

use super::rewrite::{MARK, each_select_list, marked};
use crate::{Error, identity::identity, parse::DIALECT};

/// Whether the planner refused a statement for two columns of one name.
pub(super) fn is_about_names(error: &Error) -> bool {
    ["field name", "unique expression names"].iter().any(|words| error.message().contains(words))
}

/// Gives the casts of a statement names. Returns whether there is one.
pub(super) fn name_casts(tree: &mut impl VisitMut) -> bool {
    let mut naming = Naming { has_casts: false };
    let _ = tree.visit(&mut naming);
    naming.has_casts
}

/// The function that is around named casts, if it has that name.
pub(super) fn function(name: &str) -> Option<Arc<ScalarUDF>> {
    static FUNCTION: LazyLock<Arc<ScalarUDF>> =
        LazyLock::new(|| Arc::new(identity(format!("cast_as{MARK}"), 2, false)));
    (name == FUNCTION.name()).then(|| FUNCTION.clone())
}

struct Naming {
    has_casts: bool,
}

impl VisitorMut for Naming {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
        each_select_list(&mut query.body, name_columns);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        if is_named_cast(expr) {
            *expr = named(expr);
            self.has_casts = true;
        }
        ControlFlow::Continue(())
    }
}

/// Casts of literals are called by them alone, too; but those are how some numbers are written.
fn is_named_cast(expr: &ast::Expr) -> bool {
    matches!(expr, ast::Expr::Cast { expr, .. } if !matches!(expr.as_ref(), ast::Expr::Value(_)))
}

/// Columns that a cast is in are called as they would be without its name.
fn name_columns(items: &mut [SelectItem]) {
    for (nth, item) in items.iter_mut().enumerate() {
        if let SelectItem::UnnamedExpr(expr) = item
            && !matches!(expr, ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_))
        {
            let alias = marked(&expr, nth);
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
        }
    }
}

fn named(cast: &ast::Expr) -> ast::Expr {
    let ast::Expr::Cast { data_type, .. } = cast else { return cast.clone() };
    let call = format!("\"cast_as{MARK}\"(0, '{}')", data_type.to_string().replace('\'', "''"));
    let parsed = Parser::new(&DIALECT).try_with_sql(&call).and_then(|mut parser| parser.parse_expr());
    let Ok(ast::Expr::Function(mut function)) = parsed else { return cast.clone() };
    if let ast::FunctionArguments::List(list) = &mut function.args {
        list.args[0] = ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(cast.clone()));
    }
    ast::Expr::Function(function)
}
