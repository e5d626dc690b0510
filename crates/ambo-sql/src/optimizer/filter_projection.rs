//! Filters keep no columns back while projections go down.
//!
//! An operator that filters may leave columns out itself. When a projection above it goes below it, the planner (DataFusion 55) takes the
//! places of columns behind such a filter for those before it, and the query fails, or has another column. So the columns that the filter
//! is to have are the projection's until that has gone down; the planner gives them to the filter then.

use std::sync::Arc;

use datafusion::{
    common::{
        Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode},
    },
    physical_expr::{PhysicalExpr, expressions::Column},
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ExecutionPlan,
        filter::{FilterExec, FilterExecBuilder},
        projection::{ProjectionExec, ProjectionExpr},
    },
};

use super::PhysicalRule;

/// The rule that takes projections down, over plans whose filters below projections have all columns.
#[derive(Debug)]
pub(super) struct WithWholeFilters(pub PhysicalRule);

impl PhysicalOptimizerRule for WithWholeFilters {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.0.optimize(plan.transform_up(whole)?.data, config)
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

fn whole(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let Some(projection) = plan.downcast_ref::<ProjectionExec>() else { return Ok(Transformed::no(plan)) };
    let Some(filter) = projection.input().downcast_ref::<FilterExec>() else {
        return Ok(Transformed::no(plan));
    };
    let Some(kept) = filter.projection().clone() else { return Ok(Transformed::no(plan)) };
    let filter = FilterExecBuilder::from(filter).apply_projection(None)?.build()?;
    let schema = filter.schema();
    let moved = |expr: Arc<dyn PhysicalExpr>| {
        Ok(match expr.downcast_ref::<Column>() {
            Some(column) => {
                let place = kept[column.index()];
                let column = Column::new(schema.field(place).name(), place);
                Transformed::yes(Arc::new(column) as Arc<dyn PhysicalExpr>)
            }
            None => Transformed::no(expr),
        })
    };
    let exprs = projection.expr().iter().map(|projected| {
        let expr = projected.expr.clone().transform_up(moved)?.data;
        Ok(ProjectionExpr { expr, alias: projected.alias.clone() })
    });
    let exprs = exprs.collect::<Result<Vec<_>>>()?;
    Ok(Transformed::yes(Arc::new(ProjectionExec::try_new(exprs, Arc::new(filter))?)))
}
