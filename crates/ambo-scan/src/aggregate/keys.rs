//! The keys of groups, numbered in the order in which they come: a hash table with open addressing.
//!
//! Many keys are numbered at once, step by step, so that what each step waits for in memory is asked for by all of them together. A key is
//! in its own bucket, unless that was full when it came; then it is in the next one that was not.

use std::hint::select_unpredictable;

use super::key_list::KeyList;

/// The number of no key.
const NONE: u32 = u32::MAX;
/// Slots of a bucket.
const BUCKET: usize = 4;

/// Slots that are looked at together, in one line of the processor's cache. Of each slot the high half is that of a key's hash, and the low
/// one its number plus one; zero is free.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct Bucket([u64; BUCKET]);

const _: () = assert!(size_of::<Bucket>() == align_of::<Bucket>());

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// As many as a power of two, with at most half of their slots in use.
    buckets: Vec<Bucket>,
    hashes: Vec<u64>,
    list: KeyList,
    /// Hashes of the keys that are numbered.
    sought: Vec<u64>,
}

impl Keys {
    /// None yet; `list` is empty, and of their form.
    pub(super) fn new(list: KeyList) -> Self {
        Self { buckets: Vec::new(), hashes: Vec::new(), list, sought: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn list(&self) -> &KeyList {
        &self.list
    }

    /// Gives up memory that is of use to more keys alone.
    pub(super) fn seal(&mut self) {
        (self.buckets, self.sought) = (Vec::new(), Vec::new());
        self.hashes.shrink_to_fit();
        self.list.shrink();
    }

    /// Bytes that they take.
    pub(super) fn bytes_taken(&self) -> usize {
        size_of_val(&*self.buckets) + size_of_val(&*self.hashes) + self.list.bytes_taken()
    }

    /// The numbers of keys, of which some may be new, in the place of others.
    pub(super) fn number(&mut self, keys: &KeyList, numbers: &mut Vec<u32>) {
        let mut sought = std::mem::take(&mut self.sought);
        keys.hash(&mut sought);
        self.number_hashed(keys, &sought, numbers);
        self.sought = sought;
    }

    /// The numbers of the keys of another table.
    pub(super) fn number_all(&mut self, other: &Self) -> Vec<u32> {
        let mut numbers = Vec::new();
        self.number_hashed(&other.list, &other.hashes, &mut numbers);
        numbers
    }

    fn number_hashed(&mut self, keys: &KeyList, hashes: &[u64], numbers: &mut Vec<u32>) {
        self.reserve(hashes.len());
        let mask = self.buckets.len() - 1;
        numbers.clear();
        // Without a branch that depends on what is in a bucket, several of them are waited for at once.
        numbers.extend(hashes.iter().map(|hash| {
            let Bucket(slots) = &self.buckets[*hash as usize & mask];
            slots.iter().fold(NONE, |number, slot| {
                select_unpredictable(slot >> 32 == hash >> 32, number_in(*slot), number)
            })
        }));
        for (key, number) in numbers.iter_mut().enumerate() {
            if *number != NONE && !self.list.is(*number as usize, keys, key) {
                *number = NONE;
            }
        }
        // New ones, and those that are not in their first bucket, or share the half of a hash with another there.
        for (key, number) in numbers.iter_mut().enumerate().filter(|(_, number)| **number == NONE) {
            *number = self.number_one(keys, key, hashes[key]);
        }
        debug_assert_eq!(numbers.len(), keys.len());
        debug_assert!(
            self.list.len() * 2 <= self.buckets.len() * BUCKET,
            "at most half of the slots are used"
        );
    }

    fn number_one(&mut self, keys: &KeyList, key: usize, hash: u64) -> u32 {
        let mut at = hash as usize;
        loop {
            let bucket = &self.buckets[at & (self.buckets.len() - 1)];
            let is_it = |number: &u32| self.list.is(*number as usize, keys, key);
            if let Some(known) = bucket.numbers_of(hash).find(is_it) {
                return known;
            }
            if bucket.used() < BUCKET {
                break;
            }
            at = at.wrapping_add(1);
        }
        self.list.push(keys, key);
        self.hashes.push(hash);
        debug_assert_eq!(self.hashes.len(), self.list.len());
        let mask = self.buckets.len() - 1;
        self.buckets[at & mask].push(hash, self.list.len() - 1);
        self.list.len() as u32 - 1
    }

    /// Room for so many new keys.
    fn reserve(&mut self, more: usize) {
        let wanted = (2 * (self.len() + more)).next_power_of_two().max(64) / BUCKET;
        if self.buckets.len() >= wanted {
            return;
        }
        self.buckets.clear();
        self.buckets.resize(wanted, Bucket::default());
        for (number, hash) in self.hashes.iter().enumerate() {
            let mut at = *hash as usize;
            while self.buckets[at & (wanted - 1)].used() == BUCKET {
                at = at.wrapping_add(1);
            }
            self.buckets[at & (wanted - 1)].push(*hash, number);
        }
    }
}

impl Bucket {
    /// How many slots are in use: the first ones. (Counted without a branch, for they are any number, and memory is waited for meanwhile.)
    fn used(&self) -> usize {
        self.0.iter().map(|slot| usize::from(*slot != 0)).sum()
    }

    /// REQUIRES: a slot is free.
    fn push(&mut self, hash: u64, number: usize) {
        self.0[self.used()] = hash >> 32 << 32 | (number as u64 + 1);
    }

    /// The numbers of the keys with this half of a hash.
    fn numbers_of(&self, hash: u64) -> impl Iterator<Item = u32> {
        let has_half = move |slot: &u64| slot >> 32 == hash >> 32;
        let some = self.0.iter().fold(false, |some, slot| some | has_half(slot));
        let slots = if some { &self.0[..self.used()] } else { &[] };
        slots.iter().filter(move |slot| has_half(slot)).map(|slot| number_in(*slot))
    }
}

/// The number of the key in a slot; [`NONE`] of a free one.
fn number_in(slot: u64) -> u32 {
    (slot as u32).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    type MakeList<'a> = &'a dyn Fn(&[u32]) -> KeyList;

    fn bytes(keys: impl Iterator<Item = u32>) -> KeyList {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for key in keys {
            bytes.extend(key.to_string().repeat(key as usize % 5).into_bytes());
            ends.push(bytes.len());
        }
        KeyList::Bytes { bytes, ends }
    }

    fn words(keys: impl Iterator<Item = u32>) -> KeyList {
        // Numbers that differ in their high bits only, too.
        KeyList::Words(keys.map(|key| u128::from(key % 50) << 120 | u128::from(key / 50)).collect())
    }

    /// Keeps away: keys that get two numbers or share one, as the table grows, one by one or many together, twice among them.
    #[test]
    fn numbers_stay() {
        let of_bytes = |keys: &[u32]| bytes(keys.iter().copied());
        let of_words = |keys: &[u32]| words(keys.iter().copied());
        let all: Vec<u32> = (0..2000).chain(0..3000).chain([7; 3]).collect();
        let forms: [(KeyList, MakeList<'_>); 2] =
            [(KeyList::default(), &of_bytes), (KeyList::Words(Vec::new()), &of_words)];
        for (empty, list) in forms {
            let mut keys = Keys::new(empty);
            // Every fifth key of bytes is the empty one.
            let name = |key: u32| match list(&[key]) {
                KeyList::Bytes { bytes, .. } => bytes,
                KeyList::Words(words) => words[0].to_be_bytes().to_vec(),
            };
            let mut model = HashMap::new();
            let (mut numbers, mut at) = (Vec::new(), 0usize);
            for together in [1, 1, 7, 400, 1, 3000, usize::MAX] {
                let some = &all[at..at.saturating_add(together).min(all.len())];
                at += some.len();
                keys.number(&list(some), &mut numbers);
                for (key, number) in some.iter().zip(&numbers) {
                    let next = model.len() as u32;
                    assert_eq!(*number, *model.entry(name(*key)).or_insert(next), "{key}");
                }
            }
            assert_eq!((at, keys.len()), (all.len(), model.len()));
            let mut other = Keys::new(match keys.list() {
                KeyList::Words(_) => KeyList::Words(Vec::new()),
                KeyList::Bytes { .. } => KeyList::default(),
            });
            other.number(&list(&[2999, 5]), &mut numbers);
            let numbers = other.number_all(&keys);
            assert_eq!(other.len(), keys.len());
            for (number, of_other) in numbers.iter().enumerate() {
                assert!(other.list().is(*of_other as usize, keys.list(), number));
            }
            for threads in [1, 2, 5] {
                let order = other.list().order(threads);
                assert_eq!(order.len(), other.len());
                let key = |number: u32| match other.list() {
                    KeyList::Words(words) => words[number as usize].to_be_bytes().to_vec(),
                    KeyList::Bytes { bytes, ends } => {
                        let number = number as usize;
                        bytes[number.checked_sub(1).map_or(0, |before| ends[before])..ends[number]].to_vec()
                    }
                };
                assert!(order.is_sorted_by(|a, b| key(*a) < key(*b)));
            }
        }
    }

    /// Keeps away: keys that are taken for one because their hashes are.
    #[test]
    fn keys_of_one_hash_are_told_apart() {
        let some = || (0..50).map(|key| key * 5 + 1);
        for (empty, list) in
            [(KeyList::default(), bytes(some())), (KeyList::Words(Vec::new()), words(some()))]
        {
            let mut keys = Keys::new(empty);
            let mut numbers = Vec::new();
            for _ in 0..2 {
                keys.number_hashed(&list, &[7 << 32 | 3; 50], &mut numbers);
                assert!(numbers.iter().copied().eq(0..50));
            }
        }
    }
}
