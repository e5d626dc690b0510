//! Filters go down only where columns have names of their own.
//!
//! On their way through operators with one input, filters of DataFusion 55 find their columns again by name; and from a key of a semi-join
//! to that of its other side. Where an operator has two columns of one name, as behind self-joins, or the other side of a semi-join has
//! another column of that name, a filter of one would be put to the other, and rows would be missing. So the planner's rule is only let
//! loose on parts of a plan in which that cannot be: where no column that a filter may be about has a name that others have, too. Filters
//! are those of the plan, and those that joins, and sorts of which only the first rows are wanted, make of what they have seen.

use std::{collections::HashSet, sync::Arc};

use datafusion::{
    common::{
        JoinType, Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    physical_expr::{PhysicalExprRef, expressions::Column, utils::collect_columns},
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ExecutionPlan, coalesce_partitions::CoalescePartitionsExec, coop::CooperativeExec,
        filter::FilterExec, joins::HashJoinExec, projection::ProjectionExec, repartition::RepartitionExec,
        sorts::sort::SortExec, sorts::sort_preserving_merge::SortPreservingMergeExec,
    },
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
    let mut twice = HashSet::new();
    plan.apply(|plan| {
        let schema = plan.schema();
        let mut names = HashSet::new();
        let again = schema.fields().iter().filter(|field| !names.insert(field.name()));
        twice.extend(again.map(|field| field.name().clone()));
        Ok(TreeNodeRecursion::Continue)
    })?;
    if !twice.is_empty() && filtered_names(plan)?.intersection(&twice).next().is_some() {
        return Ok(true);
    }
    plan.exists(|plan| Ok(plan.downcast_ref::<HashJoinExec>().is_some_and(has_false_key)))
}

/// The names of columns that filters within a plan may be about, wherever these go.
fn filtered_names(plan: &Arc<dyn ExecutionPlan>) -> Result<HashSet<String>> {
    let mut names = HashSet::new();
    loop {
        let before = names.len();
        plan.apply(|plan| {
            add_filtered(plan, &mut names);
            Ok(TreeNodeRecursion::Continue)
        })?;
        // Projections give columns other names.
        if names.len() == before {
            return Ok(names);
        }
    }
}

/// Adds the names that filters of an operator itself may be about, and what those known already are called below it.
fn add_filtered(plan: &Arc<dyn ExecutionPlan>, names: &mut HashSet<String>) {
    let of =
        |expr: &PhysicalExprRef| collect_columns(expr).into_iter().map(|column| column.name().to_owned());
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        names.extend(of(filter.predicate()));
    } else if let Some(sort) = plan.downcast_ref::<SortExec>() {
        names.extend(sort.expr().iter().flat_map(|one| of(&one.expr)));
    } else if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        names.extend(join.on().iter().flat_map(|(left, right)| of(left).chain(of(right))));
    } else if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let known = projection.expr().iter().filter(|one| names.contains(&one.alias));
        let below: Vec<_> = known.flat_map(|one| of(&one.expr)).collect();
        names.extend(below);
    } else if !(plan.is::<RepartitionExec>()
        || plan.is::<CoalescePartitionsExec>()
        || plan.is::<SortPreservingMergeExec>()
        || plan.is::<CooperativeExec>()
        || plan.children().is_empty())
    {
        // Filters of others may be about any column.
        names.extend(plan.schema().fields().iter().map(|field| field.name().clone()));
        let inputs = plan.children().into_iter().map(|input| input.schema());
        names.extend(
            inputs.flat_map(|input| {
                input.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>()
            }),
        );
    }
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
