//! What operators with one input have in common that hand on its rows.

/// The parts of an `ExecutionPlan` that are about its `input`: `over` makes the operator above another one. It gains nothing from more
/// parts of the input, and has its statistics.
macro_rules! one_input {
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

        fn statistics_from_inputs(
            &self,
            inputs: &[std::sync::Arc<datafusion::common::Statistics>],
            _: &datafusion::physical_plan::StatisticsArgs,
        ) -> Result<std::sync::Arc<datafusion::common::Statistics>> {
            Ok(inputs[0].clone())
        }
    };
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

pub(crate) use {no_expressions, one_input};
