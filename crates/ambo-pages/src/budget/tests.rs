//! Tests of the budget with caches that only count.

use super::*;

const MIB: usize = 1 << 20;

/// Gives whatever it is asked for, as far as it has it.
pub struct Counted {
    memory: Arc<MemoryBudget>,
    kind: Kind,
    spare: AtomicUsize,
}

impl Counted {
    pub(crate) fn new(memory: &Arc<MemoryBudget>, cache: Cache, kind: Kind) -> Arc<Self> {
        let counted = Arc::new(Self { memory: memory.clone(), kind, spare: AtomicUsize::new(0) });
        let giver: Weak<Self> = Arc::downgrade(&counted);
        memory.register(cache, giver);
        counted
    }

    fn fill(&self) {
        while self.memory.take(self.kind, MIB / 16) {}
    }
}

impl Giver for Counted {
    fn give(&self, bytes: usize) {
        self.memory.release(self.kind, bytes.min(self.memory.used(self.kind)));
    }

    fn give_spare(&self, bytes: usize) {
        let bytes = bytes.min(self.spare.load(Ordering::Relaxed));
        self.spare.fetch_sub(bytes, Ordering::Relaxed);
        self.memory.release(self.kind, bytes);
    }
}

fn budget() -> (Arc<MemoryBudget>, Arc<Counted>, Arc<Counted>) {
    let memory = MemoryBudget::new(64 * MIB);
    let pages = Counted::new(&memory, Cache::Pages, Kind::Pages);
    let blocks = Counted::new(&memory, Cache::Segments, Kind::Blocks);
    (memory, pages, blocks)
}

/// Misses until the cache has what it can get.
fn miss(memory: &MemoryBudget, kind: Kind, distance: usize, times: usize) {
    for _ in 0..times {
        memory.missed(kind.cache().unwrap(), distance, MIB / 16);
        memory.reserve(kind, MIB / 16);
        let used = memory.in_use();
        assert!(used.total <= used.limit, "{used:?}");
    }
}

// Keeps away: a cache that cannot have all memory while no other needs it, or starves when it does.
#[test]
fn who_is_alone_has_all_and_who_comes_has_a_part() {
    let (memory, pages, _blocks) = budget();
    pages.fill();
    assert_eq!(memory.used(Kind::Pages), 64 * MIB);
    assert_eq!(memory.most(Cache::Pages), 64 * MIB);
    miss(&memory, Kind::Blocks, usize::MAX, 1000);
    // Whole steps are asked for.
    assert!((2 * MIB..=4 * MIB).contains(&memory.used(Kind::Blocks)), "{memory:?}");
    // What is missed for good moves nothing.
    miss(&memory, Kind::Pages, usize::MAX, 1000);
    miss(&memory, Kind::Blocks, usize::MAX, 1000);
    assert!((2 * MIB..=4 * MIB).contains(&memory.used(Kind::Blocks)), "{memory:?}");
}

// Keeps away: memory that stays where it is not needed, that is taken without use, and that goes to and fro at each miss.
#[test]
fn memory_goes_where_it_spares_misses() {
    let (memory, pages, _blocks) = budget();
    pages.fill();
    for round in 0..3 {
        miss(&memory, Kind::Blocks, 4 * MIB, 2000);
        assert!((54 * MIB..=60 * MIB).contains(&memory.used(Kind::Blocks)), "{round}: {memory:?}");
        miss(&memory, Kind::Pages, 4 * MIB, 2000);
        assert!((54 * MIB..=60 * MIB).contains(&memory.used(Kind::Pages)), "{round}: {memory:?}");
    }
    // What more memory than there is would have spared counts for nothing.
    miss(&memory, Kind::Blocks, 58 * MIB, 2000);
    assert!(memory.used(Kind::Blocks) <= 10 * MIB, "{memory:?}");
    // Both miss alike: what each has stays within a few steps.
    let before = memory.used(Kind::Blocks);
    for _ in 0..2000 {
        miss(&memory, Kind::Blocks, MIB, 20);
        miss(&memory, Kind::Pages, MIB, 20);
        assert!(memory.used(Kind::Blocks).abs_diff(before) <= 8 * MIB, "{memory:?}");
    }
}

// Keeps away: memory that holds nothing while another cache has none.
#[test]
fn what_holds_nothing_is_given_first() {
    let (memory, pages, _blocks) = budget();
    pages.fill();
    pages.spare.store(30 * MIB, Ordering::Relaxed);
    miss(&memory, Kind::Blocks, usize::MAX, 1000);
    assert!(memory.used(Kind::Blocks) >= 30 * MIB, "{memory:?}");
}

// Keeps away: layers that take all memory, that get none when caches fill it, and caches that stay too large beside what is forced.
#[test]
fn layers_and_slots_make_caches_smaller() {
    let (memory, pages, _blocks) = budget();
    pages.fill();
    miss(&memory, Kind::Blocks, 4 * MIB, 400);
    let blocks = memory.used(Kind::Blocks);
    let layer = memory.charge_fresh(20 * MIB).expect("room is made");
    assert_eq!(memory.used(Kind::Fresh), 20 * MIB);
    assert!(memory.charge_fresh(13 * MIB).is_none(), "more than half");
    let slots = memory.charge_slots(12 * MIB);
    assert!(memory.charge_fresh(1).is_none());
    let used = memory.in_use();
    assert!(used.total <= used.limit && used.pages + used.blocks >= 28 << 20, "{used:?}");
    // Floors hold, whatever is forced.
    let more = memory.charge_slots(40 * MIB);
    miss(&memory, Kind::Blocks, usize::MAX, 0);
    let used = memory.in_use();
    assert!(used.pages >= 2 << 20 && used.blocks >= 2 << 20, "{used:?}");
    drop((layer, slots, more));
    assert_eq!(memory.in_use().total, (memory.used(Kind::Pages) + memory.used(Kind::Blocks)) as u64);
    miss(&memory, Kind::Blocks, usize::MAX, 1000);
    assert!(memory.used(Kind::Blocks) >= blocks, "{memory:?}");
}

// Keeps away: sorting that throws out what is cached for more than its part, has none when caches are full, or takes what others need.
#[test]
fn sorting_has_a_small_part_for_certain_and_more_while_there_is_room() {
    let (memory, pages, _blocks) = budget();
    let most: Vec<_> = std::iter::from_fn(|| memory.charge_sorting(MIB)).collect();
    assert_eq!(most.len(), 16);
    pages.fill();
    drop(most);
    pages.fill();
    let least: Vec<_> = std::iter::from_fn(|| memory.charge_sorting(MIB)).collect();
    assert_eq!(least.len(), 4);
    let used = memory.in_use();
    assert!(used.total <= used.limit && used.sorting == 4 << 20, "{used:?}");
    drop(least);
    assert_eq!(memory.in_use().sorting, 0);
}

// Keeps away: results of aggregates that take more than their part, take memory that they do not count or keep layers of fresh rows out.
#[test]
fn what_aggregates_came_to_has_a_part_at_most() {
    let (memory, pages, _blocks) = budget();
    pages.fill();
    let kept: Vec<_> = std::iter::from_fn(|| memory.charge_partials(MIB)).collect();
    assert_eq!((kept.len(), memory.in_use().partials), (8, 8 << 20));
    let used = memory.in_use();
    assert!(used.total <= used.limit, "{used:?}");
    let layers: Vec<_> = std::iter::from_fn(|| memory.charge_fresh(MIB)).collect();
    assert_eq!(layers.len(), 32);
    drop(kept);
    assert_eq!(memory.in_use().partials, 0);
}
