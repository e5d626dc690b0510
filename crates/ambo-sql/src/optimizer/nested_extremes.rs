//! `min`, `max`, `greatest` and `least` of lists, structs and maps: NULL within them is greater than all else, as ORDER BY has it. Those of
//! intervals are by their lengths.
//!
//! The planner's (DataFusion 55) take such values for not comparable and keep what they have, so that the result depends on the order
//! of the rows; of maps and of lists of structs they are errors.

use std::sync::{Arc, LazyLock};

use arrow::datatypes::DataType;
use datafusion::{
    common::{
        DFSchema, Result,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{AggregateUDF, Expr, ExprSchemable, ScalarUDF, WindowFunctionDefinition},
};

use super::expressions::ExpressionRule;
use crate::{
    functions::{NestedGreatest, interval_extreme, nested_extreme},
    times::interval_length,
};

pub(super) const NESTED_EXTREMES: ExpressionRule = ExpressionRule {
    name: "nested_extremes",
    wanted: |expr| match expr {
        Expr::AggregateFunction(of) => is_greatest(of.func.name()).is_some(),
        Expr::WindowFunction(of) => is_greatest(of.fun.name()).is_some(),
        Expr::ScalarFunction(of) => is_greatest(of.name()).is_some(),
        _ => false,
    },
    change: |expr, schema, _| expr.transform_up(|expr| ordered(expr, schema)),
};

/// Whether a function is for the greatest or for the least; `None` for others.
fn is_greatest(name: &str) -> Option<bool> {
    match name {
        "max" | "greatest" => Some(true),
        "min" | "least" => Some(false),
        _ => None,
    }
}

/// One of them by whether it is for the greatest.
fn one<T>(both: &[Arc<T>; 2], is_greatest: bool) -> Arc<T> {
    both[usize::from(is_greatest)].clone()
}

fn ordered(mut expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    static AGGREGATES: LazyLock<[Arc<AggregateUDF>; 2]> =
        LazyLock::new(|| [false, true].map(|is_greatest| Arc::new(nested_extreme(is_greatest))));
    static FUNCTIONS: LazyLock<[Arc<ScalarUDF>; 2]> = LazyLock::new(|| {
        [false, true].map(|is_greatest| Arc::new(ScalarUDF::new_from_impl(NestedGreatest::new(is_greatest))))
    });
    static INTERVALS: LazyLock<[Arc<AggregateUDF>; 2]> =
        LazyLock::new(|| [false, true].map(|is_greatest| Arc::new(interval_extreme(is_greatest))));
    let is_interval = |args: &[Expr]| match args {
        [first, ..] => first.get_type(schema).map(|ty| matches!(ty, DataType::Interval(_))),
        [] => Ok(false),
    };
    let is_nested = |args: &[Expr]| match args.first() {
        Some(first) => first.get_type(schema).map(|ty| ty.is_nested()),
        None => Ok(false),
    };
    match &mut expr {
        // By their lengths, and not by months first.
        Expr::AggregateFunction(of) if is_interval(&of.params.args)? => {
            if let Some(is_greatest) = is_greatest(of.func.name()) {
                of.func = one(&INTERVALS, is_greatest);
                of.params.args.extend(of.params.args.first().cloned().map(interval_length));
                of.params.distinct = false;
                of.params.order_by.clear();
                return Ok(Transformed::yes(expr));
            }
        }
        Expr::WindowFunction(of) if is_interval(&of.params.args)? => {
            if let Some(is_greatest) = is_greatest(of.fun.name()) {
                of.fun = WindowFunctionDefinition::AggregateUDF(one(&INTERVALS, is_greatest));
                of.params.args.extend(of.params.args.first().cloned().map(interval_length));
                of.params.distinct = false;
                return Ok(Transformed::yes(expr));
            }
        }
        Expr::AggregateFunction(of) if is_nested(&of.params.args)? => {
            if let Some(is_greatest) = is_greatest(of.func.name()) {
                of.func = one(&AGGREGATES, is_greatest);
                // Neither changes what is the greatest.
                of.params.distinct = false;
                of.params.order_by.clear();
                return Ok(Transformed::yes(expr));
            }
        }
        Expr::WindowFunction(of) if is_nested(&of.params.args)? => {
            if let Some(is_greatest) = is_greatest(of.fun.name()) {
                of.fun = WindowFunctionDefinition::AggregateUDF(one(&AGGREGATES, is_greatest));
                of.params.distinct = false;
                return Ok(Transformed::yes(expr));
            }
        }
        Expr::ScalarFunction(of) if is_nested(&of.args)? || is_interval(&of.args)? => {
            if let Some(is_greatest) = is_greatest(of.name()) {
                of.func = one(&FUNCTIONS, is_greatest);
                return Ok(Transformed::yes(expr));
            }
        }
        _ => {}
    }
    Ok(Transformed::no(expr))
}
