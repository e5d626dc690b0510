//! Constants of one moment, one with a time zone and one without, are two.
//!
//! The planner (DataFusion 55) takes them for equal, so that of `min(TIMESTAMP '2024-01-01')` and `min(TIMESTAMPTZ '2024-01-01')` one is
//! computed, and both have its type. Its rule that computes once what stands twice is not shown nodes that have both.

use std::collections::HashMap;

use datafusion::{
    arrow::datatypes::DataType,
    common::{
        Result, ScalarValue,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    logical_expr::{Expr, LogicalPlan},
    optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule},
};

use super::Rule;

#[derive(Debug)]
pub(super) struct WithZonedLiterals(pub Rule);

impl OptimizerRule for WithZonedLiterals {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        // Of windows above each other all are looked at.
        let has_both = plan.exists(has_both)?;
        if has_both { Ok(Transformed::no(plan)) } else { self.0.rewrite(plan, config) }
    }
}

/// Whether a node has two constants that are equal, and of different types.
fn has_both(plan: &LogicalPlan) -> Result<bool> {
    let mut seen: HashMap<ScalarValue, DataType> = HashMap::new();
    let mut is_found = false;
    plan.apply_expressions(|expr| {
        expr.apply(|expr| {
            if let Expr::Literal(value, _) = expr
                && let of @ DataType::Timestamp(..) = value.data_type()
            {
                is_found |= *seen.entry(value.clone()).or_insert_with(|| of.clone()) != of;
            }
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(is_found)
}
