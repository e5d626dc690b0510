//! The rows that one version of a set has and another has not.

use std::{collections::HashMap, sync::Arc};

use ambo_codec::bitmap::{Bitmap, Positions};

use super::{
    run::{ColumnRun, Deleted, Part},
    set::ColumnSet,
};

impl ColumnSet {
    /// The rows that are not in `other`, by their places: segments that only this has, and rows that are deleted there.
    pub fn minus(&self, other: &Self) -> Self {
        let others: HashMap<u64, &Part> = other.parts().map(|part| (part.segment.id(), part)).collect();
        let part = |part: &Part| match others.get(&part.segment.id()) {
            None => Some(part.clone()),
            Some(other) => deleted_only_in(part, other),
        };
        let run = |run: &ColumnRun| ColumnRun { parts: run.parts.iter().filter_map(part).collect() };
        let runs = self.runs().iter().map(run).filter(|run| !run.parts.is_empty()).collect();
        Self::new(self.store().clone(), self.schema().clone(), runs)
    }
}

/// The rows of a part that are left in it and gone in `other`, another version of it.
fn deleted_only_in(part: &Part, other: &Part) -> Option<Part> {
    let gone = other.deleted.as_ref()?;
    if part.deleted.as_ref().is_some_and(|deleted| Arc::ptr_eq(deleted, gone)) {
        return None;
    }
    debug_assert_eq!(part.rows(), other.rows(), "both are of one segment");
    let mut left_out = Bitmap::from_range(0..u64::from(part.rows())).and_not(&gone.rows);
    if let Some(deleted) = &part.deleted {
        left_out = left_out.or(&deleted.rows);
    }
    let count = left_out.cardinality() as u32;
    let deleted = Some(Arc::new(Deleted { rows: left_out, count, blob: None }));
    (count < part.rows()).then(|| Part { segment: part.segment.clone(), deleted })
}
