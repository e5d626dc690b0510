//! Scans in the order of stored keys: the units of a scan as *lanes*, in each of which rows ascend from unit to unit.
//!
//! A run of segments is a lane, and so is each layer of fresh rows. A table that is compacted has one; whoever reads several merges them by
//! their keys.

use std::ops::Range;

use ambo_scan::Morsel;

use ambo_base::column::RowKeys;
use ambo_types::Result;

use super::scan::{TableScan, Unit};

impl TableScan {
    /// The units of each lane: rows of a unit ascend by their stored keys, and are all before those of the next unit of the lane.
    pub fn lanes(&self) -> Vec<Range<usize>> {
        let lane = |unit: &Unit| match *unit {
            Unit::Fresh { layer, .. } => (true, layer),
            Unit::Group { run, .. } => (false, run),
        };
        let mut start = 0;
        let mut lanes = Vec::new();
        for units in self.all_units().chunk_by(|a, b| lane(a) == lane(b)) {
            lanes.push(start..start + units.len());
            start += units.len();
        }
        lanes
    }

    /// As [`TableScan::lanes`], the longest cut into several until there are `wanted`, as far as they have units.
    pub fn lanes_for(&self, wanted: usize) -> Vec<Range<usize>> {
        let mut lanes = self.lanes();
        let units = lanes.iter().map(Range::len).sum::<usize>();
        while lanes.len() < wanted {
            let Some(longest) = (0..lanes.len()).max_by_key(|lane| lanes[*lane].len()) else { break };
            let Range { start, end } = lanes[longest].clone();
            if end - start < 2 {
                break;
            }
            let middle = start + (end - start) / 2;
            lanes[longest] = start..middle;
            lanes.insert(longest + 1, middle..end);
        }
        debug_assert_eq!(lanes.iter().map(Range::len).sum::<usize>(), units, "each unit is in one lane");
        lanes
    }

    /// As [`TableScan::morsel`], one that can be asked for keys.
    pub fn morsel_in_order(&self, unit: usize) -> Result<Option<Morsel<'_>>> {
        let mut needed = self.needed().to_vec();
        needed[..self.schema().key_columns()].fill(true);
        self.morsel_with(unit, &needed)
    }

    /// The stored keys of the rows of a morsel that [`TableScan::morsel_in_order`] gave.
    pub fn keys(&self, morsel: &Morsel<'_>) -> Result<RowKeys> {
        RowKeys::of(morsel, self.schema())
    }

    /// The first and the last of them.
    pub fn end_keys(&self, morsel: &Morsel<'_>) -> Result<RowKeys> {
        RowKeys::ends_of(morsel, self.schema())
    }
}
