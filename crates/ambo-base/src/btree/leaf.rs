//! Leaf pages: the key list in front, the records behind, apart.
//!
//! # Format
//! Behind the node header (see [`super::node`]):
//!
//! | part | size | meaning |
//! |---|---|---|
//! | key list | see [`super::key_list`] | from offset 48, so that a search finds it in the cache lines after the header |
//! | offsets | (keys + 1) × 2 or 4 | record encoding 2 only: the bytes of all records before each, and at last of all |
//! | kinds | keys | flag bit 1 only: the [`RecordKind`] of each record, or 4 if it is compressed; without it all are inline |
//! | | | zeros |
//! | records | header's records (× keys if of fixed width) | up to the page's end, the first record last: record *i* ends where record *i* − 1 begins |
//!
//! Record encoding 1 (all records inline and of one width) has neither offsets nor kinds. Records are
//! filled in from the end as they come, so that the keys, whose common prefix is only known when the page
//! is full, can be in front of them.
//!
//! Example: `k1` → `abc`, `k2` → deleted, in a page of 4096 bytes at page number 7:
//!
//! ```text
//!    0  crc32c(4) 01 01 0000 0700000000000000                        the page header: a leaf
//!   16  02000000 01 02 02 00 01000000 30000000 01000000 03000000    2 keys, fixed, offsets, kinds; prefix 1, at 48; width 1; 3 bytes
//!   40  01000000 3e000000                                            1 tombstone, 62 bytes used
//!   48  6b 31 32                                                     prefix "k", suffixes "1", "2"
//!   51  0000 0300 0300                                               record offsets
//!   57  01 03                                                        inline, tombstone
//! 4093  616263                                                       the records
//! ```

use std::ops::Range;

use ambo_pages::page::{PageKind, header as page_header};
use ambo_types::record::RecordKind;

use super::{
    Found,
    key_list::KeyList,
    node::{self, FLAG_FILTERS, FLAG_KINDS, NodeHeader},
};

/// Records inline and of one width.
pub(super) const FIXED: u8 = 1;
/// Records of any length and kind, with offsets.
pub(super) const OFFSETS: u8 = 2;

/// How a leaf has a record: as everywhere else, or compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stored {
    /// With the number of its kind.
    Plain(RecordKind),
    /// Number 4: a compressed inline record (see [`super::packed`]).
    Packed,
}

impl Stored {
    const PACKED: u8 = 4;

    /// The number in the page.
    pub(super) fn number(self) -> u8 {
        let number = match self {
            Self::Plain(kind) => kind as u8,
            Self::Packed => Self::PACKED,
        };
        debug_assert_eq!(Self::from_u8(number), Some(self), "a number is read as what it was written for");
        number
    }

    /// Whether the value is in the leaf.
    pub(super) fn is_inline(self) -> bool {
        matches!(self, Self::Plain(RecordKind::Inline) | Self::Packed)
    }
    #[inline]
    fn from_u8(number: u8) -> Option<Self> {
        if number == Self::PACKED { Some(Self::Packed) } else { RecordKind::from_u8(number).map(Self::Plain) }
    }
}

/// A leaf's parts, checked to lie inside the page; only meaningful with the page that it was parsed from.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeafView {
    /// The keys.
    pub keys: KeyList,
    fixed: bool,
    offset_bytes: usize,
    /// Fixed: the width. Else: the bytes of the heap.
    records: usize,
    offsets_at: usize,
    /// The page's end.
    records_end: usize,
    /// Zero: all are inline.
    kinds_at: usize,
    tombstones: u32,
    used: u32,
}

impl LeafView {
    /// Finds the parts and checks that they lie inside the page.
    #[inline]
    pub(super) fn parse(page: &[u8]) -> Found<Self> {
        let header = NodeHeader::parse(page)?;
        if page_header::kind(page) != Some(PageKind::Leaf) {
            return Err("a leaf was expected");
        }
        if header.flags & FLAG_FILTERS != 0 {
            return Err("a leaf has no filters of leaves");
        }
        let keys = KeyList::parse(page, &header)?;
        if keys.len() == 0 {
            return Err("a leaf without entries");
        }
        let records = header.records as usize;
        let fixed = header.detail == FIXED;
        let record_bytes = if fixed {
            if header.flags & FLAG_KINDS != 0 {
                return Err("records of fixed width have no kinds");
            }
            keys.len().checked_mul(records).ok_or("the records reach beyond the page")?
        } else if header.detail == OFFSETS {
            records
        } else {
            return Err("unknown record encoding");
        };
        let offset_bytes = header.offset_bytes();
        let (mut offsets_at, mut kinds_at, mut end) = (0, 0, keys.end());
        if !fixed {
            offsets_at = end;
            end = node::section_end(page, offsets_at, keys.len() + 1, offset_bytes)?;
            if header.flags & FLAG_KINDS != 0 {
                kinds_at = end;
                end = node::section_end(page, end, keys.len(), 1)?;
            }
        }
        let records_end = page.len();
        if record_bytes > records_end - end {
            return Err("the records reach into the keys");
        }
        let (tombstones, used) = (header.tombstones, header.used);
        Ok(Self { keys, fixed, offset_bytes, records, offsets_at, records_end, kinds_at, tombstones, used })
    }

    /// How many entries.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// How the record of entry `index` is stored, and where its bytes lie in the page.
    #[inline]
    pub(super) fn record(&self, page: &[u8], index: usize) -> Found<(Stored, Range<usize>)> {
        if index >= self.keys.len() {
            return Err("an entry lies beyond the record list");
        }
        if self.fixed {
            let end = self.records_end - index * self.records;
            return Ok((Stored::Plain(RecordKind::Inline), end - self.records..end));
        }
        let start = node::offset(page, self.offsets_at, self.offset_bytes, index)?;
        let end = node::offset(page, self.offsets_at, self.offset_bytes, index + 1)?;
        if start > end || end > self.records {
            return Err("the record offsets are not in order");
        }
        let kind = if self.kinds_at == 0 {
            Stored::Plain(RecordKind::Inline)
        } else {
            let number = page.get(self.kinds_at + index).copied().unwrap_or(0);
            Stored::from_u8(number).ok_or("unknown record kind")?
        };
        Ok((kind, self.records_end - end..self.records_end - start))
    }

    /// Tombstones among the entries, as the header says.
    pub(super) fn tombstones(&self) -> u32 {
        self.tombstones
    }

    /// Bytes used, as the header says.
    pub(super) fn used(&self) -> u32 {
        self.used
    }
}

/// What is known of a leaf without reading it: kept by its parent, so that a merge can adopt the leaf unseen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct LeafSummary {
    /// Bytes used, page and node headers included.
    pub used: u32,
    /// Entries that are tombstones.
    pub tombstones: u32,
    /// Bytes of all keys, whole.
    pub key_bytes: u64,
    /// Bytes of all values, those in blobs included.
    pub value_bytes: u64,
    /// Pages of the blobs that the entries refer to.
    pub blob_pages: u64,
}
