//! What operators without inputs have in common.

/// The parts of an `ExecutionPlan` that say that it has no inputs, and where its properties and metrics are.
macro_rules! leaf {
    () => {
        fn properties(&self) -> &std::sync::Arc<datafusion::physical_plan::PlanProperties> {
            &self.properties
        }

        fn children(&self) -> Vec<&std::sync::Arc<dyn ExecutionPlan>> {
            Vec::new()
        }

        fn replace_children(
            self: std::sync::Arc<Self>,
            _: Vec<std::sync::Arc<dyn ExecutionPlan>>,
            _: datafusion::physical_plan::execution_plan::ReplaceChildrenOptions,
        ) -> Result<std::sync::Arc<dyn ExecutionPlan>> {
            Ok(self)
        }

        fn with_new_children(
            self: std::sync::Arc<Self>,
            _: Vec<std::sync::Arc<dyn ExecutionPlan>>,
        ) -> Result<std::sync::Arc<dyn ExecutionPlan>> {
            Ok(self)
        }

        fn metrics(&self) -> Option<datafusion::physical_plan::metrics::MetricsSet> {
            Some(self.metrics.clone_inner())
        }
    };
}

pub(super) use leaf;
