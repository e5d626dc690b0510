//! A cursor over the rows of a memtable.
//!
//! It copies the row places of one leaf, with the leaf's fences, checks that they are of one moment, and walks the
//! copy; behind its end it descends again, to the leaf at or below the fence.
//!
//! **Thread safety.** A cursor is one thread's at a time; inserts go on beside it.
//!
//! 1. Keys come strictly ascending (or descending), and each at most once in one pass.
//! 2. A key that was in the memtable when the cursor was placed by a seek is never left out. A key inserted later may or may not
//!    come: seek again for a snapshot that is newer than the last seek.

use std::ops::Deref;

use ambo_types::id::Timestamp;

use super::{
    Memtable, Version,
    arena::At,
    lock::Restart,
    node::FANOUT,
    row::{self, Row, Versions},
    tree::{Target, until_stable},
};

/// How many rows ahead of its place a cursor has memory brought to the processor's cache, and how much of each.
const PREFETCH_ROWS: usize = 8;
const PREFETCH_BYTES: usize = 128;

/// A cursor over a [`Memtable`] that borrows it (`Cursor<&Memtable>`) or owns a share of it (`Cursor<Arc<Memtable>>`).
///
/// A new cursor, and one that ran off either end, stands on no row until it is placed by a seek.
pub struct Cursor<D> {
    memtable: D,
    rows: [At<Row>; FANOUT],
    low: At<Row>,
    high: At<Row>,
    count: usize,
    /// The row it stands on; at `count` or above it stands on none.
    place: usize,
}

/// On which side of the rows below (or at) a key to stand.
#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

impl<D: Deref<Target = Memtable>> Cursor<D> {
    /// A cursor that stands on no row.
    pub fn new(memtable: D) -> Self {
        let rows = [At::NULL; FANOUT];
        Self { memtable, rows, low: At::NULL, high: At::NULL, count: 0, place: 0 }
    }

    /// The memtable it goes over.
    pub fn memtable(&self) -> &Memtable {
        &self.memtable
    }

    /// Whether it stands on a row.
    pub fn is_valid(&self) -> bool {
        self.place < self.count
    }

    /// The key of the row it stands on.
    ///
    /// # Panics
    /// If it stands on none.
    pub fn key(&self) -> &[u8] {
        self.memtable.tree.key(self.row())
    }

    /// What a snapshot at `at` finds under the row's key: its newest version, or that it was deleted with a range.
    ///
    /// # Panics
    /// If it stands on no row.
    pub fn version_at(&self, at: Timestamp) -> Option<Version<'_>> {
        let version = row::version_at(&self.memtable.tree.arena, self.row(), at);
        match self.memtable.has_ranges() {
            true => self.memtable.under_ranges(self.key(), at, version),
            false => version,
        }
    }

    /// The newest of all that was written to the row's key, or that it was deleted with a range.
    ///
    /// # Panics
    /// If it stands on no row.
    pub fn newest(&self) -> Version<'_> {
        self.version_at(Timestamp(u64::MAX)).expect("a row has a version")
    }

    /// All versions of the row that were written, newest first.
    ///
    /// # Panics
    /// If it stands on no row.
    pub fn versions(&self) -> Versions<'_> {
        row::versions(&self.memtable.tree.arena, self.row())
    }

    /// Goes to the first row. Like all movements, tells whether it stands on a row now.
    pub fn seek_first(&mut self) -> bool {
        self.seek_ge(&[])
    }

    /// Goes to the last row.
    pub fn seek_last(&mut self) -> bool {
        self.load(Target::Last, Side::After);
        self.step_back()
    }

    /// Goes to the first row with a key of at least `key`.
    pub fn seek_ge(&mut self, key: &[u8]) -> bool {
        self.load(Target::Key(key), Side::Before);
        self.settle_forward()
    }

    /// Goes to the first row with a key above `key`.
    pub fn seek_gt(&mut self, key: &[u8]) -> bool {
        self.load(Target::Key(key), Side::After);
        self.settle_forward()
    }

    /// Goes to the last row with a key of at most `key`.
    pub fn seek_le(&mut self, key: &[u8]) -> bool {
        self.load(Target::Key(key), Side::After);
        self.step_back()
    }

    /// Goes to the last row with a key below `key`.
    pub fn seek_lt(&mut self, key: &[u8]) -> bool {
        self.load(Target::Below(key), Side::Before);
        self.step_back()
    }

    /// Goes to the next row; off the end, or already on no row, it stands on none.
    #[allow(clippy::should_implement_trait, reason = "a lending cursor is no iterator")]
    pub fn next(&mut self) -> bool {
        if !self.is_valid() {
            return false;
        }
        self.place += 1;
        if let Some(&ahead) = self.rows[..self.count].get(self.place + PREFETCH_ROWS) {
            self.memtable.tree.arena.prefetch(ahead, PREFETCH_BYTES);
        }
        self.settle_forward()
    }

    /// Goes to the row before; off the beginning, or already on no row, it stands on none.
    pub fn prev(&mut self) -> bool {
        self.is_valid() && self.step_back()
    }

    fn row(&self) -> At<Row> {
        assert!(self.is_valid(), "the cursor stands on no row");
        self.rows[self.place]
    }

    /// From behind a leaf's last row to the first of a later leaf.
    fn settle_forward(&mut self) -> bool {
        while self.place >= self.count {
            if self.high.is_null() {
                return self.leave();
            }
            let fence = self.high;
            self.load_at_fence(fence, true);
        }
        true
    }

    /// To the row before `place`, in this leaf or an earlier one.
    fn step_back(&mut self) -> bool {
        while self.place == 0 {
            if self.low.is_null() {
                return self.leave();
            }
            let fence = self.low;
            self.load_at_fence(fence, false);
        }
        self.place -= 1;
        if let Some(ahead) = self.place.checked_sub(PREFETCH_ROWS) {
            self.memtable.tree.arena.prefetch(self.rows[ahead], PREFETCH_BYTES);
        }
        true
    }

    fn leave(&mut self) -> bool {
        (self.count, self.place) = (0, 0);
        false
    }

    /// Loads the leaf that begins at a fence (the first row at or above it) or the one that ends there (behind the
    /// last row below it).
    fn load_at_fence(&mut self, fence: At<Row>, is_forward: bool) {
        let Self { memtable, rows, low, high, count, place } = self;
        let key = memtable.tree.key(fence);
        let target = if is_forward { Target::Key(key) } else { Target::Below(key) };
        (*low, *high, *count, *place) = load_leaf(memtable, rows, target, Side::Before);
        debug_assert!(*place <= *count);
    }

    fn load(&mut self, target: Target<'_>, side: Side) {
        let Self { memtable, rows, low, high, count, place } = self;
        (*low, *high, *count, *place) = load_leaf(memtable, rows, target, side);
        debug_assert!(*place <= *count);
    }
}

/// Copies a leaf's rows: its fences, their number, and how many are below (or at) the target.
fn load_leaf(
    memtable: &Memtable,
    rows: &mut [At<Row>; FANOUT],
    target: Target<'_>,
    side: Side,
) -> (At<Row>, At<Row>, usize, usize) {
    let tree = &memtable.tree;
    until_stable(|| {
        let leaf = tree.leaf(target)?;
        let count = leaf.node.count();
        let place = match target {
            Target::Last => count,
            Target::Key(key) | Target::Below(key) => {
                let position = leaf.node.position(&tree.arena, key);
                if matches!(side, Side::Before) { position.index } else { position.after() }
            }
        };
        for (index, row) in rows[..count].iter_mut().enumerate() {
            *row = leaf.node.row(index);
        }
        let fences = (leaf.node.low(), leaf.node.high());
        leaf.node.lock.check(leaf.version)?;
        for row in rows[..count].iter().skip(place).take(PREFETCH_ROWS) {
            tree.arena.prefetch(*row, PREFETCH_BYTES);
        }
        Ok::<_, Restart>((fences.0, fences.1, count, place))
    })
}
