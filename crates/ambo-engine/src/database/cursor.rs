//! The cursor over a table as one snapshot sees it: own writes, memtables and trees merged, newest first.
//!
//! It is *lending*: key and value are borrowed from where they lie until the next step. With the base alone in sight, as after
//! compacting, a step is a step of the tree's cursor. Behind a range of keys that a memtable deleted it goes on at once, however many rows
//! older layers have there.

use std::{ops::Bound, sync::Arc};

use ambo_base::{BaseCursor, BaseOps, btree::RowStream, column::CursorRows};
use ambo_types::{
    Result,
    id::Timestamp,
    record::{Record, RecordKind},
};

use super::{
    engine::NEWEST,
    expiry::{Expired, Moment},
    version::TableVersion,
};
use crate::{
    memtable::{self, DeletedRange, Memtable},
    transaction::write_set::{TableWrites, WriteCursor},
};

/// The rows of a cursor from the first to the last.
pub(super) struct CursorStream {
    cursor: MergedCursor,
    started: bool,
}

impl CursorStream {
    pub fn new(cursor: MergedCursor) -> Self {
        Self { cursor, started: false }
    }
}

impl RowStream for CursorStream {
    fn next_row(&mut self) -> Result<Option<(&[u8], Record<'_>)>> {
        let there = match self.started {
            true => self.cursor.next()?,
            false => self.cursor.seek(Seek::First)?,
        };
        self.started = true;
        Ok(there.then(|| (self.cursor.key(), self.cursor.record())))
    }
}

/// One sorted input, newer than those after it.
enum Layer {
    Own(WriteCursor),
    Memtable(memtable::Cursor<Arc<Memtable>>),
    Base(BaseCursor),
}

/// Where to stand.
#[derive(Clone, Copy, Debug)]
pub enum Seek<'a> {
    /// At the first row.
    First,
    /// At the last row.
    Last,
    /// At the first row with this key or a greater one.
    Ge(&'a [u8]),
    /// At the first row with a greater key.
    Gt(&'a [u8]),
    /// At the last row with this key or a smaller one.
    Le(&'a [u8]),
    /// At the last row with a smaller key.
    Lt(&'a [u8]),
}

impl Seek<'_> {
    fn is_forward(self) -> bool {
        matches!(self, Self::First | Self::Ge(_) | Self::Gt(_))
    }
}

impl Layer {
    fn seek(&mut self, to: Seek<'_>) -> Result<bool> {
        match self {
            Self::Own(own) => {
                match to {
                    Seek::First => own.seek_forward(Bound::Unbounded),
                    Seek::Ge(key) => own.seek_forward(Bound::Included(key)),
                    Seek::Gt(key) => own.seek_forward(Bound::Excluded(key)),
                    Seek::Last => own.seek_backward(Bound::Unbounded),
                    Seek::Le(key) => own.seek_backward(Bound::Included(key)),
                    Seek::Lt(key) => own.seek_backward(Bound::Excluded(key)),
                }
                Ok(own.current().is_some())
            }
            Self::Memtable(memtable) => Ok(match to {
                Seek::First => memtable.seek_first(),
                Seek::Last => memtable.seek_last(),
                Seek::Ge(key) => memtable.seek_ge(key),
                Seek::Gt(key) => memtable.seek_gt(key),
                Seek::Le(key) => memtable.seek_le(key),
                Seek::Lt(key) => memtable.seek_lt(key),
            }),
            Self::Base(BaseCursor::Tree(tree)) => match to {
                Seek::First => tree.seek_first(),
                Seek::Last => tree.seek_last(),
                Seek::Ge(key) => tree.seek_ge(key),
                Seek::Gt(key) => tree.seek_gt(key),
                Seek::Le(key) => tree.seek_le(key),
                Seek::Lt(key) => tree.seek_lt(key),
            },
            Self::Base(BaseCursor::Parts(parts)) => match to {
                Seek::First => parts.seek_first(),
                Seek::Last => parts.seek_last(),
                Seek::Ge(key) => parts.seek_ge(key),
                Seek::Gt(key) => parts.seek_gt(key),
                Seek::Le(key) => parts.seek_le(key),
                Seek::Lt(key) => parts.seek_lt(key),
            },
            Self::Base(BaseCursor::Columns(run)) => match to {
                Seek::First => run.seek_first(),
                Seek::Last => run.seek_last(),
                Seek::Ge(key) => run.seek_ge(key),
                Seek::Gt(key) => run.seek_gt(key),
                Seek::Le(key) => run.seek_le(key),
                Seek::Lt(key) => run.seek_lt(key),
            },
        }
    }

    fn step(&mut self, forward: bool) -> Result<bool> {
        match (self, forward) {
            (Self::Own(own), true) => {
                own.next();
                Ok(own.current().is_some())
            }
            (Self::Own(own), false) => {
                own.prev();
                Ok(own.current().is_some())
            }
            (Self::Memtable(memtable), true) => Ok(memtable.next()),
            (Self::Memtable(memtable), false) => Ok(memtable.prev()),
            (Self::Base(BaseCursor::Tree(tree)), true) => tree.next(),
            (Self::Base(BaseCursor::Tree(tree)), false) => tree.prev(),
            (Self::Base(BaseCursor::Parts(parts)), true) => parts.next(),
            (Self::Base(BaseCursor::Parts(parts)), false) => parts.prev(),
            (Self::Base(BaseCursor::Columns(run)), true) => run.next(),
            (Self::Base(BaseCursor::Columns(run)), false) => run.prev(),
        }
    }

    /// Goes from within a range to its end, or to its beginning.
    fn pass(&mut self, range: &DeletedRange, forward: bool) -> Result<()> {
        if !self.is_valid() || !range.has(self.key()) {
            return Ok(());
        }
        match (forward, &range.upper) {
            (false, _) => self.seek(Seek::Lt(&range.lower))?,
            (true, Some(upper)) => self.seek(Seek::Ge(upper))?,
            (true, None) => {
                self.seek(Seek::Last)?;
                self.step(true)?
            }
        };
        Ok(())
    }

    /// A range around a key that it deleted, as far as a snapshot at `at` sees it.
    fn deleted_around(&self, key: &[u8], at: Timestamp) -> Option<DeletedRange> {
        match self {
            Self::Memtable(memtable) => memtable.memtable().deleted_around(key, at),
            Self::Own(_) | Self::Base(_) => None,
        }
    }

    fn is_valid(&self) -> bool {
        match self {
            Self::Own(own) => own.current().is_some(),
            Self::Memtable(memtable) => memtable.is_valid(),
            Self::Base(BaseCursor::Tree(tree)) => tree.is_valid(),
            Self::Base(BaseCursor::Parts(parts)) => parts.is_valid(),
            Self::Base(BaseCursor::Columns(run)) => run.is_valid(),
        }
    }

    fn key(&self) -> &[u8] {
        match self {
            Self::Own(own) => own.current().expect("the source is valid").0,
            Self::Memtable(memtable) => memtable.key(),
            Self::Base(BaseCursor::Tree(tree)) => tree.key(),
            Self::Base(BaseCursor::Parts(parts)) => parts.key(),
            Self::Base(BaseCursor::Columns(run)) => run.key(),
        }
    }

    /// The record under the source; none where a memtable holds only versions that are too new.
    fn record(&self, at: Timestamp) -> Option<Record<'_>> {
        match self {
            Self::Own(own) => own.current().map(|(_, record)| record),
            Self::Memtable(memtable) => memtable.version_at(at).map(|version| version.record),
            Self::Base(BaseCursor::Tree(tree)) => Some(tree.record()),
            Self::Base(BaseCursor::Parts(parts)) => Some(parts.record()),
            Self::Base(BaseCursor::Columns(run)) => Some(run.record()),
        }
    }
}

/// Which way the cursor went last: its sources stand on or ahead of the current key in that direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Direction {
    Forward,
    Backward,
}

/// A cursor over the live rows of one table at one timestamp.
pub struct MergedCursor {
    /// Newest first.
    sources: Vec<Layer>,
    at: Timestamp,
    direction: Direction,
    /// The source whose record is current; none when the cursor stands nowhere.
    current: Option<usize>,
    /// Sources that stand on the current key, one bit each.
    on_key: u64,
    /// Whether tombstones are shown rather than skipped.
    with_tombstones: bool,
    /// Whether ranges were deleted in memtables.
    has_ranges: bool,
    /// What says which records have expired, where live rows are shown of which some may have.
    expired: Option<Box<Expired>>,
}

/// More sources than bits cannot be merged; the base keeps far fewer runs.
const SOURCES_MAX: usize = 64;

/// What of a table a cursor covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cover {
    /// All of it, live rows only.
    Live,
    /// As `Live`, without the records of rows in segments, which have to be put together.
    LiveKeys,
    /// Only what is newer than the base, tombstones included. REQUIRES: no range of keys was deleted there, which rows of the base would
    /// have to be asked about.
    AboveBase,
    /// Only the transaction's own writes, tombstones included.
    Own,
}

impl MergedCursor {
    /// A cursor over `table` as of `at`, with the transaction's own writes on top.
    pub(super) fn new(table: &TableVersion, own: Option<TableWrites>, moment: Moment, cover: Cover) -> Self {
        let at = moment.at;
        let own = own.filter(|writes| !writes.is_empty()).map(|writes| Layer::Own(WriteCursor::new(writes)));
        if cover == Cover::Own {
            return Self::over(own.into_iter().collect(), at, true);
        }
        let memtables = std::iter::once(&table.active).chain(&table.frozen);
        let mut sources = Self::above_base(memtables, table);
        sources.splice(0..0, own);
        if cover == Cover::AboveBase {
            return Self::over(sources, at, true);
        }
        Self::with_base(sources, table, moment, cover)
    }

    /// A cursor over the keys of what is older than a memtable: of older ones, of runs and the base.
    pub(super) fn older(table: &TableVersion, memtables: &[Arc<Memtable>]) -> Self {
        let sources = Self::above_base(memtables.iter(), table);
        Self::with_base(sources, table, Moment::all(NEWEST), Cover::LiveKeys)
    }

    /// Memtables and the runs of a table, newest first.
    fn above_base<'m>(
        memtables: impl Iterator<Item = &'m Arc<Memtable>>,
        table: &TableVersion,
    ) -> Vec<Layer> {
        let memtables = memtables.filter(|memtable| !memtable.is_empty());
        let memtables = memtables.map(|memtable| Layer::Memtable(memtable.owned_cursor()));
        let runs = table.runs.iter().map(|run| Layer::Base(BaseCursor::Tree(run.cursor())));
        memtables.chain(runs).collect()
    }

    fn with_base(mut sources: Vec<Layer>, table: &TableVersion, moment: Moment, cover: Cover) -> Self {
        let expired = table.expired(moment);
        let are_keys_enough = expired.as_ref().is_none_or(Expired::is_in_key);
        let wanted =
            if cover == Cover::LiveKeys && are_keys_enough { CursorRows::Keys } else { CursorRows::Rows };
        table.base.cursors(wanted, &mut |cursor| sources.push(Layer::Base(cursor)));
        Self { expired: expired.map(Box::new), ..Self::over(sources, moment.at, false) }
    }

    fn over(sources: Vec<Layer>, at: Timestamp, with_tombstones: bool) -> Self {
        assert!(sources.len() <= SOURCES_MAX, "runs are merged long before there are so many");
        let has_ranges =
            |source: &Layer| matches!(source, Layer::Memtable(cursor) if cursor.memtable().has_ranges());
        Self {
            has_ranges: sources.iter().any(has_ranges),
            sources,
            at,
            direction: Direction::Forward,
            current: None,
            on_key: 0,
            with_tombstones,
            expired: None,
        }
    }

    /// Moves to a row; false (and nowhere) when there is none.
    pub fn seek(&mut self, to: Seek<'_>) -> Result<bool> {
        self.current = None;
        for source in &mut self.sources {
            source.seek(to)?;
        }
        self.direction = if to.is_forward() { Direction::Forward } else { Direction::Backward };
        self.settle_on_live()
    }

    /// Moves to the row with exactly this key.
    pub fn seek_exact(&mut self, key: &[u8]) -> Result<bool> {
        let found = self.seek(Seek::Ge(key))? && self.key() == key;
        if !found {
            self.current = None;
        }
        Ok(found)
    }

    /// Moves to the next row. From nowhere it stays nowhere.
    #[inline]
    pub fn next(&mut self) -> Result<bool> {
        self.advance(Direction::Forward)
    }

    /// Moves to the previous row. From nowhere it stays nowhere.
    #[inline]
    pub fn prev(&mut self) -> Result<bool> {
        self.advance(Direction::Backward)
    }

    #[inline]
    fn advance(&mut self, direction: Direction) -> Result<bool> {
        if self.current.is_none() {
            return Ok(false);
        }
        if let [Layer::Base(BaseCursor::Tree(tree))] = &mut self.sources[..]
            && !tree.has_tombstones()
            && self.expired.is_none()
        {
            // The compacted state: nothing to merge, nothing to skip.
            let there = if direction == Direction::Forward { tree.next() } else { tree.prev() }?;
            if !there {
                self.current = None;
            }
            return Ok(there);
        }
        self.advance_merged(direction)
    }

    fn advance_merged(&mut self, direction: Direction) -> Result<bool> {
        debug_assert!(
            self.current.is_some_and(|current| self.on_key >> current & 1 == 1),
            "the cursor goes on from the record that it stands on"
        );
        if self.direction != direction {
            let key = self.key().to_vec();
            let to = if direction == Direction::Forward { Seek::Gt(&key) } else { Seek::Lt(&key) };
            return self.seek(to);
        }
        self.step_from_key()?;
        self.settle_on_live()
    }

    /// Moves every source that stands on the current key off it.
    fn step_from_key(&mut self) -> Result<()> {
        let mut bits = self.on_key;
        while bits != 0 {
            let index = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            self.sources[index].step(self.direction == Direction::Forward)?;
        }
        Ok(())
    }

    /// Picks the nearest key and its newest record, going on while that is a tombstone or too new.
    fn settle_on_live(&mut self) -> Result<bool> {
        loop {
            self.pick_key();
            if self.on_key == 0 {
                self.current = None;
                return Ok(false);
            }
            self.current = self.pick_record();
            let Some(found) = self.current else {
                self.step_from_key()?;
                continue;
            };
            if self.has_ranges
                && let Some((by, range)) = self.hidden_by(found)
            {
                self.pass(by, &range)?;
                continue;
            }
            if !self.has_expired(found)? {
                return Ok(true);
            }
            if !self.pass_expired()? {
                self.current = None;
                return Ok(false);
            }
        }
    }

    /// Goes on from a record that has expired; past all that have, where rows are in the order of time. Whether there may be others.
    #[cold]
    fn pass_expired(&mut self) -> Result<bool> {
        let Some(live) = self.expired.as_ref().and_then(|expired| expired.live_from()) else {
            return self.step_from_key().map(|()| true);
        };
        if self.direction == Direction::Backward {
            return Ok(false);
        }
        self.sources.iter_mut().try_for_each(|source| source.seek(Seek::Ge(&live)).map(drop))?;
        Ok(true)
    }

    /// Whether the record of a source has expired.
    #[inline]
    fn has_expired(&self, found: usize) -> Result<bool> {
        let Some(expired) = &self.expired else { return Ok(false) };
        let source = &self.sources[found];
        source.record(self.at).map_or(Ok(false), |record| expired.has(source.key(), record))
    }

    /// The memtable, newer than the source of the record that was found, that deleted a range around it.
    #[cold]
    fn hidden_by(&self, found: usize) -> Option<(usize, DeletedRange)> {
        let key = self.sources[found].key();
        let mut newer = self.sources[..found].iter().enumerate();
        newer.find_map(|(by, source)| Some((by, source.deleted_around(key, self.at)?)))
    }

    /// Moves all that is older than the source `by` off a range which that deleted, and the others off the key.
    #[cold]
    fn pass(&mut self, by: usize, range: &DeletedRange) -> Result<()> {
        let forward = self.direction == Direction::Forward;
        for (index, source) in self.sources.iter_mut().enumerate() {
            if index > by {
                source.pass(range, forward)?;
            } else if self.on_key >> index & 1 == 1 {
                source.step(forward)?;
            }
        }
        Ok(())
    }

    /// Sets `on_key` to the sources that stand on the nearest key.
    fn pick_key(&mut self) {
        self.on_key = 0;
        let mut nearest: Option<&[u8]> = None;
        for (index, source) in self.sources.iter().enumerate().filter(|(_, source)| source.is_valid()) {
            let key = source.key();
            let order = nearest.map_or(std::cmp::Ordering::Less, |nearest| match self.direction {
                Direction::Forward => key.cmp(nearest),
                Direction::Backward => nearest.cmp(key),
            });
            match order {
                std::cmp::Ordering::Less => {
                    nearest = Some(key);
                    self.on_key = 1 << index;
                }
                std::cmp::Ordering::Equal => self.on_key |= 1 << index,
                std::cmp::Ordering::Greater => {}
            }
        }
    }

    /// The newest of the sources on the key that has a record for this snapshot, unless it is a tombstone.
    fn pick_record(&self) -> Option<usize> {
        let mut bits = self.on_key;
        while bits != 0 {
            let index = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            if let Some(record) = self.sources[index].record(self.at) {
                return (self.with_tombstones || !record.is_tombstone()).then_some(index);
            }
        }
        None
    }

    /// Whether the cursor stands on a row.
    pub fn is_valid(&self) -> bool {
        self.current.is_some()
    }

    /// The key of the row.
    ///
    /// # Panics
    /// If the cursor stands nowhere.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.sources[self.current.expect("the cursor stands on a row")].key()
    }

    /// The record of the row: its value, or an encoded reference to a blob.
    ///
    /// # Panics
    /// If the cursor stands nowhere.
    #[inline]
    pub fn record(&self) -> Record<'_> {
        let source = &self.sources[self.current.expect("the cursor stands on a row")];
        source.record(self.at).expect("chosen because it has a record")
    }

    /// Whether the row's value is out of line.
    pub fn is_blob(&self) -> bool {
        self.record().kind == RecordKind::Blob
    }
}
