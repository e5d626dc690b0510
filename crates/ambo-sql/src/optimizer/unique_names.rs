//! Filters go down only where columns have names of their own.
//!
//! On their way through operators with one input, filters of DataFusion 55 find their columns again by name; and from a key of a semi-join
//! to that of its other side. Where an operator has two columns of one name, as behind self-joins, or the other side of a semi-join has another
//! column of that name, a filter of one would be put to the other, and rows would be missing. So the planner's rule is only let loose on
//! parts of a plan in which that cannot be.

use std::{collections::HashSet, sync::Arc};

use datafusion::{
    common::{
        JoinType, Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    physical_expr::{PhysicalExprRef, expressions::Column},
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{ExecutionPlan, joins::HashJoinExec},
};

use super::PhysicalRule;

#[derive(Debug)]
pub(super) struct WithUniqueNames(pub PhysicalRule);

impl PhysicalOptimizerRule for WithUniqueNames {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let part = |plan: Arc<dyn ExecutionPlan>| match is_ambiguous(&plan)? {
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

/// Whether names might lead a filter to another column in a plan.
fn is_ambiguous(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    plan.exists(|plan| {
        let schema = plan.schema();
        let mut names = HashSet::new();
        let is_twice = schema.fields().iter().any(|field| !names.insert(field.name()));
        Ok(is_twice || plan.downcast_ref::<HashJoinExec>().is_some_and(has_false_key))
    })
}

/// Whether the side of a semi-join that is not handed out has a column with the name of a key of the other side that is not equal to it.
fn has_false_key(join: &HashJoinExec) -> bool {
    let (from, to) = match join.join_type() {
        JoinType::LeftSemi => (0, join.right()),
        JoinType::RightSemi => (1, join.left()),
        _ => return false,
    };
    let name = |expr: &PhysicalExprRef| expr.downcast_ref::<Column>().map(|column| column.name().to_owned());
    join.on().iter().any(|(left, right)| {
        let keys = [name(left), name(right)];
        let (own, other) = (&keys[from], &keys[1 - from]);
        own.as_ref().is_some_and(|own| Some(own) != other.as_ref() && to.schema().index_of(own).is_ok())
    })
}
