//! What follows from keys is forgotten when a statement is planned.
//!
//! A primary key says what all other columns of its table are. The planner uses that for what a statement may say (`SELECT k, name … GROUP BY k`),
//! by adding what follows to GROUP BY, and later to leave columns out of GROUP BY and ORDER BY. For that it carries keys through joins and
//! aggregations, and behind `GROUP BY a.k, b.x` takes `b.x` for something that follows from `a.k`, too: groups would be missing. So statements
//! are planned without keys; those that need them are planned with them, and rid of them before plans are made better.
//!
//! Aggregations have keys, too: their groups. Behind `GROUP BY a, b` over a join with a side that is unique by b, the planner takes b alone for a
//! key, and `SELECT DISTINCT b` for needless. So the rules that look at keys are not shown any ([`WithoutKeys`]).

use std::sync::Arc;

use datafusion::{
    common::{
        DFSchemaRef, FunctionalDependencies, Result,
        tree_node::{Transformed, TreeNode},
    },
    datasource::{provider_as_source, source_as_provider},
    logical_expr::{LogicalPlan, TableScanBuilder},
    optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule},
};

use super::Rule;
use crate::table::StoredTable;

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

/// A plan whose tables say nothing of their keys.
pub(crate) fn without_dependencies(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::TableScan(scan) => {
            let provider = source_as_provider(&scan.source);
            let stored = provider
                .as_ref()
                .ok()
                .and_then(|provider| (provider.as_ref() as &dyn std::any::Any).downcast_ref::<StoredTable>());
            let Some(stored) = stored else { return Ok(Transformed::no(LogicalPlan::TableScan(scan))) };
            let source = provider_as_source(Arc::new(stored.without_key()));
            let scan = TableScanBuilder::new(scan.table_name.clone(), source)
                .with_projection(scan.projection.clone())
                .with_filters(scan.filters.clone())
                .with_fetch(scan.fetch)
                .build()?;
            Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
        }
        other => Ok(Transformed::yes(other.recompute_schema()?)),
    })?;
    Ok(plan.data)
}
