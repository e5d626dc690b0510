//! Leaves out of an order what stands in it before: `first_value(x ORDER BY a, b, a)`, and `DISTINCT ON (…)`, which becomes one.
//!
//! The aggregate (DataFusion 55) keeps the values of all expressions of its order and asks for a comparison by the different ones; where
//! these are fewer, it panics. Not reported upstream; `assert_eq!(orderings.len(), self.ordering_req.len())` in `first_last.rs` is the
//! place.

use std::collections::HashSet;

use datafusion::{
    common::{
        Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{Distinct, Expr, LogicalPlan, SortExpr},
    optimizer::{AnalyzerRule, ApplyOrder, OptimizerConfig, OptimizerRule},
};

use super::expressions::{ExpressionRule, map_named};

/// Those of aggregates.
pub(super) const REPEATED_ORDERS: ExpressionRule = ExpressionRule {
    name: "repeated_orders",
    wanted: |expr| matches!(expr, Expr::AggregateFunction(function) if repeats(&function.params.order_by)),
    change: |expr, _, _| expr.transform_up(|expr| Ok(with_plain_order(expr))),
};

fn with_plain_order(expr: Expr) -> Transformed<Expr> {
    match expr {
        Expr::AggregateFunction(mut function) if repeats(&function.params.order_by) => {
            function.params.order_by = without_repeated(function.params.order_by);
            Transformed::yes(Expr::AggregateFunction(function))
        }
        expr => Transformed::no(expr),
    }
}

/// Those of aggregates once more: what simplifies expressions makes several of an order one, as `a IS NOT NULL` and `b IS NOT NULL` where
/// neither can be NULL.
#[derive(Debug)]
pub(super) struct OrdersSimplified;

impl OptimizerRule for OrdersSimplified {
    fn name(&self) -> &str {
        "orders_simplified"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Aggregate(_) => {
                map_named(plan, |_| Ok(true), |expr| expr.transform_up(|expr| Ok(with_plain_order(expr))))
            }
            plan => Ok(Transformed::no(plan)),
        }
    }
}

/// Those of DISTINCT ON.
#[derive(Debug)]
pub(super) struct OrdersOfDistinct;

impl AnalyzerRule for OrdersOfDistinct {
    fn name(&self) -> &str {
        "orders_of_distinct"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let change = |node| match node {
            LogicalPlan::Distinct(Distinct::On(mut distinct))
                if distinct.sort_expr.as_deref().is_some_and(repeats) =>
            {
                distinct.sort_expr = distinct.sort_expr.map(without_repeated);
                Ok(Transformed::yes(LogicalPlan::Distinct(Distinct::On(distinct))))
            }
            node => Ok(Transformed::no(node)),
        };
        Ok(plan.transform_up_with_subqueries(change)?.data)
    }
}

fn repeats(order: &[SortExpr]) -> bool {
    let mut seen = HashSet::new();
    order.iter().any(|by| !seen.insert(&by.expr))
}

fn without_repeated(order: Vec<SortExpr>) -> Vec<SortExpr> {
    let mut seen = HashSet::new();
    order.into_iter().filter(|by| seen.insert(by.expr.clone())).collect()
}
