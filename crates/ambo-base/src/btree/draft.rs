//! A leaf in the making.

use ambo_codec::integer::IntegerCodec;
use ambo_pages::page::{PageKind, header as page_header};
use ambo_types::record::{Record, RecordKind};

use super::{
    key_blocks::{BLOCKS, BlocksDraft},
    key_list::{self, KeyMeasure},
    key_reader::KeyReader,
    leaf::{FIXED, LeafSummary, LeafView, OFFSETS, Stored},
    leaf_filter,
    node::{self, BODY, FLAG_KEYS_64, FLAG_KINDS, FLAG_WIDE, NodeHeader, TAIL},
};

/// An entry as it goes into a leaf.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    /// The key, whole.
    pub key: &'a [u8],
    /// How the record is stored.
    pub stored: Stored,
    /// What is stored of it.
    pub bytes: &'a [u8],
    /// Bytes of the value: uncompressed, and in a blob if it is one.
    pub value_bytes: u64,
    /// Pages of the blob, if it is one.
    pub blob_pages: u64,
}

impl<'a> Entry<'a> {
    /// An entry whose record is stored as it is.
    pub(super) fn plain(key: &'a [u8], record: Record<'a>, value_bytes: u64, blob_pages: u64) -> Self {
        Self { key, stored: Stored::Plain(record.kind), bytes: record.bytes, value_bytes, blob_pages }
    }
}

/// All that the size of a leaf depends on whose keys are not compressed.
#[derive(Clone, Copy, Debug, Default)]
struct Fill {
    keys: KeyMeasure,
    /// Bytes of records.
    heap: usize,
    /// Whether the records differ in length.
    mixed: bool,
    /// Whether some record is not inline.
    kinded: bool,
}

impl Fill {
    /// With one more entry, given the leaf's first key.
    #[inline]
    fn with(&self, first: &[u8], entry: &Entry<'_>) -> Self {
        let count = self.keys.count;
        Self {
            keys: self.keys.with(first, entry.key),
            heap: self.heap + entry.bytes.len(),
            mixed: self.mixed || entry.bytes.len() * count != self.heap,
            kinded: self.kinded || entry.stored != Stored::Plain(RecordKind::Inline),
        }
    }

    /// Bytes that the page uses.
    #[inline]
    fn size(&self, offset_bytes: usize) -> usize {
        self.size_but_keys(offset_bytes) + self.keys.size(offset_bytes)
    }

    /// Bytes that the page uses for other things than keys.
    #[inline]
    fn size_but_keys(&self, offset_bytes: usize) -> usize {
        let count = self.keys.count;
        let offsets = if self.has_offsets() { (count + 1) * offset_bytes } else { 0 };
        let kinds = if self.kinded { count } else { 0 };
        BODY + self.heap + offsets + kinds
    }

    fn has_offsets(&self) -> bool {
        self.mixed || self.kinded
    }
}

/// A leaf in the making. Records go straight into the page, keys wait in a buffer until it is known what they have in
/// common.
pub(super) struct LeafDraft {
    page: Vec<u8>,
    page_size: usize,
    keys: Vec<u8>,
    key_ends: Vec<u32>,
    record_ends: Vec<u32>,
    stored: Vec<Stored>,
    fill: Fill,
    /// With a codec.
    blocks: Option<BlocksDraft>,
    /// Whether all keys can be compressed.
    blocks_fit: bool,
    summary: LeafSummary,
}

impl LeafDraft {
    /// An empty draft. With a codec, keys of the given width, 4 or 8 bytes, are compressed where that makes them
    /// smaller.
    pub(super) fn new(page_size: usize, key_codec: Option<(IntegerCodec, usize)>) -> Self {
        Self {
            page: vec![0; page_size],
            page_size,
            keys: Vec::new(),
            key_ends: Vec::new(),
            record_ends: Vec::new(),
            stored: Vec::new(),
            fill: Fill::default(),
            blocks: key_codec.map(|(codec, width)| BlocksDraft::new(codec, width)),
            blocks_fit: true,
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

    /// How the record of entry `index` is stored, and what of it.
    pub(super) fn record(&self, index: usize) -> (Stored, &[u8]) {
        let (start, end) = (start_of(&self.record_ends, index), self.record_ends[index] as usize);
        (self.stored[index], &self.page[self.page.len() - end..self.page.len() - start])
    }

    /// A filter of the keys.
    pub(super) fn filter(&self) -> Vec<u8> {
        leaf_filter::build((0..self.len()).map(|index| self.key(index)), self.page_size)
    }

    /// The last key.
    pub(super) fn last_key(&self) -> Option<&[u8]> {
        self.len().checked_sub(1).map(|last| self.key(last))
    }

    /// Bytes that the page uses.
    pub(super) fn used(&self) -> usize {
        let offset_bytes = self.offset_bytes();
        let keys = self.fill.keys.size(offset_bytes);
        let keys = self.blocks_size().map_or(keys, |blocks| blocks.min(keys));
        self.fill.size_but_keys(offset_bytes) + keys
    }

    /// Bytes of the keys in blocks, if they can be.
    fn blocks_size(&self) -> Option<usize> {
        let blocks = self.blocks.as_ref().filter(|_| self.blocks_fit)?;
        Some(blocks.size(&self.keys, self.offset_bytes()))
    }

    fn offset_bytes(&self) -> usize {
        if self.page.len() > self.page_size { 4 } else { 2 }
    }

    /// Adds an entry behind the others if it fits. An entry that does not fit an empty draft turns the draft into a page
    /// of several units, which takes nothing more.
    #[inline]
    pub(super) fn push(&mut self, entry: &Entry<'_>) -> bool {
        debug_assert!(self.last_key().is_none_or(|last| last < entry.key), "keys of a leaf ascend");
        let first = if self.is_empty() { entry.key } else { &self.keys[..self.key_ends[0] as usize] };
        let fill = self.fill.with(first, entry);
        let blocks =
            self.blocks.as_mut().filter(|blocks| self.blocks_fit && blocks.width() == entry.key.len());
        let compressible = blocks.is_some();
        let offset_bytes = if self.page.len() > self.page_size { 4 } else { 2 };
        let room = self.page.len() - TAIL;
        let fits = fill.size(offset_bytes) <= room
            || blocks.is_some_and(|blocks| {
                room.checked_sub(fill.size_but_keys(offset_bytes))
                    .is_some_and(|room| blocks.fits(&self.keys, entry.key, offset_bytes, room))
            });
        if !fits || self.page.len() > self.page_size {
            if !self.is_empty() {
                return false;
            }
            // A single key is its own prefix, and smaller than any block.
            self.page.resize((fill.size(4) + TAIL).next_multiple_of(self.page_size), 0);
        }
        let page_end = self.page.len();
        self.page[page_end - fill.heap..page_end - self.fill.heap].copy_from_slice(entry.bytes);
        self.keys.extend_from_slice(entry.key);
        self.key_ends.push(self.keys.len() as u32);
        self.record_ends.push(fill.heap as u32);
        self.stored.push(entry.stored);
        self.fill = fill;
        self.blocks_fit = compressible;
        if let Some(blocks) = self.blocks.as_mut().filter(|_| compressible) {
            blocks.pushed(&self.keys);
        }
        self.summary.tombstones += u32::from(entry.stored == Stored::Plain(RecordKind::Tombstone));
        self.summary.key_bytes += entry.key.len() as u64;
        self.summary.value_bytes += entry.value_bytes;
        self.summary.blob_pages += entry.blob_pages;
        debug_assert!(self.used() + TAIL <= self.page.len(), "what was measured fits");
        true
    }

    /// Completes the page but for what the page writer fills in.
    pub(super) fn encode(&mut self) -> (&mut [u8], LeafSummary) {
        assert!(!self.is_empty(), "a leaf has entries");
        if cfg!(debug_assertions) {
            self.verify_lists();
        }
        let (count, used, offset_bytes) = (self.len(), self.used(), self.offset_bytes());
        let heap = self.fill.heap;
        let mut header = NodeHeader {
            keys: count as u32,
            flags: if offset_bytes == 4 { FLAG_WIDE } else { 0 },
            key_list: BODY as u32,
            records: heap as u32,
            tombstones: self.summary.tombstones,
            used: used as u32,
            ..NodeHeader::default()
        };
        let mut end = self.encode_keys(&mut header);
        if self.fill.has_offsets() {
            header.detail = OFFSETS;
            node::write_offset(&mut self.page, end, offset_bytes, 0, 0);
            for (index, record_end) in self.record_ends.iter().enumerate() {
                node::write_offset(&mut self.page, end, offset_bytes, index + 1, *record_end as usize);
            }
            end += (count + 1) * offset_bytes;
        } else {
            header.detail = FIXED;
            header.records = (heap / count) as u32;
        }
        if self.fill.kinded {
            header.flags |= FLAG_KINDS;
            for (byte, stored) in self.page[end..].iter_mut().zip(&self.stored) {
                *byte = stored.number();
            }
            end += count;
        }
        assert_eq!(end + heap, used, "a leaf is as large as it was measured");
        let records_at = self.page.len() - heap;
        self.page[end..records_at].fill(0);
        header.write(&mut self.page);
        page_header::set_header(&mut self.page, PageKind::Leaf, 0);
        self.summary.used = used as u32;
        if cfg!(debug_assertions) {
            self.verify_encoded();
        }
        (&mut self.page, self.summary)
    }

    /// That its lists are of the same entries.
    fn verify_lists(&self) {
        let count = self.len();
        assert_eq!((self.record_ends.len(), self.stored.len()), (count, count), "each entry has a record");
        assert_eq!(
            (self.fill.keys.count, self.fill.keys.bytes),
            (count, self.keys.len()),
            "each key is measured"
        );
        assert_eq!(
            self.key_ends.last().map(|end| *end as usize),
            Some(self.keys.len()),
            "keys end where the last does"
        );
        assert_eq!(self.record_ends.last().map(|end| *end as usize), Some(self.fill.heap), "so do records");
        assert_eq!(self.summary.key_bytes, self.keys.len() as u64, "the summary is of these keys");
    }
    /// That the page reads as the entries that were pushed.
    fn verify_encoded(&self) {
        let leaf = LeafView::parse(&self.page).expect("a leaf that was written parses");
        assert_eq!((leaf.len(), leaf.tombstones()), (self.len(), self.summary.tombstones));
        let (mut keys, mut key) = (KeyReader::default(), Vec::new());
        for index in 0..self.len() {
            keys.key_into(&self.page, &leaf.keys, index, &mut key).expect("a key that was written parses");
            assert_eq!(key, self.key(index), "key {index}");
            let (stored, range) = leaf.record(&self.page, index).expect("a record that was written parses");
            assert_eq!((stored, &self.page[range]), self.record(index), "record {index}");
        }
    }

    /// Writes the key list and what the header says of it; where it ends.
    fn encode_keys(&mut self, header: &mut NodeHeader) -> usize {
        let offset_bytes = self.offset_bytes();
        let smaller = self.blocks_size().is_some_and(|size| size <= self.fill.keys.size(offset_bytes));
        if let Some(blocks) = self.blocks.as_mut().filter(|_| smaller) {
            header.key_encoding = BLOCKS;
            header.key_codec = blocks.codec() as u8;
            header.flags |= if blocks.width() == 8 { FLAG_KEYS_64 } else { 0 };
            let (heap, end) = blocks.encode(&mut self.page, BODY, offset_bytes, &self.keys);
            header.suffix = heap;
            return end;
        }
        let measure = self.fill.keys;
        let prefix = &self.keys[..measure.prefix];
        let keys = (0..self.key_ends.len())
            .map(|index| &self.keys[start_of(&self.key_ends, index)..self.key_ends[index] as usize]);
        let (width, count) = (measure.width(), measure.count);
        let encoded = key_list::encode(&mut self.page, BODY, offset_bytes, prefix, width, count, keys);
        header.key_encoding = encoded.encoding;
        header.prefix = measure.prefix as u32;
        header.suffix = encoded.suffix;
        encoded.end
    }

    /// Empties the draft for the next leaf.
    pub(super) fn clear(&mut self) {
        self.page.resize(self.page_size, 0);
        self.keys.clear();
        self.key_ends.clear();
        self.record_ends.clear();
        self.stored.clear();
        self.fill = Fill::default();
        self.blocks_fit = true;
        if let Some(blocks) = &mut self.blocks {
            blocks.clear();
        }
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
