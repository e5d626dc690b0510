//! A cursor over a run: its rows in key order, both ways, without those that are deleted.
//!
//! Rows are decoded a *window* at a time, small at first and larger as the cursor goes on, so that a few rows cost little and
//! many are decoded in bulk. The record is put together from the columns only if the cursor was asked to.

use std::{ops::Range, sync::Arc};

use ambo_pages::page::Access;
use ambo_types::{Result, record::Record};

use super::{
    run::{ColumnRun, RunRow},
    set::ColumnSet,
};
use ambo_scan::buffer::ColumnBuffer;

const WINDOW_MIN: u32 = 8;
const WINDOW_MAX: u32 = 1024;

/// What a cursor gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CursorRows {
    /// Keys and records.
    Rows,
    /// Keys only: [`RunCursor::record`] is empty.
    Keys,
}

/// Where a cursor stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum At {
    /// Before the first row.
    Start,
    Row(RunRow),
    /// Behind the last row.
    End,
}

/// A cursor over the rows of one run of a set.
///
/// It begins before the first row, and may be moved back from behind the last.
pub struct RunCursor {
    set: Arc<ColumnSet>,
    run: usize,
    wanted: CursorRows,
    at: At,
    buffers: Vec<ColumnBuffer>,
    /// The part and rows in the buffers.
    window: (usize, Range<u32>),
    window_rows: u32,
    key: Vec<u8>,
    record: Vec<u8>,
}

impl RunCursor {
    /// A cursor before the first row.
    pub fn new(set: &Arc<ColumnSet>, run: usize, wanted: CursorRows) -> Self {
        let columns = match wanted {
            CursorRows::Rows => set.schema().types().len(),
            CursorRows::Keys => set.schema().key_columns(),
        };
        let mut buffers = set.schema().buffers();
        buffers.truncate(columns);
        Self {
            set: set.clone(),
            run,
            wanted,
            at: At::Start,
            buffers,
            window: (0, 0..0),
            window_rows: WINDOW_MIN,
            key: Vec::new(),
            record: Vec::new(),
        }
    }

    fn run(&self) -> &ColumnRun {
        &self.set.runs()[self.run]
    }

    /// Whether it stands on a row.
    pub fn is_valid(&self) -> bool {
        matches!(self.at, At::Row(_))
    }

    /// The row's key.
    pub fn key(&self) -> &[u8] {
        debug_assert!(self.is_valid());
        &self.key
    }

    /// The row's record.
    pub fn record(&self) -> Record<'_> {
        debug_assert!(self.is_valid());
        Record::inline(&self.record)
    }

    /// Moves to the first row.
    pub fn seek_first(&mut self) -> Result<bool> {
        self.settle_forward(RunRow { part: 0, row: 0 })
    }

    /// Moves to the last row.
    pub fn seek_last(&mut self) -> Result<bool> {
        self.settle_backward(RunRow { part: self.run().parts.len(), row: 0 })
    }

    /// Moves to the first row with this key or a greater one.
    pub fn seek_ge(&mut self, key: &[u8]) -> Result<bool> {
        let place = self.run().lower_bound(self.set.schema(), key, false)?;
        self.settle_forward(place)
    }

    /// Moves to the first row with a greater key.
    pub fn seek_gt(&mut self, key: &[u8]) -> Result<bool> {
        let place = self.run().lower_bound(self.set.schema(), key, true)?;
        self.settle_forward(place)
    }

    /// Moves to the last row with this key or a smaller one.
    pub fn seek_le(&mut self, key: &[u8]) -> Result<bool> {
        let place = self.run().lower_bound(self.set.schema(), key, true)?;
        self.settle_backward(place)
    }

    /// Moves to the last row with a smaller key.
    pub fn seek_lt(&mut self, key: &[u8]) -> Result<bool> {
        let place = self.run().lower_bound(self.set.schema(), key, false)?;
        self.settle_backward(place)
    }

    /// Moves to the next row; from before the first to the first.
    #[expect(clippy::should_implement_trait, reason = "a lending cursor, and it may fail")]
    pub fn next(&mut self) -> Result<bool> {
        match self.at {
            At::Start => self.seek_first(),
            At::Row(RunRow { part, row }) => self.settle_forward(RunRow { part, row: row + 1 }),
            At::End => Ok(false),
        }
    }

    /// Moves to the row before; from behind the last to the last.
    pub fn prev(&mut self) -> Result<bool> {
        match self.at {
            At::Start => Ok(false),
            At::Row(place) => self.settle_backward(place),
            At::End => self.seek_last(),
        }
    }

    /// Moves to the first row at or behind `place` that is left.
    fn settle_forward(&mut self, mut place: RunRow) -> Result<bool> {
        self.at = At::End;
        loop {
            let Some(part) = self.run().parts.get(place.part) else { return Ok(false) };
            if place.row >= part.rows() {
                place = RunRow { part: place.part + 1, row: 0 };
            } else if part.is_deleted(place.row) {
                place.row += 1;
            } else {
                return self.enter(place, true);
            }
        }
    }

    /// Moves to the last row before `place` that is left.
    fn settle_backward(&mut self, mut place: RunRow) -> Result<bool> {
        self.at = At::Start;
        loop {
            if place.row == 0 {
                let Some(part) = place.part.checked_sub(1) else { return Ok(false) };
                place = RunRow { part, row: self.run().parts[part].rows() };
                continue;
            }
            place.row -= 1;
            if !self.run().parts[place.part].is_deleted(place.row) {
                return self.enter(place, false);
            }
        }
    }

    /// Stands on a row that is left.
    fn enter(&mut self, place: RunRow, forward: bool) -> Result<bool> {
        if self.window.0 != place.part || !self.window.1.contains(&place.row) {
            self.load(place, forward)?;
        }
        debug_assert!(self.window.1.contains(&place.row), "its row is decoded");
        debug_assert!(!self.run().parts[place.part].is_deleted(place.row), "it stands on a row that is left");
        let index = (place.row - self.window.1.start) as usize;
        let schema = self.set.schema();
        self.key.clear();
        self.record.clear();
        let mut made = schema.key_of(&self.buffers, index, &mut self.key);
        if self.wanted == CursorRows::Rows {
            let row = &self.buffers[schema.key_columns()..];
            made = made.and_then(|()| schema.record_of(row, index, &mut self.record));
        }
        made.map_err(|error| self.run().parts[place.part].segment.damaged(0, error))?;
        self.at = At::Row(place);
        Ok(true)
    }

    /// Decodes the rows from `place` on, or up to it.
    fn load(&mut self, place: RunRow, forward: bool) -> Result<()> {
        let part = &self.set.runs()[self.run].parts[place.part];
        let group = part.segment.directory().group_of(place.row);
        let rows = part.segment.directory().group(group);
        let goes_on = self.window.0 == place.part
            && (self.window.1.end == place.row || self.window.1.start == place.row + 1);
        self.window_rows = if goes_on { (self.window_rows * 2).min(WINDOW_MAX) } else { WINDOW_MIN };
        let window = match forward {
            true => place.row..rows.end.min(place.row + self.window_rows),
            false => rows.start.max((place.row + 1).saturating_sub(self.window_rows))..place.row + 1,
        };
        debug_assert!(rows.start <= window.start && window.end <= rows.end, "a window is of one group");
        self.window = (place.part, 0..0);
        self.buffers.iter_mut().for_each(ColumnBuffer::clear);
        let within = (window.start - rows.start) as usize..(window.end - rows.start) as usize;
        // A window is read again and again only by few rows at a time, which is no scan.
        let access = if self.window_rows < WINDOW_MAX { Access::Point } else { Access::Scan };
        part.segment.read_into(self.set.schema(), &mut self.buffers, 0, group, within, access)?;
        debug_assert!(self.buffers.iter().all(|buffer| buffer.len() == window.len()));
        self.window.1 = window;
        Ok(())
    }
}
