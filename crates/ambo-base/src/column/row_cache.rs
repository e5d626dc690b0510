//! Rows that were sought lately, kept as rows: to put one together from sixteen blocks takes many times longer than to copy it.
//!
//! # Why a kept row is right
//! Segments never change, so the record of a row of a segment is the same for ever. A kept row says in which segment and row its key
//! was found. A set of segments that has this segment, and has not deleted that row, has the key there and nowhere else, for a key is
//! left in one segment at most. So nothing has to be thrown away when rows are replaced, and each snapshot is told what is right for
//! it.
//!
//! Who needs room takes from the front of a queue; a row that was read since it came there goes to the back once more (second chance, as in
//! CLOCK). Rows only have to go for one that is sought a second time within about as many others as there is room for: where any of many
//! rows is read, nothing would be found again, and each read would cost an allocation and take one away. (Einziger, Friedman, Manes:
//! TinyLFU, ACM Transactions on Storage 13, 2017, with counters up to one.)

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use ambo_pages::budget::{Kind, MemoryBudget};
use parking_lot::Mutex;

/// Parts of the cache, each with a lock of its own.
const SHARDS: usize = 16;
/// What a row costs beyond its key and record.
const OVERHEAD: usize = 128;

#[derive(Debug)]
struct Entry {
    /// The key, and then the record.
    bytes: Box<[u8]>,
    key_len: usize,
    segment: u64,
    row: u32,
    used: bool,
}

impl Entry {
    fn size(&self) -> usize {
        self.bytes.len() + OVERHEAD
    }

    fn key(&self) -> &[u8] {
        &self.bytes[..self.key_len]
    }
}

#[derive(Debug, Default)]
struct Shard {
    /// By a hash of table and key. Of keys with the same hash one is kept.
    rows: HashMap<u64, Entry, rapidhash::quality::RandomState>,
    order: VecDeque<u64>,
    bytes: usize,
    /// Marks of rows that were sought lately and are not kept, one for each row that there is room for.
    sought: Vec<u16>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct RowCache {
    shards: [Mutex<Shard>; SHARDS],
    memory: Arc<MemoryBudget>,
}

/// Where rows of a key are kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot(u64);

impl Slot {
    /// Of a key of a table, which is any number that differs from that of other tables.
    pub(super) fn new(table: usize, key: &[u8]) -> Self {
        let hash = rapidhash::v3::rapidhash_v3(key);
        Self((hash ^ table as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ hash >> 32)
    }
}

impl RowCache {
    /// An empty cache.
    pub(super) fn new(memory: Arc<MemoryBudget>) -> Self {
        Self { shards: Default::default(), memory }
    }

    fn shard(&self, slot: Slot) -> &Mutex<Shard> {
        &self.shards[(slot.0 >> 60) as usize % SHARDS]
    }

    /// The record of a key, if it is kept and `is_left` says that the row of the segment is.
    pub(super) fn get(
        &self,
        slot: Slot,
        key: &[u8],
        is_left: impl FnOnce(u64, u32) -> bool,
    ) -> Option<Vec<u8>> {
        let mut shard = self.shard(slot).lock();
        let entry = shard.rows.get_mut(&slot.0)?;
        if entry.key() != key || !is_left(entry.segment, entry.row) {
            return None;
        }
        entry.used = true;
        Some(entry.bytes[entry.key_len..].to_vec())
    }

    /// Whether the row of a key is to be kept: there is room for one more of its like among `most` bytes, or it was sought lately already.
    /// From now on it was.
    pub(super) fn takes(&self, slot: Slot, most: usize) -> bool {
        let mut shard = self.shard(slot).lock();
        let size = shard.bytes.checked_div(shard.order.len()).unwrap_or(OVERHEAD);
        shard.bytes + size <= most / SHARDS || shard.is_sought_again(slot)
    }

    /// Keeps the record of a key that [`RowCache::takes`], which is in this row of a segment, among `most` bytes at most, if `has_room`
    /// takes the bytes that it says from the budget.
    pub(super) fn put(
        &self,
        slot: Slot,
        key: &[u8],
        (segment, row): (u64, u32),
        record: &[u8],
        most: usize,
        has_room: impl FnOnce(usize) -> bool,
    ) {
        let size = key.len() + record.len() + OVERHEAD;
        let most = most / SHARDS;
        if size > most {
            return;
        }
        // Those that go make room for this one, before it asks for more.
        let gone = self.shard(slot).lock().make_room(most - size);
        self.memory.release(Kind::Rows, gone);
        if !has_room(size) {
            return;
        }
        let bytes = [key, record].concat().into_boxed_slice();
        let entry = Entry { bytes, key_len: key.len(), segment, row, used: false };
        let before = self.shard(slot).lock().insert(slot, entry);
        self.memory.release(Kind::Rows, before);
    }

    /// Throws rows out until `most` bytes are left; returns how many went.
    pub(super) fn trim(&self, most: usize) -> usize {
        let gone = self.shards.iter().map(|shard| shard.lock().make_room(most / SHARDS)).sum();
        self.memory.release(Kind::Rows, gone);
        gone
    }

    /// Bytes that are kept.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().bytes).sum()
    }
}

impl Shard {
    /// Whether a row was sought lately already; from now on it was.
    fn is_sought_again(&mut self, slot: Slot) -> bool {
        let marks = self.order.len().next_power_of_two();
        if self.sought.len() < marks {
            self.sought = vec![0; marks];
        }
        // The bits above choose the shard; zero is no mark.
        let place = (slot.0 >> 16) as usize & (self.sought.len() - 1);
        let mark = slot.0 as u16 | 1;
        std::mem::replace(&mut self.sought[place], mark) == mark
    }

    /// Returns how many bytes were given up for it.
    fn insert(&mut self, slot: Slot, entry: Entry) -> usize {
        self.bytes += entry.size();
        let before = self.rows.insert(slot.0, entry).map_or(0, |before| before.size());
        if before == 0 {
            self.order.push_back(slot.0);
        }
        self.bytes -= before;
        debug_assert_eq!(self.order.len(), self.rows.len(), "each row is in the queue once");
        before
    }

    /// Throws rows out until at most so many bytes are left; returns how many went.
    fn make_room(&mut self, most: usize) -> usize {
        let had = self.bytes;
        while self.bytes > most
            && let Some(slot) = self.order.pop_front()
        {
            let entry = self.rows.get_mut(&slot).expect("what is in the queue is in the map");
            if std::mem::replace(&mut entry.used, false) {
                self.order.push_back(slot);
            } else {
                self.bytes -= entry.size();
                self.rows.remove(&slot);
            }
        }
        debug_assert_eq!(self.order.len(), self.rows.len(), "each row is in the queue once");
        debug_assert_eq!(self.bytes == 0, self.rows.is_empty(), "bytes are those of rows");
        had - self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(index: u32) -> Vec<u8> {
        index.to_be_bytes().to_vec()
    }

    /// Keeps away: a cache that grows beyond its bytes, keeps nothing, gives the row of another key, or one that is deleted.
    #[test]
    fn rows_are_kept_within_the_budget() {
        let budget = SHARDS * 10 * (104 + OVERHEAD);
        let memory = MemoryBudget::new(8 * budget);
        let cache = RowCache::new(memory.clone());
        let put_of = |index: u32, most: usize| {
            let room = |bytes| memory.take(Kind::Rows, bytes);
            let slot = Slot::new(7, &key(index));
            if cache.takes(slot, most) {
                cache.put(slot, &key(index), (1, index), &[index as u8; 100], most, room);
            }
        };
        let get = |index: u32, left: bool| {
            cache.get(Slot::new(7, &key(index)), &key(index), |segment, row| {
                assert_eq!((segment, row), (1, index));
                left
            })
        };
        let put = |index: u32| {
            put_of(index, budget);
            assert!(cache.bytes() <= budget && cache.bytes() == memory.used(Kind::Rows));
        };
        for index in 0..16 {
            assert_eq!(get(index, true), None);
            (0..2).for_each(|_| put(index));
            assert_eq!(get(index, true), Some(vec![index as u8; 100]));
            assert_eq!(get(index, false), None);
            // Another key in the same place, and the same key of another table.
            assert_eq!(cache.get(Slot::new(7, &key(index)), b"other", |_, _| true), None);
            assert_eq!(cache.get(Slot::new(8, &key(index)), &key(index), |_, _| true), None);
        }
        for index in 100..6000 {
            put(index);
            if index % 50 == 0 {
                (0..16).for_each(|index| drop(get(index, true)));
            }
        }
        assert!((0..16).filter(|index| get(*index, true).is_some()).count() >= 14, "what is used stays");
        // A row that is sought once takes nobody's place.
        assert_eq!(get(7000, true), None);
        put(7000);
        assert_eq!(get(7000, true), None);
        put(7000);
        assert!(get(7000, true).is_some());
        cache.trim(0);
        assert_eq!((cache.bytes(), memory.used(Kind::Rows)), (0, 0));
        put_of(1, 0);
        assert_eq!(get(1, true), None);
    }
}
