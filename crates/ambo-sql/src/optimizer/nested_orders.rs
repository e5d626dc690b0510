//! NULL within a list, a struct or a map is greater than all else, wherever rows stand whose whole value is NULL.
//!
//! The planner (DataFusion 55) takes NULLS FIRST for what is within, too: `ORDER BY l NULLS FIRST` put `[NULL]` before `[1]`. Rows are put
//! in order by whether there is a value at all, and then by the value: those of a query, and those of aggregates, windows and DISTINCT ON.

use std::sync::Arc;

use datafusion::{
    common::{
        Column, DFSchema, Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{
        Distinct, DistinctOn, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Sort, SortExpr,
    },
    optimizer::AnalyzerRule,
};

use super::expressions::{map_named, schema_of_rows};

/// See the module.
#[derive(Debug)]
pub(super) struct NestedOrders;

impl AnalyzerRule for NestedOrders {
    fn name(&self) -> &str {
        "nested_orders"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(in_operator)?.data)
    }
}

fn in_operator(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Sort(mut sort) => {
            let is_changed = split(&mut sort.expr, sort.input.schema())?;
            Ok(Transformed::new_transformed(LogicalPlan::Sort(sort), is_changed))
        }
        LogicalPlan::Distinct(Distinct::On(distinct)) => of_distinct(distinct),
        plan @ (LogicalPlan::Aggregate(_) | LogicalPlan::Window(_)) => {
            let schema = schema_of_rows(&plan);
            let is_wanted = |expr: &Expr| expr.exists(|expr| Ok(has_order(expr)));
            map_named(plan, is_wanted, |expr| expr.transform_up(|expr| of_function(expr, &schema)))
        }
        plan => Ok(Transformed::no(plan)),
    }
}

fn has_order(expr: &Expr) -> bool {
    match expr {
        Expr::AggregateFunction(of) => !of.params.order_by.is_empty(),
        Expr::WindowFunction(of) => !of.params.order_by.is_empty(),
        _ => false,
    }
}

fn of_function(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    Ok(match expr {
        // Of different values, an order is by these alone.
        Expr::AggregateFunction(mut function) if !function.params.distinct => {
            let is_changed = split(&mut function.params.order_by, schema)?;
            Transformed::new_transformed(Expr::AggregateFunction(function), is_changed)
        }
        Expr::WindowFunction(mut function) => {
            let is_changed = split(&mut function.params.order_by, schema)?;
            Transformed::new_transformed(Expr::WindowFunction(function), is_changed)
        }
        expr => Transformed::no(expr),
    })
}

/// The first keys are those of the groups, which only say in which order these are: that is said once more above.
fn of_distinct(mut distinct: DistinctOn) -> Result<Transformed<LogicalPlan>> {
    let Some(sorts) = &mut distinct.sort_expr else {
        return Ok(Transformed::no(LogicalPlan::Distinct(Distinct::On(distinct))));
    };
    let schema = distinct.input.schema().clone();
    let groups = distinct.on_expr.len();
    let mut behind = sorts.split_off(groups.min(sorts.len()));
    let is_changed = split(&mut behind, &schema)?;
    let mut of_groups = sorts.clone();
    sorts.extend(behind);
    if !split(&mut of_groups.clone(), &schema)? {
        return Ok(Transformed::new_transformed(LogicalPlan::Distinct(Distinct::On(distinct)), is_changed));
    }
    let columns: Vec<_> = distinct.schema.columns().into_iter().map(Expr::Column).collect();
    for (nth, sort) in of_groups.iter_mut().enumerate() {
        let name = format!("__group_{nth}");
        distinct.select_expr.push(sort.expr.clone().alias(&name));
        sort.expr = Expr::Column(Column::from_name(name));
    }
    let DistinctOn { on_expr, select_expr, sort_expr, input, .. } = distinct;
    let rows = DistinctOn::try_new(on_expr, select_expr, sort_expr, input)?;
    let rows = LogicalPlan::Distinct(Distinct::On(rows));
    split(&mut of_groups, rows.schema())?;
    let sorted = LogicalPlan::Sort(Sort { expr: of_groups, input: Arc::new(rows), fetch: None });
    Ok(Transformed::yes(LogicalPlanBuilder::from(sorted).project(columns)?.build()?))
}

/// Puts before each nested value whether there is one, where this counts otherwise than what is within; whether one was.
fn split(sorts: &mut Vec<SortExpr>, schema: &DFSchema) -> Result<bool> {
    let given = std::mem::take(sorts);
    let keys = given.len();
    for one in given {
        let is_split = one.nulls_first == one.asc && one.expr.get_type(schema)?.is_nested();
        if is_split {
            // What is there is true, which is greater than false.
            sorts.push(SortExpr::new(one.expr.clone().is_not_null(), one.nulls_first, false));
        }
        sorts.push(SortExpr { nulls_first: one.nulls_first != is_split, ..one });
    }
    Ok(sorts.len() > keys)
}
