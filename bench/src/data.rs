//! The keys and values of the workloads.

use std::ops::Deref;

use crate::engine::Row;
use crate::random::{Random, mix};

/// The longest key of any workload.
const KEY_BYTES_MAX: usize = 24;
/// Bytes of the pool that values are cut from. It fits the processor's second-level cache, so that what a
/// value costs is the engine's cost; values are different slices of random bytes, which no engine compresses.
const POOL_BYTES: usize = 256 << 10;

/// A key, without an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    bytes: [u8; KEY_BYTES_MAX],
    len: u8,
}

impl Deref for Key {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// The order of the keys of record 0, 1, 2, …
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Neighbouring records are far apart.
    Random,
    /// Keys increase with the record's number.
    Sorted,
}

/// The rows of a data set: record number to key and value.
#[derive(Debug)]
pub struct DataSet {
    key_bytes: usize,
    value_bytes: usize,
    order: Order,
    pool: Vec<u8>,
}

impl DataSet {
    /// A data set of keys and values of those lengths; keys have 8 to 24 bytes.
    pub fn new(key_bytes: usize, value_bytes: usize, order: Order) -> DataSet {
        assert!((8..=KEY_BYTES_MAX).contains(&key_bytes) && (1..=POOL_BYTES).contains(&value_bytes));
        let mut random = Random::new(0x00a1_b0de);
        let words = (POOL_BYTES + value_bytes).div_ceil(8);
        let pool = (0..words).flat_map(|_| random.next_u64().to_le_bytes()).collect();
        DataSet { key_bytes, value_bytes, order, pool }
    }

    /// Bytes of a key and its value.
    pub fn row_bytes(&self) -> usize {
        self.key_bytes + self.value_bytes
    }

    /// The key of a record.
    pub fn key(&self, record: u64) -> Key {
        let mut bytes = [0; KEY_BYTES_MAX];
        let first = match self.order {
            Order::Random => mix(record),
            Order::Sorted => record,
        };
        bytes[..8].copy_from_slice(&first.to_be_bytes());
        bytes[8..16].copy_from_slice(&mix(first ^ 0x5555).to_be_bytes());
        bytes[16..].copy_from_slice(&mix(first ^ 0xaaaa).to_be_bytes());
        Key { bytes, len: self.key_bytes as u8 }
    }

    /// The value of a record; another `version` is another value.
    pub fn value(&self, record: u64, version: u64) -> &[u8] {
        let start = (mix(record ^ version.rotate_left(40)) as usize) % POOL_BYTES;
        &self.pool[start..start + self.value_bytes]
    }

    /// Key and first value of a record.
    pub fn row(&self, record: u64) -> Row<'_> {
        (self.key(record), self.value(record, 0))
    }

    /// Whether `found` looks like the record's first value: length, first and last byte, which a read must touch anyway.
    pub fn matches(&self, record: u64, found: &[u8]) -> bool {
        let value = self.value(record, 0);
        found.len() == value.len() && found[0] == value[0] && found[found.len() - 1] == value[value.len() - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unique_and_ordered_as_asked() {
        // Keeps away: a "random order" load that is sorted, or a sorted load that engines refuse.
        let sorted = DataSet::new(12, 10, Order::Sorted);
        assert!((0..1000).map(|i| sorted.key(i)).is_sorted_by(|a, b| a < b));
        assert_eq!(sorted.key(1).len(), 12);
        let random = DataSet::new(24, 10, Order::Random);
        assert!(!(0..10).map(|i| random.key(i)).is_sorted());
    }

    #[test]
    fn a_value_is_told_from_another() {
        // Keeps away: reads that return the wrong row and are counted as right.
        let data = DataSet::new(12, 500, Order::Random);
        assert!(data.matches(5, data.value(5, 0)));
        let wrong = (0..1000).filter(|&i| i != 5 && data.matches(5, data.value(i, 0))).count();
        assert!(wrong < 3, "{wrong} of 1000 others look the same");
        assert!(!data.matches(5, &data.value(5, 0)[1..]));
    }
}
