//! Many writes of one transaction to one table, in the order in which their keys were first written, found by a hash.
//!
//! Who writes a hundred thousand rows and commits needs their order once, at the end: sorting them then costs a third of what a place in a
//! tree costs for each.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{Arc, OnceLock},
};

use ambo_types::record::{Record, key_head_wide};
use hashbrown::{HashTable, hash_table::Entry};
use rapidhash::v3::{RapidSecrets, rapidhash_v3_seeded};

use super::write_set::{OwnedRecord, TableWrites, WrittenKey};

pub(super) type Write = (WrittenKey, OwnedRecord);

/// Where a write is in the list, and the hash of its key: a growing table, and most of its probes, look at nothing else.
#[derive(Clone, Copy, Debug)]
struct ListedWrite {
    hash: u32,
    at: u32,
}

impl ListedWrite {
    /// The table takes its place from the low bits and its tag from the high ones.
    fn spread(&self) -> u64 {
        u64::from(self.hash) << 32 | u64::from(self.hash)
    }
}

/// See the module.
#[derive(Clone)]
pub struct WriteList {
    writes: Vec<Write>,
    places: HashTable<ListedWrite>,
    /// Of this list alone: nobody can choose keys that all have one hash.
    secrets: RapidSecrets,
    /// A copy in key order, for those who have asked for it since the last write.
    ordered: OnceLock<TableWrites>,
}

impl WriteList {
    /// The writes to different keys. REQUIRES: they are fewer than 2³², as the limit of a transaction's bytes makes sure.
    pub(super) fn new(writes: impl IntoIterator<Item = Write>) -> Self {
        let secrets = RapidSecrets::seed_cpp(RandomState::new().hash_one(0));
        let (places, ordered) = (HashTable::new(), OnceLock::new());
        let mut list = Self { writes: Vec::new(), places, secrets, ordered };
        for (key, record) in writes {
            list.insert(key, record);
        }
        list
    }

    fn hash(&self, key: &[u8]) -> u32 {
        rapidhash_v3_seeded(key, &self.secrets) as u32
    }

    fn place_of(&self, key: &[u8]) -> Option<usize> {
        let sought = ListedWrite { hash: self.hash(key), at: 0 };
        let is_it =
            |place: &ListedWrite| place.hash == sought.hash && *self.writes[place.at as usize].0 == *key;
        self.places.find(sought.spread(), is_it).map(|place| place.at as usize)
    }

    pub(super) fn len(&self) -> usize {
        self.writes.len()
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<&OwnedRecord> {
        self.place_of(key).map(|at| &self.writes[at].1)
    }

    /// Returns what was written to the key before.
    pub(super) fn insert(&mut self, key: WrittenKey, record: OwnedRecord) -> Option<OwnedRecord> {
        self.ordered.take();
        let new = ListedWrite { hash: self.hash(&key), at: self.writes.len() as u32 };
        let writes = &self.writes;
        let is_it = |place: &ListedWrite| place.hash == new.hash && writes[place.at as usize].0 == key;
        match self.places.entry(new.spread(), is_it, ListedWrite::spread) {
            Entry::Occupied(there) => {
                let at = there.get().at as usize;
                Some(std::mem::replace(&mut self.writes[at].1, record))
            }
            Entry::Vacant(vacant) => {
                vacant.insert(new);
                self.writes.push((key, record));
                debug_assert_eq!(self.writes.len(), self.places.len(), "each write has a place");
                None
            }
        }
    }

    /// Returns what was written to the key.
    pub(super) fn remove(&mut self, key: &[u8]) -> Option<OwnedRecord> {
        self.ordered.take();
        let at = self.place_of(key)?;
        self.forget(ListedWrite { hash: self.hash(key), at: at as u32 });
        let last = self.writes.len() - 1;
        if at != last {
            let hash = self.hash(&self.writes[last].0);
            self.forget(ListedWrite { hash, at: last as u32 });
            let moved = ListedWrite { hash, at: at as u32 };
            self.places.insert_unique(moved.spread(), moved, ListedWrite::spread);
        }
        let (_, removed) = self.writes.swap_remove(at);
        debug_assert_eq!(self.writes.len(), self.places.len(), "each write has a place");
        Some(removed)
    }

    fn forget(&mut self, place: ListedWrite) {
        let entry = self.places.find_entry(place.spread(), |other| other.at == place.at);
        entry.expect("each write has a place").remove();
    }

    /// The numbers of all writes, keys ascending.
    fn order(&self) -> impl Iterator<Item = usize> + use<> {
        let numbers = 0..self.writes.len() as u32;
        let mut order: Vec<(u128, u32)> = self
            .writes
            .iter()
            .zip(numbers)
            .map(|(write, number)| (key_head_wide(&write.0), number))
            .collect();
        let key = |number: u32| &self.writes[number as usize].0;
        order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| key(a.1).cmp(key(b.1))));
        order.into_iter().map(|(_, number)| number as usize)
    }

    /// All writes, keys ascending, one behind the other: a commit goes over them several times.
    pub(super) fn into_order(mut self) -> Vec<Write> {
        let nothing = || (WrittenKey::new(), OwnedRecord::new(Record::TOMBSTONE));
        self.order().map(|number| std::mem::replace(&mut self.writes[number], nothing())).collect()
    }

    /// All writes as a tree that is shared until the next write.
    pub(super) fn ordered(&self) -> &TableWrites {
        self.ordered
            .get_or_init(|| Arc::new(self.order().map(|number| self.writes[number].clone()).collect()))
    }

    /// The tree, if somebody asked for it since the last write.
    pub(super) fn if_ordered(&self) -> Option<&TableWrites> {
        self.ordered.get()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn owned(bytes: &[u8]) -> OwnedRecord {
        OwnedRecord::new(Record::inline(bytes))
    }

    /// Keeps away: writes that are lost or found twice when others go, and an order that looks at the first bytes of keys only.
    #[test]
    fn a_list_is_as_a_map() {
        let mut random = 7_u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (random >> 33) % below
        };
        for prefix in [0, 3, 16, 40] {
            let (mut list, mut map) = (WriteList::new([]), BTreeMap::new());
            for round in 0..20_000 {
                let number = next(500);
                let mut key = vec![b'k'; prefix];
                key.extend_from_slice(&number.to_be_bytes()[8 - next(3) as usize..]);
                let key = WrittenKey::from_slice(&key);
                match next(3) {
                    0 => assert_eq!(list.remove(&key), map.remove(&key)),
                    _ => {
                        let record = owned(&round.to_string().into_bytes());
                        assert_eq!(list.insert(key.clone(), record.clone()), map.insert(key.clone(), record));
                    }
                }
                assert_eq!(list.get(&key), map.get(&key));
                assert_eq!(list.len(), map.len());
                if round % 1000 == 0 {
                    assert_eq!(**list.ordered(), map);
                }
            }
            for (key, record) in &map {
                assert_eq!(list.get(key), Some(record));
            }
            assert!(list.into_order().into_iter().eq(map));
        }
    }
}
