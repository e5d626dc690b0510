//! A query for one value is an error where a row needs the value.
//!
//! The planner's operator for queries without columns from outside (`ScalarSubqueryExec`) fails as soon as one of them does, though the
//! value may stand behind a guard that no row passes. Ours goes on without the value; an expression that asks for one which is not there
//! fails, and the error of the query stands for that.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use arrow::datatypes::SchemaRef;
use datafusion::{
    common::{
        DataFusionError, Result, ScalarValue, Statistics,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::PhysicalExpr,
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ChildStats, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, StatisticsArgs,
        execute_stream,
        execution_plan::{CardinalityEffect, ChildrenPropertiesMode, ReplaceChildrenOptions},
        scalar_subquery::{ScalarSubqueryExec, ScalarSubqueryLink},
        stream::RecordBatchStreamAdapter,
    },
};
use futures::{StreamExt, TryStreamExt, future::join_all};
use tokio::sync::OnceCell;

/// See the module. To be run last.
#[derive(Debug)]
pub(in crate::optimizer) struct LazyValues;

impl PhysicalOptimizerRule for LazyValues {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let lazy = |plan: Arc<dyn ExecutionPlan>| {
            Ok(match plan.downcast_ref::<ScalarSubqueryExec>() {
                Some(values) => Transformed::yes(Arc::new(ValuesExec {
                    values: ScalarSubqueryExec::new(
                        values.input().clone(),
                        values.subqueries().to_vec(),
                        values.results().clone(),
                    ),
                    run: Arc::default(),
                }) as Arc<dyn ExecutionPlan>),
                None => Transformed::no(plan),
            })
        };
        Ok(plan.transform_up(lazy)?.data)
    }

    fn name(&self) -> &str {
        "lazy_values"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// What came of the queries.
#[derive(Debug, Default)]
struct Run {
    done: OnceCell<()>,
    /// The first error of one.
    error: Mutex<Option<Arc<DataFusionError>>>,
}

#[derive(Debug)]
struct ValuesExec {
    /// The planner's operator, which knows all but how to fail.
    values: ScalarSubqueryExec,
    run: Arc<Run>,
}

impl ValuesExec {
    fn schema(&self) -> SchemaRef {
        self.values.input().schema()
    }
}

impl DisplayAs for ValuesExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Values: queries={}", self.values.subqueries().len())
    }
}

impl ExecutionPlan for ValuesExec {
    fn name(&self) -> &str {
        "ValuesExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.values.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.values.children()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children.remove(0);
        let links = self.values.subqueries().iter().zip(children);
        let links = links.map(|(link, plan)| ScalarSubqueryLink { plan, index: link.index }).collect();
        let values = ScalarSubqueryExec::new(input, links, self.values.results().clone());
        Ok(Arc::new(Self { values, run: Arc::default() }))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        self.values.results().clear();
        let (input, links) = (self.values.input().clone(), self.values.subqueries().to_vec());
        let values = ScalarSubqueryExec::new(input, links, self.values.results().clone());
        Ok(Arc::new(Self { values, run: Arc::default() }))
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        self.values.maintains_input_order()
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        self.values.benefits_from_input_partitioning()
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        self.values.child_stats_requests(partition)
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        self.values.statistics_from_inputs(inputs, args)
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (run, input) = (self.run.clone(), self.values.input().clone());
        let links = self.values.subqueries().to_vec();
        let results = self.values.results().clone();
        let failed = run.clone();
        let rows = async move {
            let of_queries = context.clone();
            run.done
                .get_or_init(|| async {
                    let each = links.into_iter().map(|link| {
                        let (context, results) = (of_queries.clone(), results.clone());
                        async move { results.set(link.index, value(link.plan, context).await?) }
                    });
                    let error = join_all(each).await.into_iter().find_map(Result::err);
                    *run.error.lock().unwrap_or_else(PoisonError::into_inner) = error.map(Arc::new);
                })
                .await;
            input.execute(partition, context)
        };
        let rows = futures::stream::once(rows).try_flatten();
        // Only an expression that asks for a value that is not there fails in this way.
        let rows = rows.map(move |batch| match batch {
            Err(error) if matches!(error.find_root(), DataFusionError::Internal(_)) => {
                let of_query = failed.error.lock().unwrap_or_else(PoisonError::into_inner).clone();
                Err(of_query.map_or(error, DataFusionError::Shared))
            }
            batch => batch,
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}

/// The value of a query: NULL without rows.
async fn value(plan: Arc<dyn ExecutionPlan>, context: Arc<TaskContext>) -> Result<ScalarValue> {
    let schema = plan.schema();
    let mut rows = execute_stream(plan, context)?;
    let mut value = None;
    while let Some(batch) = rows.next().await.transpose()? {
        match (batch.num_rows(), &value) {
            (0, _) => {}
            (1, None) => value = Some(ScalarValue::try_from_array(batch.column(0), 0)?),
            _ => {
                return Err(DataFusionError::Execution("Scalar subquery returned more than one row".into()));
            }
        }
    }
    value.map_or_else(|| ScalarValue::try_from(schema.field(0).data_type()), Ok)
}
