//! The root: where each leaf is, and its first key.
//!
//! An entry a leaf, and then the first keys that are no numbers, one behind the other. Entries are searched where they lie.

use super::{gather::Key, leaf::KEYS_MAX};

/// Bytes of an entry.
pub(super) const ENTRY_BYTES: usize = 40;

/// A leaf, as the root has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RootEntry {
    /// Where the leaf begins; its lists that lie apart are before it, behind the leaf before.
    pub(super) at: u64,
    /// Postings of the leaves before it.
    pub(super) before: u64,
    /// The first key, if keys are numbers; otherwise where it ends among the first keys.
    pub(super) key: u64,
    pub(super) len: u32,
    pub(super) crc: u32,
    /// Lists that lie apart of the leaves before it.
    pub(super) apart: u32,
    /// Keys of the leaves before it.
    pub(super) keys: u32,
}

const _: () = assert!(ENTRY_BYTES == 3 * size_of::<u64>() + 4 * size_of::<u32>());

impl RootEntry {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        for number in [self.at, self.before, self.key] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for number in [self.len, self.crc, self.apart, self.keys] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }

    fn decode(bytes: &[u8; ENTRY_BYTES]) -> Self {
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let short = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        Self {
            at: long(0),
            before: long(8),
            key: long(16),
            len: short(24),
            crc: short(28),
            apart: short(32),
            keys: short(36),
        }
    }
}

/// A root where it lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Root<'a> {
    entries: &'a [[u8; ENTRY_BYTES]],
    texts: &'a [u8],
    is_numbers: bool,
}

/// What a root has to agree with.
#[derive(Clone, Copy, Debug)]
pub(super) struct RootBounds {
    pub(super) leaves: u32,
    pub(super) aparts: u32,
    pub(super) keys: u64,
    pub(super) postings: u64,
    /// Where the root begins.
    pub(super) at: u64,
    pub(super) is_numbers: bool,
}

impl<'a> Root<'a> {
    /// The root in `bytes`, all of which was checked before.
    pub(super) fn new(bytes: &'a [u8], leaves: u32, is_numbers: bool) -> Self {
        let (entries, texts) = bytes.split_at(leaves as usize * ENTRY_BYTES);
        Self { entries: entries.as_chunks().0, texts, is_numbers }
    }

    /// That the root in `bytes` is one.
    pub(super) fn check(bytes: &'a [u8], bounds: &RootBounds) -> Result<(), String> {
        if bytes.len() < bounds.leaves as usize * ENTRY_BYTES {
            return Err("a root that is cut off".into());
        }
        let root = Self::new(bytes, bounds.leaves, bounds.is_numbers);
        let wrong = |leaf: usize| format!("the root says of leaf {leaf} what cannot be");
        let mut end = 0;
        for leaf in 0..root.len() {
            let entry = root.entry(leaf);
            let (at, next) = (entry.at, leaf + 1);
            let is_first = entry.before == 0 && entry.apart == 0 && entry.keys == 0;
            let next_entry = (next < root.len()).then(|| root.entry(next));
            let (postings, aparts, keys) = match next_entry {
                Some(next) => (next.before, next.apart, u64::from(next.keys)),
                None => (bounds.postings, bounds.aparts, bounds.keys),
            };
            let own_keys = keys.checked_sub(entry.keys.into()).ok_or_else(|| wrong(leaf))?;
            let fits = at >= end
                && (leaf > 0 || is_first)
                && postings.checked_sub(entry.before).is_some_and(|own| own >= own_keys)
                && aparts.checked_sub(entry.apart).is_some_and(|own| u64::from(own) <= own_keys)
                && (1..=KEYS_MAX as u64).contains(&own_keys)
                && entry.at.checked_add(entry.len.into()).is_some_and(|end| end <= bounds.at);
            if !fits {
                return Err(wrong(leaf));
            }
            if !bounds.is_numbers {
                let start = leaf.checked_sub(1).map_or(0, |before| root.entry(before).key);
                if entry.key < start || entry.key > root.texts.len() as u64 {
                    return Err(wrong(leaf));
                }
            }
            let ascends = next >= root.len() || !root.is_at_least(leaf, next);
            end = entry.at + u64::from(entry.len);
            if !ascends {
                return Err(format!("leaf {next} begins before the one before it"));
            }
        }
        let texts = root.len().checked_sub(1).map_or(0, |last| root.entry(last).key);
        let is_whole = match bounds.is_numbers {
            true => root.texts.is_empty(),
            false => texts == root.texts.len() as u64,
        };
        match is_whole && end == bounds.at {
            true => Ok(()),
            false => Err("the root does not end with its last leaf".into()),
        }
    }

    /// Whether the first key of a leaf is no less than that of the next.
    fn is_at_least(&self, leaf: usize, next: usize) -> bool {
        match self.is_numbers {
            true => self.entry(leaf).key >= self.entry(next).key,
            // Ends of texts may be anything yet.
            false => match (self.try_text(leaf), self.try_text(next)) {
                (Some(one), Some(other)) => one >= other,
                _ => true,
            },
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn entry(&self, leaf: usize) -> RootEntry {
        RootEntry::decode(&self.entries[leaf])
    }

    /// Where the lists of a leaf that lie apart begin.
    pub(super) fn lists_at(&self, leaf: usize) -> u64 {
        leaf.checked_sub(1).map_or(0, |before| {
            let entry = self.entry(before);
            entry.at + u64::from(entry.len)
        })
    }

    /// The first key of a leaf, if keys are numbers.
    pub(super) fn number(&self, leaf: usize) -> Option<u64> {
        self.is_numbers.then(|| self.entry(leaf).key)
    }

    /// Whether a key lies before the first one of the leaf behind this one.
    pub(super) fn is_before_next(&self, leaf: usize, key: Key<'_>) -> bool {
        let next = leaf + 1;
        next >= self.len()
            || match key {
                Key::Number(number) => number < self.entry(next).key,
                Key::Text(text) => self.try_text(next).is_some_and(|first| text < first),
            }
    }

    fn try_text(&self, leaf: usize) -> Option<&'a [u8]> {
        let start = leaf.checked_sub(1).map_or(0, |before| self.entry(before).key) as usize;
        self.texts.get(start..self.entry(leaf).key as usize)
    }

    /// The leaf of a key, by how many are before it.
    pub(super) fn leaf_of_nth(&self, key: u64) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            match u64::from(self.entry(middle).keys) <= key {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low.saturating_sub(1)
    }

    /// The last leaf that begins at or before `wanted`; the first if none does.
    pub(super) fn leaf_of(&self, wanted: &[u8]) -> usize {
        let begins = |leaf: usize| match self.is_numbers {
            true => self.entry(leaf).key <= super::keys::number(wanted),
            false => self.try_text(leaf).is_some_and(|text| text <= wanted),
        };
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            match begins(middle) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low.saturating_sub(1)
    }
}
