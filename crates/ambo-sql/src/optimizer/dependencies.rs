//! What follows from keys is forgotten when a statement is planned.
//!
//! A primary key says what all other columns of its table are. The planner uses that for what a statement may say (`SELECT k, name … GROUP BY k`),
//! by adding what follows to GROUP BY, and later to leave columns out of GROUP BY and ORDER BY. For that it carries keys through joins and
//! aggregations, and behind `GROUP BY a.k, b.x` takes `b.x` for something that follows from `a.k`, too: groups would be missing. So statements
//! are planned without keys; those that need them are planned with them, and rid of them before plans are made better.

use std::sync::Arc;

use datafusion::{
    common::{Result, tree_node::Transformed},
    datasource::{provider_as_source, source_as_provider},
    logical_expr::{LogicalPlan, TableScanBuilder},
};

use crate::table::StoredTable;

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
