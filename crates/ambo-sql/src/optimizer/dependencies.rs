//! The planner's rules are shown no keys.
//!
//! A primary key says what all other columns of its table are, and the groups of an aggregation what its values are. The planner leaves
//! columns out of GROUP BY and ORDER BY that follow from others, and DISTINCT where rows differ already. For that it carries keys through
//! joins and aggregations, and too far: behind `GROUP BY a.k, b.x` it takes `b.x` for something that follows from the key `a.k`; behind
//! `GROUP BY a, b` over a join with a side that is unique by b, b alone for a key. Groups were missing, and rows there twice.

use std::sync::Arc;

use datafusion::{
    common::{
        DFSchemaRef, FunctionalDependencies, Result,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::LogicalPlan,
    optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule},
};

use super::Rule;

/// The rules that look at keys.
pub(super) const LOOK_AT_KEYS: [&str; 4] =
    ["eliminate_join", "replace_distinct_aggregate", "eliminate_duplicated_expr", "optimize_projections"];

/// A rule over plans whose schemas say nothing of keys.
#[derive(Debug)]
pub(super) struct WithoutKeys(pub Rule);

impl OptimizerRule for WithoutKeys {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let plan = plan.transform_up(|mut node| {
            if let Some(schema) = own_schema(&mut node)
                && !schema.functional_dependencies().is_empty()
            {
                let forgotten = schema.as_ref().clone();
                *schema = Arc::new(forgotten.with_functional_dependencies(FunctionalDependencies::empty())?);
            }
            Ok(Transformed::no(node))
        })?;
        self.0.rewrite(plan.data, config)
    }
}

/// The schema that a plan holds itself; the others ask their inputs.
fn own_schema(plan: &mut LogicalPlan) -> Option<&mut DFSchemaRef> {
    match plan {
        LogicalPlan::Projection(of) => Some(&mut of.schema),
        LogicalPlan::Window(of) => Some(&mut of.schema),
        LogicalPlan::Aggregate(of) => Some(&mut of.schema),
        LogicalPlan::Join(of) => Some(&mut of.schema),
        LogicalPlan::Union(of) => Some(&mut of.schema),
        LogicalPlan::SubqueryAlias(of) => Some(&mut of.schema),
        LogicalPlan::TableScan(of) => Some(&mut of.projected_schema),
        LogicalPlan::Unnest(of) => Some(&mut of.schema),
        LogicalPlan::EmptyRelation(of) => Some(&mut of.schema),
        LogicalPlan::Values(of) => Some(&mut of.schema),
        _ => None,
    }
}
