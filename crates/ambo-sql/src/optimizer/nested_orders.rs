//! NULL within a list, a struct or a map is greater than all else, wherever rows stand whose whole value is NULL.
//!
//! The planner (DataFusion 55) takes NULLS FIRST for what is within, too: `ORDER BY l NULLS FIRST` put `[NULL]` before `[1]`. Rows are put
//! in order by whether there is a value at all, and then by the value.

use datafusion::{
    common::{Result, config::ConfigOptions, tree_node::Transformed},
    logical_expr::{ExprSchemable, LogicalPlan, Sort, SortExpr},
    optimizer::AnalyzerRule,
};

/// See the module.
#[derive(Debug)]
pub(super) struct NestedOrders;

impl AnalyzerRule for NestedOrders {
    fn name(&self) -> &str {
        "nested_orders"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan
            .transform_up_with_subqueries(|plan| match plan {
                LogicalPlan::Sort(sort) => split(sort),
                plan => Ok(Transformed::no(plan)),
            })?
            .data)
    }
}

fn split(sort: Sort) -> Result<Transformed<LogicalPlan>> {
    let schema = sort.input.schema().clone();
    let mut by = Vec::with_capacity(sort.expr.len());
    for one in &sort.expr {
        let is_split = one.nulls_first == one.asc && one.expr.get_type(&schema)?.is_nested();
        if is_split {
            // What is there is true, which is greater than false.
            let is_there = one.expr.clone().is_not_null();
            by.push(SortExpr::new(is_there, one.nulls_first, false));
        }
        by.push(SortExpr { nulls_first: one.nulls_first != is_split, ..one.clone() });
    }
    let is_changed = by.len() > sort.expr.len();
    Ok(Transformed::new_transformed(LogicalPlan::Sort(Sort { expr: by, ..sort }), is_changed))
}
