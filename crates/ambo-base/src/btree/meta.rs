//! What a tree's owner stores to find the tree again.

use ambo_codec::{integer::IntegerCodec, record::RecordCodec};
use ambo_types::id::PagePtr;

use super::Found;

/// Root, height and totals of a tree.
///
/// # Format
/// 72 bytes, little-endian:
///
/// | offset | size | meaning |
/// |---|---|---|
/// | 0 | 8 | the root's [`PagePtr`]; zero if the tree is empty |
/// | 8 | 8 | entries, tombstones included |
/// | 16 | 8 | tombstones |
/// | 24 | 8 | leaf pages, in units |
/// | 32 | 8 | inner pages, in units |
/// | 40 | 8 | blob pages |
/// | 48 | 8 | bytes of all keys, whole |
/// | 56 | 8 | bytes of all values, those in blobs included |
/// | 64 | 1 | height: 0 empty, 1 the root is a leaf |
/// | 65 | 1 | the codec of keys, or zero |
/// | 66 | 2 | number and level of the codec of records, or zeros |
/// | 68 | 1 | bit 0: records have a dictionary; bit 1: leaves of older trees are compressed otherwise |
/// | 69 | 3 | zero |
///
/// A tree of the one leaf 9 with the entry `k` → `abc`: `0900000000000100`, `01…`, `00…`, `01…`, `00…`,
/// `00…`, `01…`, `03…`, `01`, `00…`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TreeMeta {
    /// The root page; null if the tree is empty.
    pub root: PagePtr,
    /// Levels: 0 empty, 1 the root is a leaf.
    pub height: u8,
    /// Entries, tombstones included.
    pub rows: u64,
    /// Tombstones among the entries.
    pub tombstones: u64,
    /// Page-sized units in leaves.
    pub leaf_pages: u64,
    /// Page-sized units in inner pages.
    pub inner_pages: u64,
    /// Pages of blobs.
    pub blob_pages: u64,
    /// Bytes of all keys, whole.
    pub key_bytes: u64,
    /// Bytes of all values, those in blobs included.
    pub value_bytes: u64,
    /// How leaves are compressed.
    pub compression: TreeCompression,
}

/// How the leaves of a tree are compressed. Each leaf says it of itself; this is to know without reading them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TreeCompression {
    /// The codec of keys.
    pub keys: Option<IntegerCodec>,
    /// The codec of records.
    pub records: Option<RecordCodec>,
    /// Whether records have a dictionary.
    pub dictionary: bool,
    /// Whether there are leaves of older trees that are compressed otherwise.
    pub mixed: bool,
}

impl TreeCompression {
    const DICTIONARY: u8 = 1;
    const MIXED: u8 = 2;

    fn encode(&self) -> [u8; 4] {
        let (number, level) = self.records.map_or((0, 0), |codec| (codec.number(), codec.level()));
        let flags =
            if self.dictionary { Self::DICTIONARY } else { 0 } | if self.mixed { Self::MIXED } else { 0 };
        let bytes = [self.keys.map_or(0, |codec| codec as u8), number, level, flags];
        debug_assert_eq!(Self::decode(bytes), Some(*self));
        bytes
    }

    fn decode([keys, number, level, flags]: [u8; 4]) -> Option<Self> {
        Some(Self {
            keys: if keys == 0 { None } else { Some(IntegerCodec::from_u8(keys)?) },
            records: if number == 0 && level == 0 {
                None
            } else {
                Some(RecordCodec::from_parts(number, level)?)
            },
            dictionary: flags & Self::DICTIONARY != 0,
            mixed: flags & Self::MIXED != 0,
        })
        .filter(|_| flags & !(Self::DICTIONARY | Self::MIXED) == 0)
    }
}

impl TreeMeta {
    /// Bytes of the encoded form.
    pub const BYTES: usize = 72;
    const HEIGHT: usize = 64;

    /// The stored form.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        for (slot, value) in bytes.chunks_exact_mut(8).zip(self.words()) {
            slot.copy_from_slice(&value.to_le_bytes());
        }
        bytes[Self::HEIGHT] = self.height;
        bytes[Self::HEIGHT + 1..Self::HEIGHT + 5].copy_from_slice(&self.compression.encode());
        debug_assert!(
            Self::decode(&bytes).is_none_or(|read| read == *self),
            "a description is read as it was written"
        );
        bytes
    }

    /// Reads the stored form; `None` if it is not one.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        Self::parse(bytes).ok()
    }

    fn parse(bytes: &[u8]) -> Found<Self> {
        let bytes: &[u8; Self::BYTES] = bytes.try_into().map_err(|_| "a tree's description has 72 bytes")?;
        let word = |index: usize| {
            bytes[index * 8..].first_chunk().map_or(0, |bytes: &[u8; 8]| u64::from_le_bytes(*bytes))
        };
        let compression =
            bytes[Self::HEIGHT + 1..].first_chunk().and_then(|bytes| TreeCompression::decode(*bytes));
        let compression = compression.ok_or("a tree is compressed in a way that is not known")?;
        let meta = Self {
            root: PagePtr(word(0)),
            height: bytes[Self::HEIGHT],
            rows: word(1),
            tombstones: word(2),
            leaf_pages: word(3),
            inner_pages: word(4),
            blob_pages: word(5),
            key_bytes: word(6),
            value_bytes: word(7),
            compression,
        };
        let empty = meta.rows == 0;
        if bytes[Self::HEIGHT + 5..].iter().any(|byte| *byte != 0)
            || meta.tombstones > meta.rows
            || (meta.root.units() == 0) != empty
            || (meta.root.is_null()) != empty
            || (meta.height == 0) != empty
        {
            return Err("a tree's description contradicts itself");
        }
        Ok(meta)
    }

    fn words(&self) -> [u64; 8] {
        [
            self.root.0,
            self.rows,
            self.tombstones,
            self.leaf_pages,
            self.inner_pages,
            self.blob_pages,
            self.key_bytes,
            self.value_bytes,
        ]
    }

    /// Whether the tree has no entries.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Pages of all sorts, in units.
    pub fn pages(&self) -> u64 {
        self.leaf_pages + self.inner_pages + self.blob_pages
    }
}

const _: () = assert!(TreeMeta::HEIGHT + 8 == TreeMeta::BYTES);

#[cfg(test)]
mod tests {
    use super::*;
    use ambo_types::id::PageNo;

    // Keeps away: a change of the stored form that nobody noticed.
    #[test]
    fn the_worked_example_holds() {
        let meta = TreeMeta {
            root: PagePtr::new(PageNo(9), 1),
            height: 1,
            rows: 1,
            leaf_pages: 1,
            key_bytes: 1,
            value_bytes: 3,
            ..TreeMeta::default()
        };
        let bytes = meta.encode();
        assert_eq!(bytes[..8], [9, 0, 0, 0, 0, 0, 1, 0]);
        assert_eq!((bytes[8], bytes[24], bytes[48], bytes[56], bytes[64]), (1, 1, 1, 3, 1));
        assert_eq!(TreeMeta::decode(&bytes), Some(meta));
        assert_eq!(TreeMeta::decode(&TreeMeta::default().encode()), Some(TreeMeta::default()));
    }

    // Keeps away: damaged descriptions that pass, and so trees without a root or with a height of their own.
    #[test]
    fn contradictions_are_refused() {
        let meta = TreeMeta { root: PagePtr::new(PageNo(9), 1), height: 1, rows: 1, ..TreeMeta::default() };
        let good = meta.encode();
        assert_eq!(TreeMeta::decode(&good), Some(meta));
        for (at, value) in
            [(6, 0), (8, 0), (16, 2), (64, 0), (65, 8), (66, 8), (67, 1), (68, 4), (69, 1), (71, 9)]
        {
            let mut bytes = good;
            bytes[at] = value;
            assert_eq!(TreeMeta::decode(&bytes), None, "byte {at}");
        }
        assert_eq!(TreeMeta::decode(&good[..71]), None);
    }
}
