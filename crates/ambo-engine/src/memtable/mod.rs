//! The memtable: an ordered, multi-version row index in memory. It only ever grows, until it is frozen, flushed
//! into a run and dropped as a whole.
//!
//! | module | what |
//! |---|---|
//! | `memory` | address ranges, and the memory that one memtable leaves for the next |
//! | `arena` | one such range, handed out front to back |
//! | `row` | a key with its chain of versions |
//! | `lock` | the optimistic lock of a node |
//! | `node` | a node: words of keys, and rows or children |
//! | `tree` | the index: a B+tree with optimistic lock coupling |
//! | `cursor` | ordered passes in both directions |
//! | `journal` | rows in the order in which they were written |
//! | `part` | keys that cut it into parts |
//! | `ranges` | ranges of keys that were deleted as a whole |
//!
//! # Thread safety
//! Every method of [`Memtable`] may be called by any number of threads at once, under one REQUIRES: of one key, versions are
//! inserted by one thread at a time and in ascending order of their timestamps (the transaction layer's row latches).
//!
//! 1. What `insert` put in is found by every `get`, `newest` and seek that begins after it returned.
//! 2. Rows, versions and nodes are never moved, changed in their published parts, or freed before the memtable is: a
//!    reference into a memtable is good as long as the memtable is borrowed or shared.
//! 3. A version is visible whole or not at all.
//! 4. A snapshot at or after every `oldest_snapshot` ever given finds the version it always would have found.
//! 5. Readers write to no shared memory, and wait only for a writer that is inside the very node they want. Where a range of keys was
//!    deleted they share a lock.
//! 6. An `insert` that fails with [`Full`] changed nothing.

mod arena;
mod cursor;
mod journal;
mod lock;
mod memory;
mod node;
mod part;
mod ranges;
mod row;
mod tree;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use ambo_pages::sync::{AtomicU64, Ordering};
use ambo_types::{
    Error, Result,
    id::Timestamp,
    record::{Record, key_head},
};
use arena::{Arena, At};
use journal::Journal;
use node::Node;
use ranges::Ranges;
use row::Row;
use tree::{Inserted, Tree};

pub use arena::Full;
pub use cursor::Cursor;
pub use memory::MemoryPool;
pub use ranges::DeletedRange;
pub use row::{MEMTABLE_VALUE_BYTES_MAX, Version, Versions};

/// Addresses reserved beyond what the caller plans to use, for the rows still on their way when the plan is
/// reached. They cost nothing.
const SLACK_BYTES: usize = 512 << 20;

/// Rows in the high half of [`Memtable::counts`], versions in the low: neither can reach 2³² in 32 GiB.
const ONE_ROW: u64 = 1 << 32;

/// See the module.
pub struct Memtable {
    tree: Tree,
    journal: Option<Journal>,
    ranges: Ranges,
    counts: AtomicU64,
    newest: AtomicU64,
    oldest: AtomicU64,
}

impl Memtable {
    /// An empty memtable that is meant to take about `reserve_bytes` of memory, and can take 512 MiB more (up to 32 GiB in
    /// all). No memory is taken before it is used.
    ///
    /// # Errors
    /// [`Error::Io`] if the addresses cannot be had.
    pub fn new(reserve_bytes: usize) -> Result<Self> {
        Self::with_arena(Arena::new(reserve_bytes.saturating_add(SLACK_BYTES), None)?)
    }

    /// As [`Memtable::new`], but memory that earlier memtables of the pool left is used before new memory, and left
    /// again.
    ///
    /// # Errors
    /// As [`Memtable::new`].
    pub fn new_in(pool: &Arc<MemoryPool>, reserve_bytes: usize) -> Result<Self> {
        Self::with_arena(Arena::new(reserve_bytes.saturating_add(SLACK_BYTES), Some(Arc::clone(pool)))?)
    }

    /// The same, and it knows in which order rows were written ([`Memtable::written_since`]); 4 to 8 bytes a version. REQUIRES: it is
    /// empty.
    #[must_use]
    pub fn with_journal(self) -> Self {
        assert!(self.is_empty(), "a journal knows all rows from the first on");
        Self { journal: Some(Journal::default()), ..self }
    }

    fn with_arena(arena: Arena) -> Result<Self> {
        let tree = Tree::new(arena).map_err(|full| Error::Invalid(full.to_string()))?;
        Ok(Self {
            tree,
            journal: None,
            ranges: Ranges::default(),
            counts: AtomicU64::new(0),
            newest: AtomicU64::new(0),
            oldest: AtomicU64::new(u64::MAX),
        })
    }

    /// Maps `key` to `record` from `timestamp` on. No snapshot older than `oldest_snapshot` will be asked for again:
    /// versions that only those could see are cut off. Returns whether the key is new here.
    ///
    /// # Errors
    /// [`Full`] if the reserved memory is used up.
    ///
    /// # Panics
    /// If the key has a later version already, is longer than [`KEY_BYTES_MAX`](ambo_types::record::KEY_BYTES_MAX), or the
    /// value longer than [`MEMTABLE_VALUE_BYTES_MAX`].
    pub fn insert(
        &self,
        key: &[u8],
        timestamp: Timestamp,
        record: Record<'_>,
        oldest_snapshot: Timestamp,
    ) -> Result<bool, Full> {
        self.inserter().insert(key, timestamp, record, oldest_snapshot)
    }

    /// Deletes all keys from `lower` on and below `upper` from `timestamp` on, whether or not they are here: what is older and hidden by
    /// the memtable is deleted, too. What the same commit wrote to keys of the range counts more. REQUIRES: ranges are deleted by one
    /// thread at a time, in the order of their timestamps.
    ///
    /// # Panics
    /// If the range has no keys.
    pub fn delete_range(
        &self,
        lower: &[u8],
        upper: Option<&[u8]>,
        timestamp: Timestamp,
        oldest_snapshot: Timestamp,
    ) {
        self.ranges.insert(lower, upper, timestamp, oldest_snapshot);
        self.note(timestamp);
    }

    /// Whether a range of keys was deleted.
    pub fn has_ranges(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// The ranges of keys that were deleted, ascending.
    pub fn deleted_ranges(&self) -> Vec<DeletedRange> {
        self.ranges.all()
    }

    /// A range around a key all of which was deleted by `at`, if there is one. Its keys may have been written again.
    pub fn deleted_around(&self, key: &[u8], at: Timestamp) -> Option<DeletedRange> {
        self.ranges.around(key, at)
    }

    /// Whether a part of a range of keys was deleted as a range after `since`.
    pub fn is_range_touched(&self, lower: &[u8], upper: Option<&[u8]>, since: Timestamp) -> bool {
        self.ranges.is_touched(lower, upper, since)
    }

    /// What a snapshot at `at` finds under a key of which it is `version` that was written.
    #[inline]
    fn under_ranges<'d>(
        &'d self,
        key: &[u8],
        at: Timestamp,
        version: Option<Version<'d>>,
    ) -> Option<Version<'d>> {
        let deleted = self.ranges.deleted(key, at);
        debug_assert!(deleted.is_none_or(|deleted| deleted <= at), "a snapshot sees no later deletion");
        match deleted {
            Some(timestamp) if version.is_none_or(|version| version.timestamp < timestamp) => {
                Some(Version { timestamp, record: Record::TOMBSTONE })
            }
            _ => version,
        }
    }

    /// For one who inserts many keys, quicker if they are in order.
    pub fn inserter(&self) -> Inserter<'_> {
        Inserter { memtable: self, near: At::NULL }
    }

    /// What a snapshot at `at` finds under `key`: the newest version not after it.
    pub fn get(&self, key: &[u8], at: Timestamp) -> Option<Version<'_>> {
        let row = self.tree.find(key);
        let version = row.and_then(|row| row::version_at(&self.tree.arena, row, at));
        debug_assert!(
            version.is_none_or(|version| version.timestamp <= at),
            "a snapshot sees no later version"
        );
        self.under_ranges(key, at, version)
    }

    /// The timestamp of the newest commit that wrote or deleted `key`.
    pub fn newest(&self, key: &[u8]) -> Option<Timestamp> {
        self.get(key, Timestamp(u64::MAX)).map(|version| version.timestamp)
    }

    /// Whether `key` has any version, a tombstone of its own included.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.tree.find(key).is_some()
    }

    /// All versions of `key` that were written, newest first.
    pub fn versions(&self, key: &[u8]) -> Option<Versions<'_>> {
        Some(row::versions(&self.tree.arena, self.tree.find(key)?))
    }

    /// Rows that were written from a number on, which is 0 or that of an earlier answer; none if the order is not known.
    ///
    /// Those whose inserts have returned by now are among them, and maybe others. Who goes on from [`Written::next`] meets every row with a
    /// version that was not there or is later than `at`, and maybe some others again.
    pub fn written_since(&self, from: usize, at: Timestamp) -> Option<Written<'_>> {
        let journal = self.journal.as_ref()?;
        let end = self.versions_inserted();
        debug_assert!(from <= end, "an earlier answer");
        let mut next = end;
        let mut rows = Vec::with_capacity(end.saturating_sub(from));
        for number in from..end {
            let Some(row) = journal.row(number) else {
                next = next.min(number);
                continue;
            };
            let newest = row::versions(&self.tree.arena, row).next().expect("a row has a version");
            if newest.timestamp > at {
                next = next.min(number);
            }
            rows.push((key_head(self.tree.key(row)), row));
        }
        debug_assert!(from <= next, "who goes on does not go back");
        Some(Written { memtable: self, rows, next })
    }

    /// A cursor that borrows the memtable, on no row yet.
    pub fn cursor(&self) -> Cursor<&Self> {
        Cursor::new(self)
    }

    /// A cursor that owns a share of the memtable, on no row yet.
    pub fn owned_cursor(self: &Arc<Self>) -> Cursor<Arc<Self>> {
        Cursor::new(Arc::clone(self))
    }

    /// Bytes of memory used. What is resident is that, rounded up to 4 KiB, or above 8 MiB to 2 MiB.
    pub fn bytes(&self) -> usize {
        let journal = self.journal.as_ref().map_or(0, |_| Journal::bytes(self.versions_inserted()));
        self.tree.arena.used() + journal
    }

    /// Keys with at least one version.
    pub fn rows(&self) -> usize {
        (self.counts.load(Ordering::Relaxed) / ONE_ROW) as usize
    }

    /// Versions ever inserted, cut off ones included.
    pub fn versions_inserted(&self) -> usize {
        (self.counts.load(Ordering::Relaxed) % ONE_ROW) as usize
    }

    /// Whether nothing was inserted yet, and no range deleted.
    pub fn is_empty(&self) -> bool {
        self.rows() == 0 && self.ranges.is_empty()
    }

    #[inline]
    fn note(&self, timestamp: Timestamp) {
        // Commits are installed nearly in order, so one of the two seldom has to write.
        if self.newest.load(Ordering::Relaxed) < timestamp.0 {
            self.newest.fetch_max(timestamp.0, Ordering::Relaxed);
        }
        if self.oldest.load(Ordering::Relaxed) > timestamp.0 {
            self.oldest.fetch_min(timestamp.0, Ordering::Relaxed);
        }
    }

    /// The least and the greatest timestamp inserted.
    pub fn timestamps(&self) -> Option<(Timestamp, Timestamp)> {
        let (oldest, newest) = (self.oldest.load(Ordering::Relaxed), self.newest.load(Ordering::Relaxed));
        (oldest <= newest).then_some((Timestamp(oldest), Timestamp(newest)))
    }

    /// Whether it has a version later than `at`.
    pub fn is_later_than(&self, at: Timestamp) -> bool {
        self.timestamps().is_some_and(|(_, newest)| newest > at)
    }
}

/// Inserts into a memtable, and remembers where it did last.
pub struct Inserter<'d> {
    memtable: &'d Memtable,
    near: At<Node>,
}

impl Inserter<'_> {
    /// As [`Memtable::insert`].
    ///
    /// # Errors
    /// As [`Memtable::insert`].
    pub fn insert(
        &mut self,
        key: &[u8],
        timestamp: Timestamp,
        record: Record<'_>,
        oldest_snapshot: Timestamp,
    ) -> Result<bool, Full> {
        let Self { memtable, near } = self;
        let arena = &memtable.tree.arena;
        let (row, is_new) =
            match memtable.tree.insert(near, key, || row::new_row(arena, key, timestamp, record))? {
                Inserted::New(row) => (row, true),
                Inserted::Found(row) => {
                    row::add_version(arena, row, timestamp, record, oldest_snapshot)?;
                    (row, false)
                }
            };
        let before = memtable.counts.fetch_add(if is_new { ONE_ROW | 1 } else { 1 }, Ordering::Relaxed);
        debug_assert!(before / ONE_ROW <= before % ONE_ROW, "each row has a version");
        debug_assert!(before % ONE_ROW < ONE_ROW - 1, "the count of versions does not run into that of rows");
        if let Some(journal) = &memtable.journal {
            journal.note((before % ONE_ROW) as usize, row);
        }
        memtable.note(timestamp);
        Ok(is_new)
    }
}

/// Rows of a memtable that were written since a moment. See [`Memtable::written_since`].
pub struct Written<'d> {
    memtable: &'d Memtable,
    rows: Vec<(u64, At<Row>)>,
    next: usize,
}

impl<'d> Written<'d> {
    /// The number to go on from.
    pub fn next(&self) -> usize {
        self.next
    }

    /// How many writes there were.
    pub fn writes(&self) -> usize {
        self.rows.len()
    }

    /// Each row once, by key and versions, in the order of the keys.
    pub fn in_order(mut self) -> impl Iterator<Item = (&'d [u8], Versions<'d>)> {
        let tree = &self.memtable.tree;
        let key = |row: At<Row>| tree.key(row);
        self.rows.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| key(a.1).cmp(key(b.1))));
        self.rows.dedup_by(|a, b| a.1 == b.1);
        debug_assert!(
            self.rows.is_sorted_by(|a, b| key(a.1) < key(b.1)),
            "each row comes once, in the order of keys"
        );
        self.rows.into_iter().map(move |(_, row)| (key(row), row::versions(&tree.arena, row)))
    }
}

impl std::fmt::Debug for Memtable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memtable").field("rows", &self.rows()).field("bytes", &self.bytes()).finish()
    }
}
