//! Inner pages: separators, child pointers and how many entries lie under them.
//!
//! # Format
//! Behind the node header (see [`super::node`]); with *n* separators there are *n* + 1 children:
//!
//! | part | size | meaning |
//! |---|---|---|
//! | separators | see [`super::key_list`] | all keys under child *i* are < separator *i* ≤ all keys under child *i* + 1 |
//! | children | (n + 1) × 8 | the [`PagePtr`] of each child |
//! | ends | (n + 1) × 8 | entries under this child and all before it |
//! | summaries | (n + 1) × 32 | level 1 only: what is known of each leaf: used u32, tombstones u32, key bytes u64, value bytes u64, blob pages u64 |
//! | filter offsets | (n + 2) × 2 or 4 | flag bit 3 only: the bytes of all filters before each, and at last of all |
//! | filters | | flag bit 3 only: the filter of each leaf (see [`super::leaf_filter`]); one without bytes denies nothing |
//!
//! A separator is the shortest that parts its neighbours, up to 8 bytes longer where that makes
//! all separators of the page equally long, and with that an array. It need not be a key.

use ambo_pages::page::{PageKind, header as page_header};
use ambo_types::id::PagePtr;

use super::{
    Found,
    key_list::{self, KeyList, KeyMeasure, common_prefix},
    leaf::LeafSummary,
    leaf_filter,
    node::{self, BODY, FLAG_FILTERS, FLAG_WIDE, NodeHeader, TAIL},
};

const SUMMARY: usize = 32;
/// How much longer than needed a separator is kept, so that all of a page may become equally long.
const SPARE: usize = 8;

/// An inner page's parts, checked to lie inside the page; only meaningful with the page that it was parsed
/// from.
#[derive(Clone, Copy, Debug)]
pub(super) struct InnerView {
    /// The separators.
    pub keys: KeyList,
    /// 1 if the children are leaves.
    pub level: u8,
    children_at: usize,
    ends_at: usize,
    summaries_at: usize,
    /// Zero: there are none.
    filters_at: usize,
    offset_bytes: usize,
}

impl InnerView {
    /// Finds the parts and checks that they lie inside the page, and that the page is of `level`.
    #[inline]
    pub(super) fn parse(page: &[u8], level: u8) -> Found<Self> {
        let header = NodeHeader::parse(page)?;
        if page_header::kind(page) != Some(PageKind::Inner) {
            return Err("an inner page was expected");
        }
        if header.detail != level || level == 0 {
            return Err("an inner page is not of the level that its place demands");
        }
        let keys = KeyList::parse(page, &header)?;
        if keys.blocks().is_some() {
            return Err("separators are never compressed");
        }
        let children_at = keys.end();
        let ends_at = node::section_end(page, children_at, keys.len() + 1, 8)?;
        let summaries_at = node::section_end(page, ends_at, keys.len() + 1, 8)?;
        let (mut filters_at, offset_bytes) = (0, header.offset_bytes());
        if level == 1 {
            let end = node::section_end(page, summaries_at, keys.len() + 1, SUMMARY)?;
            if header.flags & FLAG_FILTERS != 0 {
                node::section_end(page, end, keys.len() + 2, offset_bytes)?;
                filters_at = end;
            }
        } else if header.flags & FLAG_FILTERS != 0 {
            return Err("only pages above leaves have filters");
        }
        Ok(Self { keys, level, children_at, ends_at, summaries_at, filters_at, offset_bytes })
    }

    /// How many children.
    #[inline]
    pub(super) fn children(&self) -> usize {
        self.keys.len() + 1
    }

    /// Which child would hold `key`.
    #[inline]
    pub(super) fn child_of(&self, page: &[u8], key: &[u8]) -> Found<usize> {
        let (index, equal) = self.keys.search(page, key)?;
        Ok(index + usize::from(equal))
    }

    /// Where child `index` is.
    #[inline]
    pub(super) fn child(&self, page: &[u8], index: usize) -> Found<PagePtr> {
        self.check(index)?;
        node::read_ptr(page, self.children_at + index * 8)
    }

    /// Entries under the children before `index`; `index` may be one behind the last.
    #[inline]
    pub(super) fn entries_before(&self, page: &[u8], index: usize) -> Found<u64> {
        let Some(last) = index.checked_sub(1) else { return Ok(0) };
        self.check(last)?;
        node::read_u64(page, self.ends_at + last * 8)
    }

    /// Entries under child `index`.
    pub(super) fn entries(&self, page: &[u8], index: usize) -> Found<u64> {
        self.entries_before(page, index + 1)?
            .checked_sub(self.entries_before(page, index)?)
            .ok_or("the counts of an inner page are not in order")
    }

    /// Which child holds the entry at `position`, counted from the page's first, and its position there.
    pub(super) fn child_at(&self, page: &[u8], position: u64) -> Found<(usize, u64)> {
        let (mut low, mut high) = (0, self.children());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.entries_before(page, middle + 1)? <= position { low = middle + 1 } else { high = middle }
        }
        if low == self.children() {
            return Err("an inner page holds fewer entries than its parent says");
        }
        let before = self.entries_before(page, low)?;
        Ok((low, position.checked_sub(before).ok_or("the counts of an inner page are not in order")?))
    }

    /// What is known of leaf `index`.
    pub(super) fn summary(&self, page: &[u8], index: usize) -> Found<LeafSummary> {
        self.check(index)?;
        if self.level != 1 {
            return Err("only pages above leaves have summaries");
        }
        let at = self.summaries_at + index * SUMMARY;
        let first = node::read_u64(page, at)?;
        Ok(LeafSummary {
            used: first as u32,
            tombstones: (first >> 32) as u32,
            key_bytes: node::read_u64(page, at + 8)?,
            value_bytes: node::read_u64(page, at + 16)?,
            blob_pages: node::read_u64(page, at + 24)?,
        })
    }

    /// The filter of leaf `index`; without bytes where there is none.
    #[inline]
    pub(super) fn filter<'p>(&self, page: &'p [u8], index: usize) -> Found<&'p [u8]> {
        if self.filters_at == 0 {
            return Ok(&[]);
        }
        self.check(index)?;
        let heap = self.filters_at + (self.children() + 1) * self.offset_bytes;
        let bound = |index| -> Found<usize> {
            Ok(heap + node::offset(page, self.filters_at, self.offset_bytes, index)?)
        };
        page.get(bound(index)?..bound(index + 1)?).ok_or("a filter lies beyond the page")
    }

    /// False if leaf `index` certainly does not have a key.
    #[inline]
    pub(super) fn may_have(&self, page: &[u8], index: usize, key: &[u8]) -> Found<bool> {
        Ok(leaf_filter::may_have(self.filter(page, index)?, key))
    }

    #[inline]
    fn check(&self, index: usize) -> Found<()> {
        if index < self.children() { Ok(()) } else { Err("a child lies beyond the page") }
    }
}

/// The bound between two neighbouring subtrees: at least `needed` bytes of `bytes`, and any more of them as
/// well.
#[derive(Clone, Debug, Default)]
pub(super) struct Separator {
    pub bytes: Vec<u8>,
    pub needed: usize,
}

impl Separator {
    /// Parts keys up to `last` (included) from keys from `first` on.
    pub(super) fn after(last: &[u8], first: &[u8]) -> Self {
        debug_assert!(last < first);
        let needed = common_prefix(last, first) + 1;
        let separator = Self { bytes: first[..first.len().min(needed + SPARE)].to_vec(), needed };
        debug_assert!(last < separator.short() && &separator.bytes[..] <= first);
        separator
    }

    /// Parts keys below `bound` from keys from `first` ≥ `bound` on.
    pub(super) fn at(bound: &[u8], first: &[u8]) -> Self {
        debug_assert!(bound <= first);
        let common = common_prefix(bound, first);
        let needed = if common == bound.len() { common } else { common + 1 };
        let separator = Self { bytes: first[..first.len().min(needed + SPARE)].to_vec(), needed };
        debug_assert!(bound <= separator.short() && &separator.bytes[..] <= first);
        separator
    }

    fn short(&self) -> &[u8] {
        &self.bytes[..self.needed]
    }
}

/// A child of an inner page in the making.
#[derive(Clone, Debug)]
pub(super) struct Child {
    pub ptr: PagePtr,
    pub entries: u64,
    /// Of a leaf; else all zero.
    pub summary: LeafSummary,
    /// Of a leaf; may be without bytes.
    pub filter: Vec<u8>,
}

/// An inner page in the making.
pub(super) struct InnerDraft {
    level: u8,
    page_size: usize,
    /// What parts the page from its left neighbour: for the parent.
    first: Separator,
    separators: Vec<Separator>,
    children: Vec<Child>,
    measure: KeyMeasure,
    /// Bytes of all filters.
    filters: usize,
}

impl InnerDraft {
    /// An empty draft; `level` 1 if the children are leaves.
    pub(super) fn new(page_size: usize, level: u8) -> Self {
        Self {
            level,
            page_size,
            first: Separator::default(),
            separators: Vec::new(),
            children: Vec::new(),
            measure: KeyMeasure::default(),
            filters: 0,
        }
    }

    /// How many children.
    pub(super) fn len(&self) -> usize {
        self.children.len()
    }

    /// The child, if it is the only one.
    pub(super) fn only_child(&self) -> Option<PagePtr> {
        if let [child] = &self.children[..] { Some(child.ptr) } else { None }
    }

    /// Bytes of what follows the separators, with so many children and bytes of filters.
    fn children_size(&self, children: usize, filters: usize, offset_bytes: usize) -> usize {
        let each = if self.level == 1 { 16 + SUMMARY } else { 16 };
        let offsets = if filters > 0 { (children + 1) * offset_bytes } else { 0 };
        children * each + offsets + filters
    }

    /// Adds a child behind the others if it fits. Two children always do: their page may span several units.
    pub(super) fn push(&mut self, separator: Separator, child: Child) -> Result<(), (Separator, Child)> {
        debug_assert!(self.level == 1 || child.filter.is_empty(), "leaves have filters");
        let filters = self.filters + child.filter.len();
        if self.children.is_empty() {
            self.first = separator;
            self.filters = filters;
            self.children.push(child);
            return Ok(());
        }
        let first = self.separators.first().map_or(separator.short(), Separator::short);
        let measure = self.measure.with(first, separator.short());
        let size = BODY + measure.size(2) + self.children_size(self.children.len() + 1, filters, 2) + TAIL;
        if size > self.page_size && self.children.len() >= 2 {
            return Err((separator, child));
        }
        self.measure = measure;
        self.filters = filters;
        self.separators.push(separator);
        self.children.push(child);
        Ok(())
    }

    /// Writes the page into `page` (resized to whole units), but for what the page writer fills in; what
    /// parts it from its left neighbour, and the entries under it. The draft is empty afterwards.
    pub(super) fn encode(&mut self, page: &mut Vec<u8>) -> (Separator, u64) {
        assert!(!self.children.is_empty(), "an inner page has children");
        let size = |offset_bytes| {
            let children_len = self.children_size(self.children.len(), self.filters, offset_bytes);
            (BODY + self.measure.size(offset_bytes) + children_len + TAIL, children_len)
        };
        let offset_bytes = if size(2).0 > self.page_size { 4 } else { 2 };
        let (size, children_len) = size(offset_bytes);
        page.clear();
        page.resize(size.next_multiple_of(self.page_size), 0);

        let count = self.separators.len();
        let width = self.common_width(page.len() - BODY - children_len - TAIL);
        let prefix = &self.separators.first().map_or(&[][..], Separator::short)[..self.measure.prefix];
        let keys = self.separators.iter().map(|separator| match width {
            Some(width) => &separator.bytes[..width],
            None => separator.short(),
        });
        let encoded = key_list::encode(page, BODY, offset_bytes, prefix, width, count, keys);
        let children_at = encoded.end;
        let ends_at = children_at + self.children.len() * 8;
        let summaries_at = ends_at + self.children.len() * 8;
        let mut entries = 0u64;
        for (index, child) in self.children.iter().enumerate() {
            entries = entries.saturating_add(child.entries);
            page[children_at + index * 8..][..8].copy_from_slice(&child.ptr.0.to_le_bytes());
            page[ends_at + index * 8..][..8].copy_from_slice(&entries.to_le_bytes());
            if self.level == 1 {
                let at = summaries_at + index * SUMMARY;
                page[at..at + 4].copy_from_slice(&child.summary.used.to_le_bytes());
                page[at + 4..at + 8].copy_from_slice(&child.summary.tombstones.to_le_bytes());
                page[at + 8..at + 16].copy_from_slice(&child.summary.key_bytes.to_le_bytes());
                page[at + 16..at + 24].copy_from_slice(&child.summary.value_bytes.to_le_bytes());
                page[at + 24..at + 32].copy_from_slice(&child.summary.blob_pages.to_le_bytes());
            }
        }
        let has_filters = self.filters > 0;
        if has_filters {
            self.encode_filters(page, summaries_at + self.children.len() * SUMMARY, offset_bytes);
        }
        let flag = |on: bool, flag: u8| if on { flag } else { 0 };
        let header = NodeHeader {
            keys: count as u32,
            key_encoding: encoded.encoding,
            detail: self.level,
            flags: flag(offset_bytes == 4, FLAG_WIDE) | flag(has_filters, FLAG_FILTERS),
            prefix: self.measure.prefix as u32,
            key_list: BODY as u32,
            suffix: encoded.suffix,
            used: (encoded.end + children_len) as u32,
            ..NodeHeader::default()
        };
        assert!(header.used as usize + TAIL <= page.len(), "an inner page is no larger than it was measured");
        header.write(page);
        page_header::set_header(page, PageKind::Inner, 0);
        if has_filters {
            page_header::set_filters(page);
        }
        if cfg!(debug_assertions) {
            self.verify_encoded(page, width, entries);
        }
        self.children.clear();
        self.separators.clear();
        self.measure = KeyMeasure::default();
        self.filters = 0;
        (std::mem::take(&mut self.first), entries)
    }

    fn encode_filters(&self, page: &mut [u8], at: usize, offset_bytes: usize) {
        let heap = at + (self.children.len() + 1) * offset_bytes;
        let mut end = 0;
        node::write_offset(page, at, offset_bytes, 0, end);
        for (index, Child { filter, .. }) in self.children.iter().enumerate() {
            page[heap + end..heap + end + filter.len()].copy_from_slice(filter);
            end += filter.len();
            node::write_offset(page, at, offset_bytes, index + 1, end);
        }
        assert_eq!(end, self.filters, "filters are as large as they were measured");
    }

    /// That the page reads as the children that were pushed, with `entries` under them.
    fn verify_encoded(&self, page: &[u8], width: Option<usize>, entries: u64) {
        let view = InnerView::parse(page, self.level).expect("an inner page that was written parses");
        assert_eq!(view.children(), self.children.len());
        assert_eq!(self.separators.len() + 1, self.children.len(), "a separator between two children");
        assert_eq!(view.entries_before(page, self.children.len()), Ok(entries));
        for (index, child) in self.children.iter().enumerate() {
            assert_eq!(view.child(page, index), Ok(child.ptr), "child {index}");
            if self.level == 1 {
                assert_eq!(view.summary(page, index), Ok(child.summary), "leaf {index}");
                assert_eq!(view.filter(page, index), Ok(&child.filter[..]), "leaf {index}");
            }
        }
        let mut key = Vec::new();
        for (index, separator) in self.separators.iter().enumerate() {
            view.keys.key_into(page, index, &mut key).expect("a separator that was written parses");
            assert_eq!(key, separator.bytes[..width.unwrap_or(separator.needed)], "separator {index}");
        }
    }

    /// The width that all separators can have, if there is one and the list then takes no more than `room`.
    fn common_width(&self, room: usize) -> Option<usize> {
        let width = self.separators.iter().map(|separator| separator.needed).max().unwrap_or(0);
        let prefix = self.measure.prefix;
        let all = self.separators.iter().all(|separator| separator.bytes.len() >= width);
        (all && prefix + self.separators.len() * (width - prefix) <= room).then_some(width)
    }
}
