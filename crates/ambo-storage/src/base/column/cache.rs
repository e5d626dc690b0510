//! Encoded blocks in memory.
//!
//! Blocks are of any size, so they are kept one by one and not in frames. Each segment has a slot for each of its blocks ([`Slots`]): a look-up
//! of a row finds the blocks of its columns side by side, without hashing, and waits for nobody who wants another block. Queues hold the
//! blocks in the order in which they came. Who needs room takes from the front; a block that was read since it came there goes to the back
//! once more (second chance, as in CLOCK). A scan's blocks get no second chance, so that a scan does not push out what others need.
//!
//! Who has locked a queue may lock a slot, and never the other way round.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;

use crate::page::Access;

/// Queues, each with a lock and a part of the bytes of its own.
const SHARDS: usize = 16;
/// What a block costs beyond its bytes.
const OVERHEAD: usize = 96;

/// The blocks of one segment that are kept, by their numbers.
#[derive(Debug)]
pub(super) struct Slots {
    segment: u64,
    slots: Box<[Mutex<Slot>]>,
}

#[derive(Debug, Default)]
struct Slot {
    bytes: Option<Arc<[u8]>>,
    /// How often it was found since it came.
    hits: u32,
    /// Whether it was found since it came to the front of its queue, by others than scans.
    used: bool,
}

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
    bytes_max: AtomicUsize,
    misses: AtomicU64,
}

impl Slots {
    /// Of a segment with blocks of so many numbers.
    pub(super) fn new(segment: u64, blocks: usize) -> Arc<Self> {
        Arc::new(Self { segment, slots: (0..blocks).map(|_| Mutex::default()).collect() })
    }

    /// Whether a block is kept.
    pub(super) fn has(&self, block: u32) -> bool {
        self.slots[block as usize].lock().bytes.is_some()
    }
}

impl BlockCache {
    /// A cache of up to `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self { queues: Default::default(), bytes_max: AtomicUsize::new(bytes_max), misses: AtomicU64::new(0) }
    }

    fn queue(&self, segment: u64, block: u32) -> &Mutex<Queue> {
        let hash = (segment ^ u64::from(block).rotate_left(40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.queues[(hash >> 60) as usize % SHARDS]
    }

    /// A block, if it is in memory.
    pub(super) fn find(&self, slots: &Slots, block: u32, access: Access) -> Option<Arc<[u8]>> {
        let mut slot = slots.slots[block as usize].lock();
        let bytes = slot.bytes.clone()?;
        slot.used |= access != Access::Scan;
        slot.hits = slot.hits.saturating_add(1);
        Some(bytes)
    }

    /// Whether a block of so many bytes would be kept, and leave room for others.
    pub(super) fn takes(&self, bytes: usize) -> bool {
        2 * (bytes + OVERHEAD) <= self.bytes_max.load(Ordering::Relaxed) / SHARDS
    }

    /// A block, from memory or from `load`.
    pub(super) fn read<E>(
        &self,
        slots: &Arc<Slots>,
        block: u32,
        access: Access,
        load: impl FnOnce() -> Result<Arc<[u8]>, E>,
    ) -> Result<Arc<[u8]>, E> {
        if let Some(bytes) = self.find(slots, block, access) {
            return Ok(bytes);
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        let bytes = load()?;
        let most = self.bytes_max.load(Ordering::Relaxed) / SHARDS;
        self.queue(slots.segment, block).lock().insert(slots, block, &bytes, most);
        Ok(bytes)
    }

    /// Sets how many bytes may be kept.
    pub fn set_bytes_max(&self, bytes: usize) {
        self.bytes_max.store(bytes, Ordering::Relaxed);
        self.queues.iter().for_each(|queue| queue.lock().make_room(bytes / SHARDS));
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
    fn insert(&mut self, slots: &Arc<Slots>, block: u32, bytes: &Arc<[u8]>, most: usize) {
        let size = bytes.len() + OVERHEAD;
        if size > most {
            return;
        }
        self.make_room(most - size);
        let mut slot = slots.slots[block as usize].lock();
        if slot.bytes.is_some() {
            // Two threads may have read the same block at once.
            return;
        }
        *slot = Slot { bytes: Some(bytes.clone()), hits: 0, used: false };
        self.blocks.push_back((slots.clone(), block));
        self.bytes += size;
    }

    fn make_room(&mut self, most: usize) {
        while self.bytes > most
            && let Some((slots, block)) = self.blocks.pop_front()
        {
            let mut slot = slots.slots[block as usize].lock();
            if std::mem::take(&mut slot.used) {
                drop(slot);
                self.blocks.push_back((slots, block));
                continue;
            }
            let Slot { bytes, hits, .. } = std::mem::take(&mut *slot);
            self.hits += u64::from(hits);
            self.bytes -= bytes.expect("what is in the queue is in its slot").len() + OVERHEAD;
        }
    }

    fn all_hits(&self) -> u64 {
        let hits = |(slots, block): &(Arc<Slots>, u32)| slots.slots[*block as usize].lock().hits;
        self.hits + self.blocks.iter().map(|block| u64::from(hits(block))).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: a cache that grows beyond its bytes, keeps nothing, or lets scans push out what is used.
    #[test]
    fn the_budget_holds_and_used_blocks_stay() {
        let cache = BlockCache::new(SHARDS * 10 * (1000 + OVERHEAD));
        let slots = Slots::new(1, 6000);
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
        cache.set_bytes_max(0);
        assert_eq!(cache.bytes(), 0);
        assert!(read(1, Access::Point) && read(1, Access::Point), "nothing is kept");
        let (hits, misses) = cache.hits_and_misses();
        assert!(hits > 0 && hits + misses == reads, "{hits} hits and {misses} misses of {reads} reads");
        assert!((0..6000).all(|block| !slots.has(block)));
    }
}
