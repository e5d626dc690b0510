//! Joins keep their keys where joins of several tables are taken apart.
//!
//! The planner's rule that makes joins of cross joins and conditions takes joins within joins apart and puts them together one table after
//! the other, each with the keys that belong to it and what is there already. A key that computes with columns of two tables, as
//! `a.x = b.y + c.z` in `a JOIN (b JOIN c …)`, belongs to no such pair where its other side comes first, and is dropped. So the rule's plan
//! is taken only where each key of the plan before is one of its keys, or one of its conditions.

use std::collections::HashSet;

use datafusion::{
    common::{
        JoinType, Result,
        tree_node::{Transformed, TreeNodeRecursion},
    },
    logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, utils::split_conjunction},
    optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule},
};

use super::Rule;

#[derive(Debug)]
pub(super) struct WithAllKeys(pub Rule);

impl OptimizerRule for WithAllKeys {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let keys = keys_of(&plan)?;
        if keys.is_empty() {
            return self.0.rewrite(plan, config);
        }
        let before = plan.clone();
        let after = self.0.rewrite(plan, config)?;
        if !after.transformed {
            return Ok(after);
        }
        let mut kept = keys_of(&after.data)?;
        kept.extend(equalities(&after.data)?);
        let are_all_there = keys
            .iter()
            .all(|(a, b)| kept.contains(&(a.clone(), b.clone())) || kept.contains(&(b.clone(), a.clone())));
        Ok(if are_all_there { after } else { Transformed::no(before) })
    }
}

/// Both sides of the keys of all inner joins, also in subqueries.
fn keys_of(plan: &LogicalPlan) -> Result<HashSet<(Expr, Expr)>> {
    let mut keys = HashSet::new();
    plan.apply_with_subqueries(|plan| {
        if let LogicalPlan::Join(join) = plan
            && join.join_type == JoinType::Inner
        {
            keys.extend(join.on.iter().cloned());
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(keys)
}

/// Both sides of the equalities that filters and joins ask for.
fn equalities(plan: &LogicalPlan) -> Result<HashSet<(Expr, Expr)>> {
    let mut all = HashSet::new();
    plan.apply_with_subqueries(|plan| {
        let condition = match plan {
            LogicalPlan::Filter(filter) => Some(&filter.predicate),
            LogicalPlan::Join(join) => join.filter.as_ref(),
            _ => None,
        };
        for part in condition.into_iter().flat_map(split_conjunction) {
            if let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = part {
                all.insert((left.as_ref().clone(), right.as_ref().clone()));
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(all)
}
