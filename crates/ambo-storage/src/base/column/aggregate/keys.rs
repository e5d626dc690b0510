//! The keys of groups, numbered in the order in which they come: a hash table with open addressing, and all keys one behind the
//! other.

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// The high half of a key's hash, and its number plus one; zero is free. As many as a power of two, at most half of them in use.
    slots: Vec<u64>,
    hashes: Vec<u64>,
    /// Where each key ends in `bytes`.
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl Keys {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[number]]
    }

    /// The number of a key, and whether it is new.
    pub(super) fn number(&mut self, key: &[u8]) -> (usize, bool) {
        self.number_hashed(key, rapidhash::v3::rapidhash_v3(key))
    }

    /// As [`Keys::number`], of a key of another table.
    pub(super) fn number_of(&mut self, other: &Self, number: usize) -> (usize, bool) {
        self.number_hashed(other.get(number), other.hashes[number])
    }

    fn number_hashed(&mut self, key: &[u8], hash: u64) -> (usize, bool) {
        if self.slots.len() < 2 * (self.len() + 1) {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                0 => break,
                used if used >> 32 == hash >> 32 && self.get(number_in(used)) == key => {
                    return (number_in(used), false);
                }
                _ => slot = (slot + 1) & mask,
            }
        }
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
        self.hashes.push(hash);
        self.slots[slot] = hash >> 32 << 32 | self.len() as u64;
        (self.len() - 1, true)
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(64);
        self.slots.clear();
        self.slots.resize(size, 0);
        for (number, hash) in self.hashes.iter().enumerate() {
            let mut slot = *hash as usize & (size - 1);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            self.slots[slot] = hash >> 32 << 32 | (number as u64 + 1);
        }
    }
}

/// The number of the key in a slot that is in use.
fn number_in(slot: u64) -> usize {
    (slot as u32 - 1) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: keys that get two numbers or share one, as the table grows.
    #[test]
    fn numbers_stay() {
        let key = |index: u32| index.to_string().repeat(index as usize % 5).into_bytes();
        let mut keys = Keys::default();
        let mut model = std::collections::HashMap::new();
        for index in (0..2000).chain(0..3000) {
            let next = model.len();
            let (number, is_new) = keys.number(&key(index));
            assert_eq!(is_new, !model.contains_key(&key(index)));
            assert_eq!(number, *model.entry(key(index)).or_insert(next));
        }
        assert!(model.iter().all(|(key, number)| keys.get(*number) == key));
        let mut other = Keys::default();
        (0..keys.len()).for_each(|number| assert_eq!(other.number_of(&keys, number), (number, true)));
    }
}
