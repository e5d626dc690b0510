//! `round(x, 1)` has the type that the planner takes it for.
//!
//! The type of a rounded decimal follows from the number of places, if that is a literal. When the planner compares types, the literal
//! stands in a cast to the type that the function wants, and is none; later it is one again, and the type is another than what the value
//! was compared by. So it is given that type before.

use datafusion::{
    common::tree_node::{Transformed, TreeNode},
    logical_expr::{Expr, expr::ScalarFunction, lit},
    scalar::ScalarValue,
};

use super::expressions::ExpressionRule;

pub(super) const ROUNDED_PLACES: ExpressionRule = ExpressionRule {
    name: "rounded_places",
    wanted: |expr| matches!(expr, Expr::ScalarFunction(function) if is_rounding(function)),
    change: |expr, _, _| expr.transform_up(|expr| Ok(typed(expr))),
};

fn is_rounding(function: &ScalarFunction) -> bool {
    ["round", "trunc"].contains(&function.name())
}

fn typed(expr: Expr) -> Transformed<Expr> {
    match expr {
        Expr::ScalarFunction(mut function) if is_rounding(&function) => {
            let places = function.args.get(1).and_then(places_of);
            if let Some(places) = places {
                function.args[1] = lit(places);
            }
            Transformed::new_transformed(Expr::ScalarFunction(function), places.is_some())
        }
        expr => Transformed::no(expr),
    }
}

fn places_of(expr: &Expr) -> Option<i32> {
    match expr {
        Expr::Literal(ScalarValue::Int64(Some(places)), _) => i32::try_from(*places).ok(),
        Expr::Negative(expr) => places_of(expr)?.checked_neg(),
        _ => None,
    }
}
