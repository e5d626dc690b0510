//! Building a tree from a sorted stream: leaves as they fill, inner pages above them as those fill.
//!
//! Memory is a few pages a level. One full leaf is held back, so that a last leaf that would be almost
//! empty can share with it.

use std::sync::Arc;

use ambo_codec::integer::IntegerCodec;
use ambo_pages::page::{NAME, PageRange, PageStore, PageWriter, are_disjoint};
use ambo_types::{
    Error, Result,
    id::PagePtr,
    record::{KEY_BYTES_MAX, Record, RecordKind},
};

use super::{
    draft::{Entry, LeafDraft},
    inner::{Child, InnerDraft, Separator},
    leaf::{LeafSummary, Stored},
    meta::{TreeCompression, TreeMeta},
    packed::{self, Packer, RecordCompression},
    value::{self, Blobs, Written},
};

/// How trees are built.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// The most children of an inner page and entries of a leaf, at least 2. Unlimited but in tests, which
    /// make high trees of few entries with it.
    pub fanout_max: usize,
    /// Whether pages stay in the cache as far as it has room.
    pub keep_in_cache: bool,
    /// The codec of keys, and the 4 or 8 bytes that each has.
    pub keys: Option<(IntegerCodec, usize)>,
    /// How records are compressed.
    pub records: Option<RecordCompression>,
    /// Whether parents of leaves have filters of their keys: look-ups of keys that are not there read no leaf.
    pub filters: bool,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self { fanout_max: usize::MAX, keep_in_cache: true, keys: None, records: None, filters: false }
    }
}

impl BuildOptions {
    /// As a tree's description has it.
    pub(super) fn compression(&self) -> TreeCompression {
        TreeCompression {
            keys: self.keys.map(|(codec, _)| codec),
            records: self.records.as_ref().map(|records| records.codec),
            dictionary: self.records.as_ref().is_some_and(|records| records.dictionary.is_some()),
            mixed: false,
        }
    }
}

/// A sorted stream of entries, lent one at a time.
pub trait RowStream {
    /// The next entry, in strictly increasing order of keys; `None` at the end.
    fn next_row(&mut self) -> Result<Option<(&[u8], Record<'_>)>>;
}

/// What the tree holds so far, as its next leaf's separator sees it.
enum Floor {
    /// Nothing.
    Start,
    /// This is the last key.
    Last(Vec<u8>),
    /// All keys are smaller than this.
    Below(Vec<u8>),
    /// Nothing may follow.
    Sealed,
}

/// What is known of the keys behind those of an adopted leaf.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ceiling<'k> {
    /// This is the leaf's last key.
    Last(&'k [u8]),
    /// All its keys are smaller than this, and all that follow are not.
    Below(&'k [u8]),
    /// No entries follow.
    End,
}

/// A leaf of another tree that becomes part of this one as it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Adopted<'k> {
    pub ptr: PagePtr,
    pub entries: u64,
    pub summary: LeafSummary,
    /// The filter of its keys, if its parent has one.
    pub filter: &'k [u8],
    /// At or below its first key and above all before.
    pub lower: &'k [u8],
    pub ceiling: Ceiling<'k>,
    /// How the tree that it comes from is compressed.
    pub compression: TreeCompression,
}

/// Builds one tree. What was written is freed again unless [`TreeBuilder::finish`] succeeds.
pub struct TreeBuilder {
    store: Arc<PageStore>,
    writer: PageWriter,
    options: BuildOptions,
    blobs: Blobs,
    current: LeafDraft,
    /// A full leaf that is held back, or empty.
    previous: LeafDraft,
    floor: Floor,
    levels: Vec<InnerDraft>,
    scratch: Vec<u8>,
    inline_max: usize,
    packer: Option<Packer>,
    /// A buffer for records that are compressed otherwise.
    value: Vec<u8>,
    meta: TreeMeta,
}

impl TreeBuilder {
    /// A builder of an empty tree.
    pub fn new(store: &Arc<PageStore>, options: BuildOptions) -> Self {
        assert!(options.fanout_max >= 2, "a tree grows narrower towards its root");
        let page_size = store.page_size();
        Self {
            writer: store.writer().keep_in_cache(options.keep_in_cache),
            blobs: Blobs::new(store, options.records.as_ref().map(|records| records.codec)),
            store: Arc::clone(store),
            current: LeafDraft::new(page_size, options.keys),
            previous: LeafDraft::new(page_size, options.keys),
            floor: Floor::Start,
            levels: Vec::new(),
            scratch: Vec::new(),
            inline_max: page_size / 4,
            packer: options.records.as_ref().map(Packer::new),
            value: Vec::new(),
            meta: TreeMeta { compression: options.compression(), ..TreeMeta::default() },
            options,
        }
    }

    /// Adds an entry behind all others. An inline record is compressed, if the options say so and it becomes smaller; one that is
    /// longer than a quarter of a page then becomes a blob. A blob is kept as it is, and belongs to this tree from then on.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a key that is too long; [`Error::Damaged`] for a blob reference that is none;
    /// whatever writing pages gives.
    ///
    /// # Panics
    /// If the key is not greater than the one before.
    pub fn push(&mut self, key: &[u8], record: Record<'_>) -> Result<()> {
        if key.len() > KEY_BYTES_MAX {
            return Err(Error::Invalid(format!(
                "a key of {} bytes; {KEY_BYTES_MAX} are the most",
                key.len()
            )));
        }
        self.assert_next(key);
        match record.kind {
            RecordKind::Inline if self.packer.is_some() => self.push_inline_packed(key, record.bytes),
            RecordKind::Inline => self.push_inline(key, record.bytes),
            RecordKind::Blob => {
                let (bytes, pages) = value::blob_size(record.bytes)?;
                self.push_entry(&Entry::plain(key, record, bytes, pages))
            }
            RecordKind::Tombstone => self.push_entry(&Entry::plain(key, record, 0, 0)),
        }
    }

    fn push_inline(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if value.len() > self.inline_max {
            let reference = self.blobs.write(value)?;
            return self.push_blob(key, &reference);
        }
        self.push_entry(&Entry::plain(key, Record::inline(value), value.len() as u64, 0))
    }

    fn push_inline_packed(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut packer = self.packer.take().expect("records are compressed");
        let pushed = match packer.pack(value) {
            Some(bytes) if bytes.len() <= self.inline_max => {
                let value_bytes = value.len() as u64;
                self.push_entry(&Entry { key, stored: Stored::Packed, bytes, value_bytes, blob_pages: 0 })
            }
            _ => self.push_inline(key, value),
        };
        self.packer = Some(packer);
        pushed
    }

    fn push_blob(&mut self, key: &[u8], reference: &Written) -> Result<()> {
        let record = Record { kind: RecordKind::Blob, bytes: &reference.encoded };
        self.push_entry(&Entry::plain(key, record, reference.bytes, reference.pages))
    }

    /// As [`TreeBuilder::push`] for a blob that is to be written anew, as its pages should be elsewhere.
    pub fn push_copied_blob(&mut self, key: &[u8], reference: &[u8]) -> Result<()> {
        self.assert_next(key);
        let copy = self.blobs.copy(reference)?;
        self.push_blob(key, &copy)
    }

    /// As [`TreeBuilder::push`] for a record that another tree has compressed; it stays as it is if this tree would compress
    /// it likewise.
    pub(super) fn push_packed(&mut self, key: &[u8], bytes: &[u8]) -> Result<()> {
        if self.packer.as_ref().is_some_and(|packer| packer.made(bytes)) && bytes.len() <= self.inline_max {
            self.assert_next(key);
            let (value_bytes, blob_pages) = value::sizes(Stored::Packed, bytes)?;
            return self.push_entry(&Entry { key, stored: Stored::Packed, bytes, value_bytes, blob_pages });
        }
        let mut value = std::mem::take(&mut self.value);
        let pushed = packed::unpack(&self.store, bytes, &mut value)
            .map_err(|what| Error::damaged(NAME, 0, what))
            .and_then(|()| self.push(key, Record::inline(&value)));
        self.value = value;
        pushed
    }

    /// Adds all entries of a stream.
    pub fn extend(&mut self, rows: &mut dyn RowStream) -> Result<()> {
        while let Some((key, record)) = rows.next_row()? {
            self.push(key, record)?;
        }
        Ok(())
    }

    /// Entries so far.
    pub fn rows(&self) -> u64 {
        self.meta.rows
    }

    /// Pages of leaves that are written.
    pub fn leaf_pages(&self) -> u64 {
        self.meta.leaf_pages
    }

    /// The key of the last entry, unless the last leaf was adopted.
    pub fn last_key(&self) -> Option<&[u8]> {
        self.current.last_key().or(match &self.floor {
            Floor::Last(last) => Some(last),
            Floor::Start | Floor::Below(_) | Floor::Sealed => None,
        })
    }

    fn assert_next(&self, key: &[u8]) {
        let after = match (self.current.last_key(), &self.floor) {
            (Some(last), _) => last < key,
            (None, Floor::Start) => true,
            (None, Floor::Last(last)) => last.as_slice() < key,
            (None, Floor::Below(bound)) => bound.as_slice() <= key,
            (None, Floor::Sealed) => false,
        };
        // A draft that is held back has entries only while `current` has some.
        assert!(after, "keys are pushed in strictly increasing order");
    }

    fn push_entry(&mut self, entry: &Entry<'_>) -> Result<()> {
        debug_assert!(
            entry.bytes.len() <= self.inline_max || !entry.stored.is_inline(),
            "a long value is a blob by now"
        );
        if self.current.len() >= self.options.fanout_max || !self.current.push(entry) {
            self.hold_back()?;
            let fits = self.current.push(entry);
            assert!(fits, "an empty leaf takes any entry");
        }
        let meta = &mut self.meta;
        let tombstone = entry.stored == Stored::Plain(RecordKind::Tombstone);
        meta.rows = meta.rows.saturating_add(1);
        meta.tombstones = meta.tombstones.saturating_add(u64::from(tombstone));
        meta.key_bytes = meta.key_bytes.saturating_add(entry.key.len() as u64);
        meta.value_bytes = meta.value_bytes.saturating_add(entry.value_bytes);
        meta.blob_pages = meta.blob_pages.saturating_add(entry.blob_pages);
        Ok(())
    }

    /// Writes the leaf that was held back and holds back the current one.
    fn hold_back(&mut self) -> Result<()> {
        self.write_previous()?;
        debug_assert!(self.previous.is_empty(), "one leaf is held back");
        std::mem::swap(&mut self.previous, &mut self.current);
        Ok(())
    }

    /// Writes both leaves, shared evenly if the current one would be left under a `1 / part` of a page.
    fn write_leaves(&mut self, part: usize) -> Result<()> {
        let small = self.current.used() < self.store.page_size() / part;
        if small && !self.current.is_empty() && !self.previous.is_empty() {
            self.balance()?;
        }
        self.write_previous()?;
        self.hold_back()?;
        self.write_previous()
    }

    /// Shares the entries of both leaves evenly. Where that does not fit (keys with less in common are
    /// longer), they stay as they are.
    fn balance(&mut self) -> Result<()> {
        let page_size = self.store.page_size();
        let half = (self.previous.used() + self.current.used()) / 2;
        let draft = || LeafDraft::new(page_size, self.options.keys);
        let (mut left, mut right) = (draft(), draft());
        for draft in [&self.previous, &self.current] {
            for index in 0..draft.len() {
                let (stored, bytes) = draft.record(index);
                let (value_bytes, blob_pages) = value::sizes(stored, bytes)?;
                let entry = Entry { key: draft.key(index), stored, bytes, value_bytes, blob_pages };
                let side = if right.is_empty() && left.used() < half { &mut left } else { &mut right };
                if !side.push(&entry) || side.units() > 1 {
                    return Ok(());
                }
            }
        }
        let before = self.previous.len() + self.current.len();
        debug_assert_eq!(left.len() + right.len(), before, "each entry is on one side");
        if !right.is_empty() {
            debug_assert_eq!(right.last_key(), self.current.last_key());
            (self.previous, self.current) = (left, right);
        }
        Ok(())
    }

    fn write_previous(&mut self) -> Result<()> {
        if self.previous.is_empty() {
            return Ok(());
        }
        let first = self.previous.key(0);
        let separator = match &self.floor {
            Floor::Start => Separator::default(),
            Floor::Last(last) => Separator::after(last, first),
            Floor::Below(bound) => Separator::at(bound, first),
            Floor::Sealed => unreachable!("nothing is pushed behind the end"),
        };
        let mut last = match std::mem::replace(&mut self.floor, Floor::Start) {
            Floor::Last(buffer) | Floor::Below(buffer) => buffer,
            Floor::Start | Floor::Sealed => Vec::new(),
        };
        last.clear();
        last.extend_from_slice(self.previous.last_key().expect("it has entries"));
        self.floor = Floor::Last(last);
        let entries = self.previous.len() as u64;
        let filter = if self.options.filters { self.previous.filter() } else { Vec::new() };
        let (page, summary) = self.previous.encode();
        let ptr = self.writer.write(page)?;
        self.previous.clear();
        self.meta.leaf_pages += u64::from(ptr.units());
        self.add_child(0, separator, Child { ptr, entries, summary, filter })
    }

    /// Whether adopting a leaf now leaves no page behind that is less than half full.
    pub(super) fn is_ready_to_adopt(&self) -> bool {
        self.current.is_empty()
            || !self.previous.is_empty()
            || self.current.used() * 2 >= self.store.page_size()
    }

    /// Whether `lower` parts what is there already from a leaf whose keys are at or above it.
    pub(super) fn is_behind_all(&self, lower: &[u8]) -> bool {
        match (self.current.last_key(), &self.floor) {
            (Some(last), _) => last < lower,
            (None, Floor::Start) => true,
            (None, Floor::Last(last)) => last.as_slice() < lower,
            (None, Floor::Below(bound)) => bound.as_slice() <= lower,
            (None, Floor::Sealed) => false,
        }
    }

    /// Makes a leaf of another tree the next of this one.
    ///
    /// # Panics
    /// If it is not behind all others.
    pub(super) fn adopt_leaf(&mut self, leaf: &Adopted<'_>) -> Result<()> {
        assert!(self.is_behind_all(leaf.lower), "leaves are adopted in increasing order");
        self.write_leaves(2)?;
        let separator = match &self.floor {
            Floor::Start => Separator::default(),
            Floor::Last(last) => Separator::after(last, leaf.lower),
            Floor::Below(bound) => Separator::at(bound, leaf.lower),
            Floor::Sealed => unreachable!("nothing is behind the end"),
        };
        self.floor = match leaf.ceiling {
            Ceiling::Last(key) => Floor::Last(key.to_vec()),
            Ceiling::Below(bound) => Floor::Below(bound.to_vec()),
            Ceiling::End => Floor::Sealed,
        };
        let Adopted { ptr, entries, summary, .. } = *leaf;
        // These were read from a page: whatever they are, they do not stop the merge.
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.meta.rows, entries);
        add(&mut self.meta.tombstones, u64::from(summary.tombstones));
        add(&mut self.meta.key_bytes, summary.key_bytes);
        add(&mut self.meta.value_bytes, summary.value_bytes);
        add(&mut self.meta.blob_pages, summary.blob_pages);
        self.meta.leaf_pages += u64::from(ptr.units());
        self.meta.compression.mixed |= leaf.compression != self.options.compression();
        let filter = if self.options.filters { leaf.filter.to_vec() } else { Vec::new() };
        self.add_child(0, separator, Child { ptr, entries, summary, filter })
    }

    /// Adds a child to the rightmost page of a level, writing that page first if it is full.
    fn add_child(&mut self, level: usize, separator: Separator, child: Child) -> Result<()> {
        debug_assert!(level <= self.levels.len(), "levels grow one by one");
        if level == self.levels.len() {
            let number =
                u8::try_from(level + 1).expect("a tree of 255 levels has more leaves than there are pages");
            self.levels.push(InnerDraft::new(self.store.page_size(), number));
        }
        let full = self.levels[level].len() >= self.options.fanout_max;
        let pushed = if full { Err((separator, child)) } else { self.levels[level].push(separator, child) };
        if let Err((separator, child)) = pushed {
            self.write_inner(level)?;
            let pushed = self.levels[level].push(separator, child);
            assert!(pushed.is_ok(), "an empty inner page takes any child");
        }
        Ok(())
    }

    fn write_inner(&mut self, level: usize) -> Result<()> {
        let (separator, entries) = self.levels[level].encode(&mut self.scratch);
        let ptr = self.writer.write(&self.scratch)?;
        self.meta.inner_pages += u64::from(ptr.units());
        self.add_child(
            level + 1,
            separator,
            Child { ptr, entries, summary: LeafSummary::default(), filter: Vec::new() },
        )
    }

    /// Writes what is left. The pages can be read from then on; they belong to whoever keeps the description.
    pub fn finish(self) -> Result<TreeMeta> {
        self.finish_with_pages().map(|(meta, _)| meta)
    }

    /// As [`TreeBuilder::finish`]; also gives the pages that were written for this tree: leaves and inner
    /// pages, not and those of blobs that it wrote.
    pub fn finish_with_pages(mut self) -> Result<(TreeMeta, Vec<PageRange>)> {
        self.write_leaves(4)?;
        assert!(self.previous.is_empty() && self.current.is_empty(), "each entry is in a page");
        let mut level = 0;
        while level < self.levels.len() {
            if level + 1 == self.levels.len()
                && let Some(root) = self.levels[level].only_child()
            {
                self.meta.root = root;
                self.meta.height = level as u8 + 1;
                break;
            }
            self.write_inner(level)?;
            level += 1;
        }
        let mut pages = self.writer.finish()?;
        pages.append(&mut self.blobs.keep());
        assert_eq!(self.meta.root.is_null(), self.meta.leaf_pages == 0, "the root leads to the leaves");
        debug_assert!(are_disjoint(&pages), "a page is written once");
        Ok((self.meta, pages))
    }

    /// Gives up: frees everything that was written, as dropping the builder does.
    pub fn abort(self) {}
}
