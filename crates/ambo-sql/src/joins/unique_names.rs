//! Filters go down only where columns have names of their own.
//!
//! On their way through operators with one input, filters of DataFusion 55 find their columns again by name. Where a join has two columns of
//! one name, as self-joins have, a filter of one would be put to the other, and rows would be missing. So the planner's rule is
//! only let loose on parts of a plan in which no operator hands out two columns of one name.

use std::{collections::HashSet, sync::Arc};

use datafusion::{
    common::{
        Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    physical_optimizer::{PhysicalOptimizerRule, optimizer::PhysicalOptimizer},
    physical_plan::ExecutionPlan,
};

/// The planner's physical rules, those that push filters down among them only where that is safe, and rules of ours behind them.
pub(crate) fn physical_rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let guarded = |rule: Arc<dyn PhysicalOptimizerRule + Send + Sync>| match rule.name() {
        "FilterPushdown" | "FilterPushdown(Post)" => Arc::new(WithUniqueNames(rule)),
        _ => rule,
    };
    let mut rules: Vec<_> = PhysicalOptimizer::new().rules.into_iter().map(guarded).collect();
    rules.push(Arc::new(super::CooperativeJoins));
    rules
}

#[derive(Debug)]
struct WithUniqueNames(Arc<dyn PhysicalOptimizerRule + Send + Sync>);

impl PhysicalOptimizerRule for WithUniqueNames {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let part = |plan: Arc<dyn ExecutionPlan>| match has_twice(&plan)? {
            true => Ok(Transformed::no(plan)),
            false => Ok(Transformed::new(self.0.optimize(plan, config)?, true, TreeNodeRecursion::Jump)),
        };
        Ok(plan.transform_down(part)?.data)
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// Whether an operator of a plan hands out two columns of one name.
fn has_twice(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    plan.exists(|plan| {
        let schema = plan.schema();
        let mut names = HashSet::new();
        Ok(schema.fields().iter().any(|field| !names.insert(field.name())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_that_push_filters_down_are_known() {
        let own = PhysicalOptimizer::new().rules;
        let pushing = own.iter().filter(|rule| rule.name().starts_with("FilterPushdown")).count();
        let guarded =
            physical_rules().iter().filter(|rule| format!("{rule:?}").starts_with("WithUniqueNames")).count();
        assert_eq!((pushing, guarded), (2, 2));
    }
}
