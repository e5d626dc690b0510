//! The first rows in the order of lists, structs or maps are those of the whole order.
//!
//! A sort with a limit (DataFusion 55, `TopK`) leaves out rows that compare behind its last row so far. It compares by operators, for which
//! NULL within a value is least, while the order has it greatest ([`NestedOrders`](super::nested_orders::NestedOrders)): `[1, NULL]` went
//! where `[1, 2]` was last. So rows are sorted by such values without a limit, which stands above the sort.

use std::sync::Arc;

use datafusion::{
    common::{
        Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode},
    },
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{ExecutionPlan, limit::LocalLimitExec, sorts::sort::SortExec},
};

/// See the module. To be run when limits have gone into sorts.
#[derive(Debug)]
pub(super) struct NestedTops;

impl PhysicalOptimizerRule for NestedTops {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let above = |plan: Arc<dyn ExecutionPlan>| match limit_above(&plan)? {
            Some(limit) => Ok(Transformed::yes(limit)),
            None => Ok(Transformed::no(plan)),
        };
        Ok(plan.transform_up(above)?.data)
    }

    fn name(&self) -> &str {
        "NestedTops"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// A sort by nested values without its limit, which stands above it; None of another plan.
fn limit_above(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(sort) = plan.downcast_ref::<SortExec>() else { return Ok(None) };
    let Some(fetch) = sort.fetch() else { return Ok(None) };
    let schema = sort.input().schema();
    for key in sort.expr() {
        if key.expr.data_type(&schema)?.is_nested() {
            return Ok(Some(Arc::new(LocalLimitExec::new(Arc::new(sort.with_fetch(None)), fetch))));
        }
    }
    Ok(None)
}
