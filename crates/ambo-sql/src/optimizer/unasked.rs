//! Joins do not wait for partitions that nobody asks.
//!
//! A hash join whose keys filter the other side (a dynamic filter) waits until the keys of all its partitions are known. A partition that
//! is never asked for rows never tells them: where the join is on the probe side of another that is divided by the same keys, and has no
//! rows to find there in one partition, the others wait for ever. The planner (DataFusion 55) sees to it where each partition has keys of
//! its own and is dropped early, and not where all have the same. So joins of which a partition may not be asked filter nothing.

use std::sync::Arc;

use datafusion::{
    common::{Result, config::ConfigOptions},
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ExecutionPlan, ExecutionPlanProperties,
        coalesce_partitions::CoalescePartitionsExec,
        execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions},
        joins::{HashJoinExec, PartitionMode, SortMergeJoinExec},
        repartition::RepartitionExec,
        sorts::sort_preserving_merge::SortPreservingMergeExec,
    },
};

/// See the module. To be run when filters have gone down.
#[derive(Debug)]
pub(super) struct UnaskedPartitions;

impl PhysicalOptimizerRule for UnaskedPartitions {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        without_waits(plan, false)
    }

    fn name(&self) -> &str {
        "UnaskedPartitions"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The plan, in which joins do not wait for each other's partitions if some partitions of it `may_be_left` unasked while others are asked.
fn without_waits(plan: Arc<dyn ExecutionPlan>, may_be_left: bool) -> Result<Arc<dyn ExecutionPlan>> {
    let may_be_left = may_be_left && plan.output_partitioning().partition_count() > 1;
    let join = plan.downcast_ref::<HashJoinExec>();
    let asks_all = plan.is::<RepartitionExec>()
        || plan.is::<CoalescePartitionsExec>()
        || plan.is::<SortPreservingMergeExec>();
    let is_divided = join.is_some_and(|join| *join.partition_mode() == PartitionMode::Partitioned)
        || plan.is::<SortMergeJoinExec>();
    let children = plan.children().into_iter().enumerate();
    let children = children.map(|(place, child)| {
        // The side that is read first is read by every partition that is asked.
        let may_leave = is_divided && (place > 0 || join.is_none());
        without_waits(child.clone(), !asks_all && (may_be_left || may_leave))
    });
    let children = children.collect::<Result<Vec<_>>>()?;
    let waits = join.filter(|join| may_be_left && !join.dynamic_expressions_produced().is_empty());
    if let Some(join) = waits {
        return join.builder().with_new_children(children)?.reset_state().build_exec();
    }
    let is_same = plan.children().into_iter().zip(&children).all(|(before, now)| Arc::ptr_eq(before, now));
    match is_same {
        true => Ok(plan),
        false => {
            plan.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
        }
    }
}
