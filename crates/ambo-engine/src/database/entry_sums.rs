//! Fingerprints of an index's entries, to compare all of them with the rows of its table at once.
//!
//! The hashes of entries are added up, so their order does not matter, and several threads add up parts. Two sets of as many entries have
//! the same sum if they are the same; if they are not, by one chance in 2⁶⁴. Not a defence against somebody who chooses entries.

use rapidhash::v3::{RapidSecrets, rapidhash_v3, rapidhash_v3_seeded};

/// What entries come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EntrySum {
    /// How many they are.
    pub entries: u64,
    hashes: u64,
}

impl EntrySum {
    /// Adds an entry.
    pub fn add(&mut self, key: &[u8], value: &[u8]) {
        // The value is hashed from where the key left off, so that nothing can move from the one to the other.
        let hash = rapidhash_v3_seeded(value, &RapidSecrets::seed_cpp(rapidhash_v3(key)));
        self.entries += 1;
        self.hashes = self.hashes.wrapping_add(hash);
    }

    /// What these and others come to.
    pub fn and(self, other: Self) -> Self {
        Self { entries: self.entries + other.entries, hashes: self.hashes.wrapping_add(other.hashes) }
    }
}
