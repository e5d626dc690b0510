//! Encoded blocks in memory.
//!
//! Blocks are of any size, so they are kept one by one and not in frames. Each segment has a slot for each of its blocks ([`Slots`]): a
//! look-up of a row finds the blocks of its columns side by side, without hashing, and waits for nobody who wants another block. Queues
//! hold the blocks in the order in which they came. Who needs room takes from the front; a block that was read since it came there goes to
//! the back once more (second chance, as in CLOCK). A scan's blocks get no second chance, so that a scan does not push out what others
//! need.
//!
//! Memory comes from the [budget](MemoryBudget). If there is none for a block, others make room, of the same queue as far as it reaches. A
//! slot remembers when its block was thrown out, by which the budget learns, if it is missed, how much more memory would have kept it.
//!
//! Who has locked a queue may lock a slot, and never the other way round.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use ambo_codec::prefetch;
use ambo_pages::{
    budget::{Cache, Charge, Kind, MemoryBudget},
    page::Access,
};
use parking_lot::Mutex;

/// Queues, each with a lock and a part of the bytes of its own.
const SHARDS: usize = 16;
/// What a block costs beyond its bytes.
const OVERHEAD: usize = 96;
/// Blocks of more than this part of the budget are not kept.
const BLOCK_SHARE: usize = 16;
/// What was thrown out is counted in units of this.
const GONE_UNIT: usize = 1 << 10;

/// The blocks of one segment that are kept, by their numbers.
#[derive(Debug)]
pub(super) struct Slots {
    segment: u64,
    slots: Box<[Mutex<Slot>]>,
    _charge: Charge,
}

#[derive(Debug, Default)]
struct Slot {
    bytes: Option<Arc<[u8]>>,
    /// How often the block was found since it came. Of one that is not there: how much had been thrown out, in units that may wrap, when it
    /// was; zero if it never was.
    count: u32,
    /// Whether it was found since it came to the front of its queue, by others than scans.
    used: bool,
}

const _: () = assert!(size_of::<Mutex<Slot>>() == 32);

#[derive(Default)]
struct Queue {
    blocks: VecDeque<(Arc<Slots>, u32)>,
    bytes: usize,
    /// How often blocks were found that are not kept any more.
    hits: u64,
}

/// The cache.
pub struct BlockCache {
    queues: [Mutex<Queue>; SHARDS],
    memory: Arc<MemoryBudget>,
    misses: AtomicU64,
    /// Bytes that were thrown out.
    gone: AtomicU64,
}

impl Slot {
    /// What it keeps.
    fn found(&mut self, access: Access) -> Option<Arc<[u8]>> {
        let bytes = self.bytes.clone()?;
        self.used |= access != Access::Scan;
        self.count = self.count.saturating_add(1);
        Some(bytes)
    }
}

impl Slots {
    /// Of a segment with blocks of so many numbers.
    pub(super) fn new(segment: u64, blocks: usize, memory: &Arc<MemoryBudget>) -> Arc<Self> {
        let slots: Box<[Mutex<Slot>]> = (0..blocks).map(|_| Mutex::default()).collect();
        let charge = memory.charge_slots(size_of_val(&*slots));
        Arc::new(Self { segment, slots, _charge: charge })
    }

    /// Asks for the memory of the slot of a block.
    pub(super) fn prefetch(&self, block: u32) {
        prefetch(&self.slots[block as usize]);
    }

    /// Asks for the memory at the beginning of a block, if it is kept.
    pub(super) fn prefetch_block(&self, block: u32) {
        if let Some(bytes) = &self.slots[block as usize].lock().bytes {
            prefetch(bytes.as_ptr());
        }
    }

    /// Whether a block is kept.
    pub(super) fn has(&self, block: u32) -> bool {
        self.slots[block as usize].lock().bytes.is_some()
    }
}

impl BlockCache {
    /// A cache that keeps as much as the budget gives it.
    pub(super) fn new(memory: Arc<MemoryBudget>) -> Self {
        Self { queues: Default::default(), memory, misses: AtomicU64::new(0), gone: AtomicU64::new(0) }
    }

    /// The number of a block's queue.
    fn queue_of(segment: u64, block: u32) -> usize {
        let hash = (segment ^ u64::from(block).rotate_left(40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 60) as usize % SHARDS
    }

    /// A block, if it is in memory.
    pub(super) fn find(&self, slots: &Slots, block: u32, access: Access) -> Option<Arc<[u8]>> {
        slots.slots[block as usize].lock().found(access)
    }

    /// Whether a block of so many bytes may be kept.
    pub(super) fn takes(&self, bytes: usize) -> bool {
        bytes + OVERHEAD <= self.memory.limit() / BLOCK_SHARE
    }

    /// A block, from memory or from `load`.
    pub(super) fn read<E>(
        &self,
        slots: &Arc<Slots>,
        block: u32,
        access: Access,
        load: impl FnOnce() -> Result<Arc<[u8]>, E>,
    ) -> Result<Arc<[u8]>, E> {
        let gone_at = {
            let mut slot = slots.slots[block as usize].lock();
            if let Some(bytes) = slot.found(access) {
                return Ok(bytes);
            }
            slot.count
        };
        self.misses.fetch_add(1, Ordering::Relaxed);
        let bytes = load()?;
        if gone_at != 0 {
            let distance = self.gone_units().wrapping_sub(gone_at) as usize * GONE_UNIT;
            self.memory.missed(Cache::Segments, distance, bytes.len());
        }
        self.keep(slots, block, &bytes);
        Ok(bytes)
    }

    fn gone_units(&self) -> u32 {
        (self.gone.load(Ordering::Relaxed) / GONE_UNIT as u64) as u32
    }

    fn keep(&self, slots: &Arc<Slots>, block: u32, bytes: &Arc<[u8]>) {
        let size = bytes.len() + OVERHEAD;
        if !self.takes(bytes.len()) {
            return;
        }
        let queue = Self::queue_of(slots.segment, block);
        if !self.memory.reserve(Kind::Blocks, size) && !self.replace(queue, size) {
            return;
        }
        if !self.queues[queue].lock().insert(slots, block, bytes) {
            self.memory.release(Kind::Blocks, size);
        }
    }

    /// Throws out `bytes` and keeps their memory for the caller, from this queue on; false if there is not so much.
    fn replace(&self, first: usize, bytes: usize) -> bool {
        let mut freed = 0;
        for queue in first..first + SHARDS {
            freed += self.throw_out(queue % SHARDS, bytes.saturating_sub(freed));
        }
        let is_enough = freed >= bytes;
        self.memory.release(Kind::Blocks, if is_enough { freed - bytes } else { freed });
        is_enough
    }

    /// Throws out blocks for a row of so many bytes, which are charged as rows then; false if there is not so much.
    pub(super) fn make_room_for_row(&self, bytes: usize) -> bool {
        // Rows come from blocks that were read: so queues take turns.
        let is_there = self.replace(self.misses.load(Ordering::Relaxed) as usize % SHARDS, bytes);
        if is_there {
            self.memory.transfer(Kind::Blocks, Kind::Rows, bytes);
        }
        is_there
    }

    /// Throws out at least so many bytes of a queue, if it has them; returns how many, which the caller releases.
    fn throw_out(&self, queue: usize, bytes: usize) -> usize {
        if bytes == 0 {
            return 0;
        }
        let now = self.gone_units().max(1);
        let freed = self.queues[queue].lock().throw_out(bytes, now);
        self.gone.fetch_add(freed as u64, Ordering::Relaxed);
        freed
    }

    /// Gives up to about so many bytes back, of all queues alike; returns how many.
    pub(super) fn give(&self, bytes: usize) -> usize {
        let mut freed = 0;
        for left in (1..=SHARDS).rev() {
            freed += self.throw_out(left - 1, bytes.saturating_sub(freed).div_ceil(left));
        }
        self.memory.release(Kind::Blocks, freed);
        freed
    }

    /// Bytes that are kept.
    pub fn bytes(&self) -> usize {
        self.queues.iter().map(|queue| queue.lock().bytes).sum()
    }

    /// Blocks found in memory, and read from a file.
    pub fn hits_and_misses(&self) -> (u64, u64) {
        let hits = |queue: &Mutex<Queue>| queue.lock().all_hits();
        (self.queues.iter().map(hits).sum(), self.misses.load(Ordering::Relaxed))
    }
}

impl Queue {
    /// Whether the block was not there. REQUIRES: the caller has memory for it.
    fn insert(&mut self, slots: &Arc<Slots>, block: u32, bytes: &Arc<[u8]>) -> bool {
        let mut slot = slots.slots[block as usize].lock();
        if slot.bytes.is_some() {
            // Two threads may have read the same block at once.
            return false;
        }
        *slot = Slot { bytes: Some(bytes.clone()), count: 0, used: false };
        self.blocks.push_back((slots.clone(), block));
        self.bytes += bytes.len() + OVERHEAD;
        debug_assert!(self.bytes >= self.blocks.len() * OVERHEAD, "each block is counted");
        true
    }

    fn throw_out(&mut self, wanted: usize, now: u32) -> usize {
        let mut freed = 0;
        while freed < wanted
            && let Some((slots, block)) = self.blocks.pop_front()
        {
            let mut slot = slots.slots[block as usize].lock();
            if std::mem::take(&mut slot.used) {
                drop(slot);
                self.blocks.push_back((slots, block));
                continue;
            }
            let gone = Slot { count: now, ..Slot::default() };
            let Slot { bytes, count, .. } = std::mem::replace(&mut *slot, gone);
            self.hits += u64::from(count);
            freed += bytes.expect("what is in the queue is in its slot").len() + OVERHEAD;
        }
        self.bytes -= freed;
        debug_assert_eq!(self.bytes == 0, self.blocks.is_empty(), "bytes are those of blocks");
        freed
    }

    fn all_hits(&self) -> u64 {
        let hits = |(slots, block): &(Arc<Slots>, u32)| slots.slots[*block as usize].lock().count;
        self.hits + self.blocks.iter().map(|block| u64::from(hits(block))).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: a cache that grows beyond its bytes, keeps nothing, or lets scans push out what is used.
    #[test]
    fn the_budget_holds_and_used_blocks_stay() {
        let memory = MemoryBudget::new(6000 * 32 + SHARDS * 10 * (1000 + OVERHEAD));
        let cache = BlockCache::new(memory.clone());
        let slots = Slots::new(1, 6000, &memory);
        assert_eq!(memory.in_use().slots, 6000 * 32);
        let mut reads = 0;
        let mut read = |block: u32, access| -> bool {
            let mut loaded = false;
            reads += 1;
            let bytes = cache.read(&slots, block, access, || -> Result<_, ()> {
                loaded = true;
                Ok(vec![block as u8; 1000].into())
            });
            assert_eq!(bytes.unwrap()[0], block as u8);
            loaded
        };
        for block in 0..16 {
            assert!(read(block, Access::Point));
            assert!(!read(block, Access::Point));
        }
        for block in 1000..6000 {
            read(block, Access::Scan);
            if block % 50 == 0 {
                (0..16).for_each(|block| {
                    read(block, Access::Point);
                });
            }
        }
        assert!(cache.bytes() <= SHARDS * 10 * (1000 + OVERHEAD));
        assert!((0..16).filter(|block| read(*block, Access::Point)).count() <= 2);
        assert_eq!(cache.bytes(), memory.used(Kind::Blocks));
        cache.give(usize::MAX);
        assert_eq!((cache.bytes(), memory.used(Kind::Blocks)), (0, 0));
        assert!(memory.take(Kind::Pages, memory.limit() - 6000 * 32));
        assert!(read(1, Access::Point) && read(1, Access::Point), "nothing is kept");
        let (hits, misses) = cache.hits_and_misses();
        assert!(hits > 0 && hits + misses == reads, "{hits} hits and {misses} misses of {reads} reads");
        assert!((0..6000).all(|block| !slots.has(block)));
    }
}
