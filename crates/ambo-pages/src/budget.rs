//! One budget of memory for all that is cached: pages, encoded blocks, rows that were sought, fresh layers, the slots of blocks, and what
//! aggregates of segments came to; and for the entries of indexes while they are sorted.
//!
//! Who caches something takes its bytes from the budget first, and gives them back when it is gone, so what is kept is never more
//! than the limit. What has to be there all the same ([`MemoryBudget::force`]) takes the room from the caches.
//!
//! # Who gets how much
//! As long as there is room, who comes takes it. When there is none, two caches share what fresh layers, slots and sorting leave: that of
//! pages, and that of segments (blocks and rows). Each has a target, at first what it had when the budget became full. A cache below its
//! target asks the other, which is above its own, for memory; one that has its share replaces what it has itself.
//!
//! Targets move with misses, and only with those that more memory would have spared: each cache knows how many bytes it has thrown away
//! since it threw away what is missed now. If it would be there with the most that the cache can have, the bytes missed count, and the
//! target of who missed more lately grows, by as much of twice these bytes as both differ. So data that is read once takes nothing from
//! anybody; a working set that fits moves in while it is read once; and of two that do not fit together the caches miss as many bytes of
//! the one as of the other, and nothing moves.
//!
//! # Invariants
//! 1. `total` is the sum of all kinds, and at most the limit, except for what was forced and found no room. Slots that leave less than the
//!    floors raise the limit by what is lacking.
//! 2. Targets of both caches are never less than their floors, a sixteenth of the limit each (of pages: four at least, as far as half of
//!    the limit reaches). Who needs memory has its floor less a step at least.
//! 3. Memory is asked of a cache only in steps, by one whose target is a step above what it has: when the asked one has given, it is not
//!    below its own target, so that the same memory is not asked back at once.
//! 4. `asking` is held while a cache gives memory. What caches lock then are leaves: who has locked one of those never asks.

use std::{
    fmt,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;

/// This part of the limit is each cache's for certain.
const FLOOR_SHARE: usize = 16;
/// Fresh layers are kept as long as they and the slots of blocks take no more than this part.
const FRESH_SHARE: usize = 2;
/// What aggregates came to takes no more than this part.
const PARTIALS_SHARE: usize = 8;
/// Sorting has this part of the limit for certain, and the larger one while nobody else needs it.
const SORT_SHARE_MIN: usize = 16;
const SORT_SHARE_MAX: usize = 4;
/// Memory is moved in steps of this part of the limit, and of [`STEP_MAX`] at most: a huge page.
const STEP_SHARE: usize = 32;
const STEP_MAX: usize = 2 << 20;
/// How much a miss that memory would have spared moves the targets at most, in bytes for each byte missed.
const PULL: usize = 2;
/// How far back misses count: when those of both caches are more than this part of the limit, the older half of them is forgotten.
const MISSES_SHARE: usize = 2;
/// How often room is made for what has to be there.
const FORCE_TRIES: usize = 8;
/// A target that is not known yet: the budget was never full.
const UNKNOWN: usize = usize::MAX;

/// What memory is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Pages.
    Pages,
    /// Encoded blocks of segments.
    Blocks,
    /// Rows of segments that were sought.
    Rows,
    /// Layers of rows that are not in segments yet, which tables keep for scans.
    Fresh,
    /// What says of each block of a segment whether it is kept.
    Slots,
    /// Entries of indexes that are sorted.
    Sorting,
    /// What aggregates of segments came to.
    Partials,
}

const KINDS: usize = 7;

impl Kind {
    fn cache(self) -> Option<Cache> {
        match self {
            Self::Pages => Some(Cache::Pages),
            Self::Blocks | Self::Rows => Some(Cache::Segments),
            Self::Fresh | Self::Slots | Self::Sorting | Self::Partials => None,
        }
    }
}

/// Who shares memory by need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cache {
    /// The pool of pages.
    Pages,
    /// Blocks and rows of segments.
    Segments,
}

impl Cache {
    fn other(self) -> Self {
        match self {
            Self::Pages => Self::Segments,
            Self::Segments => Self::Pages,
        }
    }
}

/// A cache that can be asked for memory.
pub trait Giver: Send + Sync {
    /// Throws away about so many bytes of what is needed least, and [releases](MemoryBudget::release) them. REQUIRES: does not ask the
    /// budget for anything.
    fn give(&self, bytes: usize);

    /// Gives back up to about so many bytes that hold nothing.
    fn give_spare(&self, bytes: usize);
}

/// Bytes in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemoryUse {
    /// The budget.
    pub limit: u64,
    /// All of it that is in use.
    pub total: u64,
    /// Of pages.
    pub pages: u64,
    /// Of encoded blocks.
    pub blocks: u64,
    /// Of rows that were sought.
    pub rows: u64,
    /// Of layers of fresh rows.
    pub fresh: u64,
    /// Of slots of blocks.
    pub slots: u64,
    /// Of entries of indexes that are sorted.
    pub sorting: u64,
    /// Of what aggregates of segments came to.
    pub partials: u64,
}

/// See the module.
pub struct MemoryBudget {
    limit: usize,
    total: AtomicUsize,
    used: [AtomicUsize; KINDS],
    pages_target: AtomicUsize,
    /// Bytes that each cache missed lately and more memory would have spared.
    missed: [AtomicUsize; 2],
    /// The least that pages need.
    pages_least: AtomicUsize,
    page_bytes: AtomicUsize,
    givers: [OnceLock<Weak<dyn Giver>>; 2],
    asking: Mutex<()>,
}

/// Bytes of the budget; given back when dropped.
pub struct Charge {
    memory: Arc<MemoryBudget>,
    kind: Kind,
    bytes: usize,
}

impl MemoryBudget {
    /// A budget of `limit` bytes, all free.
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            total: AtomicUsize::new(0),
            used: Default::default(),
            pages_target: AtomicUsize::new(UNKNOWN),
            missed: Default::default(),
            pages_least: AtomicUsize::new(0),
            page_bytes: AtomicUsize::new(1),
            givers: Default::default(),
            asking: Mutex::default(),
        })
    }

    /// The limit in bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// What is in use.
    pub fn in_use(&self) -> MemoryUse {
        let used = |kind| self.used(kind) as u64;
        MemoryUse {
            limit: self.limit as u64,
            total: self.total.load(Ordering::Relaxed) as u64,
            pages: used(Kind::Pages),
            blocks: used(Kind::Blocks),
            rows: used(Kind::Rows),
            fresh: used(Kind::Fresh),
            slots: used(Kind::Slots),
            sorting: used(Kind::Sorting),
            partials: used(Kind::Partials),
        }
    }

    /// Bytes of a kind.
    pub fn used(&self, kind: Kind) -> usize {
        self.used[kind as usize].load(Ordering::Relaxed)
    }

    /// Says who is asked for the memory of a cache: the first who says so.
    pub fn register(&self, cache: Cache, giver: Weak<dyn Giver>) {
        let _ = self.givers[cache as usize].set(giver);
    }

    /// Says that pages have so many bytes, and that a few of them are the least that works.
    pub fn note_pages(&self, page_bytes: usize, least: usize) {
        self.page_bytes.store(page_bytes, Ordering::Relaxed);
        self.pages_least.store(least, Ordering::Relaxed);
    }

    /// Takes memory if there is room.
    pub fn take(&self, kind: Kind, bytes: usize) -> bool {
        let most = self.total_most(0);
        let more = |total: usize| total.checked_add(bytes).filter(|sum| *sum <= most);
        let taken = self.total.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok();
        if taken {
            self.used[kind as usize].fetch_add(bytes, Ordering::Relaxed);
        }
        taken
    }

    /// Takes memory for a cache: if there is room, or if the other cache has to make some.
    pub fn reserve(&self, kind: Kind, bytes: usize) -> bool {
        if self.take(kind, bytes) {
            return true;
        }
        let cache = kind.cache().expect("what is shared by need");
        debug_assert!(bytes > 0, "memory is taken for something");
        let full = self.cached(Cache::Pages);
        let _ = self.pages_target.compare_exchange(UNKNOWN, full, Ordering::Relaxed, Ordering::Relaxed);
        let step = self.step(cache).max(bytes);
        // Who waits for memory that another asks for would only ask for more.
        let Some(_asking) = self.asking.try_lock() else { return false };
        self.ask(cache.other(), |giver| giver.give_spare(step));
        if self.over(0) > 0 {
            self.make_room(0);
        }
        if self.take(kind, bytes) {
            return true;
        }
        if self.cached(cache) + step > self.target(cache, 0) {
            return false;
        }
        self.ask(cache.other(), |giver| giver.give(step));
        self.take(kind, bytes)
    }

    /// Takes memory, come what may; caches that are above their targets have to make room.
    pub fn force(&self, kind: Kind, bytes: usize) {
        // Others may take what is given.
        for _ in 0..FORCE_TRIES {
            if self.take(kind, bytes) {
                return;
            }
            self.relieve(bytes);
        }
        self.total.fetch_add(bytes, Ordering::Relaxed);
        self.used[kind as usize].fetch_add(bytes, Ordering::Relaxed);
    }

    /// Memory for a layer of fresh rows; none if there is too much of it already.
    pub fn charge_fresh(self: &Arc<Self>, bytes: usize) -> Option<Charge> {
        if self.beside_partials() + bytes > self.fresh_most() {
            return None;
        }
        if !self.take(Kind::Fresh, bytes) {
            self.relieve(bytes);
            if !self.take(Kind::Fresh, bytes) {
                return None;
            }
        }
        Some(Charge { memory: self.clone(), kind: Kind::Fresh, bytes })
    }

    /// How many bytes of fresh layers and slots there may be for more layers to be kept.
    pub fn fresh_most(&self) -> usize {
        self.limit / FRESH_SHARE
    }

    /// Whether fresh layers take more than their part.
    pub fn has_too_much_fresh(&self) -> bool {
        self.beside_partials() > self.fresh_most()
    }

    /// Memory for what an aggregate came to; none if all of them would have more than their part.
    pub fn charge_partials(self: &Arc<Self>, bytes: usize) -> Option<Charge> {
        if self.used(Kind::Partials) + bytes > self.partials_most() {
            return None;
        }
        if !self.take(Kind::Partials, bytes) {
            self.relieve(bytes);
            if !self.take(Kind::Partials, bytes) {
                return None;
            }
        }
        Some(Charge { memory: self.clone(), kind: Kind::Partials, bytes })
    }

    /// The most that is kept of what aggregates came to.
    pub fn partials_most(&self) -> usize {
        self.limit / PARTIALS_SHARE
    }

    /// Memory for slots.
    pub fn charge_slots(self: &Arc<Self>, bytes: usize) -> Charge {
        self.force(Kind::Slots, bytes);
        Charge { memory: self.clone(), kind: Kind::Slots, bytes }
    }

    /// Memory for sorting: its part for certain, more as long as nobody else needs it.
    pub fn charge_sorting(self: &Arc<Self>, bytes: usize) -> Option<Charge> {
        let sum = self.used(Kind::Sorting) + bytes;
        if sum <= self.limit / SORT_SHARE_MIN {
            self.force(Kind::Sorting, bytes);
        } else if sum > self.limit / SORT_SHARE_MAX || !self.take(Kind::Sorting, bytes) {
            return None;
        }
        Some(Charge { memory: self.clone(), kind: Kind::Sorting, bytes })
    }

    /// Gives memory back.
    pub fn release(&self, kind: Kind, bytes: usize) {
        let had = self.used[kind as usize].fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(had >= bytes, "{kind:?} gives back {bytes} of {had} bytes");
        let total = self.total.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(total >= bytes, "{bytes} of {total} bytes are given back");
    }

    /// What was of one kind is of another.
    pub fn transfer(&self, from: Kind, to: Kind, bytes: usize) {
        let had = self.used[from as usize].fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(had >= bytes, "{from:?} has {had} bytes, and {bytes} of them go to {to:?}");
        self.used[to as usize].fetch_add(bytes, Ordering::Relaxed);
    }

    /// Notes that a cache misses `bytes` that it threw away, and `distance` bytes since.
    pub fn missed(&self, cache: Cache, distance: usize, bytes: usize) {
        let has = self.cached(cache);
        let most = self.shared(0) - self.floor(cache.other());
        if self.over(self.step(cache).max(bytes)) == 0 || has.saturating_add(distance) > most {
            return;
        }
        let pull = self.count_missed(cache, bytes);
        if has + self.step(cache) <= self.target(cache, 0) {
            // Memory follows the target: it does not run ahead.
            return;
        }
        let least = self.floor(Cache::Pages);
        let most = self.shared(0) - self.floor(Cache::Segments);
        let moved = |target: usize| match cache {
            _ if target == UNKNOWN => None,
            Cache::Pages => Some(target.saturating_add(pull).clamp(least, most)),
            Cache::Segments => Some(target.clamp(least, most).saturating_sub(pull).max(least)),
        };
        let _ = self.pages_target.fetch_update(Ordering::Relaxed, Ordering::Relaxed, moved);
    }

    /// Counts missed bytes; returns by how much they move the targets. Threads that meet may lose some.
    fn count_missed(&self, cache: Cache, bytes: usize) -> usize {
        let count = |cache: Cache| &self.missed[cache as usize];
        let own = count(cache).fetch_add(bytes, Ordering::Relaxed) + bytes;
        let other = count(cache.other()).load(Ordering::Relaxed);
        if own + other > self.limit / MISSES_SHARE {
            count(cache).store(own / 2, Ordering::Relaxed);
            count(cache.other()).store(other / 2, Ordering::Relaxed);
        }
        (PULL as f64 * bytes as f64 * own.saturating_sub(other) as f64 / (own + other) as f64) as usize
    }

    /// The most that a cache may have now.
    pub fn most(&self, cache: Cache) -> usize {
        self.target(cache, 0).max(self.shared(0).saturating_sub(self.cached(cache.other())))
    }

    /// Bytes that a cache has.
    pub fn cached(&self, cache: Cache) -> usize {
        match cache {
            Cache::Pages => self.used(Kind::Pages),
            Cache::Segments => self.used(Kind::Blocks) + self.used(Kind::Rows),
        }
    }

    /// What a cache should have when the budget is full, and others have so many bytes more than now.
    fn target(&self, cache: Cache, more_fixed: usize) -> usize {
        let target = self.pages_target.load(Ordering::Relaxed);
        let shared = self.shared(more_fixed);
        let target = if target == UNKNOWN { self.cached(Cache::Pages) } else { target };
        let pages = target.clamp(self.floor(Cache::Pages), shared - self.floor(Cache::Segments));
        match cache {
            Cache::Pages => pages,
            Cache::Segments => shared - pages,
        }
    }

    /// Bytes that the caches share, if others have so many more than now: the floors at least.
    fn shared(&self, more_fixed: usize) -> usize {
        self.limit.saturating_sub(self.fixed() + more_fixed).max(self.floors())
    }

    fn floors(&self) -> usize {
        self.floor(Cache::Pages) + self.floor(Cache::Segments)
    }

    /// The most that may be in use: the limit, unless slots leave less than the floors.
    fn total_most(&self, more_fixed: usize) -> usize {
        self.limit.max(self.fixed() + more_fixed + self.floors())
    }

    /// How far the budget is exceeded with so many bytes more.
    fn over(&self, bytes: usize) -> usize {
        (self.total.load(Ordering::Relaxed) + bytes).saturating_sub(self.total_most(0))
    }

    /// Bytes that are not a cache's.
    fn fixed(&self) -> usize {
        self.beside_partials() + self.used(Kind::Partials)
    }

    fn beside_partials(&self) -> usize {
        self.used(Kind::Fresh) + self.used(Kind::Slots) + self.used(Kind::Sorting)
    }

    /// What a cache has for certain.
    fn floor(&self, cache: Cache) -> usize {
        let share = self.limit / FLOOR_SHARE;
        match cache {
            Cache::Pages => share.max(self.pages_least.load(Ordering::Relaxed).min(self.limit / 2)),
            Cache::Segments => share,
        }
    }

    /// In what steps a cache asks for memory.
    pub fn step(&self, cache: Cache) -> usize {
        let step = (self.limit / STEP_SHARE).min(STEP_MAX);
        match cache {
            Cache::Pages => step.max(self.page_bytes.load(Ordering::Relaxed)),
            Cache::Segments => step,
        }
    }

    #[cold]
    fn relieve(&self, bytes: usize) {
        let _asking = self.asking.lock();
        self.make_room(bytes);
    }

    /// Makes room for `bytes`, as far as the caches have more than their targets. REQUIRES: `asking` is locked.
    fn make_room(&self, bytes: usize) {
        let over = || (self.total.load(Ordering::Relaxed) + bytes).saturating_sub(self.total_most(bytes));
        let surplus = |cache| self.cached(cache).saturating_sub(self.target(cache, bytes));
        let (pages, segments) = (surplus(Cache::Pages), surplus(Cache::Segments));
        let order = match pages > segments {
            true => [(Cache::Pages, pages), (Cache::Segments, segments)],
            false => [(Cache::Segments, segments), (Cache::Pages, pages)],
        };
        for (cache, _) in order.iter().filter(|_| over() > 0) {
            self.ask(*cache, |giver| giver.give_spare(over()));
        }
        for (cache, surplus) in order.iter().filter(|_| over() > 0) {
            self.ask(*cache, |giver| giver.give(over().min(*surplus)));
        }
    }

    fn ask(&self, cache: Cache, what: impl FnOnce(&dyn Giver)) {
        if let Some(giver) = self.givers[cache as usize].get().and_then(Weak::upgrade) {
            what(&*giver);
        }
    }
}

impl Charge {
    /// Takes more, come what may.
    pub fn grow(&mut self, bytes: usize) {
        self.memory.force(self.kind, bytes);
        self.bytes += bytes;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.memory.release(self.kind, self.bytes);
    }
}

impl fmt::Debug for MemoryBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.in_use().fmt(f)
    }
}

impl fmt::Debug for Charge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of {:?}", self.bytes, self.kind)
    }
}

#[cfg(test)]
pub mod tests;
