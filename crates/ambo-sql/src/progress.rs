//! How far a query is: what its operators have counted so far.

use std::sync::Arc;

use datafusion::physical_plan::{ExecutionPlan, StatisticsArgs, metrics::MetricsSet};

/// How far a query is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Progress {
    /// Rows that scans of tables, files and sources have given to the operators above them.
    pub rows_read: u64,
    /// About how many that will be, if it is known of all of them.
    pub rows_total: Option<u64>,
    /// Bytes that operators wrote to temporary files.
    pub bytes_spilled: u64,
}

impl Progress {
    /// Of a plan that runs.
    pub(crate) fn of(plan: &Arc<dyn ExecutionPlan>) -> Self {
        let mut progress = Self { rows_total: Some(0), ..Self::default() };
        progress.add(plan.as_ref());
        progress
    }

    fn add(&mut self, plan: &dyn ExecutionPlan) {
        let metrics = plan.metrics();
        let metrics = metrics.as_ref();
        self.bytes_spilled += metrics.and_then(MetricsSet::spilled_bytes).unwrap_or(0) as u64;
        if plan.children().is_empty() {
            self.rows_read += metrics.and_then(MetricsSet::output_rows).unwrap_or(0) as u64;
            let total = plan.statistics_from_inputs(&[], &StatisticsArgs::new()).ok();
            let total = total.and_then(|known| known.num_rows.get_value().copied());
            self.rows_total = self.rows_total.zip(total).map(|(all, rows)| all + rows as u64);
        }
        for child in plan.children() {
            self.add(child.as_ref());
        }
    }
}
