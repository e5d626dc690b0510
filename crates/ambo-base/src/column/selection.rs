//! What bitmap indexes say of the rows of a set: which of them answer some filters with yes, before any of them is touched.

use ambo_codec::bitmap::{Bitmap, Positions};
use ambo_types::Result;

use super::{postings::wanted, run::Part, set::ColumnSet};
use ambo_scan::Filter;

/// Rows of the parts of a set.
#[derive(Debug)]
pub struct Selection {
    /// By run and part; none where no filter is answered.
    rows: Vec<Vec<Option<Selected>>>,
}

/// Rows of a part.
#[derive(Debug)]
pub struct Selected {
    /// Their positions. Deleted ones may be among them.
    pub rows: Bitmap,
    /// Whether all filters were answered: a column with too many values in this segment has no postings.
    pub is_whole: bool,
}

/// Whether postings answer a filter of a stored column: it asks for values of the column.
pub fn is_answered(set: &ColumnSet, filter: &Filter) -> bool {
    wanted(filter, set.schema().types()[filter.column]).is_some()
}

/// Whether postings that answer a filter of a stored column are there, and have not to be made first.
pub fn is_answered_at_once(set: &ColumnSet, filter: &Filter) -> bool {
    is_answered(set, filter)
        && set.segments().all(|segment| !segment.has(filter.column) || segment.has_postings(filter.column))
}

impl Selection {
    /// The rows that answer all of these filters, which postings answer, as far as they do in each segment.
    pub fn new(set: &ColumnSet, filters: &[Filter]) -> Result<Self> {
        let values = |filter: &Filter| {
            let wanted = wanted(filter, set.schema().types()[filter.column]);
            (filter.column, wanted.unwrap_or_default())
        };
        let filters: Vec<_> = filters.iter().map(values).collect();
        let of_part = |part: &Part| -> Result<Option<Selected>> {
            let mut common: Option<Bitmap> = None;
            let mut is_whole = true;
            for (column, values) in &filters {
                match (part.segment.rows_with(*column, values)?, &common) {
                    (None, _) => is_whole = false,
                    (Some(rows), None) => common = Some(rows),
                    (Some(rows), Some(others)) => common = Some(others.and(&rows)),
                }
            }
            let selected = common.map(|rows| Selected { rows, is_whole });
            debug_assert!(selected.iter().all(|these| these.rows.last() < Some(part.rows().into())));
            Ok(selected)
        };
        let of_run = |parts: &[Part]| parts.iter().map(of_part).collect::<Result<Vec<_>>>();
        let rows = set.runs().iter().map(|run| of_run(&run.parts)).collect::<Result<Vec<_>>>()?;
        Ok(Self { rows })
    }

    /// How many rows of a part are left of those that answer, without `gone`; none if filters were not answered.
    pub fn count<'g>(
        &self,
        set: &'g ColumnSet,
        (run, part): (usize, usize),
        gone: impl Iterator<Item = &'g Bitmap>,
    ) -> Option<u64> {
        let selected = self.of(run, part).filter(|selected| selected.is_whole)?;
        let deleted = set.runs()[run].parts[part].deleted.as_ref().map(|deleted| &deleted.rows);
        let mut gone = gone.chain(deleted);
        let Some(first) = gone.next() else { return Some(selected.rows.cardinality()) };
        let left = gone.fold(selected.rows.and_not(first), |left, gone| left.and_not(gone));
        Some(left.cardinality())
    }

    /// The rows of a part, if they are known.
    pub fn of(&self, run: usize, part: usize) -> Option<&Selected> {
        self.rows[run][part].as_ref()
    }
}
