//! A window function that stands twice is computed once.
//!
//! `sum(1) OVER (), sum(3 / 2) OVER ()` become one function when constants are computed, and the planner (DataFusion 55) computes what is
//! common to several expressions in a projection below them. A window function cannot be in a projection: the statement was refused, or a
//! rule panicked.

use std::sync::Arc;

use datafusion::{
    common::{Column, Result, tree_node::Transformed},
    logical_expr::{Expr, LogicalPlan, Projection, Window},
    optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule},
};

/// See the module. To be run before what is common to expressions is looked for.
#[derive(Debug)]
pub(super) struct RepeatedWindows;

impl OptimizerRule for RepeatedWindows {
    fn name(&self) -> &str {
        "repeated_windows"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Window(window) if repeats(&window.window_expr) => once(window).map(Transformed::yes),
            plan => Ok(Transformed::no(plan)),
        }
    }
}

fn function(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => function(&alias.expr),
        expr => expr,
    }
}

/// Where an expression stands among those before it. What is another value each time stands for itself.
fn place_before(exprs: &[Expr], nth: usize) -> Option<usize> {
    if exprs[nth].is_volatile() {
        return None;
    }
    exprs[..nth].iter().position(|before| function(before) == function(&exprs[nth]))
}

fn repeats(exprs: &[Expr]) -> bool {
    (0..exprs.len()).any(|nth| place_before(exprs, nth).is_some())
}

/// The same columns, of windows without the repeated ones.
fn once(window: Window) -> Result<LogicalPlan> {
    let Window { input, window_expr, schema, .. } = window;
    let given = input.schema().fields().len();
    let column = |place: usize| Column::from(schema.qualified_field(place));
    let mut columns: Vec<Expr> = (0..given).map(|place| Expr::Column(column(place))).collect();
    for nth in 0..window_expr.len() {
        let own = column(given + nth);
        columns.push(match place_before(&window_expr, nth) {
            Some(first) => Expr::Column(column(given + first)).alias_qualified(own.relation, own.name),
            None => Expr::Column(own),
        });
    }
    let is_first = |nth: &usize| place_before(&window_expr, *nth).is_none();
    let different = (0..window_expr.len()).filter(is_first).map(|nth| window_expr[nth].clone()).collect();
    let windows = LogicalPlan::Window(Window::try_new(different, input)?);
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(windows))?))
}
