//! What a scan has to look at, as far as it is known before a block is read.

use super::{morsels::may_match, seen::Seen, set::ColumnSet};
use ambo_scan::Filter;

/// What a scan has to look at, deleted rows among them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Reach {
    /// Groups of segments that may have a row that is selected.
    pub groups: u64,
    /// Rows that filters are asked of, in blocks.
    pub asked: u64,
    /// Rows that may be selected.
    pub rows: u64,
}

impl ColumnSet {
    /// What a scan with these filters of stored columns looks at, as directories tell.
    pub fn reach(&self, filters: &[Filter]) -> Reach {
        let mut reach = Reach::default();
        for part in self.parts() {
            let directory = part.segment.directory();
            let segment = Seen::new(&part.segment, self.schema());
            for group in 0..directory.groups() {
                if filters.iter().all(|filter| may_match(segment, group, filter)) {
                    reach.groups += 1;
                    reach.rows += directory.group(group).len() as u64;
                }
            }
        }
        debug_assert!(reach.groups <= reach.rows, "no group is empty");
        Reach { asked: reach.rows, ..reach }
    }
}
