//! Whole rows that a scan of columns selects, a window at a time.
//!
//! Of a group of a segment only the rows that are selected are put together, from all columns. Windows are small at first and larger as the
//! reader goes on, so that a few rows cost little and many are decoded in bulk. Rows that are not in segments yet are looked up by their
//! keys: the scan has their columns, and not always their records.

use std::ops::Range;

use ambo_base::column::RowKeys;
use ambo_types::{Error, Result, id::TableId};

use super::{
    find::{FoundRow, ReadView},
    scan::{TableScan, UnitRowsIn},
};

const WINDOW_MIN: usize = 64;
const WINDOW_MAX: usize = 8 << 10;

/// See the module.
pub(super) struct ScannedRows {
    scan: TableScan,
    /// The unit to look at when nothing is left of the one before.
    next_unit: usize,
    left: Selected,
    window: usize,
}

/// Selected rows of a unit that were not fetched yet.
enum Selected {
    /// Places in the group of a segment.
    Group {
        unit: usize,
        places: Vec<u32>,
        left: Range<usize>,
    },
    /// Rows that are not in a segment.
    Fresh {
        keys: RowKeys,
        left: Range<usize>,
    },
    None,
}

impl ScannedRows {
    /// All rows that a scan selects.
    pub(super) fn new(scan: TableScan) -> Self {
        Self { scan, next_unit: 0, left: Selected::None, window: WINDOW_MIN }
    }

    /// Whether bitmap indexes say which rows are selected, or some of them.
    pub(super) fn asks_bitmaps(&self) -> bool {
        self.scan.asks_bitmaps()
    }

    /// The next rows; none behind the last. REQUIRES: the view of the scan.
    pub(super) fn next_rows(&mut self, view: &dyn ReadView, table: TableId) -> Result<Vec<FoundRow>> {
        while self.left.is_empty() {
            if self.next_unit == self.scan.units() {
                return Ok(Vec::new());
            }
            self.left = self.select(self.next_unit)?;
            self.next_unit += 1;
        }
        let window = self.window;
        self.window = (window * 2).min(WINDOW_MAX);
        match &mut self.left {
            Selected::Group { unit, places, left } => {
                let UnitRowsIn::Group(part, group) = self.scan.place(*unit) else {
                    unreachable!("a unit stays what it is")
                };
                let taken = take(left, window);
                part.rows_at(self.scan.schema(), group, &places[taken])
            }
            Selected::Fresh { keys, left } => {
                let row = |row| {
                    let key = keys.get(row);
                    let found = view.peek(table, key)?.ok_or_else(|| {
                        Error::damaged(
                            ambo_pages::page::NAME,
                            0,
                            format!("a row of table {table} that a scan has found is not there"),
                        )
                    })?;
                    Ok((key.to_vec(), found.to_vec()))
                };
                take(left, window).map(row).collect()
            }
            Selected::None => unreachable!("something is left"),
        }
    }

    /// The rows of a unit that are selected.
    fn select(&self, unit: usize) -> Result<Selected> {
        let Some(morsel) = self.scan.morsel_in_order(unit)? else { return Ok(Selected::None) };
        let left = 0..morsel.selected();
        Ok(match self.scan.place(unit) {
            UnitRowsIn::Group(..) => {
                let places: Vec<_> = morsel.mask().iter().map(|row| row as u32).collect();
                debug_assert_eq!(places.len(), left.len(), "a place for each row");
                Selected::Group { unit, places, left }
            }
            UnitRowsIn::Fresh => {
                let keys = self.scan.keys(&morsel)?;
                debug_assert_eq!(keys.len(), left.len(), "a key for each row");
                Selected::Fresh { keys, left }
            }
        })
    }
}

impl Selected {
    fn is_empty(&self) -> bool {
        match self {
            Self::Group { left, .. } | Self::Fresh { left, .. } => left.is_empty(),
            Self::None => true,
        }
    }
}

/// Takes up to `count` from the front.
fn take(left: &mut Range<usize>, count: usize) -> Range<usize> {
    let start = left.start;
    left.start = left.end.min(start + count);
    start..left.start
}
