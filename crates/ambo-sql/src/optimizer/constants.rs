//! What is constant in one part of the rows is not constant in all of them.
//!
//! Of two parts the planner (DataFusion 55) takes it for constant:
//! - One side of an outer join. Where it has no row, its columns are NULL, but rows are not divided by such a column, or not sorted by it.
//! - A part of `UNION ALL`, where another part has another constant. Rows are sorted part by part without that column, which is right, and
//!   the largest row that LIMIT lets through is shared by the parts, which is not: it was found without the column. Later planners have
//!   this right (apache/datafusion#23528).
//! - What is grouped by GROUPING SETS, ROLLUP or CUBE. Where a column is not among the groups of a set, it is NULL; the groups that come
//!   from several threads are put together as if that could not be, and one came twice: `GROUP BY ROLLUP (x)` with one `x` in all rows.
//!
//! So such parts get an operator above them that hands rows on and knows less of them.

use std::sync::Arc;

use datafusion::{
    common::{
        JoinType, Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode},
    },
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ExecutionPlan, ExecutionPlanProperties,
        aggregates::AggregateExec,
        execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions},
        joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec},
        union::UnionExec,
    },
};

use super::pass_on::{Known, PassOn, differs};

/// See the module. To be run before anything is sorted or divided.
#[derive(Debug)]
pub(super) struct PartialConstants;

impl PhysicalOptimizerRule for PartialConstants {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let part =
            |plan: Arc<dyn ExecutionPlan>| match join_type(&plan) {
                Some(ty) => outer_sides(plan, ty),
                None if plan.is::<UnionExec>()
                    && plan.equivalence_properties().constants().iter().any(differs) =>
                {
                    Ok(Transformed::yes(
                        Arc::new(PassOn::new(plan, Known::OfAllParts)?) as Arc<dyn ExecutionPlan>
                    ))
                }
                None if has_grouping_sets(&plan) => {
                    let input = Arc::new(PassOn::new(plan.children()[0].clone(), Known::Nothing)?);
                    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
                    Ok(Transformed::yes(plan.replace_children(vec![input], options)?))
                }
                None => Ok(Transformed::no(plan)),
            };
        Ok(plan.transform_up(part)?.data)
    }

    fn name(&self) -> &str {
        "PartialConstants"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn has_grouping_sets(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.downcast_ref::<AggregateExec>().is_some_and(|aggregate| !aggregate.group_expr().is_single())
}

fn outer_sides(plan: Arc<dyn ExecutionPlan>, ty: JoinType) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let may_lack = match ty {
        JoinType::Left => [false, true],
        JoinType::Right => [true, false],
        JoinType::Full => [true, true],
        _ => return Ok(Transformed::no(plan)),
    };
    let mut is_changed = false;
    let mut side = |(child, may_lack): (&Arc<dyn ExecutionPlan>, bool)| match may_lack
        && !child.equivalence_properties().constants().is_empty()
    {
        true => {
            is_changed = true;
            Ok(Arc::new(PassOn::new(child.clone(), Known::Nothing)?) as Arc<dyn ExecutionPlan>)
        }
        false => Ok(child.clone()),
    };
    let children = plan.children().into_iter().zip(may_lack).map(&mut side).collect::<Result<Vec<_>>>()?;
    match is_changed {
        true => Ok(Transformed::yes(
            plan.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))?,
        )),
        false => Ok(Transformed::no(plan)),
    }
}

fn join_type(plan: &Arc<dyn ExecutionPlan>) -> Option<JoinType> {
    let hash = plan.downcast_ref::<HashJoinExec>().map(|join| *join.join_type());
    let loops = plan.downcast_ref::<NestedLoopJoinExec>().map(|join| *join.join_type());
    let merge = plan.downcast_ref::<SortMergeJoinExec>().map(|join| join.join_type());
    hash.or(loops).or(merge)
}
