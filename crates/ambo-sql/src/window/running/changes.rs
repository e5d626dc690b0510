//! Where sorted rows change: which rows differ from the one before.

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, RecordBatch, UInt32Array},
    buffer::BooleanBuffer,
    compute::{kernels::cmp::distinct, take},
};
use datafusion::{common::Result, physical_expr::PhysicalExpr};

/// Finds the rows that differ from the one before, over batches.
#[derive(Default)]
pub(super) struct Changes {
    /// The values of the last row.
    last: Vec<ArrayRef>,
}

impl Changes {
    /// Which rows differ in any key from the row before; the first row of all does not.
    pub(super) fn of(
        &mut self,
        keys: &[Arc<dyn PhysicalExpr>],
        batch: &RecordBatch,
    ) -> Result<BooleanBuffer> {
        let rows = batch.num_rows();
        let mut all = BooleanBuffer::new_unset(rows);
        if rows == 0 {
            return Ok(all);
        }
        let mut last = Vec::with_capacity(keys.len());
        for (nth, key) in keys.iter().enumerate() {
            let values = key.evaluate(batch)?.into_array(rows)?;
            let first_differs = match self.last.get(nth) {
                Some(before) => distinct(before, &values.slice(0, 1))?.value(0),
                None => false,
            };
            let others = distinct(&values.slice(0, rows - 1), &values.slice(1, rows - 1))?;
            let changed: BooleanBuffer =
                std::iter::once(first_differs).chain(others.values().iter()).collect();
            all = &all | &changed;
            // A copy, so that the batch need not be kept.
            last.push(take(&values, &UInt32Array::from(vec![rows as u32 - 1]), None)?);
        }
        self.last = last;
        Ok(all)
    }
}
