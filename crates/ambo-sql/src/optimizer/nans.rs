//! All NaNs are one value.
//!
//! Operators tell them apart by their bits: one with a sign is less than all numbers, another one is greater, and they are two groups.
//! Processors give the difference of two infinities a sign. So what may make a NaN with a sign makes the one without: arithmetic,
//! functions, casts of texts, aggregates, and rows that are not of the database (files, and what a program hands in). What is stored has
//! the one NaN.

use std::sync::{Arc, LazyLock};

use arrow::datatypes::DataType;
use datafusion::{
    common::{
        Column, DFSchema, Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{
        BinaryExpr, Cast, Expr, ExprSchemable, LogicalPlan, Operator, Projection, ScalarUDF, TryCast,
    },
    optimizer::AnalyzerRule,
};

use super::expressions::ExpressionRule;
use crate::{
    functions::{OneNan, has_zeros},
    numbers::typed,
    table,
};

static ONE_NAN: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| Arc::new(ScalarUDF::new_from_impl(OneNan::new())));

/// What is computed of the values of a row.
pub(super) const NANS: ExpressionRule = ExpressionRule {
    name: "nans",
    wanted: |expr| match expr {
        Expr::BinaryExpr(BinaryExpr { op, .. }) => is_arithmetic(*op),
        Expr::ScalarFunction(function) => !keeps_values(function.name()),
        expr => matches!(expr, Expr::Negative(_) | Expr::Cast(_) | Expr::TryCast(_)),
    },
    change: |expr, schema, _| expr.transform_up(|expr| with_one_nan(expr, schema)),
};

/// Aggregates, and rows from elsewhere.
#[derive(Debug)]
pub(super) struct NansOfRows;

impl AnalyzerRule for NansOfRows {
    fn name(&self) -> &str {
        "nans_of_rows"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(projected)?.data)
    }
}

fn is_arithmetic(op: Operator) -> bool {
    matches!(op, Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide | Operator::Modulo)
}

/// Whether a function, an aggregate or a function of a window returns doubles that it was given, or none that is NaN.
fn keeps_values(name: &str) -> bool {
    const KEEPING: [&str; 36] = [
        "abs",
        "any_value",
        "arg_max",
        "arg_min",
        "array_element",
        "array_extract",
        "ceil",
        "coalesce",
        "count",
        "date_part",
        "epoch",
        "first_value",
        "floor",
        "get_field",
        "greatest",
        "lag",
        "last_value",
        "lead",
        "least",
        "list_element",
        "list_extract",
        "max",
        "min",
        "mode",
        "nth_value",
        "nullif",
        "nvl",
        "nvl2",
        "one_nan",
        "one_zero",
        "quantile_disc",
        "random",
        "round",
        "row_number",
        "struct_extract",
        "trunc",
    ];
    debug_assert!(KEEPING.is_sorted());
    KEEPING.binary_search(&name).is_ok()
}

fn with_one_nan(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let expr = match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_arithmetic(op) => {
            if !typed(&left, schema)?.is_floating() {
                return Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })));
            }
            // The result is NaN whichever NaN they are.
            let (left, right) = (Box::new(as_it_is(*left)), Box::new(as_it_is(*right)));
            Expr::BinaryExpr(BinaryExpr { left, op, right })
        }
        Expr::Negative(of) if typed(&of, schema)?.is_floating() => Expr::Negative(Box::new(as_it_is(*of))),
        Expr::ScalarFunction(function) if !keeps_values(function.name()) => {
            let expr = Expr::ScalarFunction(function);
            if !has_zeros(&expr.get_type(schema)?) {
                return Ok(Transformed::no(expr));
            }
            expr
        }
        Expr::Cast(Cast { expr: ref of, ref field }) | Expr::TryCast(TryCast { expr: ref of, ref field })
            if is_of_text(of, field.data_type(), schema)? =>
        {
            expr
        }
        Expr::AggregateFunction(mut function) if matches!(function.func.name(), "sum" | "avg") => {
            let params = &mut function.params;
            let is_changed = !params.distinct && params.args.iter().any(is_one_nan);
            if is_changed {
                params.args = std::mem::take(&mut params.args).into_iter().map(as_it_is).collect();
            }
            return Ok(Transformed::new_transformed(Expr::AggregateFunction(function), is_changed));
        }
        expr => return Ok(Transformed::no(expr)),
    };
    Ok(Transformed::yes(ONE_NAN.call(vec![expr])))
}

fn is_of_text(expr: &Expr, to: &DataType, schema: &DFSchema) -> Result<bool> {
    Ok(has_zeros(to) && !typed(expr, schema)?.is_numeric())
}

fn is_one_nan(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(function) if function.name() == ONE_NAN.name())
}

/// An expression without the function of this module around it.
fn as_it_is(expr: Expr) -> Expr {
    match expr {
        Expr::ScalarFunction(mut function) if function.name() == ONE_NAN.name() => {
            function.args.swap_remove(0)
        }
        expr => expr,
    }
}

/// The plan below a projection that makes the one NaN in columns that may have others.
fn projected(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let (first, made): (usize, Vec<bool>) = match &plan {
        LogicalPlan::Aggregate(of) => {
            let made: Vec<bool> = of.aggr_expr.iter().map(makes_values).collect();
            (of.schema.fields().len() - made.len(), made)
        }
        LogicalPlan::Window(of) => {
            let made: Vec<bool> = of.window_expr.iter().map(makes_values).collect();
            (of.schema.fields().len() - made.len(), made)
        }
        LogicalPlan::TableScan(scan) if table::rows_identity(scan).is_none() => {
            (0, vec![true; scan.projected_schema.fields().len()])
        }
        _ => return Ok(Transformed::no(plan)),
    };
    let schema = plan.schema().clone();
    let may_have = |place: usize| {
        let is_made = place.checked_sub(first).is_some_and(|number| made[number]);
        is_made && has_zeros(schema.field(place).data_type())
    };
    if !(0..schema.fields().len()).any(may_have) {
        return Ok(Transformed::no(plan));
    }
    let columns = schema.iter().enumerate().map(|(place, (table, field))| {
        let column = Expr::Column(Column::from((table, field)));
        match may_have(place) {
            true => ONE_NAN.call(vec![column]).alias_qualified(table.cloned(), field.name()),
            false => column,
        }
    });
    Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(columns.collect(), Arc::new(plan))?)))
}

/// Whether an aggregate or a function of a window computes values.
fn makes_values(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(of) => makes_values(&of.expr),
        Expr::AggregateFunction(of) => !keeps_values(of.func.name()),
        Expr::WindowFunction(of) => !keeps_values(of.fun.name()),
        _ => true,
    }
}
