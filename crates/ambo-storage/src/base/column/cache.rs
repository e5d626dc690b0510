//! Encoded blocks in memory.
//!
//! Blocks are of any size, so they are kept one by one and not in frames: a map to find them, and a queue in the order in which they
//! came. Who needs room takes from the front; a block that was read since it came there goes to the back once more (second
//! chance, as in CLOCK). A scan's blocks get no second chance, so that a scan does not push out what others need.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;

use crate::page::Access;

/// A block: the segment's id, and the number of the block in it.
type Key = (u64, u32);

/// Parts of the cache, each with a lock of its own.
const SHARDS: usize = 16;
/// What a block costs beyond its bytes.
const OVERHEAD: usize = 96;

struct Entry {
    bytes: Arc<[u8]>,
    used: AtomicBool,
}

#[derive(Default)]
struct Shard {
    blocks: HashMap<Key, Entry, rapidhash::fast::RandomState>,
    order: VecDeque<Key>,
    bytes: usize,
}

/// The cache.
pub struct BlockCache {
    shards: [Mutex<Shard>; SHARDS],
    bytes_max: AtomicUsize,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl BlockCache {
    /// A cache of up to `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self {
            shards: Default::default(),
            bytes_max: AtomicUsize::new(bytes_max),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    fn shard(&self, (segment, block): Key) -> &Mutex<Shard> {
        let hash = (segment ^ u64::from(block).rotate_left(40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.shards[(hash >> 60) as usize % SHARDS]
    }

    /// The block, from memory or from `load`.
    pub(super) fn read<E>(
        &self,
        key: Key,
        access: Access,
        load: impl FnOnce() -> Result<Arc<[u8]>, E>,
    ) -> Result<Arc<[u8]>, E> {
        let shard = self.shard(key);
        if let Some(entry) = shard.lock().blocks.get(&key) {
            if access != Access::Scan {
                entry.used.store(true, Ordering::Relaxed);
            }
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(entry.bytes.clone());
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        let bytes = load()?;
        let most = self.bytes_max.load(Ordering::Relaxed) / SHARDS;
        shard.lock().insert(key, bytes.clone(), most);
        Ok(bytes)
    }

    /// Whether a block is kept.
    pub(super) fn has(&self, key: Key) -> bool {
        self.shard(key).lock().blocks.contains_key(&key)
    }

    /// Sets how many bytes may be kept.
    pub fn set_bytes_max(&self, bytes: usize) {
        self.bytes_max.store(bytes, Ordering::Relaxed);
        self.shards.iter().for_each(|shard| shard.lock().make_room(bytes / SHARDS));
    }

    /// Bytes that are kept.
    pub fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().bytes).sum()
    }

    /// Blocks found in memory, and read from a file.
    pub fn hits_and_misses(&self) -> (u64, u64) {
        (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed))
    }
}

impl Shard {
    fn insert(&mut self, key: Key, bytes: Arc<[u8]>, most: usize) {
        let size = bytes.len() + OVERHEAD;
        if size > most {
            return;
        }
        self.make_room(most - size);
        if self.blocks.insert(key, Entry { bytes, used: AtomicBool::new(false) }).is_none() {
            // Two threads may have read the same block at once.
            self.order.push_back(key);
            self.bytes += size;
        }
    }

    fn make_room(&mut self, most: usize) {
        while self.bytes > most
            && let Some(key) = self.order.pop_front()
        {
            let entry = self.blocks.get(&key).expect("what is in the queue is in the map");
            if entry.used.swap(false, Ordering::Relaxed) {
                self.order.push_back(key);
            } else {
                self.bytes -= entry.bytes.len() + OVERHEAD;
                self.blocks.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: a cache that grows beyond its bytes, keeps nothing, or lets scans push out what is used.
    #[test]
    fn the_budget_holds_and_used_blocks_stay() {
        let cache = BlockCache::new(SHARDS * 10 * (1000 + OVERHEAD));
        let read = |block: u32, access| -> bool {
            let mut loaded = false;
            let bytes = cache.read((1, block), access, || -> Result<_, ()> {
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
    }
}
