//! What operators with one input have in common that hand on its rows.

use std::sync::Arc;

use datafusion::{
    common::{Result, tree_node::TreeNodeRecursion},
    physical_expr::PhysicalExpr,
};

/// The parts of an `ExecutionPlan` that are about its `input`: `over` makes the operator above another one. It gains nothing from more
/// parts of the input.
macro_rules! input_alone {
    () => {
        fn children(&self) -> Vec<&std::sync::Arc<dyn ExecutionPlan>> {
            vec![&self.input]
        }

        fn replace_children(
            self: std::sync::Arc<Self>,
            mut children: Vec<std::sync::Arc<dyn ExecutionPlan>>,
            _: datafusion::physical_plan::execution_plan::ReplaceChildrenOptions,
        ) -> Result<std::sync::Arc<dyn ExecutionPlan>> {
            Ok(std::sync::Arc::new(self.over(children.swap_remove(0))?))
        }

        fn with_new_children(
            self: std::sync::Arc<Self>,
            mut children: Vec<std::sync::Arc<dyn ExecutionPlan>>,
        ) -> Result<std::sync::Arc<dyn ExecutionPlan>> {
            Ok(std::sync::Arc::new(self.over(children.swap_remove(0))?))
        }

        fn benefits_from_input_partitioning(&self) -> Vec<bool> {
            vec![false]
        }

        fn child_stats_requests(&self, part: Option<usize>) -> Vec<datafusion::physical_plan::ChildStats> {
            vec![datafusion::physical_plan::ChildStats::At(part)]
        }
    };
}

/// The same of one that has the statistics of its input.
macro_rules! one_input {
    () => {
        crate::one_input::input_alone!();

        fn statistics_from_inputs(
            &self,
            inputs: &[std::sync::Arc<datafusion::common::Statistics>],
            _: &datafusion::physical_plan::StatisticsArgs,
        ) -> Result<std::sync::Arc<datafusion::common::Statistics>> {
            Ok(inputs[0].clone())
        }
    };
}

/// The part of an `ExecutionPlan` by which filters from above go into its input.
macro_rules! filters_go_down {
    () => {
        fn gather_filters_for_pushdown(
            &self,
            _: datafusion::physical_plan::filter_pushdown::FilterPushdownPhase,
            filters: Vec<std::sync::Arc<dyn datafusion::physical_expr::PhysicalExpr>>,
            _: &datafusion::common::config::ConfigOptions,
        ) -> Result<datafusion::physical_plan::filter_pushdown::FilterDescription> {
            datafusion::physical_plan::filter_pushdown::FilterDescription::from_children(
                filters,
                &self.children(),
            )
        }

        fn handle_child_pushdown_result(
            &self,
            _: datafusion::physical_plan::filter_pushdown::FilterPushdownPhase,
            result: datafusion::physical_plan::filter_pushdown::ChildPushdownResult,
            _: &datafusion::common::config::ConfigOptions,
        ) -> Result<
            datafusion::physical_plan::filter_pushdown::FilterPushdownPropagation<
                std::sync::Arc<dyn ExecutionPlan>,
            >,
        > {
            Ok(datafusion::physical_plan::filter_pushdown::FilterPushdownPropagation::if_all(result))
        }
    };
}

/// Shows `visit` expressions of an operator, until it has seen enough.
pub(crate) fn visit_all(
    exprs: &[Arc<dyn PhysicalExpr>],
    visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
) -> Result<TreeNodeRecursion> {
    for expr in exprs {
        if visit(expr)? == TreeNodeRecursion::Stop {
            return Ok(TreeNodeRecursion::Stop);
        }
    }
    Ok(TreeNodeRecursion::Continue)
}

/// The part of an `ExecutionPlan` that says that it has no expressions.
macro_rules! no_expressions {
    () => {
        fn apply_expressions(
            &self,
            _: &mut dyn FnMut(
                &std::sync::Arc<dyn datafusion::physical_expr::PhysicalExpr>,
            ) -> Result<datafusion::common::tree_node::TreeNodeRecursion>,
        ) -> Result<datafusion::common::tree_node::TreeNodeRecursion> {
            Ok(datafusion::common::tree_node::TreeNodeRecursion::Continue)
        }
    };
}

pub(crate) use {filters_go_down, input_alone, no_expressions, one_input};
