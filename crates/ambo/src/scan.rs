//! Iterating over a range of rows.

use std::ops::Bound;

use ambo_engine::database::{Cursor, Seek};

use crate::{Result, range::Bounds};

/// An iterator over the rows of a range, in key order. It borrows from nothing and stays at its moment.
///
/// Each row is copied out; a [`Cursor`] lends rows without copying.
pub struct Scan {
    cursor: Cursor,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    backward: bool,
    started: bool,
    done: bool,
}

impl Scan {
    pub(crate) fn new(cursor: Cursor, (lower, upper): Bounds) -> Self {
        Self { cursor, lower, upper, backward: false, started: false, done: false }
    }

    /// The same rows from the last to the first. To be called before the first step.
    #[must_use]
    pub fn rev(mut self) -> Self {
        self.backward = !self.backward;
        self
    }

    /// Steps to the next row, without copying it.
    pub(crate) fn step(&mut self) -> Result<bool> {
        if self.done {
            return Ok(false);
        }
        let there = match (self.started, self.backward) {
            (true, false) => self.cursor.next(),
            (true, true) => self.cursor.prev(),
            (false, false) => self.cursor.seek(match &self.lower {
                Bound::Included(key) => Seek::Ge(key),
                Bound::Excluded(key) => Seek::Gt(key),
                Bound::Unbounded => Seek::First,
            }),
            (false, true) => self.cursor.seek(match &self.upper {
                Bound::Included(key) => Seek::Le(key),
                Bound::Excluded(key) => Seek::Lt(key),
                Bound::Unbounded => Seek::Last,
            }),
        };
        self.started = true;
        let there = there.inspect_err(|_| self.done = true)?;
        self.done = !(there && self.is_inside());
        Ok(!self.done)
    }

    fn is_inside(&self) -> bool {
        let key = self.cursor.key();
        match self.backward {
            false => match &self.upper {
                Bound::Included(upper) => key <= &upper[..],
                Bound::Excluded(upper) => key < &upper[..],
                Bound::Unbounded => true,
            },
            true => match &self.lower {
                Bound::Included(lower) => key >= &lower[..],
                Bound::Excluded(lower) => key > &lower[..],
                Bound::Unbounded => true,
            },
        }
    }

    /// The row that [`Scan::step`] found.
    pub(crate) fn current(&mut self) -> Result<(Vec<u8>, Vec<u8>)> {
        let value = self.cursor.value()?.to_vec();
        Ok((self.cursor.key().to_vec(), value))
    }
}

impl Iterator for Scan {
    type Item = Result<(Vec<u8>, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.step() {
            Ok(true) => Some(self.current()),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}
