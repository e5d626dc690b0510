//! Iterating over a range of rows.

use std::ops::Bound;

use ambo_engine::database::{Cursor, Seek};
use bytes::{Bytes, BytesMut};

use crate::{Result, range::Bounds};

/// Bytes of rows that are copied out at once.
const BATCH_BYTES: usize = 16 << 10;
/// The first batch: who wants a few rows only should not wait for many.
const BATCH_BYTES_FIRST: usize = 256;

/// An iterator over the rows of a range, in key order. It borrows from nothing and stays at its moment.
///
/// Rows are copied out some kilobytes at a time, and keys and values are slices of such a batch: a row that is kept keeps its batch, so
/// take `to_vec` to keep few of many for long. A [`Cursor`] lends rows without copying.
pub struct Scan {
    rows: RangeRows,
    /// The rows of the batch that are not given out yet.
    batch: Bytes,
    /// The lengths of their keys and values.
    lengths: std::vec::IntoIter<(u32, u32)>,
    /// What the next batches are made in: the memory of those that nobody has any more.
    memory: BytesMut,
    batch_bytes: usize,
    /// What ended the scan, once the rows before it are given out.
    error: Option<crate::Error>,
}

impl Scan {
    pub(crate) fn new(cursor: Cursor, bounds: Bounds) -> Self {
        Self {
            rows: RangeRows::new(cursor, bounds),
            batch: Bytes::new(),
            lengths: Vec::new().into_iter(),
            memory: BytesMut::new(),
            batch_bytes: BATCH_BYTES_FIRST,
            error: None,
        }
    }

    /// The same rows from the last to the first. To be called before the first step.
    #[must_use]
    pub fn rev(mut self) -> Self {
        self.rows = self.rows.rev();
        self
    }

    #[inline]
    fn next_of_batch(&mut self) -> Option<(Bytes, Bytes)> {
        let (key, value) = self.lengths.next()?;
        let key = self.batch.split_to(key as usize);
        Some((key, self.batch.split_to(value as usize)))
    }

    /// Copies the next rows out.
    fn fill(&mut self) {
        debug_assert!(self.batch.is_empty() && self.lengths.len() == 0);
        self.batch = Bytes::new();
        self.memory.reserve(self.batch_bytes);
        let mut lengths = Vec::new();
        while self.memory.len() < self.batch_bytes {
            match self.rows.next() {
                Ok(Some((key, value))) => {
                    lengths.push((key.len() as u32, value.len() as u32));
                    self.memory.extend_from_slice(key);
                    self.memory.extend_from_slice(value);
                }
                Ok(None) => break,
                Err(error) => {
                    self.error = Some(error);
                    break;
                }
            }
        }
        self.batch = self.memory.split().freeze();
        self.lengths = lengths.into_iter();
        self.batch_bytes = (self.batch_bytes * 4).min(BATCH_BYTES);
    }
}

impl Iterator for Scan {
    type Item = Result<(Bytes, Bytes)>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if let Some(row) = self.next_of_batch() {
            return Some(Ok(row));
        }
        if self.error.is_none() {
            self.fill();
        }
        self.next_of_batch().map(Ok).or_else(|| self.error.take().map(Err))
    }
}

/// The rows of a range, lent one by one.
pub(crate) struct RangeRows {
    cursor: Cursor,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    backward: bool,
    started: bool,
    done: bool,
}

impl RangeRows {
    pub(crate) fn new(cursor: Cursor, (lower, upper): Bounds) -> Self {
        Self { cursor, lower, upper, backward: false, started: false, done: false }
    }

    /// The same rows from the last to the first. To be called before the first step.
    pub(crate) fn rev(mut self) -> Self {
        self.backward = !self.backward;
        self
    }

    /// The next row.
    pub(crate) fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        match self.step()? {
            true => self.cursor.row().map(Some),
            false => Ok(None),
        }
    }

    fn step(&mut self) -> Result<bool> {
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
}
