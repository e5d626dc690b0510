//! Leaf pages: the key list in front, the records behind, apart.
//!
//! # Format
//! Behind the node header (see [`super::node`]):
//!
//! | part | size | meaning |
//! |---|---|---|
//! | key list | see [`super::key_list`] | from offset 48, so that a search finds it in the cache lines after the header |
//! | offsets | (keys + 1) × 2 or 4 | record encoding 2 only: the bytes of all records before each, and at last of all |
//! | kinds | keys | flag bit 1 only: the [`RecordKind`] of each record; without it all are inline |
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

use super::{
    Found,
    key_list::{self, KeyList, KeyMeasure},
    node::{self, BODY, FLAG_KINDS, FLAG_WIDE, NodeHeader, TAIL},
};
use crate::{
    page::{PageKind, header as page_header},
    record::{Record, RecordKind},
};

/// Records inline and of one width.
const FIXED: u8 = 1;
/// Records of any length and kind, with offsets.
const OFFSETS: u8 = 2;

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

    /// The kind of entry `index` and where its bytes lie in the page.
    #[inline]
    pub(super) fn record(&self, page: &[u8], index: usize) -> Found<(RecordKind, Range<usize>)> {
        if index >= self.keys.len() {
            return Err("an entry lies beyond the record list");
        }
        if self.fixed {
            let end = self.records_end - index * self.records;
            return Ok((RecordKind::Inline, end - self.records..end));
        }
        let start = node::offset(page, self.offsets_at, self.offset_bytes, index)?;
        let end = node::offset(page, self.offsets_at, self.offset_bytes, index + 1)?;
        if start > end || end > self.records {
            return Err("the record offsets are not in order");
        }
        let kind = if self.kinds_at == 0 {
            RecordKind::Inline
        } else {
            let number = page.get(self.kinds_at + index).copied().unwrap_or(0);
            RecordKind::from_u8(number).ok_or("unknown record kind")?
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

/// A leaf in the making. Records go straight into the page, keys wait in a buffer for their common prefix.
pub(super) struct LeafDraft {
    page: Vec<u8>,
    page_size: usize,
    keys: Vec<u8>,
    key_ends: Vec<u32>,
    measure: KeyMeasure,
    record_ends: Vec<u32>,
    kinds: Vec<RecordKind>,
    /// Whether the records differ in length.
    mixed: bool,
    /// Whether some record is not inline.
    kinded: bool,
    summary: LeafSummary,
}

impl LeafDraft {
    /// An empty draft.
    pub(super) fn new(page_size: usize) -> Self {
        Self {
            page: vec![0; page_size],
            page_size,
            keys: Vec::new(),
            key_ends: Vec::new(),
            measure: KeyMeasure::default(),
            record_ends: Vec::new(),
            kinds: Vec::new(),
            mixed: false,
            kinded: false,
            summary: LeafSummary::default(),
        }
    }

    /// How many entries.
    pub(super) fn len(&self) -> usize {
        self.key_ends.len()
    }

    /// Whether there are no entries.
    pub(super) fn is_empty(&self) -> bool {
        self.key_ends.is_empty()
    }

    /// The key of entry `index`.
    pub(super) fn key(&self, index: usize) -> &[u8] {
        &self.keys[start_of(&self.key_ends, index)..self.key_ends[index] as usize]
    }

    /// The record of entry `index`.
    pub(super) fn record(&self, index: usize) -> Record<'_> {
        let (start, end) = (start_of(&self.record_ends, index), self.record_ends[index] as usize);
        Record { kind: self.kinds[index], bytes: &self.page[self.page.len() - end..self.page.len() - start] }
    }

    /// The last key.
    pub(super) fn last_key(&self) -> Option<&[u8]> {
        self.len().checked_sub(1).map(|last| self.key(last))
    }

    fn heap_len(&self) -> usize {
        self.record_ends.last().map_or(0, |end| *end as usize)
    }

    /// Bytes that the page would use with these properties.
    #[inline]
    fn size(
        &self,
        measure: &KeyMeasure,
        heap: usize,
        mixed: bool,
        kinded: bool,
        offset_bytes: usize,
    ) -> usize {
        let offsets = if mixed || kinded { (measure.count + 1) * offset_bytes } else { 0 };
        let kinds = if kinded { measure.count } else { 0 };
        BODY + heap + measure.size(offset_bytes) + offsets + kinds
    }

    /// Bytes that the page uses.
    pub(super) fn used(&self) -> usize {
        self.size(&self.measure, self.heap_len(), self.mixed, self.kinded, self.offset_bytes())
    }

    fn offset_bytes(&self) -> usize {
        if self.page.len() > self.page_size { 4 } else { 2 }
    }

    /// Adds an entry behind the others if it fits. An entry that does not fit an empty draft turns the
    /// draft into a page of several units, which takes nothing more. `value_bytes` and `blob_pages` are of
    /// the record's blob, if it is one.
    #[inline]
    pub(super) fn push(&mut self, key: &[u8], record: Record<'_>, value_bytes: u64, blob_pages: u64) -> bool {
        let first = if self.is_empty() { key } else { &self.keys[..self.key_ends[0] as usize] };
        let measure = self.measure.with(first, key);
        let heap = self.heap_len();
        let mixed = self.mixed || (!self.is_empty() && record.bytes.len() * self.len() != heap);
        let kinded = self.kinded || record.kind != RecordKind::Inline;
        let heap_end = heap + record.bytes.len();
        if self.size(&measure, heap_end, mixed, kinded, self.offset_bytes()) + TAIL > self.page.len()
            || self.page.len() > self.page_size
        {
            if !self.is_empty() {
                return false;
            }
            let size = self.size(&measure, heap_end, mixed, kinded, 4) + TAIL;
            self.page.resize(size.next_multiple_of(self.page_size), 0);
        }
        let page_end = self.page.len();
        self.page[page_end - heap_end..page_end - heap].copy_from_slice(record.bytes);
        self.keys.extend_from_slice(key);
        self.key_ends.push(self.keys.len() as u32);
        self.record_ends.push(heap_end as u32);
        self.kinds.push(record.kind);
        (self.measure, self.mixed, self.kinded) = (measure, mixed, kinded);
        self.summary.tombstones += u32::from(record.is_tombstone());
        self.summary.key_bytes += key.len() as u64;
        self.summary.value_bytes += value_bytes;
        self.summary.blob_pages += blob_pages;
        true
    }

    /// Completes the page but for what the page writer fills in.
    pub(super) fn encode(&mut self) -> (&mut [u8], LeafSummary) {
        assert!(!self.is_empty(), "a leaf has entries");
        let heap = self.heap_len();
        let count = self.len();
        let used = self.used();
        let offset_bytes = self.offset_bytes();
        let prefix = &self.keys[..self.measure.prefix];
        let keys = (0..count)
            .map(|index| &self.keys[start_of(&self.key_ends, index)..self.key_ends[index] as usize]);
        let at = BODY;
        let width = self.measure.width();
        let encoded = key_list::encode(&mut self.page, at, offset_bytes, prefix, width, count, keys);
        let mut end = encoded.end;
        let offsets = self.mixed || self.kinded;
        if offsets {
            node::write_offset(&mut self.page, end, offset_bytes, 0, 0);
            for (index, record_end) in self.record_ends.iter().enumerate() {
                node::write_offset(&mut self.page, end, offset_bytes, index + 1, *record_end as usize);
            }
            end += (count + 1) * offset_bytes;
        }
        if self.kinded {
            for (byte, kind) in self.page[end..].iter_mut().zip(&self.kinds) {
                *byte = *kind as u8;
            }
            end += count;
        }
        assert_eq!(end + heap, used, "a leaf is as large as it was measured");
        let records_at = self.page.len() - heap;
        self.page[end..records_at].fill(0);
        let header = NodeHeader {
            keys: count as u32,
            key_encoding: encoded.encoding,
            detail: if offsets { OFFSETS } else { FIXED },
            flags: if offset_bytes == 4 { FLAG_WIDE } else { 0 } | if self.kinded { FLAG_KINDS } else { 0 },
            prefix: self.measure.prefix as u32,
            key_list: at as u32,
            suffix: encoded.suffix,
            records: if offsets { heap } else { heap / count } as u32,
            tombstones: self.summary.tombstones,
            used: used as u32,
        };
        header.write(&mut self.page);
        page_header::set_header(&mut self.page, PageKind::Leaf, 0);
        self.summary.used = used as u32;
        (&mut self.page, self.summary)
    }

    /// Empties the draft for the next leaf.
    pub(super) fn clear(&mut self) {
        self.page.resize(self.page_size, 0);
        self.keys.clear();
        self.key_ends.clear();
        self.record_ends.clear();
        self.kinds.clear();
        self.measure = KeyMeasure::default();
        (self.mixed, self.kinded) = (false, false);
        self.summary = LeafSummary::default();
    }

    /// Units that the page spans.
    pub(super) fn units(&self) -> usize {
        self.page.len() / self.page_size
    }
}

#[inline]
fn start_of(ends: &[u32], index: usize) -> usize {
    if index == 0 { 0 } else { ends[index - 1] as usize }
}
