//! The order of a query within another one counts where something above it depends on the order of rows.
//!
//! `SELECT … FROM (SELECT … ORDER BY a) LIMIT 3`, a view with an order, `array_agg(x)` and `row_number() OVER ()` over such a query: the
//! standard promises nothing, but SQLite, PostgreSQL and DuckDB keep the order, and people count on it. So
//!
//! 1. an order counts for the rows of a statement, for LIMIT and OFFSET, for DISTINCT ON, and for aggregates and windows that have no
//!    order of their own and depend on one: these take it over ([`inherited`]);
//! 2. it goes through conditions, lists of SELECT and names of tables; joins, groups and set operations have no order;
//! 3. an order that nothing depends on is left out.
//!
//! The planner would leave all of them out when it reads the statement (`enable_subquery_sort_elimination`).

mod inherited;

use std::sync::Arc;

use datafusion::{
    common::{
        Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    logical_expr::{
        Aggregate, Distinct, DistinctOn, Expr, LogicalPlan, Sort, SortExpr, Window, WindowFrame,
        WindowFrameUnits, expr::WindowFunction,
    },
    optimizer::AnalyzerRule,
};

use super::expressions::map_named;
use inherited::inherited;

/// Aggregates that depend on the order of rows.
const AGGREGATES: [&str; 5] = ["array_agg", "string_agg", "first_value", "last_value", "nth_value"];

/// Window functions that depend on the order of rows, whatever their frame is.
const WINDOWS: [&str; 4] = ["row_number", "ntile", "lag", "lead"];

/// See the module. To be run before queries within others become joins.
#[derive(Debug)]
pub(super) struct KeptOrders;

impl AnalyzerRule for KeptOrders {
    fn name(&self) -> &str {
        "kept_orders"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        match has_orders_within(&plan)? {
            true => kept(plan, true),
            false => Ok(plan),
        }
    }
}

/// Whether there is an order beside that of the statement itself.
fn has_orders_within(plan: &LogicalPlan) -> Result<bool> {
    let mut orders = 0;
    plan.apply_with_subqueries(|node| {
        orders += usize::from(matches!(node, LogicalPlan::Sort(_)));
        Ok(if orders > 1 { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    let mut top = plan;
    while let LogicalPlan::Limit(_) | LogicalPlan::Projection(_) = top {
        top = top.inputs()[0];
    }
    Ok(orders > usize::from(matches!(top, LogicalPlan::Sort(_))))
}

/// A plan with the orders that count; `counts` says whether its own does.
fn kept(plan: LogicalPlan, counts: bool) -> Result<LogicalPlan> {
    let (plan, below) = match plan {
        LogicalPlan::Sort(Sort { input, fetch: None, .. }) if !counts => {
            return kept(Arc::unwrap_or_clone(input), false);
        }
        LogicalPlan::Aggregate(aggregate) => (of_aggregate(aggregate)?, false),
        LogicalPlan::Distinct(Distinct::On(on)) => (of_distinct(on)?, false),
        LogicalPlan::Window(window) => {
            let counts = counts && window.window_expr.iter().all(is_plain);
            (of_window(window)?, counts)
        }
        plan => {
            let below = match &plan {
                LogicalPlan::Limit(_)
                | LogicalPlan::Explain(_)
                | LogicalPlan::Analyze(_)
                | LogicalPlan::Copy(_)
                | LogicalPlan::Dml(_) => true,
                LogicalPlan::Projection(_)
                | LogicalPlan::Filter(_)
                | LogicalPlan::SubqueryAlias(_)
                | LogicalPlan::Unnest(_) => counts,
                _ => false,
            };
            (plan, below)
        }
    };
    let within = |plan: LogicalPlan| kept(plan, false).map(Transformed::yes);
    let plan = plan.map_subqueries(within)?.data;
    let plan = plan.map_children(|child| kept(child, below).map(Transformed::yes))?.data;
    // Columns by which rows are ordered may be there in addition.
    plan.recompute_schema()
}

/// Whether a window has neither an order nor partitions, so that rows stay as they are.
fn is_plain(expr: &Expr) -> bool {
    let mut is_plain = true;
    let _ = expr.apply(|expr| {
        if let Expr::WindowFunction(of) = expr {
            is_plain &= of.params.order_by.is_empty() && of.params.partition_by.is_empty();
        }
        Ok(TreeNodeRecursion::Continue)
    });
    is_plain
}

fn of_aggregate(aggregate: Aggregate) -> Result<LogicalPlan> {
    let depends = |expr: &Expr| {
        matches!(expr, Expr::AggregateFunction(of)
        if AGGREGATES.contains(&of.func.name()) && of.params.order_by.is_empty() && !of.params.distinct)
    };
    if !any(&aggregate.aggr_expr, depends)? {
        return Ok(LogicalPlan::Aggregate(aggregate));
    }
    let Some((input, keys)) = inherited(&aggregate.input)? else {
        return Ok(LogicalPlan::Aggregate(aggregate));
    };
    let plan = Aggregate::try_new(Arc::new(input), aggregate.group_expr, aggregate.aggr_expr)?;
    ordered(LogicalPlan::Aggregate(plan), depends, &keys)
}

fn of_window(window: Window) -> Result<LogicalPlan> {
    let depends = |expr: &Expr| matches!(expr, Expr::WindowFunction(of) if depends_on_order(of));
    if !any(&window.window_expr, depends)? {
        return Ok(LogicalPlan::Window(window));
    }
    let Some((input, keys)) = inherited(&window.input)? else { return Ok(LogicalPlan::Window(window)) };
    let plan = Window::try_new(window.window_expr, Arc::new(input))?;
    ordered(LogicalPlan::Window(plan), depends, &keys)
}

fn depends_on_order(of: &WindowFunction) -> bool {
    let WindowFrame { units, start_bound, end_bound, .. } = &of.params.window_frame;
    let is_whole = start_bound.is_unbounded() && end_bound.is_unbounded();
    let depends = match (WINDOWS.contains(&of.fun.name()), is_whole) {
        (true, _) => true,
        (false, true) => AGGREGATES.contains(&of.fun.name()),
        // In other frames all rows without an order are peers.
        (false, false) => *units == WindowFrameUnits::Rows,
    };
    depends && of.params.order_by.is_empty()
}

fn any(exprs: &[Expr], wanted: impl Fn(&Expr) -> bool) -> Result<bool> {
    for expr in exprs {
        if expr.exists(|expr| Ok(wanted(expr)))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// An operator whose functions that depend on the order of rows have this one.
fn ordered(plan: LogicalPlan, depends: impl Fn(&Expr) -> bool, keys: &[SortExpr]) -> Result<LogicalPlan> {
    let change = |expr: Expr| {
        expr.transform_up(|expr| {
            Ok(match expr {
                Expr::AggregateFunction(mut of) if depends(&Expr::AggregateFunction(of.clone())) => {
                    of.params.order_by = keys.to_vec();
                    Transformed::yes(Expr::AggregateFunction(of))
                }
                Expr::WindowFunction(mut of) if depends(&Expr::WindowFunction(of.clone())) => {
                    of.params.order_by = keys.to_vec();
                    Transformed::yes(Expr::WindowFunction(of))
                }
                expr => Transformed::no(expr),
            })
        })
    };
    Ok(map_named(plan, |expr| expr.exists(|expr| Ok(depends(expr))), change)?.data)
}

/// The first rows of groups: by the order of the rows where their own does not say which.
fn of_distinct(on: DistinctOn) -> Result<LogicalPlan> {
    let Some((input, keys)) = inherited(&on.input)? else {
        return Ok(LogicalPlan::Distinct(Distinct::On(on)));
    };
    let groups = || on.on_expr.iter().map(|expr| expr.clone().sort(true, false)).collect();
    let own = on.sort_expr.clone().filter(|by| !by.is_empty());
    let by = own.unwrap_or_else(groups).into_iter().chain(keys).collect();
    let on = DistinctOn::try_new(on.on_expr, on.select_expr, Some(by), Arc::new(input))?;
    Ok(LogicalPlan::Distinct(Distinct::On(on)))
}
