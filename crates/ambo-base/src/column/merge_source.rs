//! One run that is merged: its rows in key order, a group at a time.

use std::{cmp::Ordering, ops::Range};

use ambo_pages::page::Access;
use ambo_types::Result;

use super::{directory::SEGMENT_ROWS_MAX, gallop::gallop, keys::Keys, run::Part, schema::ColumnSchema};
use ambo_scan::buffer::ColumnBuffer;

/// Whether a part is worth more as it is than together with others.
fn is_good(part: &Part) -> bool {
    part.rows() as usize * 2 >= SEGMENT_ROWS_MAX && part.deleted_rows() * 8 <= part.rows()
}

/// One run, read group by group.
pub(super) struct RunReader<'a> {
    schema: &'a ColumnSchema,
    parts: &'a [Part],
    group: usize,
    /// The group's rows, all columns.
    pub buffers: Vec<ColumnBuffer>,
    keys: Keys,
    /// A number of each key: where two differ, the keys are not looked at.
    heads: Vec<u128>,
    /// The rows of the group that are deleted.
    dead: Vec<u32>,
    /// How many of these are in front of `row`.
    passed: usize,
    /// The next row of the group that is left. Not deleted.
    row: usize,
}

impl<'a> RunReader<'a> {
    pub(super) fn new(schema: &'a ColumnSchema, parts: &'a [Part]) -> Result<Self> {
        let buffers = schema.buffers();
        let keys = Keys::of(schema, &buffers)?;
        let (heads, dead) = (Vec::new(), Vec::new());
        let mut source = Self { schema, parts, group: 0, buffers, keys, heads, dead, passed: 0, row: 0 };
        source.load()?;
        Ok(source)
    }

    /// Whether it has no more rows.
    pub(super) fn is_done(&self) -> bool {
        self.parts.is_empty()
    }

    /// How the next row's key compares with that of another.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        self.compare_row(self.row, other)
    }

    #[inline]
    fn compare_row(&self, row: usize, other: &Self) -> Ordering {
        let by_heads = self.heads[row].cmp(&other.heads[other.row]);
        by_heads.then_with(|| self.keys.compare(row, &other.keys, other.row))
    }

    /// The next rows that lie together, are left, and are less than what `next` has; at least one, at most `room`.
    pub(super) fn stretch(&self, next: Option<&Self>, room: usize) -> Range<u32> {
        let alive = self.dead.get(self.passed).map_or(self.heads.len(), |row| *row as usize);
        let most = room.min(alive - self.row);
        debug_assert!(most > 0, "its row is left, and there is room");
        let rows = match next {
            None => most,
            // The first one is.
            Some(next) => 1 + gallop(most - 1, |ahead| self.compare_row(self.row + 1 + ahead, next).is_lt()),
        };
        self.row as u32..(self.row + rows) as u32
    }

    /// The part, if nothing of it was taken yet, all of it is less than what `next` has, and it is good as it is.
    pub(super) fn whole_part(&self, next: Option<&Self>) -> Option<Part> {
        let untouched = self.group == 0 && self.passed == self.row;
        let part = &self.parts[0];
        let fits = |next: &Self| next.keys.with(next.row, |key| part.segment.directory().last_key() < key);
        (untouched && is_good(part) && next.is_none_or(fits)).then(|| part.clone())
    }

    /// Goes on at `row` of the group, or behind it if it is deleted. Whether the group has a row left.
    pub(super) fn advance(&mut self, row: u32) -> bool {
        self.row = row as usize;
        while self.dead.get(self.passed).is_some_and(|dead| *dead as usize == self.row) {
            self.row += 1;
            self.passed += 1;
        }
        self.row < self.heads.len()
    }

    /// Reads the next group that has rows left.
    pub(super) fn next_group(&mut self) -> Result<()> {
        self.group += 1;
        self.load()
    }

    /// Leaves a part out, and reads the next group that has rows left.
    pub(super) fn next_part(&mut self) -> Result<()> {
        self.parts = &self.parts[1..];
        self.group = 0;
        self.load()
    }

    /// Reads the group, or the next one that has rows left.
    fn load(&mut self) -> Result<()> {
        while let Some(part) = self.parts.first() {
            if self.group == part.segment.directory().groups() {
                self.parts = &self.parts[1..];
                self.group = 0;
                continue;
            }
            let rows = part.segment.directory().group(self.group);
            self.buffers.iter_mut().for_each(ColumnBuffer::clear);
            part.segment.read_into(
                self.schema,
                &mut self.buffers,
                0,
                self.group,
                0..rows.len(),
                Access::Scan,
            )?;
            let keys = Keys::of(self.schema, &self.buffers);
            self.keys = keys.map_err(|error| part.segment.damaged(0, error))?;
            self.heads = self.keys.heads();
            debug_assert_eq!(self.heads.len(), rows.len(), "a key for each row of the group");
            let count = rows.len();
            self.dead = part.deleted_in(rows);
            debug_assert!(
                self.dead.is_sorted_by(|a, b| a < b)
                    && self.dead.last().is_none_or(|last| (*last as usize) < count),
                "deleted rows of a group ascend"
            );
            self.passed = 0;
            if self.advance(0) {
                return Ok(());
            }
            self.group += 1;
        }
        Ok(())
    }
}
