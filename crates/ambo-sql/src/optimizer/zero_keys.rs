//! 0.0 and -0.0 are one value where rows are joined, sorted, or looked up.
//!
//! Hash joins and lists of IN find values by their bits, and a sort puts -0.0 first, whatever comes second in its order. Keys are `x +
//! 0.0`, which is the same for both; a list has both if it has one, so that what is looked up stays a column.

use datafusion::{
    common::{
        DFSchema, DataFusionError, Result, ScalarValue,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{Expr, ExprSchemable, Join, JoinConstraint, LogicalPlan, Sort, expr::InList, lit},
    optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule},
};

use super::{
    expressions::{map_named, schema_of_rows},
    zeros::unify,
};

/// See the module. To be run when all keys and lists are found.
#[derive(Debug)]
pub(super) struct ZeroKeys;

impl OptimizerRule for ZeroKeys {
    fn name(&self) -> &str {
        "zero_keys"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let schema = match &plan {
            // Filters of a scan have columns that it does not return.
            LogicalPlan::TableScan(scan) => {
                DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?
            }
            plan => schema_of_rows(plan),
        };
        let is_wanted = |expr: &Expr| expr.exists(|expr| Ok(matches!(expr, Expr::InList(_))));
        let plan = map_named(plan, is_wanted, |expr| expr.transform_up(|expr| looked_up(expr, &schema)))?;
        plan.transform_data(|plan| match plan {
            LogicalPlan::Join(join) => joined(join),
            LogicalPlan::Sort(sort) => sorted(sort),
            plan => Ok(Transformed::no(plan)),
        })
    }
}

/// A list of IN with both zeros.
fn looked_up(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::InList(mut list) => {
            let is_changed = with_both_zeros(&mut list, schema)?;
            Ok(Transformed::new_transformed(Expr::InList(list), is_changed))
        }
        expr => Ok(Transformed::no(expr)),
    }
}

/// Whether an element was added.
fn with_both_zeros(InList { expr, list, .. }: &mut InList, schema: &DFSchema) -> Result<bool> {
    let data_type = expr.get_type(schema)?;
    if !data_type.is_floating() {
        return Ok(false);
    }
    let zero = ScalarValue::new_zero(&data_type)?;
    let both = [lit(zero.clone()), lit(zero.arithmetic_negate()?)];
    let missing: Vec<_> = both.iter().filter(|zero| !list.contains(zero)).cloned().collect();
    let is_one_missing = missing.len() == 1;
    if is_one_missing {
        list.extend(missing);
    }
    Ok(is_one_missing)
}

/// A join whose keys have one zero.
fn joined(mut join: Join) -> Result<Transformed<LogicalPlan>> {
    let Join { on, left, right, .. } = &mut join;
    let is_changed = on.iter_mut().try_fold(false, |is_changed, (of_left, of_right)| {
        let left = unify(of_left, left.schema())?;
        Ok::<_, DataFusionError>(unify(of_right, right.schema())? | left | is_changed)
    })?;
    if is_changed {
        // Only columns are said to be in common by USING.
        join.join_constraint = JoinConstraint::On;
    }
    Ok(Transformed::new_transformed(LogicalPlan::Join(join), is_changed))
}

/// A sort by one zero, but for the last of what it is by: behind it, nothing says which of equal rows is first.
fn sorted(mut sort: Sort) -> Result<Transformed<LogicalPlan>> {
    let Some((_, before)) = sort.expr.split_last_mut() else {
        return Ok(Transformed::no(LogicalPlan::Sort(sort)));
    };
    let schema = sort.input.schema();
    let is_changed = before.iter_mut().try_fold(false, |is_changed, by| {
        Ok::<_, DataFusionError>(unify(&mut by.expr, schema)? | is_changed)
    })?;
    Ok(Transformed::new_transformed(LogicalPlan::Sort(sort), is_changed))
}
