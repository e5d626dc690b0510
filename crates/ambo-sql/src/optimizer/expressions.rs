//! Changing the expressions of a plan before the planner's rules see them.

use datafusion::{
    common::{
        DFSchema, Result,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    logical_expr::{Expr, LogicalPlan, expr_rewriter::NamePreserver, utils::merge_schema},
};

/// Applies `change` to each expression of a plan and of its subqueries that has a `wanted` one in it; columns keep their names. It gets the
/// schema of the rows that the expression is of, and whether it is a condition: then only what is true counts.
pub(super) fn changed(
    plan: LogicalPlan,
    wanted: impl Fn(&Expr) -> bool,
    change: impl Fn(Expr, &DFSchema, bool) -> Result<Transformed<Expr>>,
) -> Result<LogicalPlan> {
    let is_wanted = |expr: &Expr| expr.exists(|expr| Ok(wanted(expr)));
    let changed = |plan: LogicalPlan| {
        if !has_expression(&plan, is_wanted)? {
            return Ok(Transformed::no(plan));
        }
        let schema = match &plan {
            LogicalPlan::TableScan(scan) => scan.projected_schema.as_ref().clone(),
            plan => merge_schema(&plan.inputs()),
        };
        let is_condition = matches!(plan, LogicalPlan::Filter(_));
        let names = NamePreserver::new(&plan);
        plan.map_expressions(|expr| {
            if !is_wanted(&expr)? {
                return Ok(Transformed::no(expr));
            }
            let name = names.save(&expr);
            Ok(change(expr, &schema, is_condition)?.update_data(|expr| name.restore(expr)))
        })
    };
    Ok(plan.transform_up_with_subqueries(changed)?.data)
}

fn has_expression(plan: &LogicalPlan, is_wanted: impl Fn(&Expr) -> Result<bool>) -> Result<bool> {
    let mut has = false;
    plan.apply_expressions(|expr| {
        has = is_wanted(expr)?;
        Ok(if has { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(has)
}
