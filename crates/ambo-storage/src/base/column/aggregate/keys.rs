//! The keys of groups, numbered in the order in which they come: a hash table with open addressing.
//!
//! Many keys are numbered at once, step by step, so that what each step waits for in memory is asked for by all of them together.

use super::key_list::KeyList;

/// The number of no key.
const NONE: u32 = u32::MAX;

/// See the module.
#[derive(Debug)]
pub(super) struct Keys {
    /// The high half of a key's hash, and its number plus one; zero is free. As many as a power of two, at most half of them in use.
    slots: Vec<u64>,
    hashes: Vec<u64>,
    list: KeyList,
    /// Hashes of the keys that are numbered.
    sought: Vec<u64>,
}

impl Keys {
    /// None yet; `list` is empty, and of their form.
    pub(super) fn new(list: KeyList) -> Self {
        Self { slots: Vec::new(), hashes: Vec::new(), list, sought: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn list(&self) -> &KeyList {
        &self.list
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
        let mask = self.slots.len() - 1;
        numbers.clear();
        numbers.extend(hashes.iter().map(|hash| match self.slots[*hash as usize & mask] {
            slot if slot != 0 && slot >> 32 == hash >> 32 => number_in(slot),
            _ => NONE,
        }));
        for (key, number) in numbers.iter_mut().enumerate() {
            if *number != NONE && !self.list.is(*number as usize, keys, key) {
                *number = NONE;
            }
        }
        // New ones, and those that have not their first slot.
        for (key, number) in numbers.iter_mut().enumerate().filter(|(_, number)| **number == NONE) {
            *number = self.number_one(keys, key, hashes[key]);
        }
    }

    fn number_one(&mut self, keys: &KeyList, key: usize, hash: u64) -> u32 {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                0 => break,
                used if used >> 32 == hash >> 32 && self.list.is(number_in(used) as usize, keys, key) => {
                    return number_in(used);
                }
                _ => slot = (slot + 1) & mask,
            }
        }
        self.list.push(keys, key);
        self.hashes.push(hash);
        self.slots[slot] = hash >> 32 << 32 | self.len() as u64;
        self.len() as u32 - 1
    }

    /// Room for so many new keys.
    fn reserve(&mut self, more: usize) {
        let wanted = (2 * (self.len() + more)).next_power_of_two().max(64);
        if self.slots.len() >= wanted {
            return;
        }
        self.slots.clear();
        self.slots.resize(wanted, 0);
        for (number, hash) in self.hashes.iter().enumerate() {
            let mut slot = *hash as usize & (wanted - 1);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (wanted - 1);
            }
            self.slots[slot] = hash >> 32 << 32 | (number as u64 + 1);
        }
    }
}

/// The number of the key in a slot that is in use.
fn number_in(slot: u64) -> u32 {
    slot as u32 - 1
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
