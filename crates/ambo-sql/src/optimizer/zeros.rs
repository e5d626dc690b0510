//! 0.0 and -0.0 are one value.
//!
//! They are equal, and one group, but aggregates with DISTINCT or ORDER BY, DISTINCT ON, windows, `nullif`, CASE with an operand, functions
//! that look for values in lists, and what compares lists and structs tell them apart. `x + 0.0` is the same for both. What else tells
//! them apart is in [`zero_keys`](super::zero_keys).

use std::sync::{Arc, LazyLock};

use datafusion::{
    common::{
        DFSchema, DataFusionError, Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{
        BinaryExpr, Distinct, DistinctOn, Expr, ExprSchemable, LogicalPlan, Operator, ScalarUDF, binary_expr,
        lit, when,
    },
    optimizer::AnalyzerRule,
    scalar::ScalarValue,
};

use super::expressions::ExpressionRule;
use crate::{
    functions::{OneZero, has_zeros},
    times::rules::is_comparison,
};

pub(super) const ZEROS: ExpressionRule = ExpressionRule {
    name: "zeros",
    wanted: |expr| match expr {
        Expr::AggregateFunction(_) | Expr::WindowFunction(_) => true,
        Expr::ScalarFunction(function) => looks_for_values(function.name()),
        Expr::BinaryExpr(BinaryExpr { op, .. }) => is_comparison(*op),
        Expr::Case(case) => case.expr.is_some(),
        Expr::InList(list) => list.list.len() == 1 || !list.expr.any_column_refs(),
        _ => false,
    },
    change: |expr, schema, _| expr.transform_up(|expr| with_one_zero(expr, schema)),
};

/// Groups and orders of DISTINCT ON, which becomes an aggregate with an order behind [`ZEROS`].
#[derive(Debug)]
pub(super) struct ZerosOfDistinct;

impl AnalyzerRule for ZerosOfDistinct {
    fn name(&self) -> &str {
        "zeros_of_distinct"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let change = |node| match node {
            LogicalPlan::Distinct(Distinct::On(mut distinct)) => {
                let DistinctOn { on_expr, sort_expr, input, .. } = &mut distinct;
                let sorts = sort_expr.iter_mut().flatten().map(|sort| &mut sort.expr);
                let is_changed = unify_all(on_expr.iter_mut().chain(sorts), input.schema())?;
                Ok(Transformed::new_transformed(LogicalPlan::Distinct(Distinct::On(distinct)), is_changed))
            }
            node => Ok(Transformed::no(node)),
        };
        Ok(plan.transform_up_with_subqueries(change)?.data)
    }
}

/// Whether an aggregate puts lists, structs and maps in order; by its last argument.
fn finds_extremes(name: &str) -> bool {
    matches!(name, "arg_max" | "arg_min" | "nested_max" | "nested_min")
}

/// Whether a function finds values, or puts them in order, by their bits.
fn looks_for_values(name: &str) -> bool {
    const LOOKING: [&str; 19] = [
        "<",
        "<=",
        ">",
        ">=",
        "nested_greatest",
        "nested_least",
        "nullif",
        "array_has",
        "array_has_any",
        "array_has_all",
        "array_position",
        "array_positions",
        "array_remove",
        "array_remove_n",
        "array_remove_all",
        "array_replace",
        "array_except",
        "array_intersect",
        "array_union",
    ];
    LOOKING.contains(&name)
}

fn with_one_zero(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    Ok(match expr {
        Expr::AggregateFunction(mut function) => {
            let params = &mut function.params;
            let sorts = params.order_by.iter_mut().map(|sort| &mut sort.expr);
            let is_changed = match params.distinct {
                true => unify_all(params.args.iter_mut().chain(sorts), schema)?,
                false if finds_extremes(function.func.name()) => {
                    unify_all(params.args.last_mut().into_iter(), schema)?
                }
                // Behind the last one, nothing says which of equal rows is first.
                false => unify_all(sorts.rev().skip(1), schema)?,
            };
            Transformed::new_transformed(Expr::AggregateFunction(function), is_changed)
        }
        Expr::WindowFunction(mut function) => {
            let params = &mut function.params;
            let sorts = params.order_by.iter_mut().map(|sort| &mut sort.expr);
            let compared = params.args.last_mut().filter(|_| finds_extremes(function.fun.name()));
            let is_changed = unify_all(params.partition_by.iter_mut().chain(sorts).chain(compared), schema)?;
            Transformed::new_transformed(Expr::WindowFunction(function), is_changed)
        }
        Expr::ScalarFunction(function) if function.name() == "nullif" => {
            null_if_equal(Expr::ScalarFunction(function), schema)?
        }
        Expr::ScalarFunction(mut function) if looks_for_values(function.name()) => {
            let is_changed = unify_all(function.args.iter_mut(), schema)?;
            Transformed::new_transformed(Expr::ScalarFunction(function), is_changed)
        }
        Expr::BinaryExpr(mut comparison) if is_comparison(comparison.op) => {
            // Of numbers that are not in lists or structs the operators know it.
            let is_nested = |side: &Expr| Ok::<_, DataFusionError>(side.get_type(schema)?.is_nested());
            let are_nested = is_nested(&comparison.left)? && is_nested(&comparison.right)?;
            let sides = [comparison.left.as_mut(), comparison.right.as_mut()];
            let is_changed = are_nested && unify_all(sides.into_iter(), schema)?;
            Transformed::new_transformed(Expr::BinaryExpr(comparison), is_changed)
        }
        // A comparison knows it.
        Expr::InList(mut of) if of.list.len() == 1 => match (of.list.pop(), of.negated) {
            (Some(other), false) => Transformed::yes(binary_expr(*of.expr, Operator::Eq, other)),
            (Some(other), true) => Transformed::yes(binary_expr(*of.expr, Operator::NotEq, other)),
            (None, _) => Transformed::no(Expr::InList(of)),
        },
        // What is constant is computed before `zero_keys` adds the other zero to the lists of columns.
        Expr::InList(mut of) if !of.expr.any_column_refs() => {
            let is_changed = unify_all(std::iter::once(of.expr.as_mut()).chain(&mut of.list), schema)?;
            Transformed::new_transformed(Expr::InList(of), is_changed)
        }
        Expr::Case(mut case) if case.expr.is_some() => {
            let values = case.when_then_expr.iter_mut().map(|(when, _)| when.as_mut());
            let is_changed = unify_all(case.expr.as_deref_mut().into_iter().chain(values), schema)?;
            Transformed::new_transformed(Expr::Case(case), is_changed)
        }
        expr => Transformed::no(expr),
    })
}

/// Makes both zeros of expressions one; whether one of them has two.
fn unify_all<'e>(mut exprs: impl Iterator<Item = &'e mut Expr>, schema: &DFSchema) -> Result<bool> {
    exprs.try_fold(false, |is_changed, expr| Ok(unify(expr, schema)? | is_changed))
}

/// `nullif(x, y)` as a CASE, whose comparison knows of both zeros.
fn null_if_equal(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::ScalarFunction(mut function) = expr else { return Ok(Transformed::no(expr)) };
    let has_both = |value: &Expr| Ok::<_, DataFusionError>(has_zeros(&value.get_type(schema)?));
    let [value, other] = &function.args[..] else {
        return Ok(Transformed::no(Expr::ScalarFunction(function)));
    };
    if !has_both(value)? && !has_both(other)? {
        return Ok(Transformed::no(Expr::ScalarFunction(function)));
    }
    if value.is_volatile() || value.get_type(schema)?.is_nested() {
        let is_changed = unify_all(function.args.iter_mut(), schema)?;
        return Ok(Transformed::new_transformed(Expr::ScalarFunction(function), is_changed));
    }
    let null = lit(ScalarValue::try_from(value.get_type(schema)?)?);
    Ok(Transformed::yes(when(value.clone().eq(other.clone()), null).otherwise(value.clone())?))
}

/// Makes both zeros one; whether the expression is one that has two.
pub(super) fn unify(expr: &mut Expr, schema: &DFSchema) -> Result<bool> {
    static NESTED: LazyLock<Arc<ScalarUDF>> =
        LazyLock::new(|| Arc::new(ScalarUDF::new_from_impl(OneZero::new())));
    let data_type = expr.get_type(schema)?;
    if !has_zeros(&data_type) {
        return Ok(false);
    }
    if !data_type.is_floating() {
        let is_done = matches!(expr, Expr::ScalarFunction(function) if function.name() == NESTED.name());
        if !is_done {
            *expr = NESTED.call(vec![std::mem::take(expr)]);
        }
        return Ok(!is_done);
    }
    let zero = ScalarValue::new_zero(&data_type)?;
    match expr {
        Expr::Literal(value, _) => {
            let is_negative = *value != zero && value.arithmetic_negate()? == zero;
            if is_negative {
                *value = zero;
            }
            Ok(is_negative)
        }
        Expr::BinaryExpr(BinaryExpr { op: Operator::Plus, right, .. }) if **right == lit(zero.clone()) => {
            Ok(false)
        }
        expr => {
            *expr = std::mem::take(expr) + lit(zero);
            Ok(true)
        }
    }
}
