//! How many operators of a plan may stand over one another.
//!
//! Common table expressions and views that are made of each other, and joins of many tables, make plans that are deep although their
//! statements are not. The planner's rules (DataFusion 55) mostly grow the stack where they need it; some do not (`eliminate_join`), and
//! overflowed one of 2 MiB at 2,000 operators.

use datafusion::{
    common::{
        Result,
        config::ConfigOptions,
        plan_err,
        tree_node::{TreeNode, TreeNodeRecursion, TreeNodeVisitor},
    },
    logical_expr::LogicalPlan,
    optimizer::AnalyzerRule,
};

const DEPTH: usize = 1_000;

/// See the module. To be run before all others.
#[derive(Debug)]
pub(super) struct DepthLimit;

impl AnalyzerRule for DepthLimit {
    fn name(&self) -> &str {
        "depth_limit"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let mut depth = Depth { now: 0, most: 0 };
        plan.visit(&mut depth)?;
        match depth.most {
            ..=DEPTH => Ok(plan),
            most => plan_err!(
                "the statement is nested too deeply: its plan has {most} operators over one another, {DEPTH} are possible"
            ),
        }
    }
}

struct Depth {
    now: usize,
    most: usize,
}

impl TreeNodeVisitor<'_> for Depth {
    type Node = LogicalPlan;

    fn f_down(&mut self, _: &LogicalPlan) -> Result<TreeNodeRecursion> {
        self.now += 1;
        self.most = self.most.max(self.now);
        Ok(TreeNodeRecursion::Continue)
    }

    fn f_up(&mut self, _: &LogicalPlan) -> Result<TreeNodeRecursion> {
        self.now -= 1;
        Ok(TreeNodeRecursion::Continue)
    }
}
