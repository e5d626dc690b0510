//! Entries in memory: gathered in any order, then sorted.

use std::cmp::Ordering;

use ambo_base::merge::{Head, prefix};
use ambo_pages::budget::Charge;
use ambo_types::record::Record;

use super::entries::{DELETED_RANK, LIVE_RANK};

/// Where an entry is among the bytes gathered.
#[derive(Clone, Copy)]
struct Span {
    at: u32,
    key: u32,
    /// The length of the value; [`TOMBSTONE`] if the entry is deleted.
    value: u32,
}

const TOMBSTONE: u32 = u32::MAX;

impl Span {
    fn value_len(self) -> usize {
        if self.value == TOMBSTONE { 0 } else { self.value as usize }
    }
}

/// Entries as they come.
#[derive(Default)]
pub(super) struct Gathered {
    /// The first bytes of each key, which decide most comparisons, and the number of its span.
    order: Vec<(u64, u32)>,
    spans: Vec<Span>,
    bytes: Vec<u8>,
}

impl Gathered {
    pub(super) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len() + self.spans.len() * (size_of::<Span>() + size_of::<(u64, u32)>())
    }

    /// Adds an entry; without a value one that is deleted.
    pub(super) fn push(&mut self, key: &[u8], value: Option<&[u8]>) {
        debug_assert!(key.len() < DELETED as usize && u32::try_from(self.bytes.len()).is_ok());
        let span = Span {
            at: self.bytes.len() as u32,
            key: key.len() as u32,
            value: value.map_or(TOMBSTONE, |value| value.len() as u32),
        };
        self.order.push((prefix(key), self.spans.len() as u32));
        self.spans.push(span);
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value.unwrap_or_default());
    }

    fn key(&self, span: u32) -> &[u8] {
        let Span { at, key, .. } = self.spans[span as usize];
        &self.bytes[at as usize..][..key as usize]
    }

    /// Takes what was gathered, in order.
    pub(super) fn sort(&mut self) -> Chunk {
        self.order.sort_unstable();
        let mut order = std::mem::take(&mut self.order);
        // Few have the same first bytes; of those that do the rest decides.
        for same in order.chunk_by_mut(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
            let is_deleted = |span: u32| self.spans[span as usize].value == TOMBSTONE;
            let rest = |a: &(u64, u32), b: &(u64, u32)| {
                self.key(a.1).cmp(self.key(b.1)).then_with(|| is_deleted(a.1).cmp(&is_deleted(b.1)))
            };
            same.sort_unstable_by(rest);
        }
        let mut chunk = Chunk {
            items: Vec::with_capacity(order.len()),
            bytes: Vec::with_capacity(self.bytes.len()),
            charge: None,
        };
        for (prefix, span) in &order {
            let span = self.spans[*span as usize];
            chunk.items.push(Item {
                prefix: *prefix,
                at: chunk.bytes.len() as u32,
                key: span.key_and_deleted(),
            });
            let (at, len) = (span.at as usize, span.key as usize + span.value_len());
            chunk.bytes.extend_from_slice(&self.bytes[at..at + len]);
        }
        debug_assert!(chunk.is_in_order(), "entries are sorted by their keys");
        debug_assert_eq!(chunk.bytes.len(), self.bytes.len(), "all that was gathered");
        order.clear();
        self.order = order;
        self.spans.clear();
        self.bytes.clear();
        chunk
    }
}

/// An entry of a chunk. It ends where the next begins.
struct Item {
    prefix: u64,
    at: u32,
    /// The length of the key, and [`DELETED`].
    key: u32,
}

const DELETED: u32 = 1 << 31;

impl Span {
    fn key_and_deleted(self) -> u32 {
        self.key | if self.value == TOMBSTONE { DELETED } else { 0 }
    }
}

/// Sorted entries. Of the same key, those that are deleted come last.
pub(super) struct Chunk {
    items: Vec<Item>,
    bytes: Vec<u8>,
    /// The memory that it has of the budget.
    pub(super) charge: Option<Charge>,
}

impl Chunk {
    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len() + self.items.len() * size_of::<Item>()
    }

    /// Whether keys ascend, and of each what is deleted comes last; for assertions.
    fn is_in_order(&self) -> bool {
        let place = |index: usize| (self.key(index), self.items[index].key & DELETED);
        (1..self.len()).all(|index| place(index - 1) <= place(index))
    }
    /// How many entries.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// The key of an entry.
    pub(super) fn key(&self, index: usize) -> &[u8] {
        let Item { at, key, .. } = self.items[index];
        &self.bytes[at as usize..][..(key & !DELETED) as usize]
    }

    /// The number of the first entry with this key or a greater one.
    pub(super) fn lower_bound(&self, key: &[u8]) -> usize {
        let first = prefix(key);
        let (mut low, mut high) = (0, self.items.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let order = self.items[middle].prefix.cmp(&first).then_with(|| self.key(middle).cmp(key));
            match order {
                Ordering::Less => low = middle + 1,
                _ => high = middle,
            }
        }
        debug_assert!(
            (low == 0 || self.key(low - 1) < key) && (low == self.len() || self.key(low) >= key),
            "keys before a bound are less, and no others"
        );
        low
    }

    /// What a merge compares of an entry.
    pub(super) fn head(&self, index: usize) -> Head {
        let Item { prefix, key, .. } = self.items[index];
        Head::of_prefix(prefix, if key & DELETED == 0 { LIVE_RANK } else { DELETED_RANK })
    }

    /// The record of an entry.
    pub(super) fn record(&self, index: usize) -> Record<'_> {
        let Item { at, key, .. } = self.items[index];
        if key & DELETED != 0 {
            return Record::TOMBSTONE;
        }
        let end = self.items.get(index + 1).map_or(self.bytes.len(), |next| next.at as usize);
        Record::inline(&self.bytes[at as usize + key as usize..end])
    }
}
