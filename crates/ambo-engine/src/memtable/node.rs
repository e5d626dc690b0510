//! A node of the index: ordered entries, each an 8-byte *word* of its key and the place of the row that holds it.
//!
//! A leaf's entries are its rows. An inner node's are separators: child `i` holds the keys from separator `i - 1`
//! (inclusive) to separator `i` (exclusive). A separator is a row too, for its key: rows never move or go.
//!
//! A word is the big-endian number in the 8 bytes that follow the node's first `skip` bytes of the key, padded with
//! zeros. So `a < b` implies `word(a) <= word(b)`, and only equal words send a search to the rows.
//!
//! **Thread safety.** Whoever holds the lock writes; everybody reads, and believes it after a check (see `lock`).
//!
//! 1. `count` is at most [`FANOUT`]; slots from `count` on hold null or leftovers.
//! 2. Keys are strictly ascending, at or above `low` and below `high`, where those are not null.
//! 3. Every key begins with the same `skip` bytes. With `prefix` null every key that a descent can bring here
//!    begins with them; otherwise they are the first `skip` bytes of the key of `prefix`, and searches compare.
//! 4. `low` and `level` never change. `high` only changes to a lower key.

use std::cmp::Ordering as Order;

use ambo_pages::sync::{AtomicU32, AtomicU64, Ordering};
use ambo_types::record::key_head;

use super::{
    arena::{Arena, At, AtomicAt},
    lock::VersionLock,
    row::{self, Row},
};

/// Entries of a node: a power of two. Few under the schedule explorer, so that nodes split early.
pub(super) const FANOUT: usize = if cfg!(feature = "shuttle") { 4 } else { 64 };
const _: () = assert!(FANOUT.is_power_of_two());

/// The part of a row that a get needs for sure, if the key is short.
const ROW_PREFETCH_BYTES: usize = 128;
/// `skip` is raised only if it gains this many bytes: recomputing the words reads all rows.
const SKIP_GAIN_MIN: usize = 4;

/// The part that leaves and inner nodes share; a leaf has no other.
#[repr(C, align(64))]
pub(super) struct Node {
    pub(super) lock: VersionLock,
    count: AtomicU32,
    skip: AtomicU32,
    /// 0 is a leaf.
    level: u32,
    prefix: AtomicAt<Row>,
    low: At<Row>,
    high: AtomicAt<Row>,
    words: [AtomicU64; FANOUT],
    rows: [AtomicAt<Row>; FANOUT],
}

/// A node above others. `children[i]` for `i` up to and including `count` are nodes one level lower.
#[repr(C)]
pub(super) struct Inner {
    pub(super) node: Node,
    children: [AtomicAt<Node>; FANOUT],
    last_child: AtomicAt<Node>,
}

#[cfg(not(feature = "shuttle"))]
const _: () = assert!(std::mem::offset_of!(Node, words) == 32 && size_of::<Node>() == 832);

/// Where a key stands among a node's entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Position {
    /// How many entries are below it.
    pub(super) index: usize,
    /// Whether entry `index` is the key itself.
    pub(super) exact: bool,
}

impl Position {
    /// How many entries are at or below the key.
    pub(super) fn after(self) -> usize {
        self.index + usize::from(self.exact)
    }
}

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// The word of a key behind `skip` bytes. (A key shorter than that is met only by a read that will not pass its check.)
fn word(key: &[u8], skip: usize) -> u64 {
    key_head(key.get(skip..).unwrap_or_default())
}

impl Node {
    /// An empty node for the keys from `low` to `high`.
    pub(super) fn new(level: u32, low: At<Row>, high: At<Row>) -> Self {
        Self {
            lock: VersionLock::new(),
            count: AtomicU32::new(0),
            skip: AtomicU32::new(0),
            level,
            prefix: AtomicAt::new(At::NULL),
            low,
            high: AtomicAt::new(high),
            words: std::array::from_fn(|_| AtomicU64::new(0)),
            rows: std::array::from_fn(|_| AtomicAt::new(At::NULL)),
        }
    }

    pub(super) fn level(&self) -> u32 {
        self.level
    }
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed) as usize
    }
    pub(super) fn is_full(&self) -> bool {
        self.count() == FANOUT
    }
    /// The lower fence: every key here is at or above it. Null at the left edge.
    pub(super) fn low(&self) -> At<Row> {
        self.low
    }
    /// The upper fence: every key here is below it. Null at the right edge.
    pub(super) fn high(&self) -> At<Row> {
        self.high.load()
    }
    /// The row of entry `index`.
    pub(super) fn row(&self, index: usize) -> At<Row> {
        self.rows[index].load()
    }
    fn word_at(&self, index: usize) -> u64 {
        // The mask changes no index in range and spares the bounds check in the search's inner loop.
        self.words[index & (FANOUT - 1)].load(Ordering::Relaxed)
    }

    /// Where `key` stands. Without the lock, right only if a check passes afterwards.
    pub(super) fn position(&self, arena: &Arena, key: &[u8]) -> Position {
        let count = self.count();
        let skip = self.skip.load(Ordering::Relaxed) as usize;
        if skip > 0 {
            match self.compare_prefix(arena, key, skip) {
                Order::Less => return Position { index: 0, exact: false },
                Order::Greater => return Position { index: count, exact: false },
                Order::Equal => {}
            }
        }
        let sought = word(key, skip);
        let index = self.words_below(count, sought);
        if index == count || self.word_at(index) != sought {
            return Position { index, exact: false };
        }
        self.position_among_equals(arena, key, skip, index, count)
    }

    /// Whether `key` is above every entry and there is one.
    pub(super) fn is_behind_all(&self, arena: &Arena, key: &[u8]) -> bool {
        let count = self.count();
        let skip = self.skip.load(Ordering::Relaxed) as usize;
        // Most keys are told by one word; only those that are not need a search.
        let is_below = skip == 0 && count > 0 && word(key, 0) < self.word_at(count - 1);
        !is_below && count > 0 && self.position(arena, key) == Position { index: count, exact: false }
    }

    /// Whether `key` is within the fences. Without the lock, right only if a check passes afterwards.
    pub(super) fn encloses(&self, arena: &Arena, key: &[u8]) -> bool {
        let count = self.count();
        if self.skip.load(Ordering::Relaxed) == 0 && count > 0 {
            // Between two entries it is between the fences, which are elsewhere in memory.
            let word = word(key, 0);
            if self.word_at(0) < word && word < self.word_at(count - 1) {
                return true;
            }
        }
        let (low, high) = (self.low(), self.high());
        (low.is_null() || row::key(arena, low) <= key) && (high.is_null() || key < row::key(arena, high))
    }

    /// How `key` compares with every key here, if not by its first `skip` bytes alone: `Equal`.
    fn compare_prefix(&self, arena: &Arena, key: &[u8], skip: usize) -> Order {
        let prefix = self.prefix.load();
        if prefix.is_null() {
            return Order::Equal;
        }
        let prefix = row::key(arena, prefix);
        let prefix = &prefix[..skip.min(prefix.len())];
        key[..skip.min(key.len())].cmp(prefix)
    }

    /// How many of the first `count` words are below `sought`: a search without branches that depend on the words.
    fn words_below(&self, count: usize, sought: u64) -> usize {
        let mut from = 0;
        let mut len = count;
        while len > 1 {
            let half = len / 2;
            let below = self.word_at(from + half - 1) < sought;
            from = std::hint::select_unpredictable(below, from + half, from);
            len -= half;
        }
        from + usize::from(len == 1 && self.word_at(from) < sought)
    }

    /// Finishes a search at the first of the words that equal the key's: compares the keys themselves.
    fn position_among_equals(
        &self,
        arena: &Arena,
        key: &[u8],
        skip: usize,
        mut from: usize,
        count: usize,
    ) -> Position {
        let equal = self.word_at(from);
        let single = from + 1 == count || self.word_at(from + 1) != equal;
        let mut to = match (single, equal.checked_add(1)) {
            (true, _) => from + 1,
            (false, Some(above)) => self.words_below(count, above),
            (false, None) => count,
        };
        let rest = key.get(skip..).unwrap_or_default();
        while from < to {
            let middle = from + (to - from) / 2;
            let row = self.row(middle & (FANOUT - 1));
            if row.is_null() {
                break; // Only under a writer's hands: the check will not pass.
            }
            // Its version is what is wanted next, and may begin on the next line.
            arena.prefetch(row, ROW_PREFETCH_BYTES);
            match row::key(arena, row).get(skip..).unwrap_or_default().cmp(rest) {
                Order::Less => from = middle + 1,
                Order::Greater => to = middle,
                Order::Equal => return Position { index: middle, exact: true },
            }
        }
        Position { index: from, exact: false }
    }

    /// Puts a row at `index`, moving those behind it. REQUIRES: the lock held; not full; `index` is `row`'s position.
    pub(super) fn insert(&self, arena: &Arena, index: usize, row: At<Row>) {
        let count = self.count();
        assert!(count < FANOUT && index <= count);
        let key = row::key(arena, row);
        debug_assert!(self.encloses(arena, key), "the key is within the fences");
        debug_assert!(index == 0 || row::key(arena, self.row(index - 1)) < key);
        debug_assert!(index == count || key < row::key(arena, self.row(index)));
        let skip = self.admit(arena, key);
        for to in (index + 1..=count).rev() {
            self.words[to].store(self.word_at(to - 1), Ordering::Relaxed);
            self.rows[to].store(self.rows[to - 1].load());
        }
        self.words[index].store(word(key, skip), Ordering::Relaxed);
        self.rows[index].store(row);
        self.count.store(count as u32 + 1, Ordering::Relaxed);
    }

    /// Makes invariant 3 hold for `key` as well; the `skip` that then holds.
    fn admit(&self, arena: &Arena, key: &[u8]) -> usize {
        let skip = self.skip.load(Ordering::Relaxed) as usize;
        let prefix = self.prefix.load();
        if prefix.is_null() {
            return skip;
        }
        let common = common_prefix(&row::key(arena, prefix)[..skip], key);
        if common < skip {
            self.set_skip(arena, common, if common == 0 { At::NULL } else { prefix });
        }
        common
    }

    /// Moves the entries from `at` on to `right`, a new node not yet published, and lowers the upper fence to
    /// `separator`. REQUIRES: the lock held.
    pub(super) fn split_to(&self, arena: &Arena, right: &Node, at: usize, separator: At<Row>) {
        let count = self.count();
        for from in at..count {
            right.words[from - at].store(self.word_at(from), Ordering::Relaxed);
            right.rows[from - at].store(self.rows[from].load());
        }
        right.count.store((count - at) as u32, Ordering::Relaxed);
        right.skip.store(self.skip.load(Ordering::Relaxed), Ordering::Relaxed);
        right.prefix.store(self.prefix.load());
        self.count.store(at as u32, Ordering::Relaxed);
        self.high.store(separator);
        self.raise_skip(arena);
        right.raise_skip(arena);
    }

    /// Drops the last entry. REQUIRES: the lock held.
    pub(super) fn pop(&self) {
        self.count.store(self.count() as u32 - 1, Ordering::Relaxed);
    }

    /// That invariants 1 to 3 hold; for assertions, where nobody else writes.
    pub(super) fn verify(&self, arena: &Arena) {
        let (count, skip) = (self.count(), self.skip.load(Ordering::Relaxed) as usize);
        assert!(count <= FANOUT);
        for index in 0..count {
            let key = row::key(arena, self.row(index));
            assert!(index == 0 || row::key(arena, self.row(index - 1)) < key, "keys ascend");
            assert!(self.compare_prefix(arena, key, skip) == Order::Equal, "all keys have the prefix");
            assert_eq!(self.word_at(index), word(key, skip), "a word is that of its key");
            assert!(self.low.is_null() || row::key(arena, self.low) <= key, "no key is below the fences");
            assert!(
                self.high().is_null() || key < row::key(arena, self.high()),
                "no key is above the fences"
            );
        }
    }
    /// Lets the words begin later if the fences, or at an edge of the tree the keys, share more bytes by now.
    fn raise_skip(&self, arena: &Arena) {
        let skip = self.skip.load(Ordering::Relaxed) as usize;
        let (low, high) = (self.low(), self.high());
        if !low.is_null() && !high.is_null() {
            let fenced = common_prefix(row::key(arena, low), row::key(arena, high));
            if fenced >= skip + SKIP_GAIN_MIN {
                self.set_skip(arena, fenced, At::NULL);
            } else if fenced >= skip {
                self.prefix.store(At::NULL);
            }
        } else if self.count() > 1 {
            let (first, last) = (self.row(0), self.row(self.count() - 1));
            let stored = common_prefix(row::key(arena, first), row::key(arena, last));
            if stored >= skip + SKIP_GAIN_MIN {
                self.set_skip(arena, stored, first);
            }
        }
    }

    fn set_skip(&self, arena: &Arena, skip: usize, prefix: At<Row>) {
        let count = self.count();
        for index in 0..count {
            arena.prefetch(self.row(index), 1);
        }
        for index in 0..count {
            let word = word(row::key(arena, self.row(index)), skip);
            self.words[index].store(word, Ordering::Relaxed);
        }
        self.skip.store(skip as u32, Ordering::Relaxed);
        self.prefix.store(prefix);
    }
}

impl Inner {
    /// A node without separators over one child.
    pub(super) fn new(level: u32, low: At<Row>, high: At<Row>, child: At<Node>) -> Self {
        let children: [_; FANOUT] = std::array::from_fn(|_| AtomicAt::new(At::NULL));
        children[0].store(child);
        Self { node: Node::new(level, low, high), children, last_child: AtomicAt::new(At::NULL) }
    }

    fn slot(&self, index: usize) -> &AtomicAt<Node> {
        self.children.get(index).unwrap_or(&self.last_child)
    }

    /// Child `index`, at most `count`; null only under a writer's hands.
    pub(super) fn child(&self, index: usize) -> At<Node> {
        self.slot(index).load()
    }

    /// Puts `separator` at `index` and the node that begins with it behind. REQUIRES: the lock held; not full.
    pub(super) fn insert(&self, arena: &Arena, index: usize, separator: At<Row>, right: At<Node>) {
        for to in (index + 2..=self.node.count() + 1).rev() {
            self.slot(to).store(self.slot(to - 1).load());
        }
        self.slot(index + 1).store(right);
        self.node.insert(arena, index, separator);
    }

    /// Moves what is behind separator `at` to `right`, a new node not yet published; the separator itself leaves both.
    /// REQUIRES: the lock held.
    pub(super) fn split_to(&self, arena: &Arena, right: &Inner, at: usize, separator: At<Row>) {
        for from in at + 1..=self.node.count() {
            right.slot(from - at - 1).store(self.slot(from).load());
        }
        self.node.split_to(arena, &right.node, at + 1, separator);
        self.node.pop();
    }
}
