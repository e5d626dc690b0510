//! Rows of a load on their way into segments: gathered, sorted, encoded and written by the thread that brings them.
//!
//! Rows that come in key order go straight into a segment, in memory only as a group and as encoded blocks. Others are gathered in
//! a *chunk*, as many as the limits allow, sorted, and written as a segment; its keys may lie between those of
//! other segments. So sorted input makes full segments with next to no memory, and any other input makes few.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use ambo_types::{Error, Result};

use super::{
    directory::SEGMENT_ROWS_MAX,
    keys::{Duplicates, Keys},
    run::Part,
    schema::ColumnSchema,
    segment::SegmentStore,
    writer::{Encoding, SegmentWriter},
};
use ambo_scan::buffer::ColumnBuffer;

/// What the chunks of a load have in common.
pub struct ChunkOptions {
    /// Where segments go.
    pub store: Arc<SegmentStore>,
    /// The stored columns.
    pub schema: Arc<ColumnSchema>,
    /// What is done about rows of the same key.
    pub duplicates: Duplicates,
    /// Set to end the load.
    pub cancel: Arc<AtomicBool>,
}

/// A segment of a load.
#[derive(Clone, Debug)]
pub struct LoadedPart {
    /// The segment, and those of its rows that were left out.
    pub part: Part,
    /// Its place among the segments of the load: of two rows of the same key the one in the lesser segment came first.
    pub order: (u64, u64),
}

/// The rows that one thread brings. Segments that were written go again unless they are kept.
pub struct ChunkWriter {
    options: Arc<ChunkOptions>,
    /// Where the rows of this writer stand among those of others.
    order: u64,
    /// Memory that it may take, in bytes; it may change.
    budget: Arc<AtomicU64>,
    pending: Vec<ColumnBuffer>,
    segment: Option<SegmentWriter>,
    /// The greatest key of the open segment.
    last_key: Vec<u8>,
    done: Vec<LoadedPart>,
    left_out: u64,
}

/// How rows are taken from columns.
#[derive(Clone)]
enum Chosen<'r> {
    /// As they lie there.
    All(Range<usize>),
    /// These, in this order.
    These(&'r [u32]),
}

/// Bytes that sorting needs for a row beside its values.
const SORT_BYTES: u64 = 48;
/// A chunk has so many rows at least, however little memory there is: a segment of fewer is not worth a file.
const CHUNK_ROWS_MIN: usize = 1 << 10;
const CHUNK_BYTES_MAX: u64 = 1 << 30;

impl ChunkWriter {
    /// A writer whose rows come behind those of writers of a lesser `order`. `budget` is in bytes.
    pub fn new(options: Arc<ChunkOptions>, order: u64, budget: Arc<AtomicU64>) -> Self {
        Self {
            pending: options.schema.buffers(),
            options,
            order,
            budget,
            segment: None,
            last_key: Vec::new(),
            done: Vec::new(),
            left_out: 0,
        }
    }

    /// Takes rows: the stored columns, all of a length, without NULLs in the key.
    ///
    /// # Errors
    /// [`Error::Exists`] for a key that came before, if that is refused and noticed already; [`Error::Cancelled`].
    pub fn push(&mut self, columns: &[ColumnBuffer]) -> Result<()> {
        self.check_cancelled()?;
        let rows = columns[0].len();
        assert_eq!(columns.len(), self.options.schema.types().len(), "all stored columns come");
        assert!(columns.iter().all(|column| column.len() == rows), "columns of the same rows");
        if rows == 0 {
            return Ok(());
        }
        let keys = Keys::of(&self.options.schema, columns)?;
        if self.pending[0].is_empty() && self.follows(&keys, 0) && keys.ascend() {
            return self.store_rows(columns, Chosen::All(0..rows), &keys, rows - 1);
        }
        drop(keys);
        let average = columns.iter().map(ColumnBuffer::memory).sum::<usize>() as u64 / rows as u64;
        let mut start = 0;
        while start < rows {
            let room = self.room(average + SORT_BYTES);
            if room == 0 {
                self.store_pending()?;
                continue;
            }
            let taken = start..rows.min(start + room);
            for (to, from) in self.pending.iter_mut().zip(columns) {
                to.append(from, taken.clone()).map_err(|error| Error::Invalid(error.to_string()))?;
            }
            start = taken.end;
        }
        Ok(())
    }

    /// How many more rows of so many bytes the chunk takes.
    fn room(&self, row_bytes: u64) -> usize {
        let rows = self.pending[0].len();
        let taken = self.pending.iter().map(ColumnBuffer::memory).sum::<usize>() as u64;
        let limit = (self.budget.load(Ordering::Relaxed) / 2).min(CHUNK_BYTES_MAX);
        let by_bytes = limit.saturating_sub(taken + rows as u64 * SORT_BYTES) / row_bytes;
        let at_least = CHUNK_ROWS_MIN.saturating_sub(rows);
        (by_bytes as usize).max(at_least).min(SEGMENT_ROWS_MAX - rows)
    }

    /// Ends what was begun: what comes next goes into another segment.
    pub fn cut(&mut self) -> Result<()> {
        self.store_pending()?;
        self.end_segment()
    }

    /// The segments, and how many rows were left out.
    pub fn finish(mut self) -> Result<(Vec<LoadedPart>, u64)> {
        self.cut()?;
        assert!(self.segment.is_none() && self.pending.iter().all(ColumnBuffer::is_empty), "no row waits");
        Ok((self.done, self.left_out))
    }

    fn check_cancelled(&self) -> Result<()> {
        match self.options.cancel.load(Ordering::Relaxed) {
            true => Err(Error::Cancelled),
            false => Ok(()),
        }
    }

    /// Whether a row may go behind those of the open segment.
    fn follows(&self, keys: &Keys, row: usize) -> bool {
        self.segment.is_none() || keys.with(row, |key| key > &self.last_key[..])
    }

    /// Sorts the chunk and writes it.
    fn store_pending(&mut self) -> Result<()> {
        let rows = self.pending[0].len();
        if rows == 0 {
            return Ok(());
        }
        let columns = std::mem::take(&mut self.pending);
        let keys = Keys::of(&self.options.schema, &columns)?;
        if keys.ascend() {
            self.store_in_order(&columns, Chosen::All(0..rows), &keys, (0, rows - 1))?;
        } else {
            let order = keys.order(&self.options.schema, self.options.duplicates)?;
            self.left_out += (rows - order.len()) as u64;
            debug_assert!(!order.is_empty(), "of rows with one key one stays");
            let ends = (order[0] as usize, order[order.len() - 1] as usize);
            self.store_in_order(&columns, Chosen::These(&order), &keys, ends)?;
        }
        self.pending = columns;
        self.pending.iter_mut().for_each(ColumnBuffer::clear);
        Ok(())
    }

    /// Writes rows behind those of the open segment, or into a new one. `ends` are the first and the last of them.
    fn store_in_order(
        &mut self,
        columns: &[ColumnBuffer],
        chosen: Chosen<'_>,
        keys: &Keys,
        ends: (usize, usize),
    ) -> Result<()> {
        if !self.follows(keys, ends.0) {
            self.end_segment()?;
        }
        self.store_rows(columns, chosen, keys, ends.1)
    }

    /// Writes rows that follow those of the open segment, group by group. `last` is the last of them.
    ///
    /// Every row of a load passes here once, with its key, in the order of its segment: whatever is built beside segments takes
    /// its rows here. Rows that later lose to others of the same key are marked as deleted in [`LoadedPart::part`].
    fn store_rows(
        &mut self,
        columns: &[ColumnBuffer],
        mut chosen: Chosen<'_>,
        keys: &Keys,
        last: usize,
    ) -> Result<()> {
        loop {
            let left = match &chosen {
                Chosen::All(rows) => rows.len(),
                Chosen::These(rows) => rows.len(),
            };
            if left == 0 {
                break;
            }
            self.check_cancelled()?;
            let blocks_max = (self.budget.load(Ordering::Relaxed) / 4).max(1) as usize;
            let segment = self.segment.get_or_insert_with(|| {
                SegmentWriter::new(&self.options.store, &self.options.schema, Encoding::Here)
                    .at_most(blocks_max)
            });
            let taken = match &mut chosen {
                Chosen::All(rows) => {
                    let taken = segment.append(columns, rows.clone())?;
                    rows.start += taken;
                    taken
                }
                Chosen::These(rows) => {
                    let taken = segment.gather(columns, rows)?;
                    *rows = &rows[taken..];
                    taken
                }
            };
            assert!(taken > 0, "a segment that is not full takes a row");
            if segment.is_full() {
                self.end_segment()?;
            }
        }
        keys.with(last, |key| {
            self.last_key.clear();
            self.last_key.extend_from_slice(key);
        });
        Ok(())
    }

    fn end_segment(&mut self) -> Result<()> {
        let Some(segment) = self.segment.take() else { return Ok(()) };
        assert!(segment.rows() > 0, "a segment is begun for a row");
        let order = (self.order, self.done.len() as u64);
        debug_assert!(
            self.done.last().is_none_or(|before| before.order < order),
            "segments come in their order"
        );
        self.done.push(LoadedPart { part: Part::new(segment.finish()?), order });
        Ok(())
    }
}
