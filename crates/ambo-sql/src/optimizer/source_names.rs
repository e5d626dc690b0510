//! Sources of one name that are different are told apart.
//!
//! The planner (DataFusion 55) takes two scans for one if they have one table name, the same columns and the same filters, whatever their
//! sources are: a query that is a value is computed once for both. All calls of a table function have one name, `generate_series()`, so
//! `(SELECT count(*) FROM generate_series(1, 2))` would be `(SELECT count(*) FROM generate_series(1, 3))`. So of the scans of a name those
//! of other sources than the first get names of their own, below an alias that is the old name.

use std::sync::Arc;

use datafusion::{
    common::{
        Result, TableReference,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNodeRecursion},
    },
    logical_expr::{LogicalPlan, LogicalPlanBuilder, TableScan, TableSource},
    optimizer::AnalyzerRule,
};

/// See the module. To be run before anything compares plans.
#[derive(Debug)]
pub(super) struct SourceNames;

impl AnalyzerRule for SourceNames {
    fn name(&self) -> &str {
        "source_names"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let mut known = Known::default();
        plan.apply_with_subqueries(|plan| {
            if let LogicalPlan::TableScan(scan) = plan {
                known.place(scan);
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        match known.has_namesakes {
            true => Ok(plan.transform_up_with_subqueries(|plan| known.renamed(plan))?.data),
            false => Ok(plan),
        }
    }
}

/// The sources of a plan by name.
#[derive(Default)]
struct Known {
    sources: Vec<(TableReference, Vec<Arc<dyn TableSource>>)>,
    has_namesakes: bool,
}

impl Known {
    /// Which one of its name a source is.
    fn place(&mut self, scan: &TableScan) -> usize {
        let at = self.sources.iter().position(|(name, _)| *name == scan.table_name).unwrap_or_else(|| {
            self.sources.push((scan.table_name.clone(), Vec::new()));
            self.sources.len() - 1
        });
        let alike = &mut self.sources[at].1;
        let place = alike.iter().position(|known| Arc::ptr_eq(known, &scan.source)).unwrap_or_else(|| {
            alike.push(scan.source.clone());
            alike.len() - 1
        });
        self.has_namesakes |= place > 0;
        place
    }

    fn renamed(&mut self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::TableScan(scan) = &plan else { return Ok(Transformed::no(plan)) };
        let place = self.place(scan);
        // With filters it was made better before.
        if place == 0 || !scan.filters.is_empty() {
            return Ok(Transformed::no(plan));
        }
        let own = TableReference::bare(format!("{} {place}", scan.table_name));
        let source = scan.source.clone();
        let renamed = LogicalPlanBuilder::scan_with_filters_fetch(
            own,
            source,
            scan.projection.clone(),
            Vec::new(),
            scan.fetch,
        )?;
        Ok(Transformed::yes(renamed.alias(scan.table_name.clone())?.build()?))
    }
}
