//! The first side of a join by any condition is read a second time as if it were the first time, or not at all.
//!
//! A join without equal columns (DataFusion 55, `NestedLoopJoinExec`) whose first side does not fit into memory lets that side be computed
//! again, and writes it to a file. Operators below that divide rows, or that other joins have read, are at their end by then: rows were
//! lost without a word, or the statement failed within the planner. So what is computed again begins anew. With several parts on the other
//! side, a join of all rows of the first side finds for each part alone which of them have a partner (as its source says); there the
//! statement fails for want of memory.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use datafusion::{
    common::{
        JoinType, Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode},
    },
    error::DataFusionError,
    execution::{SendableRecordBatchStream, TaskContext},
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
        execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions, reset_plan_states},
        joins::NestedLoopJoinExec,
    },
};

use crate::one_input::{no_expressions, one_input};

/// See the module. To be run when no operator is moved any more.
#[derive(Debug)]
pub(super) struct ReadAgain;

impl PhysicalOptimizerRule for ReadAgain {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let wrap = |plan: Arc<dyn ExecutionPlan>| {
            let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() else {
                return Ok(Transformed::no(plan));
            };
            let by_parts = matches!(
                join.join_type(),
                JoinType::Left
                    | JoinType::LeftSemi
                    | JoinType::LeftAnti
                    | JoinType::LeftMark
                    | JoinType::Full
            );
            let can_again = !by_parts || join.right().output_partitioning().partition_count() == 1;
            let side = Arc::new(FirstSide::new(join.left().clone(), can_again));
            let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
            let children = vec![side as Arc<dyn ExecutionPlan>, join.right().clone()];
            Ok(Transformed::yes(plan.replace_children(children, options)?))
        };
        Ok(plan.transform_up(wrap)?.data)
    }

    fn name(&self) -> &str {
        "ReadAgain"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The operator above the first side.
#[derive(Debug)]
struct FirstSide {
    input: Arc<dyn ExecutionPlan>,
    can_again: bool,
    was_read: AtomicBool,
}

impl FirstSide {
    fn new(input: Arc<dyn ExecutionPlan>, can_again: bool) -> Self {
        Self { input, can_again, was_read: AtomicBool::new(false) }
    }

    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        Ok(Self::new(input, self.can_again))
    }
}

impl DisplayAs for FirstSide {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FirstSide")
    }
}

impl ExecutionPlan for FirstSide {
    fn name(&self) -> &str {
        "FirstSide"
    }

    no_expressions!();
    one_input!();

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        match (self.was_read.swap(true, Ordering::Relaxed), self.can_again) {
            (false, _) => self.input.execute(partition, context),
            (true, true) => reset_plan_states(self.input.clone())?.execute(partition, context),
            (true, false) => Err(DataFusionError::ResourcesExhausted(
                "one side of a join without equal columns does not fit".to_owned(),
            )),
        }
    }
}
