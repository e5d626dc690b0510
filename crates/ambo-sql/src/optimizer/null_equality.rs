//! Joins by `IS NOT DISTINCT FROM` keep to themselves.
//!
//! Whether NULL equals NULL is said of all keys of a join together. The planner's rule that finds keys among conditions adds those by `=`
//! to a join that has others; and the one that makes joins of cross joins and conditions gives all joins that it takes apart the answer of
//! the last one it met. So the first is not let loose on such joins, the second not on plans that have one.

use datafusion::{
    common::{
        NullEquality, Result,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::LogicalPlan,
    optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule},
};

use super::Rule;

#[derive(Debug)]
pub(super) struct WithoutNullKeys {
    pub rule: Rule,
    /// Whether the rule looks at joins below joins.
    pub is_deep: bool,
}

impl OptimizerRule for WithoutNullKeys {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.rule.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let has_null_keys = match self.is_deep {
            true => plan.exists(|plan| Ok(joins_nulls(plan)))?,
            false => joins_nulls(&plan),
        };
        match has_null_keys {
            true => Ok(Transformed::no(plan)),
            false => self.rule.rewrite(plan, config),
        }
    }
}

fn joins_nulls(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Join(join) if join.null_equality == NullEquality::NullEqualsNull)
}
