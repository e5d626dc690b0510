//! Casts have names: `max(t)` beside `max(CAST(t AS DATE))`.
//!
//! The planner calls a cast by what is cast, and refuses two columns of one name. So what it refuses is planned once more, each cast `cast_as(CAST(x AS T),
//! 'T')`, which has another name for each type. The optimizer takes the function away.

use std::{
    ops::ControlFlow,
    sync::{Arc, LazyLock},
};

use arrow::datatypes::DataType;
use datafusion::{
    common::Result,
    logical_expr::{
        ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
        simplify::{ExprSimplifyResult, SimplifyContext},
    },
    sql::sqlparser::{
        ast::{self, SelectItem, SetExpr, VisitMut, VisitorMut},
        parser::Parser,
    },
};

use super::rewrite::MARK;
use crate::{Error, parse::DIALECT};

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
    static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        Arc::new(ScalarUDF::new_from_impl(CastAs {
            name: format!("cast_as{MARK}"),
            signature: Signature::any(2, Volatility::Immutable),
        }))
    });
    (name == FUNCTION.name()).then(|| FUNCTION.clone())
}

struct Naming {
    has_casts: bool,
}

impl VisitorMut for Naming {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
        name_columns(&mut query.body);
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
fn name_columns(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => {
            for (nth, item) in select.projection.iter_mut().enumerate() {
                if let SelectItem::UnnamedExpr(expr) = item
                    && !matches!(expr, ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_))
                {
                    let alias = ast::Ident::with_quote('"', format!("{expr}{MARK}{nth}"));
                    *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
                }
            }
        }
        SetExpr::SetOperation { left, right, .. } => {
            name_columns(left);
            name_columns(right);
        }
        _ => {}
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

#[derive(Debug, PartialEq, Eq, Hash)]
struct CastAs {
    name: String,
    signature: Signature,
}

impl ScalarUDFImpl for CastAs {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(arguments[0].clone())
    }

    fn simplify(&self, mut args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        Ok(ExprSimplifyResult::Simplified(args.swap_remove(0)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(args.args[0].clone())
    }
}
